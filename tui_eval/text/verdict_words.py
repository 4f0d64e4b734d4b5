"""The difference of two runs in one number, in words that every view shares."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from tui_eval.exit_codes import VERDICTS, ExitCode
from tui_eval.printable import one_line
from tui_eval.stats.intervals import estimator_name
from tui_eval.stats.power import LEAST_EXAMPLES
from tui_eval.stats.verdict import MARGIN, Direction, Gate, examples_for_gate, judge_gate
from tui_eval.text.figures import (
    EXACT,
    chance_text,
    count_text,
    letter_of,
    plural,
    reward_text,
)

if TYPE_CHECKING:
    from tui_eval.fold.compare.comparison import Comparison
    from tui_eval.fold.compare.paired_figures import PairedFigure
    from tui_eval.stats.paired import PairedDifference

METHODS = {"newcombe": "Newcombe", "bound": "bound for equal examples"}
TESTS = {
    "mcnemar": "McNemar's exact test",
    "sign_flip": "exact sign-flip test",
    "sign_flip_drawn": "sign-flip test, 100,000 drawn",
}
LOOKS: dict[tuple[Direction, bool], tuple[str, str]] = {
    (Direction.HIGHER, True): ("▲ better", "good"),
    (Direction.LOWER, True): ("▼ worse", "bad"),
    (Direction.HIGHER, False): ("▲ higher", "strong"),
    (Direction.LOWER, False): ("▼ lower", "strong"),
}
UNITS = {"calls": "tool calls", "time": "time (seconds)"}
"""Names of numbers whose own name does not say what they count."""
GATE_INKS = {ExitCode.FINISHED: "good", ExitCode.FAILED: "bad"}
NAME_MOST = 30
DIGITS = 2
"""Marks a number of examples needed as an estimate."""


def figure_name(one: PairedFigure) -> str:
    """Name of a number that stands alone."""
    return UNITS.get(one.name, one.name)


def verdict_look(one: PairedFigure) -> tuple[str, str]:
    """Direction of a difference as glyph and word, and its ink."""
    if one.difference.mean is None:
        return "· unknown", "muted"
    if one.is_equal:
        return "= equal", "muted"
    return LOOKS.get((one.verdict.direction, one.is_reward), ("≈ inconclusive", "muted"))


def verdict_word(one: PairedFigure) -> str:
    """The word without its glyph."""
    return verdict_look(one)[0].partition(" ")[2]


def verdict_notes(one: PairedFigure) -> Iterator[str]:
    """Reasons for an inconclusive difference and the needed size, the most important first."""
    found, n = one.verdict, one.difference.n
    if found.is_conclusive or one.difference.mean is None:
        return
    if not one.is_equal:
        yield found.why
        if found.detectable is not None:
            least = reward_text(found.detectable, EXACT)
            yield f"{plural(n, 'example')} can show {least} or more"
    elif n < LEAST_EXAMPLES:
        yield found.why
    if found.needed is not None:
        yield f"{needed_text(found.needed)} needed"


def needed_text(needed: int) -> str:
    """A number of examples that are needed, with two digits."""
    if needed <= LEAST_EXAMPLES:
        return f"at least {needed}"
    step = 10 ** max(floor(log10(needed)) + 1 - DIGITS, 0)
    about = ceil(needed / step) * step
    return f"about {about:,}" if about < 10**6 else f"about {count_text(about)}"


def floor_note(one: PairedFigure, found: Comparison) -> str:
    """The noise floor, of a rerun or where the difference is inside of it; else empty."""
    if one.floor is None or not (found.is_rerun or one.is_inside_floor):
        return ""
    runs = f"noise floor of {letter_of(0)} and {letter_of(one.floor.place)}"
    return (
        f"{'' if found.is_rerun else 'inside the '}{runs}: ±{reward_text(one.floor.reach, EXACT)}"
    )


def method_text(found: PairedDifference) -> str:
    """Note on an interval, to put beside it; empty where there is none."""
    if found.method.startswith("t"):
        return estimator_name(found.method, found.n - 1, found.n)
    return METHODS.get(found.method, "")


def tested_text(one: PairedFigure) -> str:
    """The chance of a difference and the test that it is of; empty where it says nothing."""
    found = one.difference
    if one.is_equal and found.p is not None:
        return ""
    if found.p is None:
        agrees = found.test == "mcnemar"
        return "no discordant examples for McNemar's exact test" if agrees else ""
    text = f"{chance_text(found.p)}, {TESTS[found.test]}"
    if one.holm_p is None or one.holm_p == found.p:
        return text
    return f"{text}; {chance_text(one.holm_p).removeprefix('p = ')} by Holm"


def verdict_text(one: PairedFigure, found: Comparison) -> str:
    """The verdict as a word, why, what it would take, and the noise floor."""
    notes = "; ".join(filter(None, (*verdict_notes(one), floor_note(one, found))))
    return f"{verdict_word(one)}: {notes}" if notes else verdict_word(one)


def figure_sentence(one: PairedFigure, found: Comparison) -> str:
    """A number's verdict, then its interval and test; empty for a mere word."""
    reported = figure_text(one, found)
    return f"{one_line(one.name, NAME_MOST)} {reported}" if reported else ""


def figure_text(one: PairedFigure, found: Comparison) -> str:
    """The same without the number's name."""
    reported = verdict_text(one, found)
    names = "; ".join(filter(None, (method_text(one.difference), tested_text(one))))
    if not names:
        return "" if reported == verdict_word(one) else reported
    return f"{reported} ({names})"


def gate_look(one: PairedFigure) -> tuple[str, str]:
    """Verdict of `tui-eval gate` on a number, and its ink."""
    code = judge_gate(one.difference).code
    return f"gate {MARGIN:g}: {VERDICTS[code]}", GATE_INKS.get(code, "muted")


def gate_sentence(one: PairedFigure, letter: str) -> str:
    """The same with the power of that gate; `letter` is what the second run is called."""
    found = one.difference
    gate = judge_gate(found)
    reported = power_text(gate, found.n, examples_for_gate(found, MARGIN), letter)
    return f"{gate_look(one)[0]} ({letter} may be at most {MARGIN:g} worse than A); {reported}"


def power_text(gate: Gate, examples: int, needed: int | None, letter: str = "B") -> str:
    """The chance that a gate passes what is unchanged.

    Args:
        examples: Examples of the gate.
        needed: Examples with which it passes 8 times of 10; None where these do, or nobody knows.
    """
    if gate.power is None:
        return "power not known: all differences are equal"
    chance = _percent(gate.power)
    reported = f"power {chance}: the chance that {examples:,} examples pass an unchanged {letter}"
    if examples < LEAST_EXAMPLES:
        reported = f"power 0 %: fewer than {LEAST_EXAMPLES} examples never pass"
    return reported if needed is None else f"{reported}; {needed_text(needed)} examples have 80 %"


def _percent(share: float) -> str:
    """A share in percent; 0 and 100 only where it is exactly that."""
    if 0 < share < 0.01:
        return "below 1 %"
    return "above 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"
