"""Results of a gate: as lines, as one JSON object, and as JUnit XML, which CI shows as tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.errors import Fault, UnwritableError
from tui_eval.exit_codes import VERDICTS, ExitCode, worst_verdict
from tui_eval.fold.compare.comparison import Comparison
from tui_eval.fold.compare.gated_figures import NAME_MOST, GatedFigure
from tui_eval.printable import one_line, printable
from tui_eval.runs.compared_runs import ComparedRun
from tui_eval.runs.export.comparison import errors_object
from tui_eval.runs.file_writing import new_file
from tui_eval.runs.summary_json import VERSION
from tui_eval.text.changes import lettered
from tui_eval.text.figures import EXACT, plural, reward_text, signed_text
from tui_eval.text.verdict_words import method_text, power_text

DECIDED = {"pass": ExitCode.FINISHED, "fail": ExitCode.FAILED}
ELEMENTS = {
    ExitCode.FAILED: "failure",
    ExitCode.INCONCLUSIVE: "skipped",
    ExitCode.NOTHING_MEASURED: "error",
}
"""Element in the test case of a verdict; none where it passed."""


class GateReport(msgspec.Struct, frozen=True):
    """Results of a gate on two runs.

    Args:
        gated: The gated numbers, one at least.
        decided: Meaning of an inconclusive verdict, `pass` or `fail`; None for neither.
    """

    runs: Sequence[ComparedRun]
    compared: Comparison
    gated: Sequence[GatedFigure]
    margin: float
    lower_is_better: bool = False
    decided: str | None = None

    def code(self, one: GatedFigure) -> ExitCode:
        """The exit code of one number."""
        if one.gate.code is ExitCode.INCONCLUSIVE and self.decided is not None:
            return DECIDED[self.decided]
        return one.gate.code

    @property
    def exit_code(self) -> int:
        """The exit code of the worst number."""
        return worst_verdict(map(self.code, self.gated))

    def lines(self) -> Iterator[str]:
        """The power and then the verdict of each number, and what speaks against the comparison."""
        for one in self.gated:
            if reported := self.power_line(one):
                yield f"{reported[0].upper()}{reported[1:]}"
            yield self.verdict_line(one)
        yield from (f"  ! {doubt}" for doubt in self.doubts())

    def verdict_line(self, one: GatedFigure) -> str:
        """The verdict in capitals, and the numbers behind it."""
        start = f"{one.word.upper()}: {one_line(one.name, NAME_MOST)}"
        if one.figure is None:
            return f"{start}: {one.gate.why}"
        found = one.difference
        ends = ""
        if found.low is not None and found.high is not None:
            ends = f" [{self._end(found.low)}, {self._end(found.high)}]"
        better = ", lower is better" if self.lower_is_better else ""
        parts = (method_text(found), plural(found.n, "example"))
        counted = f", counted as {self.decided}: --inconclusive {self.decided}"
        is_decided = self.decided is not None and one.gate.code is ExitCode.INCONCLUSIVE
        return (
            f"{start} B − A {signed_text(found.mean, EXACT)}{ends}, margin {self.margin:g}{better}"
            f" ({', '.join(filter(None, parts))}): {one.gate.why}{counted if is_decided else ''}"
        )

    def _end(self, value: float) -> str:
        """An end of the interval, shown so that it agrees with the verdict."""
        text = reward_text(value, EXACT)
        agrees = all(
            (float(text) > limit) == (value > limit) and (float(text) < limit) == (value < limit)
            for limit in (-self.margin, 0.0, self.margin)
        )
        return text if agrees else f"{value:.6g}"

    def power_line(self, one: GatedFigure) -> str:
        """A sentence on the gate's power; empty where nothing was measured."""
        if one.figure is None:
            return ""
        return power_text(one.gate, one.difference.n, one.needed)

    def doubts(self) -> Iterator[str]:
        """Reasons to trust the numbers less."""
        yield from (lettered(doubt, "B") for doubt in self.compared.doubts)
        for why, count in self.compared.unpaired.items():
            yield f"not paired: {plural(count, 'example')} {lettered(why, 'B')}"
        if any(one.side.state.errored for one in self.runs) and self._with_errors is not None:
            first, second = (reward_text(value, EXACT) for value in self._rewards_with_errors)
            difference = signed_text(self._with_errors, EXACT)
            yield f"with errors as 0 the reward would be {first} and {second}, B − A {difference}"

    @property
    def _rewards_with_errors(self) -> list[float | None]:
        states = [one.side.state for one in self.runs]
        return [state.reward_mean.result().with_zeros(state.errored) for state in states]

    @property
    def _with_errors(self) -> float | None:
        first, second = self._rewards_with_errors
        return None if first is None or second is None else second - first

    def object(self) -> dict[str, Any]:
        """All of it; `docs/deciding.md` describes the keys."""
        worst = worst_verdict(one.gate.code for one in self.gated)
        return {
            "version": VERSION,
            "status": VERDICTS[worst],
            "exit_code": self.exit_code,
            "margin": self.margin,
            "lower_is_better": self.lower_is_better,
            "inconclusive": self.decided,
            "verdicts": [self._verdict_object(one) for one in self.gated],
            "runs": [str(one.run.place.absolute()) for one in self.runs],
            "errors": [errors_object(one.side.state) for one in self.runs],
            "difference_with_errors_as_0": self._with_errors,
            "doubts": self.compared.doubts,
            "unpaired": self.compared.unpaired,
        }

    def _verdict_object(self, one: GatedFigure) -> dict[str, Any]:
        figure, found = one.figure, one.difference
        return {
            "metric": one.name,
            "status": one.word,
            "exit_code": int(self.code(one)),
            "why": one.gate.why,
            "first": figure.first if figure is not None else None,
            "second": figure.second if figure is not None else None,
            "difference": found.mean,
            "low": found.low,
            "high": found.high,
            "method": found.method,
            "examples": found.n,
            "power": one.gate.power,
            "examples_needed": one.needed,
        }


def write_junit(report: GateReport, path: Path) -> None:
    """Writes a test suite with a test case for each number; the file appears when it is whole.

    Raises:
        UnwritableError: It cannot be written.
    """
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", name="tui-eval gate", tests=str(len(report.gated)))
    codes = [report.code(one) for one in report.gated]
    for key, code in (
        ("failures", ExitCode.FAILED),
        ("errors", ExitCode.NOTHING_MEASURED),
        ("skipped", ExitCode.INCONCLUSIVE),
    ):
        suite.set(key, str(codes.count(code)))
    for one in report.gated:
        _add_case(suite, report, one)
    try:
        with new_file(path) as file:
            ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
    except OSError as error:
        what = f"the verdict cannot be written: {error.strerror or error}"
        raise UnwritableError([Fault(str(path), what)]) from error


def _add_case(suite: ET.Element, report: GateReport, one: GatedFigure) -> None:
    environment = next(filter(None, (run.side.environment for run in report.runs)), "run")
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"gate.{one_line(environment, NAME_MOST)}",
        name=f"{one_line(one.name, NAME_MOST)} is no worse by more than {report.margin:g}",
    )
    if kind := ELEMENTS.get(report.code(one)):
        message = printable(report.verdict_line(one))
        ET.SubElement(case, kind, message=message, type=one.word.replace(" ", "_"))
    beside = [report.verdict_line(one), report.power_line(one), *report.doubts()]
    ET.SubElement(case, "system-out").text = printable("\n".join(filter(None, beside)))
