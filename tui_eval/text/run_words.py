"""Words for the status of a run."""

from __future__ import annotations

from tui_eval.fold.outcome_words import has_many_errors
from tui_eval.fold.run_state import RunState
from tui_eval.printable import one_line
from tui_eval.text.figures import clock_text, limit_text, took_text

REASON_WIDTH = 24
"""Cells of what the disk says."""
MOVED_S = 10.0
"""Seconds for which a changed limit is shown; longer while more rollouts are in flight."""


def elapsed(state: RunState, now: float) -> float:
    """Seconds that the run has taken, in earlier sessions as well."""
    run = state.run
    if run is None:
        return 0.0
    over = state.end.at if state.end is not None else now
    return (run.complete_at or over) - run.at + run.worked_ms / 1000


def status(
    state: RunState, live: bool, requested_pause: bool | None, now: float
) -> tuple[str, str]:
    """Status of the run in a word or two, and their ink."""
    if state.run is None:
        return ("starting engine…" if live else "reading…", "muted")
    seconds = elapsed(state, now)
    if state.end is not None or not live:
        return _end_status(state, took_text(seconds) if seconds else "")
    if state.refusal is not None:
        return (f"‖ paused: {one_line(state.refusal.why, REASON_WIDTH)}", "bad")
    if not state.gate_open:
        if state.in_flight:
            return (f"‖ pausing… {state.in_flight:,} in flight", "warn")
        return ("‖ paused", "warn")
    if requested_pause:
        return ("‖ pausing…", "warn")
    return (f"▶ running {clock_text(seconds)}", "busy")


def _end_status(state: RunState, took: str) -> tuple[str, str]:
    from tui_eval.events import OUT_OF_BUDGET, STOPPED_EARLY

    word = state.end.status if state.end is not None else None
    if word == "failed":
        return (f"✗ failed after {took}" if took else "✗ failed", "bad")
    if word is None:
        if not state.is_read:
            return (f"reading {state.read[0] / state.read[1]:.0%}", "muted")
        return ("▶ followed", "busy")
    if has_many_errors(state.errored, state.finished):
        far = "finished" if word == "finished" else "stopped"
        all_of = state.errored == state.finished
        text = f"{far}, {state.errored:,} of {state.finished:,} errored"
        if word in ("finished", STOPPED_EARLY, "interrupted"):
            return (f"✗ {text}", "bad") if all_of else (f"! {text}", "warn")
    if word == "finished":
        return (f"✓ finished in {took}" if took else "✓ finished", "good")
    if word == STOPPED_EARLY:
        return (f"✓ stopped early after {took}" if took else "✓ stopped early", "good")
    how = "out of budget" if word == OUT_OF_BUDGET else "stopped"
    return (f"■ {how}{'' if state.is_foreign else ', resumable'}", "warn")


def changed_max_concurrent(state: RunState, now: float, requested: int | None) -> str:
    """Change of the run's limit, requested or recent: `16 → 24`."""
    last, run = state.max_concurrent_changed, state.run
    if state.end is not None or run is None:
        return ""
    if requested is not None and requested != run.max_concurrent:
        return f"{limit_text(run.max_concurrent)} → {limit_text(requested)}"
    if last is None:
        return ""
    in_flight = state.running - state.sleeping
    fits = not last.max_concurrent or in_flight <= last.max_concurrent
    if fits and now - last.at > MOVED_S:
        return ""
    return f"{limit_text(last.before)} → {limit_text(last.max_concurrent)}"
