"""The slots that all evaluations of a suite share, and those of each endpoint."""

from __future__ import annotations

import math

from tui_eval.config.plan import RunPlan
from tui_eval.engine.limits.adaptive import Concurrency
from tui_eval.engine.limits.limits import Phases, ScoringSlots, Shared
from tui_eval.engine.limits.slots import Slots


class SuiteLimits:
    """What all evaluations together may do at a time; 0 for no limit.

    Args:
        max_concurrent: Rollouts in flight.
        generation, scoring: Of them those that are generated, and those that are scored.
    """

    def __init__(self, max_concurrent: int, generation: int, scoring: int) -> None:
        self._phases = Phases(max_concurrent, generation, scoring)
        in_flight, generation, scoring = self._phases.bounds()
        self._ceilings = (in_flight, generation)
        self._in_flight = Slots(in_flight, math.inf)
        self._generation = Slots(generation, math.inf)
        self._scoring = ScoringSlots(scoring)
        self._endpoints: dict[tuple[str, str], Concurrency] = {}

    @property
    def max_concurrent(self) -> int:
        """Rollouts in flight at most."""
        return self._phases.each

    @property
    def has_room(self) -> bool:
        """Whether a further rollout could begin now."""
        return self._in_flight.has_room

    async def one_is_free(self) -> None:
        """Waits until a further rollout could begin."""
        await self._in_flight.acquire()
        self._in_flight.release()

    def move(self, max_concurrent: int) -> None:
        """From now on so many rollouts may be in flight."""
        self._phases = self._phases.moved(max_concurrent)
        in_flight, generation, scoring = self._phases.bounds()
        self._ceilings = (in_flight, generation)
        self._in_flight.move(in_flight or math.inf)
        self._generation.move(generation or math.inf)
        self._scoring.move(scoring)
        for endpoint in self._endpoints.values():
            endpoint.move_ceilings(self._ceilings)

    def shared(self, plan: RunPlan) -> Shared:
        """The slots of one evaluation; those of its endpoints are shared by alias and URL."""
        endpoints = []
        for endpoint in plan.served_at:
            key = (plan.alias, endpoint.url)
            if key not in self._endpoints:
                self._endpoints[key] = Concurrency(
                    endpoint.max_concurrent, self._ceilings, adapts=plan.adaptive
                )
            endpoints.append(self._endpoints[key])
        return Shared(self._in_flight, self._generation, self._scoring, endpoints)
