"""A run copied to another place, also while an engine writes it."""

from __future__ import annotations

import shutil
from pathlib import Path

from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.file_writing import cut_name
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import LockHeldError, RunLock
from tui_eval.runs.scan import decode_row

BLOCK = 1 << 20


def copy_run(run: RunDir, target: Path) -> RunDir:
    """Copies a run as it is now to a new directory: every row that is whole, and what is beside it.

    The lock and the index stay behind; the index is made again.

    Raises:
        RefusedError: The target is there already or cannot be written.
    """
    partial = RunDir(target.with_name(f".{cut_name(target.name)}.partial"))
    try:
        if target.exists():
            raise FileExistsError("it is there already")
        # It may be there from one that was killed.
        partial.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = RunLock(partial.lock, "")
        try:
            _copy_files(run, partial)
            partial.path.rename(target)
            RunDir(target).lock.unlink()
        except OSError:
            shutil.rmtree(partial.path, ignore_errors=True)
            raise
        finally:
            lock.release()
    except OSError as error:
        what = f"the run could not be copied here: {error.strerror or error}"
        raise RefusedError([Fault(str(target), what, "Name another path")]) from error
    except LockHeldError as error:
        what = f"{error.held} is copying a run to this path"
        raise RefusedError([Fault(str(target), what, "Name another path")]) from error
    return RunDir(target, run.name)


def _copy_files(run: RunDir, copy: RunDir) -> None:
    for path in copy.path.iterdir():
        if path != copy.lock:
            path.unlink()
    for path in run.files[:-1]:
        if path.exists():
            shutil.copy2(path, copy.path / path.name)
    _copy_lines(run.results, copy.path / run.results.name)


def _copy_lines(source: Path, target: Path) -> None:
    """Copies a file without what is behind its last whole line, unless that is a row."""
    with open(source, "rb") as lines, open(target, "w+b") as copy:
        whole = 0
        while block := lines.read(BLOCK):
            copy.write(block)
            if b"\n" in block:
                whole = copy.tell() - len(block) + block.rindex(b"\n") + 1
        copy.seek(whole)
        try:
            decode_row(copy.read() or b"{}")
        except (ValueError, RecursionError):
            copy.truncate(whole)
