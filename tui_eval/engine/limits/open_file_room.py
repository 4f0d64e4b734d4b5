"""The maximum number of concurrent rollouts that this process's open files allow."""

from __future__ import annotations

from tui_eval.errors import Notice, warning
from tui_eval.open_files import file_limit, room_for_rollouts


def within_open_files(max_concurrent: int, total: int = 0) -> int:
    """`max_concurrent`, lowered where there are not enough open files for so many.

    Args:
        max_concurrent: 0 or less for no limit.
        total: Rollouts of the whole run; no more than these can be in flight. 0 if not known.
    """
    max_concurrent, room = max(max_concurrent, 0), room_for_rollouts()
    wanted = min(max_concurrent, total) if max_concurrent and total else max_concurrent or total
    return room if wanted > room else max_concurrent


def open_file_notices(max_concurrent: int, total: int = 0, name: str = "-c") -> list[Notice]:
    """A notice where a limit is lowered: see `within_open_files`.

    Args:
        name: Of the limit where it was given.
    """
    room = within_open_files(max_concurrent, total)
    if room == max(max_concurrent, 0):
        return []
    is_limited = max_concurrent > 0
    requested = f"{name} {max_concurrent}" if is_limited else "no limit of rollouts in flight"
    text = (
        f"{requested}: at most {room:,} rollouts are in flight, as a process may open "
        f"{file_limit():,} files here. Raise that before the start: "
        "ulimit -Hn, or the system's own setting"
    )
    return [warning(text)]
