"""`tui-eval export RUN`: rollouts of a run in another form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tui_eval.runs.export.source import ExportSource

FORMATS = ("jsonl", "csv", "parquet", "markdown", "html")


@click.command("export")
@click.argument("path", metavar="[RUN]", type=click.Path(path_type=Path), required=False)
@click.option(
    "--format", "kind", type=click.Choice(FORMATS), help="What the ending of FILE says without it."
)
@click.option("--where", default="", metavar="FILTER", help="Which rollouts; see `tui-eval ls`.")
@click.option("--sort", default="", metavar="COLUMN", help="In this order; see `tui-eval ls`.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where to; - for stdout.  [default: a new file here, named after the run]",
)
@click.option("--overwrite", is_flag=True, help="Replace FILE if it is there.")
def command(
    path: Path | None,
    kind: str | None,
    where: str,
    sort: str,
    output: Path | None,
    overwrite: bool,
) -> int:
    """Write the finished rollouts of a run, the newest one without RUN, to a file.

    jsonl: a rollout a line, as in results.jsonl. csv: a table with question and response.
    parquet: a table with whole conversations. markdown: trajectories to read. html: one page with
    everything.
    """
    from tui_eval.cli.chosen_rows import choose
    from tui_eval.errors import Fault, RefusedError
    from tui_eval.runs.export.source import ExportSource
    from tui_eval.runs.export.writer import format_of

    kind = kind or (format_of(output) if output is not None else None)
    if kind is None:
        hint = f"Name it: --format {'|'.join(FORMATS)}"
        raise RefusedError([Fault("--format", "nothing says what to write", hint)])
    chosen = choose(path, where, sort)
    source = ExportSource(chosen.run, chosen.state, chosen.notes, chosen.rows, where)
    _write(source, kind, output, overwrite)
    return 0


def _write(source: ExportSource, kind: str, output: Path | None, overwrite: bool) -> None:
    from tui_eval.cli.console.printing import print_stdout
    from tui_eval.cli.output import is_gone
    from tui_eval.runs.export.writer import default_path, write_export, write_to_stdout
    from tui_eval.text.figures import plural

    if output == Path("-"):
        write_to_stdout(source, kind, is_gone)
        _print_doubts(source)
        return
    path = output or default_path(source.run.place, kind)
    for progress in write_export(source, kind, path, overwrite=overwrite):
        if sys.stderr.isatty() and progress.written % 100 == 0:
            text = f"\r{progress.written:,} of {progress.total:,}"
            print(text, end="", file=sys.stderr, flush=True)
    _print_doubts(source)
    print_stdout([f"{plural(len(source.finished), 'rollout')} written to {path}"])


def _print_doubts(source: ExportSource) -> None:
    """Warns of lines that were not written as they are, unless that was done before."""
    from tui_eval.cli.console.printing import warn
    from tui_eval.cli.console.report import LINES_SHOWN
    from tui_eval.text.figures import plural

    known = {text for _, text in source.state.notices}
    reported = [text for text in source.doubts.values() if text not in known]
    for text in reported[:LINES_SHOWN]:
        warn(f"warning: {text}")
    if more := len(reported[LINES_SHOWN:]):
        warn(f"warning: {plural(more, 'more line')} like that")
