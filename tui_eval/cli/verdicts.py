"""Verdicts on the command line: conditions as they are typed, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tui_eval.cli.report import warn
from tui_eval.errors import Fault
from tui_eval.fold.condition_parser import parse_condition
from tui_eval.fold.condition_verdict import ConditionVerdict
from tui_eval.fold.conditions import Condition, ConditionError
from tui_eval.printable import one_line

SHOWN = 60


def parse_conditions(texts: Iterable[str], flag: str) -> tuple[list[Condition], list[Fault]]:
    """The conditions behind a flag that may be repeated, and what is wrong with them."""
    conditions: list[Condition] = []
    faults: list[Fault] = []
    for text in texts:
        try:
            conditions.append(parse_condition(text, f'{flag} "{one_line(text, SHOWN)}"'))
        except ConditionError as error:
            faults += error.faults
    return conditions, faults


def print_verdict(verdict: ConditionVerdict, of: str = "") -> None:
    """Prints on stderr what decides a verdict that is not `passed`.

    Args:
        of: Which run it is of, where there are several.
    """
    for why in verdict.why:
        warn(f"{of}: {verdict.word}: {why}" if of else f"{verdict.word}: {why}")


def verdict_object(verdict: ConditionVerdict) -> dict[str, Any]:
    """A verdict as JSON data."""
    return {
        "status": verdict.word,
        "exit_code": int(verdict.code),
        "why": verdict.why,
        "conditions": [
            {"condition": str(one), "is_true": found.truth, "reason": found.reason}
            for one, found in verdict.judged
        ],
    }
