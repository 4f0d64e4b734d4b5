"""The exit codes of every command; `docs/running.md` has the same table."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """Outcomes of commands, for programs that run them."""

    FINISHED = 0
    """Or passed, where a verdict was requested."""
    COULD_NOT_FINISH = 1
    REFUSED = 2
    """Wrong usage or configuration; every fault is printed."""
    ERRORED_ROLLOUTS = 3
    """Finished, with errored rollouts."""
    OUT_OF_BUDGET = 4
    FAILED = 5
    """The numbers say that a condition for failure is true."""
    INCONCLUSIVE = 6
    """The numbers are too few to say."""
    NOTHING_MEASURED = 7
    """There is no number: no rows, no reward, or every rollout errored."""
    NOT_PUSHED = 8
    """Finished, and a push that was requested failed."""
    INTERRUPTED = 130


_SEVERITY = (0, 8, 3, 4, 130, 1, 2)


def worst_run(codes: Iterable[int]) -> int:
    """The worst of how several runs ended, at least one; a verdict's exit code is none of them."""
    return max(codes, key=_SEVERITY.index)


VERDICTS = {
    ExitCode.FINISHED: "passed",
    ExitCode.INCONCLUSIVE: "inconclusive",
    ExitCode.NOTHING_MEASURED: "nothing measured",
    ExitCode.FAILED: "failed",
}
"""The exit codes of verdicts and their words, from the best to the worst."""


def worst_verdict(codes: Iterable[ExitCode]) -> ExitCode:
    """The worst of several verdicts, at least one: keys of `VERDICTS`."""
    return max(codes, key=list(VERDICTS).index)
