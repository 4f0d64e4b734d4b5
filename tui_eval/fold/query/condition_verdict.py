"""Verdict on a run, from the conditions that make it a failure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tui_eval.errors import Fault
from tui_eval.exit_codes import VERDICTS, ExitCode
from tui_eval.fold.query.condition_parser import check_names
from tui_eval.fold.query.conditions import COUNTS, Condition, ConditionError, Estimate, Judged
from tui_eval.fold.query.fields import METRIC
from tui_eval.fold.summary import Summary
from tui_eval.stats.mean import Mean
from tui_eval.stats.passk import ks_up_to


class ConditionVerdict(NamedTuple):
    """Verdict of conditions on one run."""

    code: ExitCode
    """One of `VERDICTS`."""
    why: list[str]
    """The deciding sentences; none where it passed."""
    judged: list[tuple[Condition, Judged]]
    """Every condition with its result."""

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return VERDICTS[self.code]


def estimates_of(summary: Summary) -> dict[str, Estimate | None]:
    """The means of a run by the names that conditions have for them.

    A name of which there may be a number but is none yet has None. A metric that is called as
    something else is has `metrics.` before its name.
    """
    found: dict[str, Estimate | None] = {"reward": _estimate(summary.reward)}
    for k in ks_up_to(summary.run.rollouts_per_example):
        found |= {f"pass@{k}": None, f"pass^{k}": None}
    for rate in summary.pass_rates:
        found[f"pass@{rate.k}"] = Estimate(rate.any_passes, *rate.any_interval)
        found[f"pass^{rate.k}"] = Estimate(rate.all_pass, *rate.all_interval)
    metrics = {name: _estimate(mean) for name, mean in summary.metrics.items()}
    return {**metrics, **found, **{METRIC + name: one for name, one in metrics.items()}}


def _estimate(mean: Mean) -> Estimate:
    return Estimate(mean.mean, mean.low, mean.high)


def name_faults(conditions: Iterable[Condition], summary: Summary) -> list[Fault]:
    """Faults of names that a run lacks; none for a run without any number."""
    faults: list[Fault] = []
    for one in conditions if summary.used else ():
        try:
            check_names(one, estimates_of(summary))
        except ConditionError as error:
            faults += error.faults
    return faults


def judge(conditions: Sequence[Condition], summary: Summary) -> ConditionVerdict:
    """Fails a run of which a condition is true.

    A run in which nothing was measured never passes, nor one that lacks a number which a condition
    hangs on.
    """
    estimates = estimates_of(summary)
    counts = {name: getattr(summary, name) for name in COUNTS}
    judged = [(one, one.judge(estimates.get, counts)) for one in conditions]
    if failed := [found.reason for _, found in judged if found.truth]:
        return ConditionVerdict(ExitCode.FAILED, failed, judged)
    if not summary.used:
        return ConditionVerdict(ExitCode.NOTHING_MEASURED, [_why_nothing(summary)], judged)
    if unknown := [found.reason for _, found in judged if found.truth is None]:
        return ConditionVerdict(ExitCode.INCONCLUSIVE, unknown, judged)
    return ConditionVerdict(ExitCode.FINISHED, [], judged)


def _why_nothing(summary: Summary) -> str:
    if not summary.finished:
        return "no rollout has finished"
    if summary.errored == summary.finished:
        return f"all {summary.errored} rollouts errored"
    return f"none of {summary.finished} rollouts has a reward"
