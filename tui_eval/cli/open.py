"""`tui-eval open PATH`: a saved run, or one that an engine is running, on the same screen."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("open")
@click.argument("path", type=click.Path(path_type=Path), required=False)
def command(path: Path | None) -> int:
    """Show a run: the directory that holds its results.jsonl; the newest one without PATH.

    A run that an engine is working on is joined. Without a terminal the summary is printed.
    """
    from tui_eval.cli.report import report_run, show_faults
    from tui_eval.cli.screen import has_terminal, open_on_screen
    from tui_eval.errors import Fault, RefusedError
    from tui_eval.runs.opening import find_run
    from tui_eval.runs.unsaved import newest_run

    try:
        run = newest_run() if path is None else find_run(path)
    except RefusedError as error:
        return show_faults(error.faults)
    if run is None:
        hint = "Make one: tui-eval demo"
        return show_faults(
            [Fault("open", "there is no run under ./outputs, nor an unsaved one", hint)]
        )
    if has_terminal():
        return open_on_screen(run)
    report_run(run)
    return 0
