"""What a resumed run has spent already, and whether that is all that it may."""

from __future__ import annotations

from collections.abc import Iterator

from tui_eval.config.plan import RunPlan
from tui_eval.events import RolloutFinished
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.opening import saved_events
from tui_eval.runs.row_events import event_of
from tui_eval.runs.row_places import RowPlaces
from tui_eval.runs.scan import scan
from tui_eval.stats.cost import budget_spent, cost_of, run_prices
from tui_eval.token_kinds import Tokens, plus


def spent_on_disk(plan: RunPlan, run: RunDir) -> tuple[int, float | None]:
    """Tokens that a run has used, and US dollars for them; None where a price is not known."""
    state = RunState()
    for event in saved_events(run):
        state.apply(event)
    usage, prices = state.usage, run_prices(plan)
    return state.tokens, cost_of(usage.tokens_in, usage.tokens_out, prices, usage.kinds)


def budget_reached(plan: RunPlan, run: RunDir) -> bool:
    """Whether the budget of a plan is spent before anything of it begins."""
    if plan.max_cost is plan.max_total_tokens is None:
        return False
    tokens, cost = spent_on_disk(plan, run)
    limits = {"max_cost": plan.max_cost, "max_total_tokens": plan.max_total_tokens}
    return bool(budget_spent(tokens, cost, **limits))  # type: ignore[arg-type]


def spent_on_superseded(run: RunDir, places: RowPlaces) -> Iterator[tuple[int, Tokens]]:
    """Tokens that each row which was put aside had used, by its place in the run.

    A later one of the same place has those of the earlier ones in it.
    """
    for line in scan(run.superseded):
        place = places.place(line.row) if line.row is not None else None
        if place is not None:
            yield place[0], tokens_of_row(event_of(line, *place))


def tokens_of_row(row: RolloutFinished) -> Tokens:
    """The tokens of a row, in all its attempts."""
    own = row.input_tokens, row.output_tokens, *row.kinds
    return plus(own, (row.lost_input, row.lost_output, *row.lost_kinds))
