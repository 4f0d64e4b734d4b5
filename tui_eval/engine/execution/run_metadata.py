"""The metadata.json of a run at work."""

from __future__ import annotations

import asyncio
import errno
import json
import threading
import time
from typing import Any

from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.open_files import keep_spare
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.row_places import KEY, unfinished_object
from tui_eval.runs.summary_json import build_metadata
from tui_eval.runs.writer import write_metadata

WRITTEN_EVERY_S = 1.0


class RunMetadata:
    """Writes the metadata of a run beside its rows; time counts from here."""

    def __init__(self, prepared: Prepared, hub: Hub, redact: Redactor) -> None:
        self._prepared = prepared
        self._hub = hub
        self._redact = redact
        self._began = time.monotonic()
        self._refused = ""
        self._latest = 0
        self._turn = threading.Lock()

    def now(self) -> dict[str, Any]:
        """The metadata as they are at this moment."""
        self._hub.flush()
        passed = (time.monotonic() - self._began) * 1000
        known = {
            "time_ms": self._prepared.time_before_ms + passed,
            "state_columns": self._prepared.plan.state_columns,
            "version_info": {"env_version": self._prepared.info.version},
            "tools": self._prepared.tools,
        }
        return build_metadata(self._hub.state, known) | self._extra()

    def write(self) -> None:
        """Writes them to disk."""
        try:
            self._put(self._next(), self._prepared.run, self.now())
            keep_spare()
        except OSError as error:
            self._report(error)

    def _next(self) -> int:
        self._latest += 1
        return self._latest

    def _put(self, number: int, run: RunDir, metadata: dict[str, Any]) -> None:
        """Writes them, unless later ones are written or about to be."""
        with self._turn:
            if number == self._latest:
                write_metadata(run, metadata, self._redact)

    def _report(self, error: OSError) -> None:
        """Reports why the file cannot be written, once for each reason that no pause reports."""
        is_reported = self._hub.state.refusal is not None or error.errno == errno.ENOENT
        if str(error) != self._refused and not is_reported:
            self._refused = str(error)
            self._hub.notice("warning", f"metadata.json: {error}")

    async def write_often(self) -> None:
        """Writes them whenever a count has moved, until it is cancelled.

        Nothing is written while the disk refuses: a directory that is gone may be another one's.
        It writes in a thread: a slow disk holds up nobody.
        """
        written = self._counted()
        while True:
            await asyncio.sleep(WRITTEN_EVERY_S)
            counted = self._counted()
            if counted == written or self._hub.state.refusal is not None:
                continue
            written = counted
            try:
                what = self._next(), self._prepared.run, self.now()
                await asyncio.to_thread(self._put, *what)
                keep_spare()
            except OSError as error:
                self._report(error)

    def _counted(self) -> tuple[int, int, int | None]:
        state = self._hub.state
        return state.finished, state.tokens, state.refused_requests

    def _extra(self) -> dict[str, Any]:
        """Keys that only some runs have."""
        examples = self._prepared.examples
        extra: dict[str, Any] = {}
        if examples.groups:
            shape = {"num_examples": len(examples), "rollouts_per_example": examples.most}
            extra |= {**shape, "uneven_groups": True}
        moves = [one for one in self._prepared.plan.changes if one.name == "max_concurrent"]
        if moves:
            extra["max_concurrent_moves"] = [
                {"at": one.at, "before": json.loads(one.before), "now": json.loads(one.now)}
                for one in moves
            ]
        if unfinished := self._unfinished():
            extra[KEY] = unfinished
        return extra

    def _unfinished(self) -> list[dict[str, Any]]:
        """Tokens of rollouts without a row: those in flight, and those that restart."""
        state, examples = self._hub.state, self._prepared.examples
        ids, found = examples.ids(), []
        for row in sorted(state.usage.lost.keys() | self._hub.active.keys()):
            tokens = state.used_by(row)
            if any(tokens):
                found.append(
                    unfinished_object(
                        ids[examples.example(row)],
                        examples.number(row),
                        row if examples.groups else None,
                        tokens,
                    )
                )
        return found
