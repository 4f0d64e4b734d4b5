"""A run in the process and on the loop of the program that calls it, with its callbacks."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from tui_eval.config.secret_values import secret_texts
from tui_eval.engine.execution.host import Host
from tui_eval.engine.execution.session import Session
from tui_eval.engine.limits.limits import Limits
from tui_eval.engine.python_api import prepare_call
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.environments import environment
from tui_eval.errors import RefusedError
from tui_eval.events import Event, Noticed, RolloutFinished, RunFinished
from tui_eval.runs.hub_push import push_run, retry
from tui_eval.runs.layout import RunDir, is_unsaved
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.scan import decode_row
from tui_eval.runs.unsaved import prune
from tui_eval.types import GenerateMetadata, GenerateOutputs, RolloutOutput
from tui_eval.worker.replicas import Replicas

if TYPE_CHECKING:
    from tui_eval.environments.environment import Environment
    from tui_eval.environments.evaluation import GenerateRequest

log = logging.getLogger("tui_eval.engine")

CANCELS_WITHIN_S = 30.0


async def run_in_process(env: Environment, request: GenerateRequest) -> GenerateOutputs:
    """Implements `Environment.generate`.

    Nothing of the process is changed: no signal handler, no output, no logging, and the
    environment is not torn down.

    Raises:
        RefusedError: The run cannot begin.
        RuntimeError: It did not reach its end.
    """
    replicas = Replicas([request.client], environment.resolve_client)
    try:
        await replicas.open()
        base_url = ",".join(dict.fromkeys(url for url in replicas.urls if url))
        prepared = prepare_call(env, request, base_url)
        return await _work(prepared, request, replicas)
    finally:
        await replicas.close()


async def _work(
    prepared: Prepared, request: GenerateRequest, replicas: Replicas
) -> GenerateOutputs:
    redact = Redactor.of_process([*replicas.keys, *secret_texts(prepared.plan.env_args),
                       *secret_texts(prepared.plan.sampling_args)])  # fmt: skip
    try:
        progress = Progress(prepared, request)
        hub = Hub()
        hub.on_event = progress.handle
        limits = Limits.of(prepared.plan, prepared.started.total, len(replicas), hub.publish)
        host = Host(False, CANCELS_WITHIN_S)
        session = Session(hub, prepared, redact, replicas, host, limits)
    except OSError as error:
        prepared.lock.release()
        raise RuntimeError(f"{prepared.run.path} cannot be written: {error}") from error

    def metadata() -> GenerateMetadata:
        path = str(prepared.run.path)
        return cast(GenerateMetadata, {**session.metadata.now(), "path_to_save": path})

    progress.metadata = metadata
    progress.begin()
    if is_unsaved(prepared.run):
        _prune_once()
    await _run_to_end(session, hub, prepared)
    places = [(hub.state.offset[row], hub.state.length[row]) for row in _in_order(prepared)]
    got = GenerateOutputs(outputs=progress.read(places), metadata=metadata())
    if request.push_to_hf_hub:
        await asyncio.to_thread(_push, prepared.run, request.hf_hub_dataset_name)
    return got


async def _run_to_end(session: Session, hub: Hub, prepared: Prepared) -> None:
    task = asyncio.current_task()
    cancelled_before = task.cancelling() if task else 0
    end = await session.run()
    if task is not None and task.cancelling() > cancelled_before:
        raise asyncio.CancelledError
    if end.status != "finished":
        raise _failure(session, end, hub, prepared)


def _failure(session: Session, end: RunFinished, hub: Hub, prepared: Prepared) -> Exception:
    if isinstance(session.cause, RefusedError):
        return session.cause
    why = f"the run failed: {end.text}" if end.text else "the run was stopped"
    done = f"{hub.state.finished} of {hub.state.total} rollouts are done"
    error = RuntimeError(f"{why}; {done} and in {prepared.run.path}")
    error.__cause__ = session.cause
    return error


def _in_order(prepared: Prepared) -> list[int]:
    """The places of all rollouts, sorted by the ids of their examples."""
    examples = prepared.examples
    ids = examples.ids()
    return sorted(range(examples.total), key=lambda row: ids[examples.example(row)])


@functools.cache
def _prune_once() -> None:
    threading.Thread(target=prune, name="tui-eval-prune", daemon=True).start()


def _push(run: RunDir, name: str | None) -> None:
    """Pushes a run to the Hugging Face hub; a failure is logged."""
    try:
        push_run(run, name)
    except RefusedError as error:
        log.error("%s. The rollouts are in %s. Try again: %s", error, run.path, retry(run, name))


class Progress:
    """Calls a program's callbacks; their exceptions are logged.

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
        """Reports the run's directory and size."""
        self._say(f"The run is in {self._prepared.run.path}")
        for notice in self._prepared.notices:
            self._say(notice.text)
        if self._request.on_start is not None:
            assert self._prepared.loaded is not None, "a program has loaded its environment"
            examples, todo = self._prepared.loaded.examples, self._prepared.todo
            every = [examples.input(row) for row in range(examples.total)]
            self._call(self._request.on_start, every, [every[row] for row in todo])

    def handle(self, event: Event) -> None:
        """Takes in an event of the run."""
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
