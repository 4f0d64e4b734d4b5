"""Where a screen gets its events from and sends its commands to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tui_eval.events import Command, Event
    from tui_eval.fold.transcript import Rollout


class Feed(Protocol):
    """A run, running or saved. No call blocks longer than one read from disk."""

    @property
    def live(self) -> bool:
        """True while an engine is connected that takes commands."""

    async def start(self) -> None:
        """Connects to the engine or opens the files; called after the first frame."""

    def drain(self, most: int = 5000) -> list[Event]:
        """The next events in order, at most so many; an empty list where nothing is new."""

    def send(self, command: Command) -> None:
        """Sends a command; does nothing where no engine is connected."""

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        """The rollout whose line is at this place in results.jsonl; None if it cannot be read.

        Args:
            offset, length: From `RunState.offset` and `RunState.length`, in bytes.
        """

    async def close(self) -> None:
        """Lets go of the connection or the files. The engine is told nothing: see `Detach`."""
