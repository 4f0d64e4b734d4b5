"""Which run somebody looked at last, kept beside the runs that nobody saved."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tui_eval.runs.layout import unsaved_root

NAME = "last-seen"


def note_seen(run: str) -> None:
    """Notes that somebody looked at a run just now; a disk that takes nothing is no trouble."""
    with contextlib.suppress(OSError, UnicodeEncodeError):
        root = unsaved_root()
        root.mkdir(parents=True, exist_ok=True)
        (root / NAME).write_text(str(Path(run).absolute()), encoding="utf-8")


def last_seen() -> tuple[Path, float] | None:
    """The run, and when it was looked at in unix seconds; None where nothing is known."""
    file = unsaved_root() / NAME
    try:
        return Path(file.read_text(encoding="utf-8")), file.stat().st_mtime
    except (OSError, UnicodeDecodeError):
        return None
