"""`tui-eval compare RUN RUN...`: compares runs over the same examples."""

from __future__ import annotations

from pathlib import Path

import click

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
@click.option("--example", metavar="ID", help="The trajectories of one example, turn by turn.")
@click.option(
    "--number",
    "numbers",
    multiple=True,
    type=int,
    metavar="N",
    help="With --example: which rollout; once a trajectory.",
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

    Examples are paired by their content. An example of which the second run has the right answer
    and the first has not is fixed; the other way it is broken. A run of the first one's
    configuration is a noise floor: differences that are no greater say so.

    With --example one RUN will do: two rollouts of the same example are compared.
    """
    from tui_eval.cli.screen import compare_on_screen, has_terminal
    from tui_eval.errors import Fault, RefusedError
    from tui_eval.runs.saved_run import named_runs

    if example is not None:
        return _compare_rollouts(paths, example, numbers, as_json=as_json)
    if len(paths) < 2:
        hint = "Name another one, or an example: --example ID"
        raise RefusedError([Fault("compare", "there is only one run", hint)])
    if has_terminal() and not (as_json or plain):
        named_runs(paths)
        return compare_on_screen(paths, only)
    return _compare_runs(paths, only, most, as_json=as_json)


def _compare_rollouts(
    paths: tuple[Path, ...], example: str, numbers: tuple[int, ...], *, as_json: bool
) -> int:
    from tui_eval.cli.compare.trajectory_lines import alignment_lines, alignment_object, find_two
    from tui_eval.cli.console.printing import print_json, print_stdout, warn
    from tui_eval.fold.compare.alignment import align

    two = find_two(paths, example, numbers)
    for rollout in two:
        if rollout.doubt:
            warn(f"warning: {rollout.doubt}")
    found = align(*two)
    if as_json:
        print_json(alignment_object(found))
    else:
        print_stdout(alignment_lines(found))
    return 0


def _compare_runs(paths: tuple[Path, ...], only: str | None, most: int, *, as_json: bool) -> int:
    from tui_eval.cli.console.printing import print_json, print_stdout
    from tui_eval.runs.compared_runs import read_runs
    from tui_eval.runs.export.comparison import comparison_lines, comparison_object

    runs = read_runs(paths)
    if as_json:
        print_json(comparison_object(runs, only))
    else:
        print_stdout(comparison_lines(runs, only, most))
    return 0
