"""Outcome of a run or a suite, and its exit code: decided here and nowhere else.

Who decides sees different things: an engine knows why it stopped, a reader has rows and
metadata.json, a launcher has an exit code and what is on disk. All of them come to the same few
ends, so that a run has one outcome wherever it is looked at.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tui_eval.errors import RefusedError
from tui_eval.events import OUT_OF_BUDGET, STOPPED_EARLY, EvaluationMoved, RunFinished
from tui_eval.exit_codes import ExitCode, worst_run

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState

UNSTARTED = "stopped before the run began"


def finished(at: float, errored: int) -> RunFinished:
    """Every rollout has a row, and so many of them an error."""
    return RunFinished(0, at, "finished", _code(errored))


def interrupted(at: float, why: str = "") -> RunFinished:
    """Stopped by somebody before its last rollout; resumable."""
    return RunFinished(0, at, "interrupted", ExitCode.INTERRUPTED.value, why)


def out_of_budget(at: float, why: str = "") -> RunFinished:
    """Stopped because its budget is spent."""
    return RunFinished(0, at, OUT_OF_BUDGET, ExitCode.OUT_OF_BUDGET.value, why)


def failed(at: float, why: str) -> RunFinished:
    """Ended by a fault that is not a rollout's."""
    return RunFinished(0, at, "failed", ExitCode.COULD_NOT_FINISH.value, why)


def refused(at: float, error: RefusedError) -> RunFinished:
    """Not begun, as its request is at fault."""
    text = "; ".join(map(str, error.faults))
    return RunFinished(0, at, "refused", ExitCode.REFUSED.value, text)


def raised(at: float, error: Exception) -> RunFinished:
    """Ended by an exception that came out of its preparation or its session."""
    text = error.strerror if isinstance(error, OSError) else None
    return failed(at, f"{type(error).__name__}: {text or error}")


def unreadable(at: float, error: Exception) -> RunFinished:
    """Failed for its reader, who cannot read its files."""
    return failed(at, f"this run cannot be read: {error}")


def _code(errored: int) -> int:
    code = ExitCode.ERRORED_ROLLOUTS if errored else ExitCode.FINISHED
    return code.value


def session_outcome(
    at: float, state: RunState, *, failure: str, spent: str, early: str, was_stopped: bool
) -> RunFinished:
    """The end of a run as its engine knows it.

    Args:
        failure: Cause of its failure; empty for none.
        spent, early: Why no further rollouts began; empty where they did.
    """
    if failure:
        return failed(at, failure)
    if state.finished >= state.total:
        return finished(at, state.errored)
    if spent and not was_stopped:
        return out_of_budget(at, spent)
    if early and not was_stopped:
        return RunFinished(0, at, STOPPED_EARLY, _code(state.errored), early)
    return interrupted(at)


def saved_outcome(
    at: float, info: Mapping[str, Any], *, is_whole: bool, errored: int
) -> RunFinished:
    """The end of a run that nobody works on, from its files.

    Args:
        info: Its metadata.
        is_whole: Whether every rollout has a row.
        errored: Number of rows with an error.
    """
    if is_whole:
        return finished(at, errored)
    why = str(info.get("stopped_because") or "")
    if info.get("status") == OUT_OF_BUDGET:
        return out_of_budget(at, why)
    if info.get("status") == STOPPED_EARLY:
        return RunFinished(0, at, STOPPED_EARLY, _code(errored), why)
    return interrupted(at, why)


