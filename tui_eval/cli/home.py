"""`tui-eval home`, and `tui-eval` alone on a terminal: what there is, and where to go from it."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("home")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
def command(paths: tuple[Path, ...]) -> int:
    """Show the runs, environments and endpoints that there are, and open what is chosen.

    Runs are looked for under ./outputs, under ./environments/*/outputs, among unsaved ones, and
    under every PATH. `tui-eval` alone on a terminal does the same.
    """
    from tui_eval.cli.console.printing import print_faults
    from tui_eval.cli.screen import has_terminal, home_on_screen
    from tui_eval.errors import Fault

    missing = [path for path in paths if not path.exists()]
    if missing:
        what = "there is no such file or directory"
        return print_faults([Fault(str(path), what) for path in missing])
    if not has_terminal():
        hint = "Without one, `tui-eval open` prints the newest run, and `tui-eval --help` helps"
        return print_faults([Fault("tui-eval home", "there is no terminal to draw on", hint)])
    return home_on_screen(paths)
