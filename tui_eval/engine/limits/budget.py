"""Budgets of model calls, reserved before each of them.

A call reserves the longest answer that it may get (`max_tokens`), and exchanges that for its real
usage once it is answered. So spending passes a limit by the prompts of the calls in flight at most:
nobody knows how long a prompt is before it is counted. A call without a longest answer reserves
nothing: it begins until the limit is reached, which the answers of the calls in flight may pass as
well.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from tui_eval.clients.wire.longest_answer import LongestAnswers
from tui_eval.stats.cost import PER, Amount, budget_spent, over_budget


class Budget:
    """One limit of tokens and cost, of a run or of several together.

    Args:
        spent: Returns the tokens that are used and the US dollars that they cost; None where no
            price is known, which never reaches a limit.
        exhausted: Called with the reason once nothing fits any more.
    """

    def __init__(
        self,
        max_cost: float | None,
        max_total_tokens: int | None,
        spent: Callable[[], tuple[int, float | None]],
        exhausted: Callable[[str], None] = lambda why: None,
    ) -> None:
        self._max_cost = max_cost
        self._max_total_tokens = max_total_tokens
        self._spent = spent
        self.exhausted = exhausted
        self.in_flight = 0
        self._tokens = 0
        self._cost = 0.0
        self.guards: set[CallGuard] = set()
        """Guards that admit further calls whenever a call releases its reservation."""

    def refusal(self, tokens: int, cost: float) -> str:
        """Why a call of this size does not fit, as a sentence; empty where it does."""
        used, spent = self._spent()
        return over_budget(
            Amount(used, spent),
            Amount(self._tokens, self._cost),
            Amount(tokens, cost),
            max_cost=self._max_cost,
            max_total_tokens=self._max_total_tokens,
        )

    def reached(self) -> str:
        """The limit that is reached, as a sentence; empty while something is left."""
        tokens, cost = self._spent()
        return budget_spent(
            tokens, cost, max_cost=self._max_cost, max_total_tokens=self._max_total_tokens
        )

    def take(self, tokens: int, cost: float) -> None:
        """Makes a reservation for one call."""
        self.in_flight += 1
        self._tokens += tokens
        self._cost += cost

    def give_back(self, tokens: int, cost: float) -> None:
        """Releases the reservation of a call that is over and whose usage is counted."""
        self.in_flight -= 1
        self._tokens -= tokens
        self._cost = self._cost - cost if self.in_flight else 0.0
        for guard in [*self.guards]:
            guard.admit()


class _Call(msgspec.Struct, frozen=True, eq=False):
    """A call that waits until it fits."""

    tokens: int
    owner: object
    park: Callable[[], None]
    passed: asyncio.Future[None]


class CallGuard:
    """Lets the model calls of a run through, in their turn, as they fit into all of its budgets.

    Once one does not fit though no other is in flight, none ever will: all that wait are parked,
    and so is every later one. They stay so until somebody cancels them.

    Args:
        output_price: US dollars per million tokens of answers; None where it is not known.
        default: Tokens of the longest answer of a call that sets no limit; 0 for any.
        exhausted: Called with the reason once calls are parked.
        parked_more: Called whenever more calls are parked.
        warn: Called once that nothing can be reserved.
    """

    def __init__(
        self,
        budgets: Sequence[Budget],
        output_price: float | None,
        default: int,
        *,
        exhausted: Callable[[str], None],
        parked_more: Callable[[], None],
        warn: Callable[[str], None],
    ) -> None:
        self._budgets = budgets
        self._price = output_price or 0.0
        self.longest = LongestAnswers(default, warn)
        self._exhausted = exhausted
        self._parked_more = parked_more
        self._is_over = False
        self._waiting: deque[_Call] = deque()
        for one in budgets:
            one.guards.add(self)

    @property
    def parked(self) -> int:
        """Rollouts that wait for good."""
        return len({call.owner for call in self._waiting}) if self._is_over else 0

    def takes(self, tokens: int) -> bool:
        """Whether a call fits at once; reserves its usage then."""
        return not self._waiting and not self._is_over and self._refusal(tokens) is None

    async def wait(self, tokens: int, owner: object, park: Callable[[], None]) -> None:
        """Waits until a call fits, and reserves its usage.

        Args:
            owner: The rollout that calls.
            park: Called where it will never fit.
        """
        call = _Call(tokens, owner, park, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        if self._is_over:
            call.park()
            self._parked_more()
        self.admit()
        try:
            await call.passed
        except asyncio.CancelledError:
            if call in self._waiting:
                self._waiting.remove(call)
                self.admit()
            elif call.passed.done() and not call.passed.cancelled():
                self.give_back(tokens)
            raise

    def give_back(self, tokens: int) -> None:
        """Releases the reservation of a call that is over and whose usage is counted."""
        cost = self._cost(tokens)
        for one in self._budgets:
            one.give_back(tokens, cost)

    def close(self) -> None:
        """Ends the guard: no call of the run follows."""
        for one in self._budgets:
            one.guards.discard(self)

    def admit(self) -> None:
        """Lets calls through whose turn it is."""
        while self._waiting and not self._is_over:
            call = self._waiting[0]
            refusal = None if call.passed.done() else self._refusal(call.tokens)
            if refusal is None:
                self._waiting.popleft()
                if not call.passed.done():  # otherwise it was cancelled, and has not run since
                    call.passed.set_result(None)
            elif refusal[0].in_flight:
                return
            else:
                self._end(*refusal)

    def _end(self, budget: Budget, why: str) -> None:
        self._is_over = True
        for call in self._waiting:
            call.park()
        budget.exhausted(why)
        self._exhausted(why)
        self._parked_more()
        for guard in [*budget.guards - {self}]:
            guard.admit()

    def _cost(self, tokens: int) -> float:
        return tokens * self._price / PER

    def _refusal(self, tokens: int) -> tuple[Budget, str] | None:
        """The budget that a call does not fit into, and why; reserves it and is None if none."""
        cost = self._cost(tokens)
        for one in self._budgets:
            if why := one.refusal(tokens, cost):
                return one, why
        for one in self._budgets:
            one.take(tokens, cost)
        return None
