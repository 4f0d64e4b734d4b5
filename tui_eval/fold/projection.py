"""What the whole of a run comes to, if what is to come costs what is finished did."""

from __future__ import annotations

from tui_eval.fold.run_state import RunState
from tui_eval.stats.cost import cost_of


def projected_cost(state: RunState) -> float | None:
    """US dollars for the whole run.

    None where a price is not known, before a rollout has finished, and where what runs has cost
    more than that already.
    """
    if not state.finished:
        return None
    read, written, *kinds = state.usage.projected(state.finished, state.total)
    return _if_enough(state, cost_of(read, written, state.prices, kinds), state.cost)


def projected_tokens(state: RunState) -> float | None:
    """Input and output tokens of the whole run, and None, as with its cost."""
    if not state.finished:
        return None
    projected = state.usage.projected(state.finished, state.total)
    return _if_enough(state, sum(projected[:2]), state.tokens)


def _if_enough(state: RunState, whole: float | None, spent: float | None) -> float | None:
    """What the whole run comes to, where that is no less than what is spent."""
    if whole is None or spent is None:
        return None
    return whole if whole >= spent or state.finished == state.total else None
