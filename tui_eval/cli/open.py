"""`tui-eval open PATH`: a saved run, or one that an engine is running, on the same screen."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tui_eval.fold.suite_state import SuiteState


@click.command("open")
@click.argument("path", type=click.Path(path_type=Path), required=False)
def command(path: Path | None) -> int:
    """Show a run: the directory that holds its results.jsonl; the newest one without PATH.

    A run that an engine is working on is joined; all evaluations of a file, where PATH is that
    .toml file, which are shown as they are saved where no engine works on them. Without a terminal
    the summary is printed.
    """
    from tui_eval.cli.console.report import report_run
    from tui_eval.cli.screen import has_terminal, open_on_screen
    from tui_eval.runs.layout import RunDir
    from tui_eval.runs.unsaved import run_of

    if path is not None and path.suffix == ".toml" and not RunDir(path.parent).is_run():
        return _open_suite(path)
    run = run_of(path, "open")
    if has_terminal():
        return open_on_screen(run)
    report_run(run)
    return 0


def _open_suite(file: Path) -> int:
    """Joins the engine that works on the evaluations of a file; without one shows their runs."""
    from tui_eval.cli.console.printing import print_faults
    from tui_eval.cli.screen import has_terminal, open_suite_on_screen
    from tui_eval.engine.setup.suite_lock import at_work_on
    from tui_eval.errors import Fault

    held = at_work_on(file)
    if held is not None and has_terminal():
        return open_suite_on_screen(file, held)
    suite = look_at_suite(held.socket) if held is not None else None
    if held is None or suite is None or suite.started is None:
        if not file.exists():
            return print_faults([Fault(str(file), "there is no such file")])
        return _look_again(file)
    from tui_eval.cli.console.suite_lines import show_at_work

    show_at_work(suite, held.pid)
    return 0


def _look_again(file: Path) -> int:
    """Shows the saved runs of the evaluations of a file."""
    from tui_eval.cli.console.printing import print_faults
    from tui_eval.cli.screen import has_terminal, look_at_suite_on_screen
    from tui_eval.errors import Fault

    what = "no engine is at work on these evaluations"
    show = "Open it on a terminal, or name the directory of a run"
    if has_terminal():
        from tui_eval.feeds.saved_suite import find_saved

        evaluations = find_saved(file)
        if any(one.run is not None for one in evaluations):
            return look_at_suite_on_screen(file, evaluations)
        what = f"{what}, and none of their runs is here with the settings of the file"
        show = "Name the directory of a run"
    on = shlex.join(["tui-eval", "run", str(file), "--resume"])
    hint = f"{show}. Or resume: {on} (errored rollouts run again)"
    return print_faults([Fault(str(file), what, hint)])


def look_at_suite(socket: str) -> SuiteState:
    """Present state of a suite, from its engine."""
    from tui_eval.feeds.live_feed import look_at_engine
    from tui_eval.fold.suite_state import SuiteState

    suite = SuiteState()

    def is_enough() -> bool:
        return suite.started is not None or suite.end is not None

    asyncio.run(look_at_engine(socket, suite.apply, is_enough))
    return suite
