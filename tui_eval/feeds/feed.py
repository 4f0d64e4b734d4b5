"""Where a screen gets its events from and sends its commands to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

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
        """The next events in order, at most so many; an empty list where nothing is new."""

    def send(self, command: Command) -> None:
        """Sends a command; does nothing where no engine is connected."""

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        """The rollout whose line is at this place in results.jsonl; None if it cannot be read.

        Args:
            offset, length: From `RunState.offset` and `RunState.length`, in bytes.
        """

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        """What the engine and people's code printed from a byte on, and how much there is of it.

        Args:
            most: Bytes that are read at most.
        """

    async def close(self) -> None:
        """Lets go of the connection or the files. The engine is sent nothing: see `Detach`."""


class OpenFeed(Protocol):
    """Makes the feed of one evaluation of a suite; it is not started."""

    def __call__(self, path: str, socket: str) -> Feed:
        """The feed of a run.

        Args:
            path: Its directory.
            socket: Where it can be joined; empty where nobody works on it any more.
        """
