"""Concurrency that the endpoints of a run get: it falls while they refuse requests."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval import events as ev

LIMITS_KEPT = 16


class EndpointLimits:
    """Load of a run's endpoints, as they reported it.

    `concurrency` has the last event of every endpoint, once one refused a request. `limits` has the
    latest values of `concurrency_limits`, of earlier sessions as well. `out` has the replicas that
    are out, by their place.
    """

    def __init__(self) -> None:
        self.run: ev.RunStarted | None = None
        self.end: ev.RunFinished | None = None
        self.concurrency: dict[int, ev.ConcurrencyMoved] = {}
        self.out: dict[int, ev.ReplicaMoved] = {}
        self.limits: deque[tuple[int, int]] = deque(maxlen=LIMITS_KEPT)

    @property
    def concurrency_limits(self) -> tuple[int, int]:
        """The present limit on concurrent rollouts, and the configured one.

        Over all endpoints; 0 for no limit, also where none has refused a request yet. Of a run that
        is over: the last limit of the last session in which one did.
        """
        every = self.concurrency.values()
        if not every:
            return self.limits[-1] if self.limits and self.end is not None else (0, 0)
        each = [one.max_concurrent for one in every]
        most = sum(each) if all(each) else 0
        if self.run is not None and self.run.max_concurrent > 0:
            most = min(most or self.run.max_concurrent, self.run.max_concurrent)
        limit = sum(one.limit for one in every) if all(one.limit for one in every) else 0
        return min(limit, most) if most else limit, most

    @property
    def refused_requests(self) -> int | None:
        """Requests of all sessions that were refused (429, 529); None where nobody counted them."""
        earlier = self.run.refused if self.run is not None else None
        now = sum(one.refused for one in self.concurrency.values())
        return now or None if earlier is None else earlier + now

    def _on_conc(self, event: ev.ConcurrencyMoved) -> None:
        self.concurrency[event.place] = event
        if not self.limits or self.limits[-1] != self.concurrency_limits:
            self.limits.append(self.concurrency_limits)

    def _on_replica(self, event: ev.ReplicaMoved) -> None:
        if event.out_since:
            self.out[event.place] = event
        else:
            self.out.pop(event.place, None)
