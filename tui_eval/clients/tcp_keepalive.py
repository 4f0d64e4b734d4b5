"""Connections whose other end has vanished are noticed: a model may think for an hour.

A host that lost its power or its network says nothing, and nothing is sent while an answer is
awaited. The system asks the other end once nothing has come for a while.
"""

from __future__ import annotations

import inspect
import socket
from typing import Any

import aiohttp

IDLE_S = 60
EVERY_S = 15
PROBES = 4
"""A connection whose other end is silent for 60 s, then four times 15 s, is broken."""
_OPTIONS = {"TCP_KEEPIDLE": IDLE_S, "TCP_KEEPALIVE": IDLE_S, "TCP_KEEPINTVL": EVERY_S,
            "TCP_KEEPCNT": PROBES}  # fmt: skip
"""By their names in `socket`; each system lacks one."""


def _make_socket(address: Any) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _OPTIONS.items():
        option = getattr(socket, name, None)
        if option is not None:
            made.setsockopt(socket.IPPROTO_TCP, option, value)
    return made


def keepalive_arguments() -> dict[str, Any]:
    """Arguments of a `TCPConnector` whose connections do that; none for an aiohttp before 3.12."""
    known = inspect.signature(aiohttp.TCPConnector).parameters
    return {"socket_factory": _make_socket} if "socket_factory" in known else {}
