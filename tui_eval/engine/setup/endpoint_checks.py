"""Checks of endpoints before a run: whether they answer, accept the key and list the model."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import Any

from tui_eval.clients.base_urls import read_anthropic_url, read_base_url
from tui_eval.clients.causes import cause_of
from tui_eval.clients.credentials import credentials_of
from tui_eval.clients.openai_sdk import key_headers
from tui_eval.clients.wire.failed_answers import status_of_failure
from tui_eval.config.endpoints import EMBEDDED
from tui_eval.config.plan import PlannedEndpoint, RunPlan
from tui_eval.config.secret_values import HIDDEN
from tui_eval.config.values import is_url
from tui_eval.engine.setup.reachability import unreachable
from tui_eval.errors import Fault, Notice, RefusedError, nearest, warning
from tui_eval.types import ClientConfig

ALL_WITHIN_S = 5.0
"""Seconds for all endpoints together; one that has not answered by then is passed over."""
ANSWERS_WITHIN_S = 3.0
READS_AT_MOST = 8_000_000
ANYWAY = "--no-preflight begins without asking"

_NO_ROUTE = (404, 405)
_ANTHROPIC = "anthropic_messages"


def check_endpoints(plans: Iterable[RunPlan], notices: list[Notice]) -> list[Fault]:
    """Checks all endpoints of plans at once, each once for each model.

    Args:
        notices: Gets warnings.
    """
    requested: dict[tuple[str, ...], tuple[RunPlan, PlannedEndpoint]] = {}
    for plan in plans:
        for one in plan.served_at:
            if one.url != EMBEDDED and is_url(one.url):
                key = (plan.model, plan.client_type, one.url, one.key_var, str(one.headers))
                requested.setdefault(key, (plan, one))
    reported = list(dict.fromkeys(one for found in _check_all(requested.values()) for one in found))
    notices += [one for one in reported if isinstance(one, Notice)]
    return [one for one in reported if isinstance(one, Fault)]


def _check_all(
    requested: Collection[tuple[RunPlan, PlannedEndpoint]],
) -> list[list[Fault | Notice]]:
    """Answers of endpoints within their time, in their order."""
    found: list[list[Fault | Notice]] = [[] for _ in requested]

    def check(place: int, plan: RunPlan, endpoint: PlannedEndpoint) -> None:
        found[place] = _answer_of(plan, endpoint)

    # Daemons: an endpoint that sends a byte now and then must not hold the process's end.
    every = [(place, *one) for place, one in enumerate(requested)]
    threads = [threading.Thread(target=check, args=one, daemon=True) for one in every]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + ALL_WITHIN_S
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0.0))
    return list(found)


def _answer_of(plan: RunPlan, endpoint: PlannedEndpoint) -> list[Fault | Notice]:
    faults: list[Fault | Notice] = [*unreachable(endpoint.url)]
    if faults or HIDDEN in endpoint.headers.values():
        return faults
    config = ClientConfig(
        api_key_var=endpoint.key_var, api_base_url=endpoint.url, extra_headers=endpoint.headers
    )
    return unknown_model(config, plan.client_type, plan.model, endpoint.key_var)


def unknown_model(
    endpoint: ClientConfig, client_type: str, model: str, key_var: str
) -> list[Fault | Notice]:
    """The fault or warning that an endpoint may not serve a model; None where there is none.

    A refused key is a fault. A whole list of models without this one is worth a warning: many
    servers know aliases, or load models when they are requested. An endpoint that has no such
    list, is slow or answers nonsense is left to the requests themselves.

    Args:
        endpoint: Its URL, key variable and headers.
        key_var: As the user named it; empty for no key.
    """
    url, *elsewhere = _urls(endpoint.api_base_url, client_type)
    try:
        headers = _headers(endpoint, client_type)
        status, body = _get(url, headers)
        for url in elsewhere if status in _NO_ROUTE else ():
            status, body = _get(url, headers)
    except RefusedError:
        return []  # a key that is missing is reported with the plan
    except Exception as error:  # whatever a network does
        cause = cause_of(error, url)
        return [] if cause is None or cause.passes else [Fault(url, cause.text)]
    if status == 200:
        status = status_of_failure(body) or status
    if status in (401, 403):
        return [_key_refused(url, status, key_var, client_type)]
    offered = _names(body) if status == 200 else None
    # Anthropic serves names that it does not list.
    if not offered or client_type == _ANTHROPIC or _has(offered, model):
        return []
    others = f" and {len(offered) - 3} others" if len(offered) > 3 else ""
    hint = nearest(model, offered) or f"It serves {', '.join(offered[:3])}{others}."
    what = f"{endpoint.api_base_url} does not list the model {model!r}"
    return [warning(f"{what}, and may not serve it. {hint}")]


def why_out(endpoint: ClientConfig) -> str:
    """Why an endpoint does not answer a request for its models; empty where it does, with any
    status below 500.
    """
    url = _urls(endpoint.api_base_url, endpoint.client_type)[0]
    if faults := unreachable(endpoint.api_base_url):
        return faults[0].what
    try:
        status, _ = _get(url, _headers(endpoint, endpoint.client_type))
    except Exception as error:  # whatever a network does
        cause = cause_of(error, url)
        return cause.text if cause is not None else str(error) or type(error).__name__
    return f"status {status}" if status >= 500 else ""


def _urls(base_url: str, client_type: str) -> list[str]:
    """URLs that may list the models, by the routes of requests."""
    if client_type == _ANTHROPIC:
        known, route = read_anthropic_url(base_url), "/v1/models"
    else:
        known, route = read_base_url(base_url), "/models"
    return [known.with_query(place + route) for place in known.places]


def _headers(endpoint: ClientConfig, client_type: str) -> dict[str, str]:
    found = credentials_of(endpoint)
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if client_type == _ANTHROPIC:
        headers["anthropic-version"] = "2023-06-01"
        key = {"x-api-key": found.key} if found.key else {}
    else:
        key = key_headers(endpoint.api_base_url, found.key)
    return {**headers, **key, **found.headers, **endpoint.extra_headers}


def _get(url: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """Status and body. Redirects are not followed: they would carry the key elsewhere."""
    import httpx2

    with (
        httpx2.Client(timeout=ANSWERS_WITHIN_S, follow_redirects=False) as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        body = b""
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > READS_AT_MOST:
                break
        return answer.status_code, body


def _key_refused(url: str, status: int, key_var: str, client_type: str) -> Fault:
    if not key_var:
        hint = f"Name the variable that holds a key with -k; {ANYWAY}"
        return Fault(url, f"the endpoint wants a key (HTTP {status}), and none is named", hint)
    hint = f"Put a valid key into it, or name another variable with -k; {ANYWAY}"
    header = "x-api-key" if client_type == _ANTHROPIC else next(iter(key_headers(url, key_var)))
    what = f"the key in {key_var} is refused (HTTP {status}), sent in the header {header}"
    return Fault(url, what, hint)


def _names(body: bytes) -> list[str] | None:
    """The ids of a whole list of models; None where this is no such list."""
    try:
        answer: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict) or answer.get("has_more"):
        return None
    models = answer.get("data")
    if not isinstance(models, list):
        return None
    names = [one.get("id") for one in models if isinstance(one, dict)]
    return [name for name in names if isinstance(name, str)]


def _has(offered: list[str], model: str) -> bool:
    """Whether a list has a name, also without the tag or the folder that one of both has.

    Gateways list `openai/*` for whatever they pass on.
    """
    if any("*" in name and fnmatchcase(model, name) for name in offered):
        return True
    known = {form for name in offered for form in (name, name.removeprefix("models/"))}
    untagged = {name.partition(":")[0] for name in known}
    return model in known | untagged or model.partition(":")[0] in known
