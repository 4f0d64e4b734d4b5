"""A pause of a run whose disk refuses what is written.

People make room on a full disk and mount a file system that is gone, and the answers of models in
the meantime are paid for. So nothing ends: no further model call begins, rows wait in memory, and
each second the write is tried again. Only a fault that stays, a file that somebody else wrote to,
ends the run.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable

from tui_eval import clock
from tui_eval.engine.execution.finished_rows import FinishedRows
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.events import WritingMoved
from tui_eval.runs.journal import Journal
from tui_eval.runs.writer import RunWriter
from tui_eval.text.figures import refusal_text

RETRIES_EVERY_S = 1.0

_WORDS = {
    errno.ENOSPC: ("no space left", "Make room there"),
    errno.EDQUOT: ("disk quota exceeded", "Make room there"),
    errno.EFBIG: ("file too large", "Raise the limit of file sizes"),
    errno.EROFS: ("read-only file system", "Make it writable"),
    errno.EACCES: ("permission denied", "Make it writable"),
    errno.EPERM: ("operation not permitted", "Make it writable"),
    errno.ENOENT: ("it is gone", "Put it back there"),
    errno.ENOTDIR: ("it is gone", "Put it back there"),
    errno.ESTALE: (
        "another one is there now",
        "Put back what was there, or stop the run and resume it",
    ),
    errno.ETIMEDOUT: ("the disk does not answer", "See to it, or save the run elsewhere"),
}
"""Text and advice for each error."""
_OTHERWISE = "See to that disk"


class DiskPause:
    """Reports that the disk refuses, and tries again until it does not.

    Args:
        moved: Called where the run is to pause or to resume.
        notify: Gets notices, with their level, for who watches several runs.
    """

    def __init__(
        self,
        hub: Hub,
        prepared: Prepared,
        rows: FinishedRows,
        writer: RunWriter,
        journal: Journal,
        moved: Callable[[], None],
        notify: Callable[[str, str], None],
    ) -> None:
        self._hub = hub
        self._prepared = prepared
        self._rows = rows
        self._writer = writer
        self._journal = journal
        self._moved = moved
        self._notify = notify
        self._retrying: asyncio.Task[None] | None = None
        self._at_once = asyncio.Event()
        self._over = asyncio.Event()
        self._over.set()
        self.error: OSError | None = None
        """Why the disk refuses; None while it does not."""
        self._last = WritingMoved(0, 0.0, "")

    def begin(self, error: OSError) -> None:
        """The disk has refused."""
        if self.error is not None:
            return
        self.error = error
        self._over.clear()
        self._publish(error)
        why = f"{self._last.path} cannot be written, {self._last.why}"
        self._say("warning", f"Paused: {why}. {self._last.advice}: the run continues then")
        self._moved()
        self.resume()

    @property
    def text(self) -> str:
        """Why the run pauses, and what waits."""
        last = self._last
        return refusal_text(last.path, last.why, last.rows, last.records)

    def try_now(self) -> None:
        """Tries at once, on request."""
        self._at_once.set()

    async def wait(self) -> None:
        """Returns once everything is written."""
        await self._over.wait()

    def end(self) -> None:
        """Stops trying, until `resume`."""
        if self._retrying is not None:
            self._retrying.cancel()

    def resume(self) -> None:
        """Tries again from now on."""
        self._retrying = asyncio.create_task(self._try_often())

    async def _try_often(self) -> None:
        while True:
            try:
                async with asyncio.timeout(RETRIES_EVERY_S):
                    await self._at_once.wait()
            except TimeoutError:
                pass
            self._at_once.clear()
            try:
                await asyncio.to_thread(self._sync)
                self._rows.retry()
                self._journal.retry()
            except OSError as error:
                self.error = error
                self._publish(error)
            else:
                break
        self.error, self._last = None, WritingMoved(0, clock.now(), "")
        self._hub.publish(self._last)
        self._say("info", f"{self._prepared.run.path} can be written again: the run resumes")
        self._over.set()
        self._moved()

    def _sync(self) -> None:
        self._writer.sync()
        self._journal.sync()

    def _say(self, level: str, text: str) -> None:
        self._hub.notice(level, text)
        self._notify(level, text)

    def _publish(self, error: OSError) -> None:
        """Publishes why the disk refuses and what waits, where that is new."""
        path, waiting = str(self._prepared.run.path), (self._rows.waiting, self._journal.waiting)
        why, advice = _WORDS.get(error.errno or 0, (error.strerror or str(error), _OTHERWISE))
        before, now = (
            self._last,
            WritingMoved(0, clock.now(), why, path, advice, *map(len, waiting)),
        )
        if (now.why, now.path, now.rows, now.records) != (
            *(before.why, before.path, before.rows, before.records),
        ):
            self._last = now
            self._hub.publish(now)
