"""Whether anything listens at an endpoint, asked once before a run begins."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from tui_eval.config.secret_values import masked_url
from tui_eval.config.values import is_url
from tui_eval.errors import Fault

ANSWERS_WITHIN_S = 3.0


def unreachable(url: str) -> list[Fault]:
    """Why no connection to a URL can be made; nothing where one can, or where a proxy decides.

    Only a plain no counts: a refused connection or an unknown host. A slow network is left to
    the requests' own time-outs and retries.
    """
    where = masked_url(url)
    if not is_url(url):
        return [Fault(where, "this is no URL of a server")]
    parts = urlsplit(url)
    host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    assert host is not None
    if parts.scheme in getproxies() and not proxy_bypass(host):
        return []
    try:
        socket.create_connection((host, port), ANSWERS_WITHIN_S).close()
    except ConnectionRefusedError:
        hint = "Start the server, or name another URL with -b"
        return [Fault(where, f"nothing listens on port {port} of {host}", hint)]
    except (socket.gaierror, UnicodeError):  # the second where it cannot be a name at all
        return [Fault(where, f"the host {host} is not known", "Check the URL and the network")]
    except OSError:
        return []
    return []
