"""Events as bytes, for sockets and indexes."""

from __future__ import annotations

from typing import Any

import msgspec

from tui_eval.events import Event

_WIDE = 1
"""Code of the extension for a whole number that has more than 64 bits."""

_encode = msgspec.msgpack.Encoder().encode


def encode_events(events: list[Event]) -> bytes:
    """Events as bytes, whatever people's values are in them.

    Whole numbers of any size arrive as they are, see `read_extension`. Text that UTF-8 cannot
    carry, a lone surrogate, is escaped, and an object of a foreign class is said to be one.

    Raises:
        RecursionError: Values are nested too deeply.
    """
    try:
        return _encode(events)
    except (UnicodeEncodeError, OverflowError, TypeError):
        plain = msgspec.to_builtins(events, builtin_types=(bytes,), enc_hook=_shown)
        return _encode(_carried(plain))


def _shown(value: Any) -> str | int | float:
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    return f"<{type(value).__name__}>"


def _carried(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        size = value.bit_length() // 8 + 1
        return msgspec.msgpack.Ext(_WIDE, value.to_bytes(size, "big", signed=True))
    if isinstance(value, dict):
        return {_key(key): _carried(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_carried, value))
    return value


def _key(value: Any) -> Any:
    """A key of a dict: as JSON, a frame has no whole number of any size for one."""
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    carried = _carried(value)
    return str(value) if isinstance(carried, msgspec.msgpack.Ext) else carried


def read_extension(code: int, data: memoryview) -> int:
    """Decodes an extension: see `encode_events`."""
    if code != _WIDE:
        raise ValueError(f"extension {code} is none of ours")
    return int.from_bytes(data, "big", signed=True)


decode_events = msgspec.msgpack.Decoder(list[Event], ext_hook=read_extension).decode

HEADER_BYTES = 4


def frame(payload: bytes) -> bytes:
    """A payload with its length before it, as it goes over the socket."""
    return len(payload).to_bytes(HEADER_BYTES, "big") + payload
