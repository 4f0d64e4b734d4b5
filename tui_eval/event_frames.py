"""Events as bytes: how they go over a socket and are in an index."""

from __future__ import annotations

from typing import Any

import msgspec

from tui_eval.events import Event

_encode = msgspec.msgpack.Encoder().encode


def encode_events(events: list[Event]) -> bytes:
    """Events as bytes; text that UTF-8 cannot carry, a lone surrogate, is escaped."""
    try:
        return _encode(events)
    except UnicodeEncodeError:
        return _encode(_whole(msgspec.to_builtins(events)))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return value


decode_events = msgspec.msgpack.Decoder(list[Event]).decode

HEADER_BYTES = 4


def frame(payload: bytes) -> bytes:
    """A payload with its length before it, as it goes over the socket."""
    return len(payload).to_bytes(HEADER_BYTES, "big") + payload