def lost_engine_outcome(
    at: float,
    info: Mapping[str, Any],
    exit_code: int | None,
    *,
    was_stopped: bool,
    has_begun: bool,
) -> RunFinished:
    """The end of a run whose engine is gone without having said how: killed, or crashed.

    Args:
        info: The run's metadata; empty where it has none.
        was_stopped: Whether this process had it end.
    """
    status, why = info.get("status"), str(info.get("stopped_because") or "")
    was_ended = exit_code is not None and (exit_code < 0 or exit_code == ExitCode.INTERRUPTED)
    if status == "interrupted" or (was_stopped and was_ended):
        return interrupted(at)
    if status == OUT_OF_BUDGET and exit_code == ExitCode.OUT_OF_BUDGET:
        return out_of_budget(at)
    if status in ("finished", STOPPED_EARLY) and exit_code in (None, 0, ExitCode.ERRORED_ROLLOUTS):
        return RunFinished(0, at, status, exit_code or 0, why)
    if status == "failed" and why and exit_code in (None, ExitCode.COULD_NOT_FINISH):
        return failed(at, why)
    rest = "; finished rollouts are on disk and the run can be resumed"
    how = lost_engine_text(exit_code)
    return failed(at, f"the engine {how}{rest if has_begun else ' before the run began'}")


def lost_engine_text(exit_code: int | None) -> str:
    """Outcome of an engine that did not report its end.

    Args:
        exit_code: Negative where a signal ended it; None for one of another process.
    """
    if exit_code is None:
        return "was lost"
    if exit_code >= 0:
        return f"ended unexpectedly with exit code {exit_code}"
    name = next((f", {one.name}" for one in signal.Signals if one == -exit_code), "")
    often = "; often: out of memory" if -exit_code == signal.SIGKILL else ""
    return f"was killed (signal {-exit_code}{name}{often})"


def suite_outcome(
    at: float, exit_codes: Sequence[int | None], *, spent: str, was_stopped: bool
) -> RunFinished:
    """The end of several evaluations, as their engine knows it.

    Args:
        exit_codes: One of each evaluation; None for one that did not begin.
        spent: Reason why no further evaluations began; empty where they did.
    """
    codes = [code for code in exit_codes if code is not None]
    if len(codes) < len(exit_codes):
        rest = ExitCode.OUT_OF_BUDGET if spent and not was_stopped else ExitCode.INTERRUPTED
        codes.append(rest.value)
    worst = worst_run(codes)
    if was_stopped and ExitCode.INTERRUPTED in codes:
        worst = ExitCode.INTERRUPTED.value
    if worst in (ExitCode.FINISHED, ExitCode.ERRORED_ROLLOUTS):
        return RunFinished(0, at, "finished", worst)
    if worst == ExitCode.OUT_OF_BUDGET:
        return out_of_budget(at, spent)
    if worst == ExitCode.INTERRUPTED:
        return interrupted(at)
    wrong = sum(code in (ExitCode.COULD_NOT_FINISH, ExitCode.REFUSED) for code in codes)
    text = f"{wrong} of {len(exit_codes)} evaluations could not be worked through"
    return RunFinished(0, at, "failed", worst, text)


def lost_suite_outcome(at: float, exit_code: int | None) -> RunFinished:
    """The end of several evaluations whose engine is gone without having said how.

    Args:
        exit_code: Of the engine; None where it is not known.
    """
    end = interrupted(at)
    if exit_code is not None and exit_code > 0:
        end.exit_code = exit_code
    return end


def reported_outcome(last: EvaluationMoved, saved: RunFinished | None) -> RunFinished | None:
    """The end of an evaluation that nobody works on; None for one that did not begin.

    Args:
        last: Its last event: only its engine knows that it failed, or was refused.
        saved: Its end by its files; None where it has none.
    """
    if last.status == "failed":
        end = failed(last.at, last.text)
        if saved is None:
            return end
        return replace(saved, status=end.status, exit_code=end.exit_code, text=end.text)
    if last.status == "refused" and saved is None:
        return RunFinished(0, last.at, last.status, ExitCode.REFUSED.value, last.text)
    return saved


def saved_suite_outcome(last: Iterable[EvaluationMoved]) -> RunFinished:
    """The end of several evaluations that nobody works on; at that of the last one."""
    every = list(last)
    at, statuses = max(one.at for one in every), {one.status for one in every}
    if statuses <= {"finished", STOPPED_EARLY}:
        return finished(at, 0)
    if OUT_OF_BUDGET in statuses <= {OUT_OF_BUDGET, STOPPED_EARLY, "finished", "waiting"}:
        return out_of_budget(at)
    return interrupted(at)
