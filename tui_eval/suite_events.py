"""Events of a suite: several evaluations of one engine; see `events`."""

from __future__ import annotations

import msgspec


class ListedEvaluation(msgspec.Struct, array_like=True):
    """One evaluation of a suite, as its file describes it.

    Args:
        title: What people call it.
        varies: What distinguishes it from the others: settings and their text.
        total: Rollouts that it asks for; 0 where its environment decides how many examples it has.
    """

    title: str
    env_id: str
    model: str
    varies: dict[str, str]
    total: int


class SuiteStarted(msgspec.Struct, tag="suite", array_like=True):
    """Several evaluations that one engine works through, in their order; reported at the root
    socket.

    Each has a run directory and a socket of its own, at which it says all else.

    Args:
        at: 0 where nobody was there: they are read from the disk.
        max_concurrent: Rollouts in flight at most over all evaluations; 0 for no limit.
        words: What is typed beside the file and `--resume` to resume them.
        budgets: Flags of what they may spend together, which hold this time alone.
        is_edited: Whether their settings are not those of the file, but were changed in a form.
    """

    seq: int
    at: float
    path: str
    evaluations: list[ListedEvaluation]
    max_concurrent: int
    words: list[str] = []
    budgets: list[str] = []
    is_edited: bool = False


class EvaluationMoved(msgspec.Struct, tag="eval", array_like=True):
    """How far one evaluation of a suite is; a later one replaces an earlier one.

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

    seq: int
    at: float
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
