"""`tui-eval open PATH`: a saved run, or one that an engine is running, on the same screen."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("open")
@click.argument("path", type=click.Path(path_type=Path))
def command(path: Path) -> int:
    """Show a run: the directory that holds its results.jsonl.

    A run that an engine is working on is joined. Without a terminal the summary is printed.
    """
    from tui_eval.cli.report import show_faults
    from tui_eval.cli.screen import has_terminal, open_on_screen, print_saved
    from tui_eval.errors import RefusedError
    from tui_eval.runs.opening import find_run

    try:
        run = find_run(path)
    except RefusedError as error:
        return show_faults(error.faults)
    return open_on_screen(run) if has_terminal() else print_saved(run)
