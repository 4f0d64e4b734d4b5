"""Protocol of a screen's source of events and target of commands; feeds without engine or files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from tui_eval.commands import Command
    from tui_eval.events import Event
    from tui_eval.fold.trajectory import Rollout


class Feed(Protocol):
    """A run, running or saved. No call blocks longer than one read from disk."""

    @property
    def live(self) -> bool:
        """True while an engine is connected that takes commands."""

    async def start(self) -> None:
        """Connects to the engine or opens the files; called after the first frame."""

    def drain(self, most: int = 5000) -> list[Event]:
        """The next events in order, `most` or fewer; empty where nothing is new."""

    def send(self, command: Command) -> None:
        """Sends a command; does nothing where no engine is connected."""

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        """The rollout whose line is at this place in results.jsonl; None if it cannot be read.

        Args:
            offset, length: From `RunState.offset` and `RunState.length`, in bytes.
        """

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        """Log of the engine and of people's code from a byte on, and its size.

        Args:
            most: Bytes that are read at most.
        """

    async def close(self) -> None:
        """Lets go of the connection or the files. The engine is sent nothing: see `Detach`."""


OpenFeed: TypeAlias = Callable[[str, str], Feed]
"""Makes the feed of a run, which is not started.

Takes the directory, and the socket where it can be joined; an empty one where nobody works on it.
"""


class NullFeed:
    """The feed of a run that does not exist yet."""

    live = False

    async def start(self) -> None: ...

    def drain(self, most: int = 5000) -> list[Event]:
        return []

    def send(self, command: Command) -> None: ...

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        return None

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        return b"", 0

    async def close(self) -> None: ...


class RecordedFeed(NullFeed):
    """Events that a listener received before, once more."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def drain(self, most: int = 5000) -> list[Event]:
        """All of it, once."""
        events, self._events = self._events, []
        return events
