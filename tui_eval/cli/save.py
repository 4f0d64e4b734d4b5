"""`tui-eval save PATH...`: keeps unsaved runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("save")
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("-o", "--output-dir", metavar="DIR", help="Keep them under this folder.")
def command(paths: tuple[Path, ...], output_dir: str | None) -> int:
    """Move unsaved runs to their environments' outputs, or to ./outputs."""
    from tui_eval.cli.console.printing import print_faults, print_stdout
    from tui_eval.errors import Fault, RefusedError
    from tui_eval.runs.layout import is_unsaved
    from tui_eval.runs.saved_run import find_run
    from tui_eval.runs.unsaved import keep

    faults: list[Fault] = []
    for path in paths:
        try:
            run = find_run(path)
            if not is_unsaved(run):
                raise RefusedError([Fault(str(path), "this run is saved already")])
            print_stdout([f"Results saved to: {keep(run, output_dir).path}"])
        except RefusedError as error:
            faults += error.faults
    return print_faults(faults) if faults else 0
