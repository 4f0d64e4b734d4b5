"""`tui-eval gate A B`: whether a run is no worse than another one by more than a margin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_eval.errors import Fault, RefusedError
from tui_eval.stats.verdict import MARGIN

if TYPE_CHECKING:
    from tui_eval.runs.compared_runs import ComparedRun


@click.command("gate")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@click.option(
    "--margin",
    metavar="NUMBER",
    default=str(MARGIN),
    help=f"So much worse B may be, in the units of the metric.  [default: {MARGIN}]",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="What is gated, in place of reward: a metric, turns, calls, tokens or time; may be "
    "repeated, and the worst counts.",
)
@click.option("--lower-is-better", is_flag=True, help="Of every metric, less is better.")
@click.option(
    "--inconclusive",
    "decided",
    type=click.Choice(("pass", "fail")),
    help="End with 0 or 5 where the numbers are too few to say.  [default: with 6]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object in place of text.")
@click.option(
    "--junit",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the verdicts for CI as JUnit XML, too.",
)
def command(
    first: Path,
    second: Path,
    margin: str,
    metrics: tuple[str, ...],
    lower_is_better: bool,
    decided: str | None,
    as_json: bool,
    junit: Path | None,
) -> int:
    """Decide whether run B is no worse than run A.

    Passed, exit code 0: the 95 % interval of B − A, over the examples that both runs have, is above
    -margin. Failed, 5: it is below 0, and not above -margin. Inconclusive, 6: neither, or there are
    fewer than 6 examples. Nothing measured, 7: no rows, no reward, or all errored.
    """
    from tui_eval.cli.compare.gate_lines import GateReport, write_junit
    from tui_eval.cli.console.printing import print_json, print_stdout
    from tui_eval.fold.compare.gated_figures import gated_figures, margin_faults

    names = tuple(dict.fromkeys(metrics)) or ("reward",)
    runs, limit = _read((first, second), margin, names, junit)
    compared = runs[1].comparison
    assert compared is not None, "the second run is compared with the first"
    sides = [one.side for one in runs]
    gated = gated_figures(sides, compared.figures, names, limit, lower_is_better)
    if faults := margin_faults(gated, limit):
        raise RefusedError(faults)
    report = GateReport(runs, compared, gated, limit, lower_is_better, decided)
    if junit is not None:
        write_junit(report, junit)
    if as_json:
        print_json(report.object())
    else:
        print_stdout(report.lines())
    return report.exit_code


def _read(
    paths: Sequence[Path], margin: str, names: Sequence[str], junit: Path | None
) -> tuple[list[ComparedRun], float]:
    """Both runs and the margin; warns of what cannot be read.

    Raises:
        RefusedError: The request makes no sense; has every fault.
    """
    from tui_eval.cli.console.report import print_unreadable
    from tui_eval.fold.compare.gated_figures import gate_faults
    from tui_eval.fold.query.fields import number_from
    from tui_eval.runs.compared_runs import read_runs
    from tui_eval.runs.saved_run import named_runs

    faults = _margin_faults(margin)
    if junit == Path("-"):
        faults.append(Fault("--junit -", "this is no file", "Name one: --junit gate.xml"))
    try:
        found = named_runs(paths)
    except RefusedError as error:
        raise RefusedError(faults + error.faults) from None
    if found[0].results.resolve() == found[1].results.resolve():
        what, hint = "this is the same run as A", "Name the run that is to be judged"
        raise RefusedError([*faults, Fault(str(paths[1]), what, hint)])
    runs = read_runs(paths)
    faults += gate_faults([one.side for one in runs], names, [str(path) for path in paths])
    if faults:
        raise RefusedError(faults)
    for one in runs:
        print_unreadable(one.side.state)
    return runs, number_from("", margin) or 0.0


def _margin_faults(margin: str) -> list[Fault]:
    from tui_eval.fold.query.fields import number_from

    value = number_from("", margin)
    if value is None:
        hint = f"As in --margin {MARGIN}"
        return [Fault(f"--margin {margin}", "this is no finite number", hint)]
    if value < 0:
        hint = f"Did you mean {-value:g}?"
        return [Fault(f"--margin {margin}", "how much worse B may be is not negative", hint)]
    return []
