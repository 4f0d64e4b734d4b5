"""`tui-eval report RUN...`: the summary of a saved run, or a table of several."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from tui_eval.errors import Fault
    from tui_eval.fold.query.condition_verdict import ConditionVerdict
    from tui_eval.fold.query.conditions import Condition
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.summary import Summary
    from tui_eval.runs.layout import RunDir

SHOWN = 60
"""Characters of a condition that is wrong."""


@click.command("report")
@click.argument("paths", metavar="[RUN]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object in place of text.")
@click.option(
    "-A", "--abbreviated-summary", "abbreviated", is_flag=True, help="Leave out the tables."
)
@click.option(
    "--examples", type=int, metavar="N", help="Show the worst N examples; -1 for all.  [default: 8]"
)
@click.option(
    "--fail-if",
    "fail_if",
    multiple=True,
    metavar="CONDITION",
    help="End with exit code 5 if this is true, as in 'low(reward) < 0.7'; may be repeated.",
)
def command(
    paths: tuple[Path, ...],
    as_json: bool,
    abbreviated: bool,
    examples: int | None,
    fail_if: tuple[str, ...],
) -> int:
    """Print what a run came to, or several runs beside each other.

    RUN is the directory that holds its results.jsonl, or a folder of results that holds one run;
    the newest run without any.

    A condition of --fail-if compares mean, low, high or width (of the 95 % interval) of reward, of
    a metric or of pass@k or pass^k, or a count (errored, missing, no_number, used), with a number.
    Exit code 6: a number that it needs does not exist; 7: nothing was measured.
    """
    from tui_eval.cli.console.printing import refuse
    from tui_eval.cli.console.report import report_run
    from tui_eval.fold.query.condition_verdict import judge, name_faults

    runs, faults = _runs_to_report(paths)
    conditions, wrong = _conditions(fail_if)
    found = [] if faults else [_Read.of(run, as_json, len(runs)) for run in runs]
    wrong += [fault for one in found for fault in name_faults(conditions, one.summary)]
    if faults := faults + list(dict.fromkeys(wrong)):
        return refuse(faults, as_json=as_json)
    verdicts = [judge(conditions, one.summary) for one in found] if conditions else []
    if as_json:
        _show_objects([one.json for one in found], verdicts)
    elif len(runs) > 1:
        _show_table([one.summary for one in found])
    else:
        how: dict[str, Any] = {} if examples is None else {"examples": examples}
        report_run(runs[0], read=found[0].whole, abbreviated=abbreviated, **how)
    return _print_verdicts(verdicts, runs)


class _Read(NamedTuple):
    """A run that was read; of several runs only the shown parts stay in memory."""

    summary: Summary
    json: dict[str, Any]
    whole: tuple[RunState, int] | None

    @classmethod
    def of(cls, run: RunDir, as_json: bool, runs: int) -> _Read:
        from tui_eval.fold.summary import summarize
        from tui_eval.runs.saved_run import read_run
        from tui_eval.runs.summary_json import summary_object

        whole = read_run(run)
        json = summary_object(whole[0]) if as_json else {}
        return cls(summarize(whole[0]), json, None if runs > 1 else whole)


def _runs_to_report(paths: tuple[Path, ...]) -> tuple[list[RunDir], list[Fault]]:
    """The runs that were named, or the newest, and what is wrong with their names."""
    from tui_eval.errors import Fault, RefusedError
    from tui_eval.runs.saved_run import named_runs
    from tui_eval.runs.unsaved import newest_run

    if paths:
        try:
            return named_runs(paths), []
        except RefusedError as error:
            return [], error.faults
    newest = newest_run()
    if newest is None:
        return [], [Fault("report", "there is no run to report on", "Name one")]
    return [newest], []


def _conditions(texts: Iterable[str]) -> tuple[list[Condition], list[Fault]]:
    """The conditions of --fail-if, and what is wrong with them."""
    from tui_eval.fold.query.condition_parser import parse_condition
    from tui_eval.fold.query.conditions import ConditionError
    from tui_eval.printable import one_line

    conditions: list[Condition] = []
    faults: list[Fault] = []
    for text in texts:
        try:
            conditions.append(parse_condition(text, f'--fail-if "{one_line(text, SHOWN)}"'))
        except ConditionError as error:
            faults += error.faults
    return conditions, faults


def _print_verdicts(verdicts: list[ConditionVerdict], runs: list[RunDir]) -> int:
    """Prints on stderr what decides the verdicts that are not `passed`."""
    from tui_eval.cli.console.printing import print_stderr

    for verdict, run in zip(verdicts, runs, strict=False):  # without conditions there is none
        of = f"{run.place}: " if len(runs) > 1 else ""
        print_stderr(f"{of}{verdict.word}: {why}" for why in verdict.why)
    return _exit_code(verdicts)


def _exit_code(verdicts: list[ConditionVerdict]) -> int:
    from tui_eval.exit_codes import worst_verdict

    return worst_verdict(one.code for one in verdicts) if verdicts else 0


def _show_objects(objects: list[dict[str, Any]], verdicts: list[ConditionVerdict]) -> None:
    from tui_eval.cli.console.printing import print_json
    from tui_eval.runs.summary_json import several_object

    for found, verdict in zip(objects, verdicts, strict=False):
        found["verdict"] = _verdict_object(verdict)
    code = _exit_code(verdicts)
    print_json(several_object(objects, code) if len(objects) > 1 else objects[0])


def _verdict_object(verdict: ConditionVerdict) -> dict[str, Any]:
    return {
        "status": verdict.word,
        "exit_code": int(verdict.code),
        "why": verdict.why,
        "conditions": [
            {"condition": str(one), "is_true": found.truth, "reason": found.reason}
            for one, found in verdict.judged
        ],
    }


def _show_table(summaries: list[Summary]) -> None:
    from tui_eval.cli.console.printing import print_stdout, warn
    from tui_eval.cli.console.table_lines import table_lines, table_width

    for one in summaries:
        for text in one.end.contradictions if one.end is not None else ():
            warn(f"warning: {one.run.path}: {text}")
    print_stdout(table_lines(summaries, width=table_width()))
