"""The files of a run at work, as one: its rows, their index, and its journal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec

from tui_eval.config.plan import plan_to_toml
from tui_eval.engine.execution.disk_pause import DiskPause
from tui_eval.engine.execution.finished_rows import FinishedRows
from tui_eval.engine.execution.host import Host
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.appended_file import FileChangedError
from tui_eval.runs.journal import Journal
from tui_eval.runs.layout import EVALS, RunDir, unsaved_root
from tui_eval.runs.lock import LockHeldError, RunLock
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.rescue import note_continued, rescue
from tui_eval.runs.writer import RunWriter, write_atomically
from tui_eval.text.figures import plural


class Unwritten(msgspec.Struct):
    """Lines that the disk had not taken at the end of a run.

    Args:
        why: Why it did not; empty where all is written.
        rescued: Where they are instead, to be appended.
        error: The disk's error.
    """

    why: str = ""
    rescued: str = ""
    error: OSError | None = None


class RunFiles:
    """The open files of a run, which pauses while the disk refuses.

    `disk` says whether it does.

    Args:
        moved: Called where the run is to pause or to resume.
        failed: Called where it cannot continue; gets why.

    Raises:
        OSError: The files cannot be written.
    """

    def __init__(
        self,
        prepared: Prepared,
        hub: Hub,
        redact: Redactor,
        host: Host,
        moved: Callable[[], None],
        failed: Callable[[str, OSError], None],
    ) -> None:
        self._prepared = prepared
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._waits_for_disk = host.is_own  # a program gets the error
        self._folder = os.open(prepared.run.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.writer = RunWriter(prepared.run, redact)
        self.journal = Journal(prepared.run, redact, self.writer.sync_soon, self._refused)
        self.writer.also_sync = self.journal.sync
        self.writer.sync_failed = self._sync_failed
        self.rows = FinishedRows(hub, self.writer, self.journal, self._refused)
        files = self.rows, self.writer, self.journal
        self.disk = DiskPause(hub, prepared, *files, moved, host.notify)

    def _refused(self, error: OSError) -> None:
        if self._waits_for_disk and not isinstance(error, FileChangedError):
            self.disk.begin(error)
        else:
            self._failed(self.cannot_write(error), error)

    def _sync_failed(self, error: OSError) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._refused, error)

    def cannot_write(self, error: OSError) -> str:
        """Why the run cannot continue."""
        return f"{self._prepared.run.path} cannot be written: {error.strerror or error}"

    async def save_as(self, target: Path) -> None:
        """Copies the run to another directory and continues there, with the lines that wait.

        Raises:
            RefusedError: The disk refuses nothing, or the directory cannot be written; then the
                run waits as before.
        """
        if self.disk.error is None or self.rows.is_held:
            what = "only a run that waits for its disk can be saved elsewhere as a whole"
            raise RefusedError([Fault(str(target), what, "Copy it")])
        prepared = self._prepared
        self.disk.end()
        self.journal.hold()
        self.rows.hold()
        try:
            made = await asyncio.to_thread(
                _copy_elsewhere, prepared, self._folder, self.writer, self.journal, target
            )
        finally:
            self.rows.release_later()
            self.disk.resume()
        self._continue_in(*made)
        self.disk.try_now()

    def _continue_in(self, run: RunDir, lock: RunLock) -> None:
        """Writes from now on to another directory, which has a copy of the files."""
        before, self._prepared.run, self._prepared.lock = self._prepared.lock, run, lock
        self.writer.move_to(run)
        self.journal.move_to(run.journal)
        before.release()
        with contextlib.suppress(OSError):  # then both are known by one name
            self._rename_session()

    def _rename_session(self) -> None:
        """Gives the session another name than the one in the directory that it has left."""
        run, plan = self._prepared.run, self._prepared.plan
        before, session = plan.session, uuid.uuid4().hex
        renamed = plan.model_copy(update={"session": session})
        write_atomically(run.plan, plan_to_toml(renamed).encode())
        plan.session = session
        note_continued(before, run.path)

    def close(self) -> Unwritten:
        """Writes the lines that wait and closes the files; removed ones are written elsewhere."""
        self.disk.end()
        unwritten = Unwritten()
        if self.writer.is_removed or self.journal.is_removed:
            unwritten.rescued = self._save_whole()
        os.close(self._folder)
        for close in (self.rows.retry, self.journal.close, self.writer.close):
            try:
                close()
            except OSError as error:
                unwritten.error = unwritten.error or error
        if unwritten.error is not None:
            unwritten.why = self.cannot_write(unwritten.error)
        unwritten.rescued += self._rescued()
        return unwritten

    def _save_whole(self) -> str:
        """Saves a run whose files somebody removed among unsaved ones; returns where."""
        path, prepared = self._prepared.run.path, self._prepared
        target = unsaved_root() / EVALS / path.parent.name / f"{path.name}-kept"
        files = self._folder, self.writer, self.journal
        try:
            self._continue_in(*_copy_elsewhere(prepared, *files, target))
        except (RefusedError, OSError) as error:
            return f"; what it had is lost: {error}"
        return f"; all of it is in {target}"

    def emergency_close(self) -> Unwritten:
        """Closes the rows' file from another thread, while the loop is held; see `close`."""
        unwritten = Unwritten()
        try:
            self.writer.close()
        except OSError as error:
            unwritten.why = self.cannot_write(error)
        unwritten.rescued = self._rescued()
        return unwritten

    def _rescued(self) -> str:
        rows, records = self.rows.waiting, self.journal.waiting
        if not rows and not records:
            return ""
        what = f"{plural(len(rows), 'row')} and {plural(len(records), 'answer')}"
        try:
            folder = rescue(self._prepared.plan.session, rows, records)
        except OSError as error:
            return f"; {what} are lost: no other place took them ({error})"
        return f"; {what} of it are in {folder}, and a resume takes them in"


def _copy_elsewhere(
    prepared: Prepared, folder: int, writer: RunWriter, journal: Journal, target: Path
) -> tuple[RunDir, RunLock]:
    """Makes a directory that has all of the run but the lines that wait.

    Nobody may write the files meanwhile. They are read through the descriptors that the engine
    holds, so that a run whose directory was moved or removed can be saved as well.

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
