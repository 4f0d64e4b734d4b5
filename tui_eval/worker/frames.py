"""What an engine and its workers say to each other.

Both ends send lists of messages, each list with its length before it. Rows and journal records go
as the bytes that are written, encoded once. `PROTOCOL` is told first by the worker, in a list of
its own: an engine refuses one that speaks another.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from tui_eval.errors import Fault
from tui_eval.events import MessagesAdded, RolloutStaged, TextAdded, ToolFinished
from tui_eval.worker.describing.info import EnvironmentInfo
from tui_eval.worker.describing.settings import EnvironmentSettings
from tui_eval.worker.replica_frames import ReplicaFailed as ReplicaFailed
from tui_eval.worker.replica_frames import ReplicasOut as ReplicasOut

PROTOCOL = 6


class Open(msgspec.Struct, tag="open", array_like=True):
    """An environment is to be loaded and described: see `Described`.

    Args:
        folder: Where the worker is to be then.
        variables: Those of the process that are others than when the worker was started.
    """

    settings: EnvironmentSettings
    folder: str
    variables: dict[str, str]


class Setup(msgspec.Struct, tag="setup", array_like=True):
    """What all rollouts of a run have in common: sent before the first of them.

    A worker that has opened the environment leads them with that; another one loads it now.

    Args:
        plan: The run's, as JSON.
        clients: The settings of its clients, one for each endpoint, as JSON.
        secrets: What is never to be written.
        log: Path of engine.log.
        grouped: Rollouts of an example are scored together.
        limits_scoring: The engine is to be asked before rollouts are scored.
        has_budget: The engine is to be asked before each model call.
        code: The number of the version of the environment's code.
    """

    plan: bytes
    clients: list[bytes]
    secrets: list[str]
    log: str
    grouped: bool
    limits_scoring: bool
    has_budget: bool
    code: int


class Lead(msgspec.Struct, tag="lead", array_like=True):
    """A rollout is to be led from its input to its row.

    Args:
        place: Of the endpoint that serves it.
        answers: Records of its attempt before an interruption, in their order.
        lost: Tokens of its earlier attempts.
    """

    row: int
    place: int
    answers: list[dict[str, Any]]
    lost: tuple[int, ...]


class Restore(msgspec.Struct, tag="restore", array_like=True):
    """A rollout that is generated, and lacks but its score.

    Args:
        record: Of the journal.
        answers: Records of its attempt that came after that one, in their order.
    """

    row: int
    record: dict[str, Any]
    answers: list[dict[str, Any]]
    lost: tuple[int, ...]


class Score(msgspec.Struct, tag="score", array_like=True):
    """A generated rollout is to be scored, or to wait for its group.

    Args:
        has_slots: The engine holds slots for it.
    """

    row: int
    has_slots: bool


class AddSaved(msgspec.Struct, tag="saved", array_like=True):
    """A rollout whose row is on disk, to compare others of its group with.

    Args:
        values: Its row.
    """

    row: int
    values: dict[str, Any]


class Cancel(msgspec.Struct, tag="cancel", array_like=True):
    """Somebody ended a rollout."""

    row: int


class GiveUp(msgspec.Struct, tag="give_up", array_like=True):
    """A rollout has an errored row now, and nothing more is done for it.

    Args:
        error_class: What failed; empty where somebody cancelled it.
        why: The error, for people.
        cause: Which limit it went past, see `Verdict`; empty for none.
        records: Of its last attempt, in their order, first itself if it is generated: its row has
            what they have.
    """

    row: int
    attempt: int
    error_class: str
    why: str
    cause: str
    lost: tuple[int, ...]
    records: list[dict[str, Any]]


class ForgetMembers(msgspec.Struct, tag="forget_members", array_like=True):
    """These rollouts are to run again: their groups wait for them."""

    rows: list[int]


class MoveGate(msgspec.Struct, tag="gate", array_like=True):
    """The gate before every model call opens or closes."""

    is_open: bool


class Subscribe(msgspec.Struct, tag="subscribe", array_like=True):
    """The rollouts whose messages are wanted from now on, with what there is of them so far."""

    rows: list[int]


class Granted(msgspec.Struct, tag="granted", array_like=True):
    """What was requested is there: see `Request`, `KeepAnswer`."""

    number: int


class Exhausted(msgspec.Struct, tag="exhausted", array_like=True):
    """Nothing new may begin: what errored is not tried again."""


class Leave(msgspec.Struct, tag="leave", array_like=True):
    """The run is over: the environment is torn down, and the worker ends."""


class MoveLog(msgspec.Struct, tag="log", array_like=True):
    """The run is in another directory, and engine.log with it."""

    log: str


ToWorker: TypeAlias = (
    Open
    | Setup
    | Lead
    | Restore
    | Score
    | AddSaved
    | Cancel
    | GiveUp
    | ForgetMembers
    | MoveGate
    | MoveLog
    | Subscribe
    | Granted
    | Exhausted
    | ReplicasOut
    | Leave
)


class Hello(msgspec.Struct, tag="hello", array_like=True):
    """The first message of a worker: it must be the same in every protocol."""

    protocol: int


class Described(msgspec.Struct, tag="described", array_like=True):
    """What an environment is that was loaded: see `Open`.

    Args:
        info: None where it could not be loaded.
        faults: What is wrong with it.
        ids: Of its examples.
    """

    info: EnvironmentInfo | None
    faults: list[Fault]
    ids: list[Any]


class Ready(msgspec.Struct, tag="ready", array_like=True):
    """The worker can lead rollouts, or could not load the environment.

    Args:
        faults: Why it could not: where, what and what to do, each.
    """

    faults: list[tuple[str, str, str]]


class Staged(msgspec.Struct, tag="staged", array_like=True):
    """Where rollouts are now."""

    events: list[RolloutStaged]


class Messages(msgspec.Struct, tag="messages", array_like=True):
    """What was wanted of the rollouts that somebody watches."""

    events: list[MessagesAdded | ToolFinished | TextAdded]


class KeepAnswer(msgspec.Struct, tag="answer", array_like=True):
    """A record for the journal, which the rollout waits for: see `Granted`."""

    number: int
    row: int
    line: bytes


class KeepGenerated(msgspec.Struct, tag="generated", array_like=True):
    """The record of a generated rollout for the journal."""

    row: int
    line: bytes


class Forget(msgspec.Struct, tag="forget", array_like=True):
    """What the journal has of a rollout is of no use: it begins again."""

    row: int


class Row(msgspec.Struct, tag="row", array_like=True):
    """The line of a finished rollout."""

    row: int
    number: int
    line: bytes


class Request(msgspec.Struct, tag="request", array_like=True):
    """A rollout waits for something: see `Granted`.

    Args:
        what: `slots` that it had lent, slots for `scoring`, slots to be `in_flight` again, or
            tokens of the `budget`.
        count: Of rollouts that are scored, or of tokens.
    """

    number: int
    row: int
    what: str
    count: int


class Withdraw(msgspec.Struct, tag="withdraw", array_like=True):
    """Who requested something no longer waits for it; what is granted already is given back."""

    number: int


class Release(msgspec.Struct, tag="release", array_like=True):
    """A rollout gives something back.

    Args:
        what: `lent` slots come back later, or never where they are `unlent`; `generated` keeps
            those of rollouts in flight; `scored` those for scoring; `all` of them; or tokens of
            the `budget`.
        count: Of tokens.
    """

    row: int
    what: str
    count: int = 0


class Answered(msgspec.Struct, tag="answered", array_like=True):
    """Endpoints answered requests.

    Args:
        requests: The place of each one's endpoint, when it was sent, and when it was answered, in
            seconds of the machine's monotonic clock.
    """

    requests: list[tuple[int, float, float]]


class Refused(msgspec.Struct, tag="refused", array_like=True):
    """An endpoint refused a rollout's request; what was answered before has been sent before.

    Args:
        requested_at: When it was sent, in seconds of the machine's monotonic clock.
        waits: How many seconds it waits until it is sent again.
        is_paced: The endpoint named that time.
    """

    row: int
    requested_at: float
    waits: float
    is_paced: bool


class IgnoresEnd(msgspec.Struct, tag="ignores_end", array_like=True):
    """A call of people's code was cancelled for its limit and goes on: only its process can be
    ended.

    Args:
        error_class: What fails with it.
        what: What was called, for people.
    """

    row: int
    error_class: str
    what: str


class Ended(msgspec.Struct, tag="ended", array_like=True):
    """Nothing more is done for a rollout at present: it has its row, or waits for others.

    Args:
        failure: Why the run cannot go on; empty where it can.
    """

    row: int
    failure: str


class GroupMoved(msgspec.Struct, tag="group", array_like=True):
    """The group of an example waits for members, or no longer."""

    example: int
    waits: bool


class ColumnsFound(msgspec.Struct, tag="columns", array_like=True):
    """Which requested state columns no rollout has had so far, and what keys the last one had."""

    unseen: list[str]
    keys: list[str]


class Warned(msgspec.Struct, tag="warned", array_like=True):
    """A sentence for people."""

    text: str


class Left(msgspec.Struct, tag="left", array_like=True):
    """The environment is torn down; nothing follows."""


FromWorker: TypeAlias = (
    Hello
    | Described
    | Ready
    | Staged
    | Messages
    | KeepAnswer
    | KeepGenerated
    | Forget
    | Row
    | Request
    | Withdraw
    | Release
    | Answered
    | Refused
    | IgnoresEnd
    | ReplicaFailed
    | Ended
    | GroupMoved
    | ColumnsFound
    | Warned
    | Left
)
