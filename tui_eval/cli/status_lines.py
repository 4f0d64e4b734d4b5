"""Status of a run, as lines for people and as one JSON object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval import clock
from tui_eval.cli.console.report import gives_way
from tui_eval.fold.columns import number_of_row
from tui_eval.fold.rollout_columns import SLEEPING
from tui_eval.runs.summary_json import VERSION
from tui_eval.text.figures import plural, refusal_text
from tui_eval.text.stages import look_of, rollout_name
from tui_eval.text.waits import (
    longest_waits,
    pause_text,
    replica_text,
    still_worker,
    turn_of,
    waited_s,
    waits_text,
    worker_text,
)

if TYPE_CHECKING:
    from tui_eval.events import WorkerSeen
    from tui_eval.fold.run_state import RunState

MOST_SHOWN = 20
CUT_OFF = "cut off"


def status_of(state: RunState, pid: int) -> str:
    """The status of a run in a word or two."""
    if pid:
        return "running" if state.gate_open else "paused"
    return state.end.status if state.end is not None else CUT_OFF


def status_object(state: RunState, pid: int, silent: str = "") -> dict[str, Any]:
    """Status of a run as JSON data; `docs/running.md` describes it.

    Args:
        pid: The process that works on it; 0 where none does.
        silent: Why that process reports no status.
    """
    run, end, now = state.run, state.end, clock.now()
    assert run is not None, "what is no run was refused"
    workers = state.workers.workers if state.workers is not None and pid else []
    return {
        "version": VERSION,
        "path": str(Path(run.path).absolute()),
        "env_id": run.env_id,
        "model": run.model,
        "status": status_of(state, pid),
        "exit_code": end.exit_code if end is not None and not pid else None,
        "error": silent or (end.text if end is not None and not pid else "") or None,
        "warnings": [] if pid else [text for level, text in state.notices if level == "warning"],
        "paused": (pause_text(state) or None) if pid else None,
        "engine": {"pid": pid} if pid else None,
        "disk_refuses": _refusal_object(state) if pid else None,
        "total": state.expected,
        "finished": state.finished,
        "errored": state.errored,
        "running": state.running,
        "waiting": state.waiting,
        "max_concurrent": run.max_concurrent,
        "refused_requests": state.refused_requests,
        "endpoints": [*_endpoint_objects(state, now)],
        "workers": [_worker_object(one, now) for one in workers],
        "rollouts": [_rollout_object(state, row, now) for row in longest_waits(state, now)],
    }


def _refusal_object(state: RunState) -> dict[str, Any] | None:
    one = state.refusal
    if one is None:
        return None
    return {"why": one.why, "path": one.path, "rows": one.rows, "answers": one.records}


def suite_object(file: Path, evaluations: list[dict[str, Any]]) -> Mapping[str, Any]:
    """Status of the evaluations of a file."""
    return {"version": VERSION, "path": str(file.absolute()), "evaluations": evaluations}


def _endpoint_objects(state: RunState, now: float) -> Iterator[dict[str, Any]]:
    for place, url in enumerate(state.run.base_url.split(",") if state.run is not None else ()):
        out = state.out.get(place)
        yield {
            "url": url,
            "out_s": round(max(now - out.out_since, 0.0), 1) if out is not None else None,
            "why": out.why if out is not None else None,
            "probe_in_s": round(max(out.probe_at - now, 0.0), 1) if out is not None else None,
        }


def _worker_object(one: WorkerSeen, now: float) -> dict[str, Any]:
    return {
        "pid": one.pid,
        "state": one.state,
        "rollouts": one.rollouts,
        "memory_mb": round(one.memory_mb, 1),
        "still_s": round(now - one.still_since, 1) if one.still_since else 0.0,
        "held_at": one.held_at or None,
    }


def _rollout_object(state: RunState, row: int, now: float) -> dict[str, Any]:
    again_at = state.again_at.get(row)
    return {
        "example_id": state.example_id(row),
        "rollout": number_of_row(state, row),
        "stage": look_of(state, row).word,
        "attempt": state.attempt[row],
        "turn": turn_of(state, row),
        "waits_for": waits_text(state, row, now),
        "since_s": round(waited_s(state, row, now), 1),
        "again_in_s": round(max(again_at - now, 0.0), 1) if again_at else None,
        "worker": state.waits[row].worker or None,
    }


def status_lines(state: RunState, pid: int) -> Iterator[str]:
    """Status of a run, for people; see `status_object`."""
    run, end, now = state.run, state.end, clock.now()
    assert run is not None, "what is no run was refused"
    yield f"{run.env_id} with {run.model}: {run.path}"
    word = status_of(state, pid)
    are = "is" if state.expected == 1 else "are"
    done = f"{state.finished:,} of {plural(state.expected, 'rollout')} {are} done"
    errored = f", {state.errored:,} of them errored" if state.errored else ""
    where = f" in process {pid}" if pid else ""
    text = pause_text(state) if pid else end.text if end is not None else ""
    why = f" ({text})" if text else ""
    yield f"{word.capitalize()}{where}{why}: {done}{errored}"
    if not pid:
        return
    if (refusal := state.refusal) is not None:
        what = refusal_text(refusal.path, refusal.why, refusal.rows, refusal.records)
        yield f"{what}. {refusal.advice}: the run continues then"
    bound = run.max_concurrent  # rollouts whose rows wait for the disk are beyond it
    of = f" of at most {bound:,}" if state.running <= bound > 0 else ""
    waiting = f", {state.waiting:,} have not begun" if state.waiting else ""
    yield f"{plural(state.running, 'rollout')} in flight{of}{waiting}{gives_way(state)}"
    for _, out in sorted(state.out.items()):
        yield replica_text(out, now)
    if state.workers is not None:
        yield from _worker_lines(state.workers.workers, now)
    yield from _wait_lines(state, now)


def _worker_lines(workers: Iterable[WorkerSeen], now: float) -> Iterator[str]:
    for one in workers:
        what = f"{one.state}, {plural(one.rollouts, 'rollout')}, {one.memory_mb:,.0f} MB"
        still = f"; {worker_text(one, now)}" if one.still_since else ""
        yield f"Worker {one.pid}: {what}{still}"


def _wait_lines(state: RunState, now: float) -> Iterator[str]:
    rows = longest_waits(state, now)
    if not rows:
        return
    yield "In flight, the longest wait first:"
    shown = rows[:MOST_SHOWN]
    names = [rollout_name(state, row) for row in shown]
    width = max(map(len, names))
    for row, name in zip(shown, names, strict=True):
        look = look_of(state, row)
        seconds = f"{waited_s(state, row, now):,.0f} s"
        yield (
            f"  {look.glyph} {name:{width}}  {look.word:9}  {seconds:>8}  "
            f"{_wait_words(state, row, now)}"
        )
    if len(rows) > len(shown):
        others = plural(len(rows) - len(shown), "other")
        yield f"and {others}; --json has all. By what they wait for:"
        yield from _kinds(state, rows, now)


def _wait_words(state: RunState, row: int, now: float) -> str:
    words = [waits_text(state, row, now)]
    if look_of(state, row).word in ("model", "tool"):
        words.append(f"turn {turn_of(state, row)}")
    if state.attempt[row] > 1:
        words.append(f"try {state.attempt[row]}")
    worker = still_worker(state, row)
    return ", ".join([*words, *([worker_text(worker, now)] if worker is not None else [])])


def _kinds(state: RunState, rows: list[int], now: float) -> Iterator[str]:
    kinds: defaultdict[str, list[int]] = defaultdict(list)
    for row in rows:
        is_asleep = state.stage[row] == SLEEPING
        kinds["their next try" if is_asleep else waits_text(state, row, now)].append(row)
    for what, those in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        longest = max(waited_s(state, row, now) for row in those)
        yield f"  {len(those):>6,}  {what}, the longest {longest:,.0f} s"
