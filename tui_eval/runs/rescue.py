"""Rescue of what a run could not write when it ended: kept elsewhere until it is resumed.

A disk that was still full at the end of a run has taken neither the last rows nor the last answers,
which are paid for. They go into the user's state directory, or the one for temporary files, under a
name that only this run's path has, and the next session on the run puts them where they belong.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from tui_eval.runs.appended_file import AppendedFile
from tui_eval.runs.file_writing import cut_name
from tui_eval.runs.layout import RunDir, unsaved_root

FOLDER = "unwritten"


def rescue(run: RunDir, rows: Sequence[bytes], records: Sequence[bytes]) -> Path:
    """Writes down lines of results.jsonl and of the journal that the disk of a run refused.

    Returns:
        The folder that has it.

    Raises:
        OSError: No folder took it.
    """
    *others, last = _folders(run)
    for folder in others:
        try:
            return _write(folder, rows, records)
        except OSError:
            continue
    return _write(last, rows, records)


def _folders(run: RunDir) -> list[Path]:
    path = run.path.resolve()
    name = f"{cut_name(path.name)}-{sha256(os.fsencode(path)).hexdigest()[:16]}"
    temporary = Path(tempfile.gettempdir()) / f"tui-eval-{os.getuid()}"
    return [root / FOLDER / name for root in (unsaved_root(), temporary)]


def _write(folder: Path, rows: Sequence[bytes], records: Sequence[bytes]) -> Path:
    for one in (folder.parent.parent, folder.parent, folder):
        one.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(folder):
        raise PermissionError(f"{folder} is another user's")
    kept = RunDir(folder)
    for path, lines in ((kept.results, rows), (kept.journal, records)):
        if lines:
            _append(path, b"".join(lines))
    return folder


def _is_own(folder: Path) -> bool:
    """Whether nobody else could have put there what is in it."""
    return all(
        (status := one.lstat()).st_uid == os.getuid() and not status.st_mode & 0o022
        for one in (folder.parent, folder)
    )


def _append(path: Path, data: bytes) -> None:
    """Appends whole lines to a file, whose last one may be torn, and flushes it."""
    file = AppendedFile(path)
    try:
        if file.size and file.read(file.size - 1, 1) != b"\n":
            data = b"\n" + data
        file.append(data)
        file.sync()
    finally:
        file.close()


def take_in(run: RunDir) -> list[str]:
    """Puts what was rescued where it belongs; for who holds the run's lock.

    Where that is cut off it is done again, and rows that are there twice are left to the repair.

    Returns:
        Sentences on what was taken in.

    Raises:
        OSError: The disk refuses still; it stays where it is.
    """
    reports = []
    for folder in _folders(run):
        if not folder.is_dir() or not _is_own(folder):
            continue
        kept, counts = RunDir(folder), []
        for source, target in ((kept.results, run.results), (kept.journal, run.journal)):
            data = source.read_bytes() if source.exists() else b""
            counts.append(data.count(b"\n"))
            if data:
                _append(target, data)
                source.unlink()  # else each try would take it in again
        shutil.rmtree(folder, ignore_errors=True)
        rows, records = counts
        reports.append(
            f"Taken in from {folder}, which the disk had refused: {rows:,} rows and {records:,} "
            "answers"
        )
    return reports
