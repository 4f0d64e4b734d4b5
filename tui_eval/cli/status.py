"""`tui-eval status RUN`: what each rollout in flight waits for, and since when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState
    from tui_eval.runs.layout import RunDir


@click.command("status")
@click.argument("path", metavar="[RUN]", type=click.Path(path_type=Path), required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(path: Path | None, as_json: bool) -> int:
    """Print the status of a run: the newest one without RUN.

    Of a run at work its engine says what every rollout in flight waits for (a model call, a tool, a
    reward function, a judge, its next try, a pause) and since when, the longest first, and how its
    workers are. Of one that is over: how it ended. Where RUN is a .toml file: of each of its
    evaluations.
    """
    from tui_eval.cli.console.printing import print_json, print_stderr, print_stdout
    from tui_eval.cli.status_lines import status_lines, status_object, suite_object
    from tui_eval.runs.layout import RunDir
    from tui_eval.runs.unsaved import run_of

    is_run = path is None or path.suffix != ".toml" or RunDir(path.parent).is_run()
    file = None if is_run else path
    every = [_look(run_of(path, "status"))] if file is None else [*_evaluations(file)]
    if as_json:
        objects = [status_object(one.state, one.pid, one.silent) for one in every]
        print_json(objects[0] if file is None else suite_object(file, objects))
    else:
        for place, one in enumerate(every):
            print_stdout([*([""] if place else []), *status_lines(one.state, one.pid)])
    silent = [one.silent for one in every if one.silent]
    print_stderr(f"error: {text}" for text in silent)
    return 1 if silent else 0


class _Seen(msgspec.Struct, frozen=True):
    """A run and its present status.

    Args:
        pid: The process that works on it; 0 where none does.
        silent: Why the status is from the disk, not from that process; empty where it is from it.
    """

    state: RunState
    pid: int = 0
    silent: str = ""


def _look(run: RunDir) -> _Seen:
    """Status of a run: from its engine, or from the disk where none is at work on it."""
    from tui_eval.cli.console.report import print_damage
    from tui_eval.feeds.live_feed import ANSWERS_WITHIN_S, look_at_engine
    from tui_eval.fold.run_state import RunState
    from tui_eval.runs.lock import holder
    from tui_eval.runs.saved_run import read_run

    held, silent = holder(run.lock), ""
    if held is not None and held.socket:
        state = RunState()

        def is_enough() -> bool:
            return state.run is not None or state.end is not None

        asyncio.run(look_at_engine(held.socket, state.apply, is_enough))
        if state.run is not None:
            return _Seen(state, 0 if state.end is not None else held.pid)
        silent = f"{held} is writing {run.path} and did not answer within {ANSWERS_WITHIN_S:.0f} s"
    elif held is not None:
        silent = f"{held} is writing {run.path}, and cannot be queried from here"
    state, pid = read_run(run)
    if held is None:
        silent = ""
    print_damage(state)
    return _Seen(state, pid, silent)


def _evaluations(file: Path) -> Iterator[_Seen]:
    """The evaluations of a file that have a run.

    Raises:
        RefusedError: None has, or there is no such file.
    """
    from tui_eval.cli.open import look_at_suite
    from tui_eval.engine.setup.suite_lock import at_work_on
    from tui_eval.errors import Fault, RefusedError
    from tui_eval.feeds.saved_suite import find_saved
    from tui_eval.runs.layout import RunDir

    held = at_work_on(file)
    if held is not None:
        suite = look_at_suite(held.socket)
        paths = [one.last.path for one in suite.evaluations if one.last.path]
        runs = [RunDir(Path(path)) for path in paths if Path(path).exists()]
    elif file.exists():
        runs = [one.run for one in find_saved(file) if one.run is not None]
    else:
        raise RefusedError([Fault(str(file), "there is no such file")])
    if not runs:
        what = "none of its evaluations has a run here"
        raise RefusedError([Fault(str(file), what, f"Begin them: tui-eval run {file}")])
    yield from map(_look, runs)
