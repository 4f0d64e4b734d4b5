"""A gate on two compared runs: its numbers, its faults and its verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from tui_eval.errors import Fault, nearest
from tui_eval.exit_codes import VERDICTS, ExitCode
from tui_eval.fold.compare.compared_side import Side
from tui_eval.fold.compare.paired_figures import FIGURES, PairedFigure
from tui_eval.fold.query.fields import METRIC
from tui_eval.printable import one_line
from tui_eval.stats.paired import NO_DIFFERENCE, PairedDifference
from tui_eval.stats.verdict import Gate, examples_for_gate, judge_gate

NAME_MOST = 60
LETTERS = ("A", "B")


class GatedFigure(NamedTuple):
    """One number of two runs, second minus first, and its verdict."""

    name: str
    figure: PairedFigure | None
    """None where nothing was measured."""
    gate: Gate
    needed: int | None = None
    """About how many examples would pass an unchanged run 8 times of 10; None where these do, and
    where nobody knows."""

    @property
    def difference(self) -> PairedDifference:
        """The judged difference."""
        return NO_DIFFERENCE if self.figure is None else self.figure.difference

    @property
    def word(self) -> str:
        """The verdict."""
        return VERDICTS[self.gate.code]


def gated_figures(
    sides: Sequence[Side],
    figures: Sequence[PairedFigure],
    names: Sequence[str],
    margin: float,
    lower_is_better: bool = False,
) -> list[GatedFigure]:
    """The gate's verdict on each number.

    Args:
        sides: The two runs, and `figures` their numbers.
        names: `reward`, a metric, or one of `FIGURES`; `metrics.` before it means the metric.
    """
    by_field = {one.field: one for one in figures}
    gated: list[GatedFigure] = []
    for name in names:
        one = by_field.get(_field(name))
        found = one.difference if one is not None else NO_DIFFERENCE
        gate = judge_gate(found, margin, lower_is_better=lower_is_better)
        if gate.code is ExitCode.NOTHING_MEASURED:
            why = _why_nothing(sides) or gate.why
            gated.append(GatedFigure(name, None, replace(gate, why=why)))
        else:
            gated.append(GatedFigure(name, one, gate, examples_for_gate(found, margin)))
    return gated


def gate_faults(sides: Sequence[Side], names: Sequence[str], places: Sequence[str]) -> list[Fault]:
    """Faults of a gate on two runs; a run without rewards is none.

    Args:
        places: Names of the two runs, as typed.
    """
    faults: list[Fault] = []
    first, second = sides
    if first.environment and second.environment and first.environment != second.environment:
        what = (
            f"it is of the environment {one_line(second.environment, NAME_MOST)}, and "
            f"{places[0]} of {one_line(first.environment, NAME_MOST)}"
        )
        faults.append(Fault(places[1], what, "Name runs of one environment"))
    elif all(map(_is_measured, sides)) and not _share_examples(first, second):
        what = f"it has no example in common with {places[0]}"
        if bool(first.id_only) != bool(second.id_only):
            what += ": only one of them has rows with prompts"
        faults.append(Fault(places[1], what, "Name runs over the same examples"))
    return faults + list(_name_faults(sides, names))


def margin_faults(gated: Sequence[GatedFigure], margin: float) -> list[Fault]:
    """Faults of a margin: rewards from 0 to 1 never differ by more than 1."""
    for one in gated:
        scale = one.difference.scale
        if one.name == "reward" and scale is not None and margin > scale:
            what = "the rewards of both runs lie from 0 to 1, so that any B would pass"
            return [Fault(f"--margin {margin:g}", what, f"Did you mean {margin / 100:g}?")]
    return []


def _name_faults(sides: Sequence[Side], names: Sequence[str]) -> Iterator[Fault]:
    known = {
        letter: {METRIC + name for name in side.state.details.metrics}
        for letter, side in zip(LETTERS, sides, strict=True)
        if _is_measured(side)
    }
    for name in dict.fromkeys(names):
        field, shown = _field(name), one_line(name, NAME_MOST)
        have = [letter for letter, fields in known.items() if field in fields]
        if not field.startswith(METRIC) or len(have) == len(known):
            continue
        if have:
            hint = "Name a metric that both runs have"
            yield Fault(f"--metric {shown}", f"only {have[0]} has it", hint)
            continue
        fields = sorted(set().union(*known.values()))
        names_there = ["reward", *(one.removeprefix(METRIC) for one in fields), *FIGURES]
        hint = nearest(name, names_there) or f"There are: {', '.join(names_there)}"
        yield Fault(f"--metric {shown}", "neither run has such a metric", hint)


def _field(name: str) -> str:
    return name if name in ("reward", *FIGURES) else METRIC + name.removeprefix(METRIC)


def _share_examples(first: Side, second: Side) -> bool:
    return not set(first.digests.values()).isdisjoint(second.digests.values())


def _is_measured(side: Side) -> bool:
    return side.state.reward_mean.n > 0


def _why_nothing(sides: Sequence[Side]) -> str:
    reported = [_without_reward(*each) for each in zip(LETTERS, sides, strict=True)]
    return "; ".join(filter(None, reported))


def _without_reward(letter: str, side: Side) -> str:
    """Reason why a run has no number; empty where it has one."""
    state = side.state
    if _is_measured(side):
        return ""
    if not state.finished:
        return f"{letter} has no rows"
    if state.errored == state.finished:
        return f"all {state.errored:,} rollouts of {letter} errored"
    return f"none of {state.finished:,} rollouts of {letter} has a reward"
