"""Messages from a worker to its engine.

Rows and journal records go as the bytes that are written, encoded once. `PROTOCOL` goes first, in a
list of its own: an engine refuses one that speaks another.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tui_eval.errors import Fault
from tui_eval.events import MessagesAdded, RolloutStaged, TextAdded, ToolFinished
from tui_eval.worker.description.info import EnvironmentInfo

PROTOCOL = 11
"""The version of the messages in `to_worker` and this module."""


class ToEngine(msgspec.Struct, array_like=True):
    """A message of a worker; each kind is a class of this one."""


class Hello(ToEngine, tag="hello"):
    """The first message of a worker: it must be the same in every protocol."""

    protocol: int


class Described(ToEngine, tag="described"):
    """The description of an environment that was loaded: see `Open`.

    Args:
        info: None where it could not be loaded.
        faults: Of the environment.
        ids: Of its examples.
    """

    info: EnvironmentInfo | None
    faults: list[Fault]
    ids: list[Any]


class Ready(ToEngine, tag="ready"):
    """The worker can run rollouts, or could not load the environment.

    Args:
        faults: Why it could not: where, what and what to do, each.
    """

    faults: list[tuple[str, str, str]]


class Staged(ToEngine, tag="staged"):
    """Stages of rollouts."""

    events: list[RolloutStaged]


class Messages(ToEngine, tag="messages"):
    """Messages of rollouts with subscribers."""

    events: list[MessagesAdded | ToolFinished | TextAdded]


class KeepAnswer(ToEngine, tag="answer"):
    """A record for the journal, which the rollout waits for: see `Granted`."""

    number: int
    row: int
    line: bytes


class KeepGenerated(ToEngine, tag="generated"):
    """The record of a generated rollout for the journal."""

    row: int
    line: bytes


class Forget(ToEngine, tag="forget"):
    """The journal's records of a rollout are of no use: it restarts."""

    row: int


class Row(ToEngine, tag="row"):
    """The line of a finished rollout."""

    row: int
    number: int
    line: bytes


class Request(ToEngine, tag="request"):
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


class Withdraw(ToEngine, tag="withdraw"):
    """A request is withdrawn; a grant that was made already is released."""

    number: int
    row: int


class Release(ToEngine, tag="release"):
    """A rollout releases something.

    Args:
        what: `lent` slots come back later, or never where they are `unlent`; `generated` keeps
            those of rollouts in flight; `scored` those for scoring; `all` of them; or tokens of
            the `budget`.
        count: Of tokens.
    """

    row: int
    what: str
    count: int = 0


class Answered(ToEngine, tag="answered"):
    """Endpoints answered requests.

    Args:
        requests: The number of each one's endpoint, when it was sent, and when it was answered, in
            seconds of the machine's monotonic clock.
    """

    requests: list[tuple[int, float, float]]


class Refused(ToEngine, tag="refused"):
    """An endpoint refused a rollout's request; earlier answers have been sent before.

    Args:
        requested_at: When it was sent, in seconds of the machine's monotonic clock.
        waits: How many seconds it waits until it is sent again.
        is_paced: The endpoint named that time.
    """

    row: int
    requested_at: float
    waits: float
    is_paced: bool


class IgnoresEnd(ToEngine, tag="ignores_end"):
    """A call of people's code was cancelled for its limit and does not end: only its process can
    be ended.

    Args:
        error_class: Of its error.
        what: Name of the call, for people.
    """

    row: int
    error_class: str
    what: str


class ReplicaFailed(ToEngine, tag="replica_failed"):
    """A replica is to be taken out.

    Args:
        endpoint: Its number in the order of the endpoints, from 0.
        why: The failure of its requests, for people.
    """

    endpoint: int
    why: str


class Ended(ToEngine, tag="ended"):
    """Nothing more is done for a rollout at present: it has its row, or waits for others.

    Args:
        failure: Why the run cannot continue; empty where it can.
    """

    row: int
    failure: str


class GroupMoved(ToEngine, tag="group"):
    """The group of an example begins or ends to wait for members."""

    example: int
    waits: bool


class Forgot(ToEngine, tag="forgot"):
    """`ForgetMembers` was done; groups that were complete before were reported before."""

    number: int


class ColumnsFound(ToEngine, tag="columns"):
    """Requested state columns that no rollout has had so far, and the keys of the last one."""

    unseen: list[str]
    keys: list[str]


class Warned(ToEngine, tag="warned"):
    """A sentence for people."""

    text: str


class Left(ToEngine, tag="left"):
    """The environment is torn down; nothing follows."""
