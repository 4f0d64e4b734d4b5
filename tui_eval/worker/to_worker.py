"""Messages from an engine to its workers.

Both ends send lists of messages, each list with its length before it; messages of a worker, and the
number of the protocol, are in `to_engine`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from tui_eval.worker.description.info import EnvironmentSettings


class ToWorker(msgspec.Struct, array_like=True):
    """A message of an engine; each kind is a class of this one."""


class Open(ToWorker, tag="open"):
    """An environment is to be loaded and described: see `Described`.

    Args:
        folder: The worker's working directory.
        variables: Environment variables that changed since the worker was started.
        secrets: Texts that no cut of a text may go through.
    """

    settings: EnvironmentSettings
    folder: str
    variables: dict[str, str]
    secrets: list[str]


class Setup(ToWorker, tag="setup"):
    """The settings of all rollouts of a run: sent before the first of them.

    A worker that has opened the environment uses that one; another one loads it now.

    Args:
        plan: The run's, as JSON.
        clients: The settings of its clients, one for each endpoint, as JSON.
        secrets: Texts that are never to be written.
        log: Path of engine.log.
        grouped: Rollouts of an example are scored together.
        limits_scoring: Scoring needs slots of the engine.
        has_budget: Each model call needs a grant of the engine.
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


class Run(ToWorker, tag="run"):
    """A rollout is to be run from its input to its row.

    Args:
        endpoint: The number of its endpoint, from 0.
        answers: Records of its attempt before an interruption, in their order.
        lost: Tokens of its earlier attempts.
    """

    row: int
    endpoint: int
    answers: list[dict[str, Any]]
    lost: tuple[int, ...]


class Restore(ToWorker, tag="restore"):
    """A generated rollout that lacks only its score.

    Args:
        record: Of the journal.
        answers: Later records of its attempt, in their order.
    """

    row: int
    record: dict[str, Any]
    answers: list[dict[str, Any]]
    lost: tuple[int, ...]


class Score(ToWorker, tag="score"):
    """A generated rollout is to be scored, or to wait for its group.

    Args:
        has_slots: The engine holds slots for it.
    """

    row: int
    has_slots: bool


class AddSaved(ToWorker, tag="saved"):
    """A rollout whose row is on disk, to compare the others of its group with."""

    row: int
    values: dict[str, Any]


class Join(ToWorker, tag="join"):
    """A rollout that was run alone and has its row, and whose group waits for it here.

    Where it is the last one the group is scored, under this rollout.
    """

    row: int
    values: dict[str, Any]


class Cancel(ToWorker, tag="cancel"):
    """Somebody ended a rollout."""

    row: int


class GiveUp(ToWorker, tag="give_up"):
    """A rollout has an errored row now, and nothing more is done for it.

    Args:
        error_class: Of its error; empty where somebody cancelled it.
        why: The error, for people.
        cause: One of `end_causes`.
        records: Of its last attempt, in their order, first itself if it is generated: they make
            its row.
        took_s: Seconds that its last attempt took until it ended its worker.
    """

    row: int
    attempt: int
    error_class: str
    why: str
    cause: str
    lost: tuple[int, ...]
    records: list[dict[str, Any]]
    took_s: float = 0.0


class ForgetMembers(ToWorker, tag="forget_members"):
    """These rollouts are to run again: their groups wait for them. It is answered: see `Forgot`."""

    number: int
    rows: list[int]


class MoveGate(ToWorker, tag="gate"):
    """The gate before every model call opens or closes."""

    is_open: bool


class Subscribe(ToWorker, tag="subscribe"):
    """The rollouts to watch from now on; their messages so far are sent at once."""

    rows: list[int]


class Granted(ToWorker, tag="granted"):
    """The grant of a `Request`, or the end of a `KeepAnswer`."""

    number: int


class Exhausted(ToWorker, tag="exhausted"):
    """The budget is spent: no rollout that errored is tried again."""


class ReplicasOut(ToWorker, tag="replicas_out"):
    """These replicas are out, and no others: their calls go to those that are not.

    Args:
        endpoints: Their numbers in the order of the endpoints, from 0.
    """

    endpoints: list[int]


class Leave(ToWorker, tag="leave"):
    """The run is over: the environment is torn down, and the worker ends."""


class MoveLog(ToWorker, tag="log"):
    """The run is in another directory, and engine.log with it."""

    log: str
