"""The limit on rollouts in flight that this process's open files allow."""

from __future__ import annotations

from tui_eval.errors import Notice, warning
from tui_eval.open_files import file_limit, room_for_rollouts


def within_open_files(most: int, total: int = 0) -> int:
    """A limit of rollouts, lowered where there are not enough open files for so many.

    Args:
        most: 0 or less for no limit.
        total: Rollouts of the whole run; no more than these can be in flight. 0 if not known.
    """
    most, room = max(most, 0), room_for_rollouts()
    wanted = min(most, total) if most and total else most or total
    return room if wanted > room else most


def open_file_notices(most: int, total: int = 0, name: str = "-c") -> list[Notice]:
    """A notice where a limit is lowered: see `within_open_files`.

    Args:
        name: Of the limit where it was given.
    """
    room = within_open_files(most, total)
    if room == max(most, 0):
        return []
    requested = f"{name} {most}" if most > 0 else "no limit of rollouts in flight"
    text = (
        f"{requested}: at most {room:,} rollouts are in flight, as a process may open "
        f"{file_limit():,} files here. Raise that before the start: "
        "ulimit -Hn, or the system's own setting"
    )
    return [warning(text)]
