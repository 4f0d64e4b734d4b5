"""An endpoint of the registry at a URL that was typed: what goes along, and what stays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from tui_eval.config.endpoints import Endpoint
from tui_eval.config.settings import Settings
from tui_eval.errors import Fault


def at_typed_url(replicas: Sequence[Endpoint], settings: Settings) -> tuple[Endpoint, list[Fault]]:
    """The endpoint at the URL that `api_base_url` names, in place of all replicas.

    At a replica's own host all that the registry says of it holds. To other ports of this machine
    its key goes along where there is one. Any other host gets neither key nor headers: which key
    it gets, if any, has to be said.

    Args:
        replicas: Of one alias, at least one.
        settings: Merged ones, with `api_base_url`.

    Returns:
        The endpoint, still at its old URL or at none, and a fault where a key has to be named.
    """
    typed = settings["api_base_url"]
    url = urlsplit(str(typed.value))
    is_here = is_on_this_machine(str(typed.value))
    first = replicas[0]
    for one in replicas:
        own = urlsplit(one.url)
        if _is_same_host(own, url) and (own.port == url.port or not is_here):
            return one, []
    bare = Endpoint(first.alias, first.model, "", "", first.client_type)
    if is_here:
        return replace(bare, key_var=first.key_var if os.environ.get(first.key_var) else ""), []
    key = settings.get("api_key_var")
    if not first.key_var or (key is not None and key.value is not None):
        return bare, []
    of = urlsplit(first.url).hostname
    what = f"{url.hostname} gets no key of {of}, and {first.key_var} is that of {first.alias}"
    hint = "Name the variable that holds its own with -k VAR; -k '' sends none"
    return bare, [Fault(typed.where("api_base_url"), what, hint)]


def _is_same_host(own: SplitResult, typed: SplitResult) -> bool:
    """Whether what belongs to a URL may go to another: never in the clear where it was not."""
    is_as_safe = own.scheme == typed.scheme or typed.scheme == "https"
    return bool(own.hostname) and own.hostname == typed.hostname and is_as_safe


def is_on_this_machine(url: str) -> bool:
    """Whether a URL leads to this machine itself."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
