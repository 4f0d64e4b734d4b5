"""`tui-eval compare RUN RUN...`: runs over the same examples beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tui_eval.runs.export.comparison import ComparedRun

CHANGES = ("fixed", "broken", "both-wrong", "both-right")


@click.command("compare")
@click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--only", type=click.Choice(CHANGES), help="Only examples of which this is true.")
@click.option(
    "-n",
    "most",
    type=click.IntRange(min=0),
    default=20,
    metavar="N",
    help="So many examples at most.  [default: 20]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object in place of text.")
@click.option("-d", "--debug", "plain", is_flag=True, help="Plain lines in place of the screen.")
@click.option("--example", metavar="ID", help="The transcripts of one example, turn by turn.")
@click.option(
    "--number",
    "numbers",
    multiple=True,
    type=int,
    metavar="N",
    help="With --example: which rollout; once a transcript.",
)
def command(
    paths: tuple[Path, ...],
    only: str | None,
    most: int,
    as_json: bool,
    plain: bool,
    example: str | None,
    numbers: tuple[int, ...],
) -> int:
    """Compare runs with the first one: settings, numbers, and what became of each example.

    On a terminal this is a screen; -d, --json, and --example print.

    Examples are paired by what they ask. An example of which the second run has the right answer
    and the first has not is fixed; the other way it is broken. A run of the first one's
    configuration is a noise floor: differences that are no greater say so.

    With --example one RUN will do: two rollouts of the same example are compared.
    """
    from tui_eval.cli.compared_runs import read_runs
    from tui_eval.cli.report import print_faults, print_json, print_stdout, warn
    from tui_eval.cli.screen import compare_on_screen, has_terminal
    from tui_eval.cli.transcript_lines import alignment_lines, alignment_object, find_two
    from tui_eval.errors import Fault, RefusedError
    from tui_eval.fold.alignment import align
    from tui_eval.runs.export.comparison import comparison_lines, comparison_object
    from tui_eval.runs.naming import named_runs
    from tui_eval.runs.summary_json import refused_object

    try:
        if example is not None:
            two = find_two(paths, example, numbers)
            for story in two:
                if story.doubt:
                    warn(f"warning: {story.doubt}")
            found = align(*two)
            if as_json:
                print_json(alignment_object(found))
            else:
                print_stdout(alignment_lines(found))
            return 0
        if len(paths) < 2:
            hint = "Name another one, or an example: --example ID"
            raise RefusedError([Fault("compare", "there is only one run", hint)])
        if has_terminal() and not (as_json or plain):
            named_runs(paths)
            return compare_on_screen(paths, only)
        runs: list[ComparedRun] = read_runs(paths)
    except RefusedError as error:
        if as_json:
            print_json(refused_object(error.faults))
        return print_faults(error.faults)
    if as_json:
        print_json(comparison_object(runs, only))
    else:
        print_stdout(comparison_lines(runs, only, most))
    return 0
