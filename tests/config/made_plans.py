"""Plans of requests, for tests of what is in them."""

from __future__ import annotations

from tui_eval.config.expansion import Expander
from tui_eval.config.plan import Request, RunPlan
from tui_eval.errors import Fault


def make_plan(
    request: Request, before: RunPlan | None = None
) -> tuple[RunPlan | None, list[Fault]]:
    """The plan of a request, None where anything is wrong, and what is."""
    expander = Expander(request)
    return expander.plan(before), expander.expansion(before).faults
