"""Faults that would make a push to the Hugging Face hub fail after the run, found before it."""

from __future__ import annotations

import importlib.util
import json
import urllib.error
import urllib.request
from collections.abc import Iterable
from typing import Any

from tui_eval.config.plan import RunPlan
from tui_eval.config.settings import place_of
from tui_eval.errors import Fault, Notice, warning
from tui_eval.install_commands import extra_command

FLAG = "--save-to-hf-hub"
WITHIN_S = 5.0
LOG_IN = "Log in with `hf auth login`, or set HF_TOKEN"


def hub_faults(plans: Iterable[RunPlan], notices: list[Notice]) -> list[Fault]:
    """Faults of the pushes that plans request: a missing extra, the token, a stranger's account.

    One request to the hub says who the token is of. Where it is not answered, that is a warning.

    Args:
        notices: Gets warnings of what may make a push fail.
    """
    pushed = [plan for plan in plans if plan.save_to_hf_hub]
    if not pushed:
        return []
    where = place_of(pushed[0].sources, "save_to_hf_hub", FLAG)
    for name in ("datasets", "huggingface_hub"):
        if importlib.util.find_spec(name) is None:
            hint = f"Install it: {extra_command('hub')}"
            return [Fault(where, f"the package {name} is missing", hint)]
    from huggingface_hub import constants, get_token

    token = get_token()
    if not token:
        return [Fault(where, "nobody is logged in to the Hugging Face hub", LOG_IN)]
    try:
        account = _whose(constants.ENDPOINT, token)
    except urllib.error.HTTPError as error:
        if error.code in (401, 403):
            what = f"the hub does not know the token ({error.code})"
            return [Fault(where, what, LOG_IN)]
        notices.append(_unsure(f"it answered with {error.code}"))
    except (OSError, ValueError) as error:
        notices.append(_unsure(f"it gave no answer: {getattr(error, 'reason', error)}"))
    else:
        notices += _strangers(pushed, account)
    return []


def _whose(endpoint: str, token: str) -> dict[str, Any]:
    """The account of a token, as the hub says.

    Raises:
        OSError: There is no answer, or one with an error's status.
        ValueError: It is no JSON.
    """
    requested = urllib.request.Request(
        f"{endpoint.rstrip('/')}/api/whoami-v2", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(requested, timeout=WITHIN_S) as answer:
        reported = json.loads(answer.read(1_000_000))
    return reported if isinstance(reported, dict) else {}


def _strangers(pushed: Iterable[RunPlan], account: dict[str, Any]) -> list[Notice]:
    """Warnings of datasets under an account that the token is not of."""
    listed = account.get("orgs")
    orgs = listed if isinstance(listed, list) else []
    own = [account.get("name"), *(one.get("name") for one in orgs if isinstance(one, dict))]
    names = dict.fromkeys(plan.hf_hub_dataset_name or "" for plan in pushed)
    return [
        _unsure(f"{name} is under none of the accounts of the token ({', '.join(map(str, own))})")
        for name in names
        if "/" in name and own[0] and name.partition("/")[0] not in own
    ]


def _unsure(why: str) -> Notice:
    return warning(f"The push to the Hugging Face hub may fail: {why}")
