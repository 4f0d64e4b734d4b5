"""What the workers of a run are told first."""

from __future__ import annotations

from collections.abc import Iterable

from tui_eval.engine.setup.prepare import key_of
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.types import ClientConfig
from tui_eval.worker import to_worker


def worker_setup(
    prepared: Prepared, clients: Iterable[ClientConfig], *, has_budget: bool, shares_scoring: bool
) -> to_worker.Setup:
    """The first message to a worker.

    Args:
        clients: The settings of the run's, one for each endpoint.
        has_budget: Model calls wait until they fit into a budget.
        shares_scoring: Slots for scoring are shared with other runs.
    """
    plan = prepared.plan
    own = plan.max_concurrent_generation > 0 or plan.max_concurrent_scoring > 0
    return to_worker.Setup(
        plan=plan.model_dump_json().encode(),
        clients=[config.model_dump_json().encode() for config in clients],
        secrets=key_of(plan),
        log=str(prepared.run.log),
        grouped=prepared.grouped,
        limits_scoring=own or shares_scoring,
        has_budget=has_budget,
        code=prepared.code_number,
    )
