"""Events of an engine's own, of its evaluations, and of a conversation that somebody follows."""

from __future__ import annotations

from typing import Any

import msgspec


class TimedEvent(msgspec.Struct, array_like=True):
    """First fields of most events: `seq`, the number in the run, and `at`, unix seconds."""

    seq: int
    at: float


class GateMoved(TimedEvent, tag="gate"):
    """The gate before every model call: `open`, or closed with so many calls still in flight."""

    open: bool
    in_flight: int


class WritingMoved(TimedEvent, tag="write"):
    """Whether the disk takes what the run writes: it pauses as long as that is refused.

    Args:
        why: What the disk says, in a few words; empty once it takes everything again.
        path: Of the run or the file that cannot be written.
        advice: What lets it continue, as a sentence without its stop.
        rows, records: Finished rollouts, and answers and other records of those in flight, that
            wait in memory.
    """

    why: str
    path: str = ""
    advice: str = ""
    rows: int = 0
    records: int = 0


class EngineSampled(TimedEvent, tag="eng"):
    """The load of the engine itself: CPU seconds since its start, loop lag, private memory."""

    cpu_s: float
    lag_ms: float
    memory_mb: float
    finished: int


class WorkerSeen(msgspec.Struct, array_like=True):
    """One worker of a run.

    Args:
        state: `starting`, `at work` or `leaving`.
        rollouts: The number that it runs, or has waiting for their group.
        memory_mb: Its private memory.
        still_since: Unix seconds since when its loop has not come round; 0 where it moves.
        held_at: The place at which people's code holds it, where that is known.
    """

    pid: int
    state: str
    rollouts: int
    memory_mb: float
    still_since: float = 0.0
    held_at: str = ""


class WorkersSeen(TimedEvent, tag="workers"):
    """All workers of a run as they are now; reported where one comes, goes, stops or moves."""

    workers: list[WorkerSeen]


class ConcurrencyMoved(TimedEvent, tag="conc"):
    """The maximum of concurrently generated rollouts at one endpoint was changed.

    Args:
        place: The endpoint, in the order of the plan.
        limit: The number that holds now; `max_concurrent` is what was requested, 0 for no limit.
        refused: Requests of this run that it answered with status 429 or 529 in this session.
    """

    place: int
    limit: int
    max_concurrent: int
    refused: int


class ReplicaMoved(TimedEvent, tag="replica"):
    """One of several endpoints is taken out, probed once more, or put back.

    Args:
        place: In the order of the plan.
        out_since: Unix seconds since when it is out; 0 where it is back.
        why: The fault of requests there, or of the last probe.
        probe_at: Unix seconds of the next probe.
    """

    place: int
    url: str
    out_since: float = 0.0
    why: str = ""
    probe_at: float = 0.0


class MaxConcurrentChanged(TimedEvent, tag="max_concurrent"):
    """The maximum number of concurrent rollouts was changed, from `before`; 0 for no limit."""

    max_concurrent: int
    before: int


class ListedEvaluation(msgspec.Struct, array_like=True):
    """One evaluation of a suite, as its file describes it.

    Args:
        title: Its name for people.
        varies: Settings that differ between the evaluations, and their text.
        total: Rollouts that it requests; 0 where its environment decides how many examples it has.
    """

    title: str
    env_id: str
    model: str
    varies: dict[str, str]
    total: int


class SuiteStarted(TimedEvent, tag="suite"):
    """Several evaluations that one engine works through, in their order; reported at the root
    socket.

    Each has a run directory and a socket of its own, at which it says all else.

    Args:
        at: 0 where nobody was there: they are read from the disk.
        max_concurrent: Maximum number of concurrent rollouts over all evaluations; 0 for no limit.
        words: Arguments beside the file and `--resume` that resume them.
        budgets: Flags of what they may spend together, which hold this time alone.
        is_edited: Whether their settings are not those of the file, but were changed in a form.
    """

    path: str
    evaluations: list[ListedEvaluation]
    max_concurrent: int
    words: list[str] = []
    budgets: list[str] = []
    is_edited: bool = False


class EvaluationMoved(TimedEvent, tag="eval"):
    """The progress of one evaluation of a suite; a later one replaces an earlier one.

    Args:
        index: Its place in `SuiteStarted.evaluations`.
        status: `waiting`, `running`, then as its `RunFinished` says, or `refused`; `cut off` where
            the disk says that its engine ended in the midst of it.
        path: Its run directory, and `socket` where it can be joined; empty while there is none.
        reward: Mean over rollouts without an error, `reward_std` its standard deviation, `low` and
            `high` the ends of its 95 % interval; None where there is none. `interval_name` says
            what that is.
        cost: US dollars; None where no price is known.
        list_price: See `RunStarted`.
        elapsed_s: Seconds that were worked on it.
        text: Why it failed or was refused.
        saved: False where its run lives in the state directory until somebody saves it.
        sleeping: Rollouts that wait to be tried again, the first of them at `again_at`, unix
            seconds; `cause` is why the last one had to.
    """

    index: int
    status: str
    path: str = ""
    socket: str = ""
    total: int = 0
    finished: int = 0
    errored: int = 0
    running: int = 0
    reward: float | None = None
    low: float | None = None
    high: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    elapsed_s: float = 0.0
    text: str = ""
    saved: bool = True
    sleeping: int = 0
    cause: str = ""
    again_at: float = 0.0
    reward_std: float | None = None
    list_price: str = ""
    interval_name: str = ""


class MessagesAdded(TimedEvent, tag="msgs"):
    """Messages of a running rollout, for listeners that subscribed to it.

    `first` is the place of the first message in the conversation, the prompt included: 0 starts
    the conversation again, as a subscription and a second attempt do. Messages are dicts in the
    shape of results.jsonl, and so are `steps`, the model calls from `first_step` on that they say
    the time and tokens of.
    """

    row: int
    attempt: int
    first: int
    prompt_length: int
    messages: list[dict[str, Any]]
    first_step: int = 0
    steps: list[dict[str, Any]] = []


class ToolFinished(TimedEvent, tag="tool"):
    """One tool call of a subscribed rollout ended; `result` is the content of its message.

    `traceback` is that of its error, `output` what it printed and logged.
    """

    row: int
    call_id: str
    name: str
    ms: float
    error: str | None
    result: Any
    traceback: str = ""
    output: str = ""


class TextAdded(TimedEvent, tag="text", gc=False):
    """More of an answer that a subscribed rollout is just getting; its message comes whole later.

    Args:
        call: Number of the streamed answer in the rollout; a greater one begins again.
        kind: `reasoning`, `text` or `tool`.
        first: Place of the text's first character among all of its kind; where it is beyond what
            was reported before, some was left out.
    """

    row: int
    call: int
    kind: str
    first: int
    text: str
