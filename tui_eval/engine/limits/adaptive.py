"""Adaptive concurrency: an endpoint's refusals lower how many requests it gets at once.

A refusal that names a time is met by the endpoint's pace (`clients.pacing`), which holds everybody
until then; this is for those that name none, as of servers that count requests in flight.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence

from tui_eval.engine.limits.slots import Slots

TOLERATED = 0.05
"""The share of refused requests up to which the limit still grows: where the endpoint lets a few
pass at once, somewhat too many requests cost less than too few."""
MOST_CUT = 0.5
"""The least share of the limit that is left after one round."""
PATIENCE = 2
"""Rounds of growth after which each further one adds one more."""
SMOOTHING = 0.1
"""The weight of one answer in the mean time that answers take."""


class Concurrency:
    """The limit of rollouts that are generated at once at one endpoint.

    It works in rounds of as many requests as the limit. After a round in which the endpoint refused
    more than a few of them the limit is what was served, and half of it at least; else it grows,
    where it held work back. Only requests sent after the last change count, and a refused one
    keeps a slot as long as an answered one does, though its rollout sleeps: otherwise the next
    would be sent at once and be refused too, until all sleep.

    `slots` are the endpoint's; `most` is the highest that its limit gets, infinite for no limit;
    `refused` counts; `on_move` are called after every refusal and every move.

    Args:
        limit: The endpoint's own; 0 or less for no limit, as for all others.
        ceilings: Further limits on rollouts that are generated.
        adapts: Whether the limit moves at all; if not, refusals are only counted.
    """

    def __init__(self, limit: int, ceilings: Sequence[float] = (), *, adapts: bool) -> None:
        self._own = limit
        self.max_concurrent: float = self._least(ceilings)
        self.slots = Slots(limit, self.max_concurrent)
        self.refused = 0
        self.on_move: set[Callable[[], None]] = set()
        self._adapts = adapts
        self._exact = self.max_concurrent
        self._gave_way = False
        self._latency = 0.0
        self._grown = 0
        self._since = 0.0
        self._served = self._turned_away = 0
        self._was_full = False

    @property
    def limit(self) -> float:
        """The limit as it is now."""
        return max(math.floor(self._exact), 1) if self._exact < math.inf else math.inf

    def _least(self, ceilings: Sequence[float]) -> float:
        return min((n for n in (self._own, *ceilings) if n > 0), default=math.inf)

    def move_ceilings(self, ceilings: Sequence[float]) -> None:
        """Replaces the further limits. A limit that gave way stays, and grows below them."""
        self.max_concurrent = self._least(ceilings)
        least = self._exact if self._gave_way else math.inf
        self._exact = min(least, self.max_concurrent)
        self.slots.most_asleep = self.max_concurrent
        own = self._own if self._own > 0 else math.inf
        self.slots.move(self.limit if self._gave_way else own)
        if self.refused:
            self._publish()

    def answered(self, requested_at: float, answered_at: float) -> None:
        """Counts an answered request; both times are in seconds of the loop's clock."""
        took = answered_at - requested_at
        self._latency += (took - self._latency) * (SMOOTHING if self._latency else 1.0)
        if self.refused and self._adapts and requested_at >= self._since:
            self._was_full = self._was_full or self.slots.used >= self.slots.limit
            self._served += 1
            self._end_round()

    def refuse(self, requested_at: float, seconds: float, *, is_paced: bool = False) -> None:
        """Counts a refused request that was sent then, and whose rollout sleeps so long.

        Args:
            is_paced: The refusal named a time: the endpoint's pace answers it, not this limit.
        """
        self.refused += 1
        if self._adapts and not is_paced:
            self.slots.used += 1
            alone = self.slots.limit <= 1  # then nobody else finds out when there is room again
            kept = min(self._latency, seconds) if alone else self._latency
            asyncio.get_running_loop().call_later(kept, self._let_go, requested_at)
        self._publish()

    def _let_go(self, requested_at: float) -> None:
        self.slots.release()
        if requested_at >= self._since:
            self._turned_away += 1
            self._end_round()

    def _end_round(self) -> None:
        ended = self._served + self._turned_away
        held = min(self._exact, self.slots.used)
        if ended < held:
            return
        if self._turned_away > TOLERATED * ended:
            self._gave_way = True
            self._exact = max((held + 1) * max(self._served / ended, MOST_CUT), 1.0)
            self._grown = 0
        elif self._was_full:
            self._exact = min(self._exact + 1 + self._grown // PATIENCE, self.max_concurrent)
            self._grown += 1
        self.slots.move(self.limit)
        self._since = asyncio.get_running_loop().time()
        self._served = self._turned_away = 0
        self._was_full = False
        self._publish()

    def _publish(self) -> None:
        for handle in list(self.on_move):
            handle()
