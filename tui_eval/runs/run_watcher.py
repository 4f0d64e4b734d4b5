"""Finding runs again and again: what has not changed on disk is not read again."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterable
from pathlib import Path

from tui_eval.runs.discovery import FoundRun, describe, measured, run_dirs
from tui_eval.runs.layout import RunDir, unsaved_root
from tui_eval.runs.lock import holder

MEASURED_BYTES = 1 << 20
"""Of a run whose metadata has no numbers yet; those of a larger one are reported when it ends."""


class RunWatcher:
    """Remembers what it saw; call it off a screen's loop, from one thread at a time.

    Args:
        paths: Besides the usual folders: see `discovery.find_runs`.
    """

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._paths = list(paths)
        self._seen: dict[Path, tuple[Hashable, FoundRun | None]] = {}

    def look(self) -> list[FoundRun]:
        """All runs that there are now, in no order."""
        seen = {}
        for run in run_dirs(self._paths):
            signature = _signature(run)
            known = self._seen.get(run.place)
            same = known is not None and known[0] == signature
            seen[run.place] = known if known and same else (signature, _described(run))
        self._seen = seen
        return [one for _, one in seen.values() if one is not None]


def _described(run: RunDir) -> FoundRun | None:
    found = describe(run)
    if found is None or found.reward is not None or not found.done or not run.is_ours:
        return found
    with contextlib.suppress(OSError):
        if run.results.stat().st_size <= MEASURED_BYTES:
            return measured(found)
    return found


def _signature(run: RunDir) -> Hashable:
    """A value that differs once anything differs that a list shows of a run."""
    held = holder(run.lock) if run.is_ours else None
    return (held, *(_stat(path) for path in (run.results, run.metadata, run.plan)))


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


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
