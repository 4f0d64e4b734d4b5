"""Callbacks of a program's run, and the outputs that it gets."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from tui_eval.engine.setup.prepared import Prepared
from tui_eval.events import Event, Noticed, RolloutFinished
from tui_eval.runs.scan import decode_row
from tui_eval.types import GenerateMetadata, RolloutOutput

if TYPE_CHECKING:
    from tui_eval.environments.evaluating import GenerateRequest

log = logging.getLogger("tui_eval.engine")


class Progress:
    """Calls a program's callbacks; what one raises is logged.

    `metadata` makes the run's metadata as it is now.
    """

    def __init__(self, prepared: Prepared, request: GenerateRequest) -> None:
        self.metadata: Callable[[], GenerateMetadata] = lambda: cast(GenerateMetadata, {})
        self._prepared = prepared
        self._request = request
        self._alone = request.independent_scoring
        self._waiting: defaultdict[int, list[RolloutFinished]] = defaultdict(list)
        self._done_before: Counter[int] = Counter()
        self._outputs: list[RolloutOutput] = []
        if request.on_progress:
            self._outputs = self.read((e.offset, e.length) for e in prepared.done)
            self._done_before.update(prepared.examples.example(e.row) for e in prepared.done)

    def begin(self) -> None:
        """Says where the run is and what it will do."""
        self._say(f"The run is in {self._prepared.run.path}")
        for notice in self._prepared.notices:
            self._say(notice.text)
        if self._request.on_start is not None:
            assert self._prepared.loaded is not None, "a program has loaded its environment"
            examples, todo = self._prepared.loaded.examples, self._prepared.todo
            every = [examples.input(row) for row in range(examples.total)]
            self._call(self._request.on_start, every, [every[row] for row in todo])

    def handle(self, event: Event) -> None:
        """Takes in a fact of the run."""
        if isinstance(event, RolloutFinished) and self._request.on_progress:
            self._finished(event)
        elif isinstance(event, Noticed):
            self._say(event.text)

    def _finished(self, event: RolloutFinished) -> None:
        examples = self._prepared.examples
        example = examples.example(event.row)
        waiting = self._waiting[example]
        waiting.append(event)
        left = examples.size(example) - self._done_before[example] - len(waiting)
        if left > 0 and not self._alone:
            return
        new = self.read((one.offset, one.length) for one in self._waiting.pop(example))
        self._done_before[example] += len(new)
        self._outputs += new
        metadata = self.metadata()
        for callback in self._request.on_progress:
            self._call(callback, self._outputs, new, metadata)

    def read(self, places: Iterable[tuple[int, int]]) -> list[RolloutOutput]:
        """The rows at these places (offset and length in bytes) of results.jsonl."""
        found = []
        with open(self._prepared.run.results, "rb") as file:
            for offset, length in places:
                file.seek(offset)
                found.append(RolloutOutput(decode_row(file.read(length))))
        return found

    def _say(self, text: str) -> None:
        log.info(text)
        if self._request.on_log is not None:
            self._call(self._request.on_log, text)

    def _call(self, callback: Callable[..., Any], *args: Any) -> None:
        try:
            callback(*args)
        except Exception:
            log.exception("a callback of the run raised")
