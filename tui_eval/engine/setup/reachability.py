"""The check before a run that something listens at its endpoint."""

from __future__ import annotations

import socket

from yarl import URL

from tui_eval.clients.causes import cause_of, of_proxy
from tui_eval.clients.proxies import proxy_found
from tui_eval.config.secret_values import masked_url
from tui_eval.config.values import is_url
from tui_eval.errors import Fault

ANSWERS_WITHIN_S = 3.0
_HINTS = {
    "refused": "Start the server, or name another URL with -b",
    "DNS": "Check the URL and the network",
}
"""A hint for each cause that is a plain no."""


def unreachable(url: str) -> list[Fault]:
    """The fault that a URL, or the proxy before it, takes no connection; nothing where it does.

    Only a plain no counts: a refused connection or an unknown host. A slow network is left to
    the requests' own time-outs and retries.
    """
    where = masked_url(url)
    if not is_url(url):
        return [Fault(where, "this is no URL of a server")]
    proxy = proxy_found(url)
    requested = URL(url) if proxy is None else proxy.url
    try:
        socket.create_connection((requested.host, requested.port), ANSWERS_WITHIN_S).close()
    except UnicodeError:  # it cannot be a name at all
        return [Fault(where, f"the host {requested.host} is not known (DNS)", _HINTS["DNS"])]
    except OSError as error:
        cause = cause_of(error, str(requested))
        if cause is None or cause.kind not in _HINTS:
            return []
        if proxy is None:
            return [Fault(where, cause.text, _HINTS[cause.kind])]
        return [Fault(where, of_proxy(cause, proxy).text)]
    return []
