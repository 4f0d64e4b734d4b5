"""The end of a run whose engine was stopped and is held by its disk: nothing there is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.engine.transport.launcher import EngineProcess
    from tui_eval.fold.run_state import RunState


def report_held(engine: EngineProcess, state: RunState, *, as_json: bool = False) -> int:
    """Says that an engine does not end, why, and how its run is resumed; returns the exit code.

    All of that is known from its events: who reads its files waits as the engine does.

    Args:
        engine: One that `is_held`.
    """
    from tui_eval.cli.report import print_json, warn
    from tui_eval.exit_codes import ExitCode
    from tui_eval.runs.summary_json import unstarted_object

    code, status = ExitCode.COULD_NOT_FINISH.value, "failed"
    why = _what_is_lost(state)
    if state.end is not None:
        code, status, why = state.end.exit_code, state.end.status, state.end.text or why
    if why:
        warn(f"error: {why}")
    whose = f" of {state.run.path}" if state.run is not None else ""
    held = f"The engine, process {engine.pid}, does not end: it waits for the disk{whose}"
    warn(f"{held}. It is killed, and ends once that answers. Rows that were written stay.")
    if state.run is not None:
        warn(f"Resume then: {_command(state)}")
    if as_json:
        print_json(unstarted_object(status, code, "; ".join(filter(None, (why, held)))))
    return code


def _what_is_lost(state: RunState) -> str:
    """What the disk did not take of a run that did not come to say where else it is."""
    from tui_eval.text.figures import plural

    refusal = state.refusal
    if refusal is None:
        return ""
    what = f"{plural(refusal.rows, 'row')} and {plural(refusal.records, 'answer')}"
    why = f"{refusal.path} cannot be written, {refusal.why}"
    return f"{why}; {what} in memory may be lost, a resume takes in what was put elsewhere"


def _command(state: RunState) -> str:
    from pathlib import Path

    from tui_eval.cli.resume_command import resuming
    from tui_eval.runs.layout import RunDir

    assert state.run is not None, "only a run that began has a command"
    return resuming(state.run.env_id, RunDir(Path(state.run.path)))
