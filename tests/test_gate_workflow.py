"""The workflow for CI in the docs: each of its commands runs, and decides."""

from __future__ import annotations

import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from program import Finished, Program

pytestmark = pytest.mark.slow

WORKFLOW = Path(__file__).parents[1] / "docs" / "gate-workflow.yml"


def typed(program: Program, text: str) -> list[tuple[str, Finished]]:
    """Every command of ours in the order of the workflow, typed, up to one that does not end well.

    A step with `!cancelled()` runs all the same.
    """
    done: list[tuple[str, Finished]] = []
    for step in re.split(r"^      - ", text, flags=re.MULTILINE)[1:]:
        found = re.search(r"run: (tui-eval .*)", step)
        is_stopped = any(one.code for _, one in done) and "!cancelled()" not in step
        if found is not None and not is_stopped:
            done.append((found[1], program.run(*shlex.split(found[1])[1:])))
    return done


def test_a_change_that_is_no_worse_is_let_in(program: Program) -> None:
    done = typed(program, WORKFLOW.read_text())
    assert [command.split()[1] for command, _ in done] == [
        *("word-guess", "word-guess", "gate", "report")
    ]
    assert [one.code for _, one in done] == [0, 0, 0, 0], done
    assert "PASSED: reward B − A" in done[2][1].out
    cases = ET.parse(program.folder / "gate.xml").getroot().findall("testsuite/testcase")
    assert [[child.tag for child in case] for case in cases] == [["system-out"]]
    assert cases[0].get("classname") == "gate.word-guess"


def test_a_change_that_breaks_it_is_not(program: Program) -> None:
    change = "word-guess -m demo -n 60 -r 3 -o change"
    text = WORKFLOW.read_text()
    assert change in text
    worse = f"{change} -x '{{\"max_turns\": 1}}'"
    done = typed(program, text.replace(change, worse))
    assert [one.code for _, one in done] == [0, 0, 5, 5], done
    assert "FAILED: reward B − A -" in done[2][1].out
    assert "failed: low(reward) = " in done[3][1].err
    assert ET.parse(program.folder / "gate.xml").getroot().find(".//failure") is not None
