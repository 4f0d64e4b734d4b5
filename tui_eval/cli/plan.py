"""`tui-eval plan A [B]`: how many examples and rollouts it takes to show a difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class PlainNumber(click.types.FloatParamType):
    """A number as people write it: `float` also takes 0_03, and makes it 3."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number; fails on underscores and on digits of other scripts."""
        if isinstance(value, str) and ("_" in value or not value.isascii()):
            self.fail(f"{value!r} is not a number in plain digits, as 0.03 is.", param, ctx)
        return float(super().convert(value, param, ctx))


@click.command("plan")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="[B]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--detect",
    type=PlainNumber(),
    default=0.03,
    metavar="DIFFERENCE",
    help="The difference of mean rewards that is to be shown.  [default: 0.03]",
)
@click.option("--metric", default="reward", metavar="NAME", help="Plan for a metric instead.")
@click.option(
    "--correlation",
    type=PlainNumber(),
    metavar="SHARE",
    help="How alike examples are in both runs, where there is no B.  [default: 0.5]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object in place of text.")
def command(
    first: Path,
    second: Path | None,
    detect: float,
    metric: str,
    correlation: float | None,
    as_json: bool,
) -> int:
    """Say how many examples and rollouts it takes to show a difference between two runs.

    A is a pilot: a small run of what is to be compared. From the spread of its rewards between
    examples, and between rollouts of one example, follows how many of each show a difference of
    --detect 8 times of 10, and what they cost. How alike the two runs are is measured with a second
    pilot B over the same examples, else assumed.

    Exit code 7: the pilot's rewards are too few, or all equal, and show nothing.
    """
    from tui_eval.cli.console.printing import print_json, print_stdout, warn
    from tui_eval.cli.pilot_lines import plan_lines, plan_object
    from tui_eval.errors import RefusedError
    from tui_eval.exit_codes import VERDICTS, ExitCode
    from tui_eval.fold.pilot import NothingMeasuredError, plan_faults, plan_for
    from tui_eval.runs.compared_runs import read_runs
    from tui_eval.runs.summary_json import unstarted_object

    try:
        runs = read_runs([first] if second is None else [first, second])
    except RefusedError as error:
        faults = plan_faults([], "reward", detect, correlation)
        raise RefusedError([*error.faults, *faults]) from None
    try:
        plan = plan_for([one.side for one in runs], metric, detect, correlation)
    except NothingMeasuredError as error:
        word = VERDICTS[ExitCode.NOTHING_MEASURED]
        if as_json:
            print_json(unstarted_object(word, ExitCode.NOTHING_MEASURED, str(error)))
        warn(f"{word}: {error}")
        return ExitCode.NOTHING_MEASURED
    if as_json:
        print_json(plan_object(runs, plan))
    else:
        print_stdout(plan_lines(runs, plan))
    return 0
