"""Ports of rollouts to the engine: hub, slots, limits, budget, journal and rows.

In the engine's own process these are its hub, limits, budget, writer and journal; in a worker they
are the connection to the engine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from tui_eval.events import (
    Event,
    MessagesAdded,
    RolloutStaged,
    Stage,
    TextAdded,
    ToolFinished,
)

BEGIN_IN_ONE_TURN = 16
"""Most rollouts that begin in one turn of a loop: it takes some turns until one has sent its first
request, and of a thousand that all began in one the first would wait for the last."""
BATCH_S = 0.03
"""Seconds between batches of rollouts' reports."""
STAGES_A_SECOND = 1000
"""Most changes of stages sent in a second, while none waits for `STAGES_WAIT_S`: engine and screens
take in each of them."""
STAGES_WAIT_S = 0.5


def until_next_stages(sent: int) -> float:
    """Seconds until changes of stages are sent again, after so many."""
    return max(BATCH_S, min(sent / STAGES_A_SECOND, STAGES_WAIT_S))


class ActiveRollout(Protocol):
    """A rollout that is worked on, as a hub sees it."""

    row: int

    @property
    def stage(self) -> Stage:
        """Its stage."""

    @property
    def is_over(self) -> bool:
        """Whether only its row is left to write."""

    def staged_event(self, at: float) -> RolloutStaged:
        """An event of its stage."""

    def events_so_far(self) -> list[Event]:
        """The conversation so far, for a late subscriber."""


class Hub(Protocol):
    """Gets the reports of rollouts."""

    @property
    def active(self) -> dict[int, ActiveRollout]:
        """Rollouts in flight, by row."""

    def mark_changed(self, rollout: ActiveRollout) -> None:
        """Notes that a rollout's stage or counts changed."""

    def before_foreign_code(self, row: int, stage: Stage) -> None:
        """Notes that people's code is called next at this stage, and may hold the loop."""

    def code_runs(self, row: int, stage: Stage) -> None:
        """Notes that code of this rollout, its environment's for one, may run from now on."""

    def call_runs(self, rollout: ActiveRollout, error_class: str, what: str) -> None:
        """Notes that this thread begins a call of this rollout's code that has a limit."""

    def call_waits(self) -> None:
        """Notes that this call has ended."""

    def call_ignores_end(self, rollout: ActiveRollout, error_class: str, what: str) -> None:
        """Notes that a call that was cancelled for its limit does not end."""

    def is_subscribed(self, row: int) -> bool:
        """Whether somebody has subscribed to this rollout."""

    def publish_to_watchers(self, event: MessagesAdded | ToolFinished | TextAdded) -> None:
        """Takes in one event for the subscribers of its rollout."""


class Held(Protocol):
    """The slots that one rollout holds."""

    @property
    def slots(self) -> Any:
        """Its slots; falsy where it has none."""

    def answered(self, requested_at: float) -> None:
        """Counts an answered request that was sent then, in seconds of the loop."""

    def refuse(self, requested_at: float, seconds: float, *, is_paced: bool = False) -> None:
        """Counts a refused request."""

    def lent(self) -> AbstractAsyncContextManager[None]:
        """Lends the slots during the block."""

    def release(self) -> None:
        """Releases all slots."""


class Limits(Protocol):
    """The limits of a run."""

    def nothing_held(self, row: int) -> Any:
        """The slots of a rollout that holds none."""

    async def begin_scoring(self, held: Any) -> Any:
        """Waits until a rollout that was generated earlier is in flight again."""

    def generated(self, held: Any) -> None:
        """Releases the slots for generation; the rollout stays in flight."""

    def scoring(self, held: Any, count: int) -> AbstractAsyncContextManager[None] | None:
        """Holds slots during the scoring of `count` rollouts, by one that is in flight.

        Returns:
            None where there is no limit.
        """


class CallGuard(Protocol):
    """Lets model calls through as they fit into a budget."""

    @property
    def longest(self) -> Callable[[Mapping[str, Any]], int]:
        """A function from sampling arguments to the tokens to reserve for a call."""

    def takes(self, tokens: int) -> bool:
        """Whether a call fits at once; reserves its usage then."""

    async def wait(self, tokens: int, owner: object, park: Callable[[], None]) -> None:
        """Waits until a call fits, and reserves its usage."""

    def give_back(self, tokens: int) -> None:
        """Releases the reservation of a call that is over and whose usage is counted."""


class Journal(Protocol):
    """Keeps rollouts in flight."""

    def add(self, row: int, line: bytes) -> None:
        """Keeps one generated rollout; its answers are in it."""

    def add_answer(self, row: int, line: bytes) -> Awaitable[None]:
        """Keeps one answer of a rollout; it is written once the result is awaited."""

    def forget(self, row: int) -> None:
        """Forgets a rollout that has its row, or begins another attempt."""


class Rows(Protocol):
    """Writes the rows of finished rollouts."""

    def write(self, row: int, number: int, line: bytes) -> bytes:
        """Writes the line of a rollout, then reports it, and forgets its journal records.

        Returns:
            The line as it is written: without secrets.
        """
