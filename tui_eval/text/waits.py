"""Words for what the rollouts of a run wait for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tui_eval.fold.rollout_columns import HELD, MODEL, SLEEPING
from tui_eval.printable import one_line
from tui_eval.text.figures import again_text, clock_text
from tui_eval.text.stages import LOOKS, is_running

if TYPE_CHECKING:
    from tui_eval.events import ReplicaMoved, WorkerSeen
    from tui_eval.fold.run_state import RunState

LONGEST = 200
SHOWN_AFTER_S = 10.0
"""Seconds after which a wait is shown on the screen."""
LONG_S = 60.0
"""Seconds after which a wait is highlighted."""
_STARTS_A_SENTENCE = re.compile(r"[A-Z][a-z]+ ")
_WITHOUT_A_CALL = {
    "held": "room in the budget",
    "generated": "others that are not generated yet",
    "scoring": "the rubric's code",
    "tool": "a tool",
}
_OTHERWISE = "the environment's code"
PAUSE = "the end of the pause"


def pause_text(state: RunState) -> str:
    """Reason why a run at work is paused; empty where it is not."""
    if state.gate_open:
        return ""
    refusal = state.refusal
    if refusal is None:
        return "somebody paused it"
    return f"the disk refuses {one_line(refusal.path, LONGEST)}: {one_line(refusal.why, LONGEST)}"


def sleeps_text(state: RunState, row: int, now: float) -> str:
    """Reason why a rollout sleeps, and its next try; empty where it does not.

    Args:
        now: Unix seconds: the time until the next try is counted from it.
    """
    note, again_at = state.notes.get(row, ""), state.again_at.get(row)
    cause, begins, _ = note.rpartition(", again in ")
    if again_at is None or not begins:
        return note
    return f"{cause}, again {again_text(again_at - now)}"


def waits_text(state: RunState, row: int, now: float) -> str:
    """The wait of a running rollout in words; empty for others.

    Args:
        now: As for `sleeps_text`.
    """
    stage = state.stage[row]
    if not is_running(stage):
        return ""
    if stage == SLEEPING:
        return one_line(sleeps_text(state, row, now), LONGEST) or "its next try"
    if stage == HELD and not state.gate_open:
        return f"the end of the pause: {pause_text(state)}" if state.refusal is not None else PAUSE
    wait = state.waits.get(row)
    call = one_line(wait.call, LONGEST) if wait is not None else ""
    if not call:
        return _WITHOUT_A_CALL.get(LOOKS[stage].word, _OTHERWISE)
    return call[0].lower() + call[1:] if _STARTS_A_SENTENCE.match(call) else call


def waited_s(state: RunState, row: int, now: float) -> float:
    """Seconds of a rollout's wait; 0 where they are not known."""
    wait = state.waits.get(row)
    return max(now - wait.since, 0.0) if wait is not None and wait.since else 0.0


def long_wait(state: RunState, row: int, now: float) -> str:
    """The wait of a running rollout, its seconds first; empty for a short one.

    Empty for one that sleeps too: its stage says so.
    """
    seconds = waited_s(state, row, now)
    if seconds < SHOWN_AFTER_S or state.stage[row] == SLEEPING:
        return ""
    return f"{clock_text(seconds)} {waits_text(state, row, now)}"


def is_long(state: RunState, row: int, now: float) -> bool:
    """Whether a rollout that does not sleep has waited long enough to be highlighted."""
    is_awake = state.stage[row] not in (SLEEPING, HELD)
    return is_awake and waited_s(state, row, now) >= LONG_S


def wait_note(state: RunState, row: int, now: float) -> str:
    """A sentence on a wait and a worker that stands still; or on why the rollout sleeps."""
    if not 0 <= row < state.total or not is_running(state.stage[row]):
        return ""
    if state.stage[row] == SLEEPING:
        return sleeps_text(state, row, now)
    worker = still_worker(state, row)
    still = [worker_text(worker, now)] if worker is not None else []
    seconds = waited_s(state, row, now)
    if seconds < SHOWN_AFTER_S:
        return ", ".join(still)
    waits = f"has waited {clock_text(seconds)} for {waits_text(state, row, now)}"
    return ", ".join([waits, *still])


def longest_wait(state: RunState, now: float) -> float:
    """Seconds for which the rollout has waited that waits longest and does not sleep."""
    awake = (row for row in state.waits if state.stage[row] not in (SLEEPING, HELD))
    return max((waited_s(state, row, now) for row in awake), default=0.0)


def turn_of(state: RunState, row: int) -> int:
    """The turn of a running rollout, from 1: the next one once a model call is begun."""
    wait, stage, turns = state.waits.get(row), state.stage[row], state.turns[row]
    is_answered = stage > MODEL or (stage == MODEL and wait is not None and not wait.call)
    return max(turns, 1) if is_answered else turns + 1


def longest_waits(state: RunState, now: float) -> list[int]:
    """The running rollouts, the one that has waited longest first."""
    return sorted(state.waits, key=lambda row: (-waited_s(state, row, now), row))


def still_worker(state: RunState, row: int) -> WorkerSeen | None:
    """The worker of a running rollout, where that stands still."""
    wait, seen = state.waits.get(row), state.workers
    if wait is None or seen is None or not wait.worker:
        return None
    return next((one for one in seen.workers if one.pid == wait.worker and one.still_since), None)


def worker_text(worker: WorkerSeen, now: float) -> str:
    """A sentence on a worker that stands still: where, and for how long."""
    where = f" in {one_line(worker.held_at, LONGEST)}" if worker.held_at else ""
    return f"worker {worker.pid} has stood still{where} for {clock_text(now - worker.still_since)}"


def replica_text(out: ReplicaMoved, now: float) -> str:
    """A sentence on a replica that is out: since when, why, and when it is retried."""
    out_for, again = clock_text(now - out.out_since), again_text(out.probe_at - now)
    return f"Replica {out.url} has been out for {out_for}: {out.why}; retried {again}"
