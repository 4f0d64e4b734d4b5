"""Commands of listeners to an engine."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Subscribe(msgspec.Struct, tag="sub", array_like=True):
    """Send the messages of these rows from now on, and no others."""

    rows: list[int]


class Pause(msgspec.Struct, tag="pause", array_like=True):
    """Close the gate before every model call."""


class Unpause(msgspec.Struct, tag="unpause", array_like=True):
    """Open it again."""


class Stop(msgspec.Struct, tag="stop", array_like=True):
    """End the run now, resumably."""


class Cancel(msgspec.Struct, tag="cancel", array_like=True):
    """End one rollout; its row says so, and it runs again like any errored one."""

    row: int


class Rerun(msgspec.Struct, tag="rerun", array_like=True):
    """Run errored rollouts again: these rows; where there are none named, all of them.

    Args:
        error: Only those with this error, as `RolloutFinished.error` names it; empty for any.
    """

    rows: list[int] = []
    error: str = ""


class SetMaxConcurrent(msgspec.Struct, tag="max_concurrent", array_like=True):
    """Set the maximum number of concurrent rollouts; 0 for no limit."""

    max_concurrent: int


class Save(msgspec.Struct, tag="save", array_like=True):
    """Flush everything to the disk now."""


class SaveAs(msgspec.Struct, tag="saveas", array_like=True):
    """While the disk refuses: put all of the run into a new directory, and continue there."""

    path: str


class Detach(msgspec.Struct, tag="detach", array_like=True):
    """This listener leaves and the run continues."""


Command: TypeAlias = (
    Subscribe | Pause | Unpause | Stop | Cancel | Rerun | SetMaxConcurrent | Save | SaveAs | Detach
)

encode_command = msgspec.msgpack.Encoder().encode
decode_command = msgspec.msgpack.Decoder(Command).decode
