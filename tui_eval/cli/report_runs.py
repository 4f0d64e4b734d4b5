"""`tui-eval report RUN...`: the summary of a saved run, or a table of several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from tui_eval.runs.layout import RunDir


@click.command("report")
@click.argument("paths", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object in place of text.")
@click.option(
    "-A", "--abbreviated-summary", "abbreviated", is_flag=True, help="Leave out the tables."
)
@click.option(
    "--examples", type=int, metavar="N", help="Show the worst N examples; -1 for all.  [default: 8]"
)
def command(paths: tuple[Path, ...], as_json: bool, abbreviated: bool, examples: int | None) -> int:
    """Print what a run came to, or several runs beside each other.

    RUN is the directory that holds its results.jsonl, or a folder of results that holds one run;
    the newest run without any.
    """
    from tui_eval.cli.report import report_run, show_faults, show_json
    from tui_eval.errors import Fault, RefusedError
    from tui_eval.runs.naming import named_runs
    from tui_eval.runs.summary_json import refused_object
    from tui_eval.runs.unsaved import newest_run

    runs: list[RunDir] = []
    faults: list[Fault] = []
    try:
        runs = named_runs(paths)
    except RefusedError as error:
        faults = error.faults
    if not paths:
        newest = newest_run()
        runs = [newest] if newest is not None else []
        faults = [] if runs else [Fault("report", "there is no run to report on", "Name one")]
    if faults:
        if as_json:
            show_json(refused_object(faults))
        return show_faults(faults)
    if as_json:
        _show_objects(runs)
    elif len(runs) > 1:
        _show_table(runs)
    else:
        how: dict[str, Any] = {} if examples is None else {"examples": examples}
        report_run(runs[0], abbreviated=abbreviated, **how)
    return 0


def _show_objects(runs: list[RunDir]) -> None:
    from tui_eval.cli.report import read_run, show_json
    from tui_eval.runs.summary_json import several_object, summary_object

    found = [summary_object(read_run(run)[0]) for run in runs]
    show_json(several_object(found, 0) if len(found) > 1 else found[0])


def _show_table(runs: list[RunDir]) -> None:
    from tui_eval.cli.report import read_run, show
    from tui_eval.cli.table_lines import table_lines, table_width
    from tui_eval.fold.summary import summarize

    show(table_lines([summarize(read_run(run)[0]) for run in runs], width=table_width()))
