"""What rollouts need of the engine: where they report, how they are held, where they are kept.

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
"""So many rollouts begin in one turn of a loop at most: it takes some turns until one has sent its
first request, and of a thousand that all began in one the first would wait for the last."""
BATCH_S = 0.03
"""How often what rollouts report is sent on."""
STAGES_A_SECOND = 1000
"""At most so many changes of stages are sent on, as long as none waits for `STAGES_WAIT_S`: engine
and screens take in each of them."""
STAGES_WAIT_S = 0.5


def until_next_stages(sent: int) -> float:
    """Seconds until changes of stages are sent on again, after so many."""
    return max(BATCH_S, min(sent / STAGES_A_SECOND, STAGES_WAIT_S))


class ActiveRollout(Protocol):
    """A rollout that is worked on, as a hub sees it."""

    row: int

    @property
    def stage(self) -> Stage:
        """Where it is."""

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do but to write its row."""

    def staged_event(self, at: float) -> RolloutStaged:
        """Where the rollout is now."""

    def events_so_far(self) -> list[Event]:
        """The conversation so far, for who subscribes to it late."""


class Hub(Protocol):
    """Where rollouts report."""

    @property
    def active(self) -> dict[int, ActiveRollout]:
        """Those that are worked on, by row."""

    def mark_changed(self, rollout: ActiveRollout) -> None:
        """A rollout's stage or counts changed."""

    def before_foreign_code(self, row: int, stage: Stage) -> None:
        """People's code is called next at this stage of a rollout, and may hold the loop."""

    def code_runs(self, row: int, stage: Stage) -> None:
        """Code of this rollout, its environment's for one, may run from now on."""

    def call_runs(self, rollout: ActiveRollout, error_class: str, what: str) -> None:
        """This thread goes into a call of this rollout's code that has a limit."""

    def call_waits(self) -> None:
        """It has come out of it."""

    def call_ignores_end(self, rollout: ActiveRollout, error_class: str, what: str) -> None:
        """A call of this rollout's code that was cancelled for its limit does not end."""

    def is_subscribed(self, row: int) -> bool:
        """Whether somebody wants this rollout's messages."""

    def publish_to_watchers(self, event: MessagesAdded | ToolFinished | TextAdded) -> None:
        """Takes in one event for those who subscribed to its rollout."""


class Held(Protocol):
    """The slots that one rollout holds."""

    @property
    def slots(self) -> Any:
        """Those that it has; nothing where it has none."""

    def answered(self, requested_at: float) -> None:
        """The endpoint answered a request that was sent then, in seconds of the loop."""

    def refuse(self, requested_at: float, seconds: float, *, is_paced: bool = False) -> None:
        """The endpoint refused a request."""

    def lent(self) -> AbstractAsyncContextManager[None]:
        """Gives the slots back for the time of the block."""

    def release(self) -> None:
        """Gives all back."""


class Limits(Protocol):
    """Who may begin."""

    def nothing_held(self, row: int) -> Any:
        """The slots of a rollout that holds none."""

    async def begin_scoring(self, held: Any) -> Any:
        """Waits until a rollout that was generated earlier is in flight again."""

    def generated(self, held: Any) -> None:
        """A rollout is generated; it stays in flight."""

    def scoring(self, held: Any, count: int) -> AbstractAsyncContextManager[None] | None:
        """Around the scoring of so many rollouts at once, by one that is in flight.

        Returns:
            None where nothing limits that.
        """


class CallGuard(Protocol):
    """Lets model calls through as they fit into a budget."""

    @property
    def longest(self) -> Callable[[Mapping[str, Any]], int]:
        """Reports the tokens to reserve for a call of these sampling arguments."""

    def takes(self, tokens: int) -> bool:
        """Whether a call fits at once; what it may use is reserved then."""

    async def wait(self, tokens: int, owner: object, park: Callable[[], None]) -> None:
        """Waits until a call fits, and reserves what it may use."""

    def give_back(self, tokens: int) -> None:
        """A call is over, and what it used is counted."""


class Journal(Protocol):
    """Keeps what is in flight."""

    def add(self, row: int, line: bytes) -> None:
        """Keeps one generated rollout; its answers are in it."""

    def add_answer(self, row: int, line: bytes) -> Awaitable[None]:
        """Keeps one answer of a rollout; it is written once this has been waited for."""

    def forget(self, row: int) -> None:
        """The rollout has its row now, or another attempt begins."""


class Rows(Protocol):
    """Where the rows of finished rollouts go."""

    def write(self, row: int, number: int, line: bytes) -> bytes:
        """Writes the line of a rollout, then reports it, and forgets what was in flight of it.

        Returns:
            The line as it is written: without secrets.
        """
