"""A run put into another directory while it is at work: what is on disk, and what only memory has.

The files are read through the descriptors that the engine holds, so that a run whose directory was
moved or removed can be saved as well.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from tui_eval.config.plan import plan_to_toml
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.journal import Journal
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import LockHeldError, RunLock
from tui_eval.runs.writer import RunWriter, write_atomically


def copy_elsewhere(
    prepared: Prepared, folder: int, writer: RunWriter, journal: Journal, target: Path
) -> tuple[RunDir, RunLock]:
    """Makes a directory that has all of the run but what waits to be written.

    Nobody may write the files meanwhile.

    Args:
        folder: Descriptor of the run's directory.

    Returns:
        The directory, and its lock, which is held.

    Raises:
        RefusedError: It is there already, or cannot be written.
    """
    run = RunDir(target)
    try:
        target.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise _refused(target, error) from error
    try:
        lock = RunLock(run.lock, prepared.lock.socket)
        try:
            _copy(prepared, folder, writer, journal, run)
        except BaseException:
            lock.release()
            raise
    except (OSError, LockHeldError) as error:
        shutil.rmtree(target, ignore_errors=True)
        raise _refused(target, error) from error
    return RunDir(target.resolve()), lock


def _copy(
    prepared: Prepared, folder: int, writer: RunWriter, journal: Journal, run: RunDir
) -> None:
    writer.copy_to(run)
    journal.copy_to(run.journal)
    write_atomically(run.plan, plan_to_toml(prepared.plan).encode())
    for path in (run.superseded, run.versions, run.metadata, run.notes, run.log):
        with contextlib.suppress(FileNotFoundError):
            _copy_file(folder, path)


def _copy_file(folder: int, target: Path) -> None:
    """Copies a file of an open directory, wherever that is by now."""
    with (
        open(os.open(target.name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder), "rb") as source,
        target.open("xb") as copy,
    ):
        target.chmod(0o600)
        shutil.copyfileobj(source, copy)


def _refused(target: Path, error: Exception) -> RefusedError:
    why = (error.strerror if isinstance(error, OSError) else "") or str(error)
    return RefusedError([Fault(str(target), f"the run cannot be saved here: {why}")])
