"""The one language between engine and listeners: what happened, and what is requested.

Every event has `seq`, its number in the run (0 where it is reported to one listener only), and most
have `at`, unix seconds. A finished rollout is reported once and never dropped; a stage is a
snapshot of its row, so that a later one replaces an earlier one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeAlias

import msgspec

from tui_eval.engine_events import ConcurrencyMoved as ConcurrencyMoved
from tui_eval.engine_events import EngineSampled as EngineSampled
from tui_eval.engine_events import EvaluationMoved as EvaluationMoved
from tui_eval.engine_events import GateMoved as GateMoved
from tui_eval.engine_events import ListedEvaluation as ListedEvaluation
from tui_eval.engine_events import MaxConcurrentChanged as MaxConcurrentChanged
from tui_eval.engine_events import MessagesAdded as MessagesAdded
from tui_eval.engine_events import ReplicaMoved as ReplicaMoved
from tui_eval.engine_events import SuiteStarted as SuiteStarted
from tui_eval.engine_events import TextAdded as TextAdded
from tui_eval.engine_events import TimedEvent
from tui_eval.engine_events import ToolFinished as ToolFinished
from tui_eval.engine_events import WorkerSeen as WorkerSeen
from tui_eval.engine_events import WorkersSeen as WorkersSeen
from tui_eval.engine_events import WritingMoved as WritingMoved

PROTOCOL = 3

HEAD = 200
"""Characters of a question and of an answer that lists can be searched for."""


class Stage(IntEnum):
    """The stages of a rollout. The first three do not hold a slot."""

    WAITING = 0
    SLEEPING = 1
    GENERATED = 2
    SETUP = 3
    HELD = 4
    MODEL = 5
    TOOL = 6
    SCORING = 7
    DONE = 8
    ERROR = 9


class RunStarted(TimedEvent, tag="run"):
    """The settings of this run; the first event of every stream.

    Args:
        total: Rollouts of the whole run, finished ones of earlier sessions included.
        max_concurrent: Maximum number of concurrent rollouts; 0 for no limit.
        saved: False where the run lives in the user's state directory until it is saved.
        complete_at: For a run read from disk, when it last wrote; 0 while it runs.
        worked_ms: The time that earlier sessions worked on the run.
        input_price, output_price: US dollars per million tokens; None where that is not known.
        cached_input_price, cache_write_price: The same of tokens read from a cache or written to
            one; None where they cost what others do.
        list_price: Where the prices come from that no registry says, its date first; empty for a
            registry.
        reading: How often the file of a saved run was read from its beginning because what was
            reported of it no longer holds; a greater number takes back all rows that were reported.
            A later event with the same number only has more places.
        format: The writer of a run that is read from disk, as `runs.formats` calls it.
        total_known: False where it is not known how many rollouts there are to be: `total` is
            then the places that those take which are there, in groups of one size.
        names_env: False where `env_id` is only how a file or its folder is called.
        refused: Requests that were refused in earlier sessions, or in all of a run that is read
            from disk; None where nobody counted them.
        lost: Tokens (input, output, and those of each kind where there are any) that rollouts
            without a row have used so far, by row.
        limits: How many rollouts were generated concurrently, and how many were meant to be, while
            endpoints refused requests so far; the latest last.
        until: The condition that stops it early once it is true; empty for none.
    """

    path: str
    env_id: str
    model: str
    base_url: str
    num_examples: int
    rollouts_per_example: int
    total: int
    max_concurrent: int
    saved: bool
    sampling_args: dict[str, Any]
    env_args: dict[str, Any]
    pass_threshold: float = 0.5
    complete_at: float = 0.0
    worked_ms: float = 0.0
    input_price: float | None = None
    output_price: float | None = None
    reading: int = 0
    format: str = ""
    total_known: bool = True
    names_env: bool = True
    refused: int | None = None
    lost: dict[int, tuple[int, ...]] = {}
    limits: list[tuple[int, int]] = []
    cached_input_price: float | None = None
    cache_write_price: float | None = None
    list_price: str = ""
    until: str = ""


class RolloutStaged(TimedEvent, tag="stage", gc=False):
    """The stage of one rollout and its use so far.

    Args:
        note: Why it sleeps: the cause, a comma, and what comes of it.
        again_at: Unix seconds at which it is tried again; 0 where it does not sleep.
        lost_input, lost_output: Tokens of its earlier attempts, in all sessions.
        kinds, lost_kinds: Those of each kind; see `token_kinds`.
        waits_for: The call that it waits for; empty where its stage says all.
        since: Unix seconds since when it does.
        worker: The process that runs it; 0 where that is the engine's own.
    """

    row: int
    stage: int
    attempt: int
    turns: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    note: str = ""
    again_at: float = 0.0
    lost_input: int = 0
    lost_output: int = 0
    kinds: tuple[int, ...] = ()
    lost_kinds: tuple[int, ...] = ()
    waits_for: str = ""
    since: float = 0.0
    worker: int = 0


class RolloutFinished(TimedEvent, tag="done", gc=False):
    """One row of results.jsonl: the fields that lists, sums and filters need.

    Args:
        row: Place in the run: example position times rollouts per example, plus `number`.
        offset, length: The place of its line in results.jsonl, in bytes.
        reward: None where the rollout errored: such a one has no reward.
        error: Names of the exceptions, outermost first; None where all went well.
        started_at: Unix seconds; the three durations are in milliseconds.
        model_ms: Milliseconds of every answered model call, without tries that failed.
        tools: Calls of every tool, and how many of them went wrong.
        lost_input, lost_output: Tokens of earlier attempts, which were spent for nothing.
        question, answer: The first characters, `HEAD` at most, of the last message of the user in
            the prompt and of the last one of the model that says anything; for searching.
            The question may be empty where a rollout of the same example reported it before.
        error_class: See `error_classes`; None where the row does not say it.
        finish_reason: Why the last answer ended: `stop`, `length`, `tool_calls`, `refusal`,
            `content_filter`; None where that is not known.
        models: Calls by the name of the model that answered, where it is not the one requested.
        kinds, lost_kinds: Tokens of each kind; see `token_kinds`.
        code: The version of the environment's code, from 1; see `runs.versions`.
    """

    row: int
    example_id: Any
    number: int
    attempt: int
    offset: int
    length: int
    reward: float | None
    error: str | None
    stop_condition: str | None
    truncated: bool
    turns: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    started_at: float
    generation_ms: float
    scoring_ms: float
    total_ms: float
    metrics: dict[str, float]
    model_ms: list[float] = []
    tools: dict[str, tuple[int, int]] = {}
    lost_input: int = 0
    lost_output: int = 0
    question: str = ""
    answer: str = ""
    error_class: str | None = None
    finish_reason: str | None = None
    models: dict[str, int] = {}
    kinds: tuple[int, ...] = ()
    lost_kinds: tuple[int, ...] = ()
    code: int = 1


class RunMoved(TimedEvent, tag="moved"):
    """The run is in another directory from now on; places of lines are as before.

    Args:
        saved: See `RunStarted`.
    """

    path: str
    saved: bool


class RowsTakenBack(TimedEvent, tag="back"):
    """Errored rollouts wait to run again: their rows are not in results.jsonl any more.

    The lines behind them are at other places now: the index on disk has them all.

    Args:
        rows: As they were reported when they finished.
    """

    rows: list[RolloutFinished]


class CommandAnswered(TimedEvent, tag="answer"):
    """The outcome of a command, as a sentence; `done` is False where it had no effect."""

    text: str
    done: bool = True


class ReadingMoved(TimedEvent, tag="read"):
    """Progress in the file of a saved run: bytes of bytes, and lines that were no rows.

    Args:
        unfinished: The number of the last line, where it is not whole: it may still be written, and
            counts as unreadable once nobody seems to do that any more; 0 where it is whole.
    """

    done: int
    total: int
    unreadable: int = 0
    unfinished: int = 0


class LineUnreadable(TimedEvent, tag="bad"):
    """A line of a saved run that is no row or one with a fault, and which; the rest is shown.

    Args:
        file: The file's name.
        line: Its number, from 1.
        offset, length: Its place, in bytes.
        ends: False for a last line that may still be written.
        shown: Whether it is a row all the same.
    """

    file: str
    line: int
    offset: int
    length: int
    why: str
    ends: bool = True
    shown: bool = False


class Noticed(TimedEvent, tag="note"):
    """A sentence for people: `warning` or `info`."""

    level: str
    text: str


OUT_OF_BUDGET = "stopped: budget"
"""Status of a run that reached its budget: resumable."""

STOPPED_EARLY = "stopped early"
"""Status of a run whose stopping condition held: resumable."""


class RunFinished(TimedEvent, tag="end"):
    """The engine stopped: `finished`, `interrupted`, `stopped: budget`, `stopped early` or
    `failed`, and why.

    All but the first can be resumed.

    Args:
        missing_columns: State columns that no rollout's state had, and which key may have been
            meant, as a sentence or nothing.
        contradictions: Of a run that is read from disk, what its files say against each other, and
            what counts, as sentences.
    """

    status: str
    exit_code: int
    text: str = ""
    missing_columns: dict[str, str] = {}
    contradictions: list[str] = []


class Refused(msgspec.Struct, tag="refused", array_like=True):
    """The plan cannot be run: every fault as (where, what, hint)."""

    seq: int
    faults: list[tuple[str, str, str]]


class Hello(msgspec.Struct, tag="hello", array_like=True):
    """The first event on a connection: who reads the disk now has everything up to `seq`."""

    seq: int
    protocol: int
    path: str
    pid: int


class ReadAgain(msgspec.Struct, tag="again", array_like=True):
    """Finished rows did not fit into the listener's buffer: they are in the index on disk."""

    seq: int


Event: TypeAlias = (
    RunStarted
    | RolloutStaged
    | RolloutFinished
    | MessagesAdded
    | ToolFinished
    | TextAdded
    | GateMoved
    | WritingMoved
    | RunMoved
    | EngineSampled
    | SuiteStarted
    | EvaluationMoved
    | WorkersSeen
    | ConcurrencyMoved
    | ReplicaMoved
    | RowsTakenBack
    | MaxConcurrentChanged
    | CommandAnswered
    | ReadingMoved
    | LineUnreadable
    | Noticed
    | RunFinished
    | Refused
    | Hello
    | ReadAgain
)
