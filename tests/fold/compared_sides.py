"""Sides of a comparison, and what is said of their difference."""

from __future__ import annotations

from typing import Any

from run_events import finished, started

from tui_eval.fold.compare.compared_side import Side
from tui_eval.fold.compare.comparison import Comparison
from tui_eval.fold.run_state import RunState
from tui_eval.text.verdict_words import figure_sentence


def side(
    rewards: dict[str, list[float | None]],
    system: str = "",
    spent: dict[str, Any] | None = None,
    **fields: Any,
) -> Side:
    """A run with as many rollouts an example as the first has; it is named by its content."""
    each = len(next(iter(rewards.values())))
    state = RunState()
    state.apply(started(len(rewards), each, **fields))
    for place, (name, pair) in enumerate(rewards.items()):
        for number, reward in enumerate(pair):
            reported = {"example_id": f"id-{name}", "turns": place, **(spent or {})}
            state.apply(finished(each * place + number, reward, **reported))
    digests = {place: name.encode() for place, name in enumerate(rewards)}
    return Side(state, digests, frozenset([system]) - {""})


def shares(passing: str, of: str = "abcdefgh", each: int = 1) -> dict[str, list[float | None]]:
    """Examples of which some pass in all their rollouts."""
    return {name: [float(name in passing)] * each for name in of}


def sentences(found: Comparison) -> dict[str, str]:
    """The verdict on every number, by its name."""
    return {one.name: figure_sentence(one, found) for one in found.figures}
