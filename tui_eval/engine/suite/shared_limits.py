"""The limits that the evaluations of a suite share."""

from __future__ import annotations

from tui_eval.config.plan import RunPlan
from tui_eval.engine.limits.adaptive import Concurrency
from tui_eval.engine.limits.limits import Phases, PhaseSlots, Shared


class SuiteLimits:
    """Limits that the evaluations of a suite share, and those of each endpoint."""

    def __init__(self, phases: Phases) -> None:
        self._slots = PhaseSlots(phases)
        self._endpoints: dict[tuple[str, str], Concurrency] = {}

    @property
    def max_concurrent(self) -> int:
        """Maximum number of concurrent rollouts; 0 for no limit."""
        return self._slots.phases.each

    @property
    def has_room(self) -> bool:
        """Whether a further rollout could begin now."""
        return self._slots.in_flight.has_room

    async def one_is_free(self) -> None:
        """Waits until a further rollout could begin."""
        await self._slots.in_flight.acquire()
        self._slots.in_flight.release()

    def move(self, max_concurrent: int) -> None:
        """Moves `max_concurrent`."""
        self._slots.move(max_concurrent)
        for endpoint in self._endpoints.values():
            endpoint.move_ceilings(self._slots.ceilings)

    def shared(self, plan: RunPlan) -> Shared:
        """The slots of one evaluation; those of its endpoints are shared by alias and URL."""
        endpoints = []
        for endpoint in plan.served_at:
            key = (plan.alias, endpoint.url)
            if key not in self._endpoints:
                self._endpoints[key] = Concurrency(
                    endpoint.max_concurrent, self._slots.ceilings, adapts=plan.adaptive
                )
            endpoints.append(self._endpoints[key])
        return Shared(self._slots, endpoints)
