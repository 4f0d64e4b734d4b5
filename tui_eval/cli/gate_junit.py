"""The verdicts of a gate as JUnit XML, which CI shows as tests."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from tui_eval.cli.gate_lines import GateReport
from tui_eval.errors import Fault, UnwritableError
from tui_eval.exit_codes import ExitCode
from tui_eval.fold.gated_figures import NAME_MOST, GatedFigure
from tui_eval.printable import one_line, printable
from tui_eval.runs.file_writing import new_file

ELEMENTS = {
    ExitCode.FAILED: "failure",
    ExitCode.INCONCLUSIVE: "skipped",
    ExitCode.NOTHING_MEASURED: "error",
}
"""What is in the test case of a verdict; nothing where it passed."""


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
