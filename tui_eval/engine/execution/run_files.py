"""What a run writes while it is worked on, as one: its rows, their index, and its journal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from tui_eval.engine.execution.disk_pause import DiskPause
from tui_eval.engine.execution.finished_rows import FinishedRows
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.runs.appended_file import FileChangedError
from tui_eval.runs.journal import Journal
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.rescue import rescue
from tui_eval.runs.writer import RunWriter
from tui_eval.text.figures import plural


class RunFiles:
    """Opens the files of a run; pauses it while the disk refuses.

    `disk` says whether it does.

    Args:
        moved: Is called where the run is to pause, and where it is to go on.
        failed: Is called where it cannot go on; gets why.

    Raises:
        OSError: The files cannot be written.
    """

    def __init__(
        self,
        prepared: Prepared,
        hub: Hub,
        redact: Redactor,
        moved: Callable[[], None],
        failed: Callable[[str, OSError], None],
    ) -> None:
        self._prepared = prepared
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self.waits_for_disk = True
        """Whether a disk that refuses pauses the run; else it fails."""
        self.writer = RunWriter(prepared.run, redact)
        self.journal = Journal(prepared.run, redact, self.writer.sync_soon, self._refused)
        self.writer.also_sync = self.journal.sync
        self.writer.sync_failed = self._sync_failed
        self.rows = FinishedRows(hub, self.writer, self.journal, self._refused)
        self.disk = DiskPause(
            hub,
            lambda: prepared.run.path,
            moved,
            self._retry,
            self._sync,
            lambda: (len(self.rows.waiting), len(self.journal.waiting)),
        )

    def _refused(self, error: OSError) -> None:
        if self.waits_for_disk and not isinstance(error, FileChangedError):
            self.disk.begin(error)
        else:
            self._failed(self.cannot_write(error), error)

    def _sync_failed(self, error: OSError) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._refused, error)

    def cannot_write(self, error: OSError) -> str:
        """Why the run cannot go on."""
        return f"{self._prepared.run.path} cannot be written: {error.strerror or error}"

    def _retry(self) -> None:
        self.rows.retry()
        self.journal.retry()

    def _sync(self) -> None:
        self.writer.sync()
        self.journal.sync()

    def close(self) -> tuple[str, OSError | None]:
        """Writes what waits and closes the files.

        Returns:
            What is not written, where it is instead, and why; nothing where all is.
        """
        self.disk.end()
        refused: OSError | None = None
        for close in (self.rows.retry, self.journal.close, self.writer.close):
            try:
                close()
            except OSError as error:
                refused = refused or error
        if refused is None:
            return "", None
        return self.cannot_write(refused) + self._rescued(), refused

    def emergency_close(self) -> str:
        """Closes the rows' file from another thread, while the loop is held; see `close`."""
        why = ""
        try:
            self.writer.close()
        except OSError as error:
            why = self.cannot_write(error)
        return why + self._rescued()

    def _rescued(self) -> str:
        rows, records = self.rows.waiting, self.journal.waiting
        if not rows and not records:
            return ""
        what = f"{plural(len(rows), 'row')} and {plural(len(records), 'answer')}"
        try:
            folder = rescue(self._prepared.run, rows, records)
        except OSError as error:
            return f"; {what} are lost: no other place took them ({error})"
        return f"; {what} of it are in {folder}, and a resume takes them in"
