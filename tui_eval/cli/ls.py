"""`tui-eval ls RUN`: the rollouts of a run, one line each."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("ls")
@click.argument("path", metavar="[RUN]", type=click.Path(path_type=Path), required=False)
@click.option("--where", default="", metavar="FILTER", help="Which rollouts; all without it.")
@click.option(
    "--sort", default="", metavar="COLUMN", help="Least first; -COLUMN for the greatest first."
)
@click.option("-n", "most", type=click.IntRange(min=0), metavar="N", help="So many at most.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(path: Path | None, where: str, sort: str, most: int | None, as_json: bool) -> int:
    """List the rollouts of a run: the newest one without RUN.

    FILTER is words, /regular expressions/ and conditions on fields, joined by and, or, not and
    parentheses: 'reward<0.5 and turns>8 and tool:search and not error:timeout'. text:WORD looks
    through whole trajectories. docs/analysing.md has all fields; the metrics of a run are fields as
    well.
    """
    from tui_eval.cli.chosen_rows import choose
    from tui_eval.cli.console.printing import print_json, print_stderr, print_stdout
    from tui_eval.cli.row_lines import row_lines
    from tui_eval.runs.export.source import row_object
    from tui_eval.text.figures import plural

    chosen = choose(path, where, sort)
    state, notes = chosen.state, chosen.notes
    rows = chosen.rows[:most]
    if as_json:
        for row in rows:
            print_json(row_object(state, row, notes))
        return 0
    print_stdout(row_lines(state, rows, notes) if rows else [])
    shown = f"{len(rows):,} of " if len(rows) < len(chosen.rows) else ""
    of = f" of {state.expected:,}" if where else ""
    print_stderr([f"{shown}{plural(len(chosen.rows), 'rollout')}{of}"])
    return 0
