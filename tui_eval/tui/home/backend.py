"""What home shows, and what it asks of the rest of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from textual.screen import Screen

    from tui_eval.errors import Fault
    from tui_eval.feeds.feed import Feed
    from tui_eval.runs.discovery import FoundRun


class EnvironmentInfo(NamedTuple):
    """An environment that can be run.

    Args:
        origin: `local`, `bundled`, `installed` or `entry point`.
        path: Its file; empty where only importing would tell.
        summary: What it says of itself in a line; empty where it says nothing.
    """

    env_id: str
    origin: str
    path: str = ""
    summary: str = ""


class EndpointInfo(NamedTuple):
    """A way to reach a model.

    Args:
        url: Empty for the endpoint that the program brings up itself.
        key_var: The variable that holds the key; empty where none is needed.
        has_key: Whether there is one, or none is needed.
        source: The registry that names it, or the server that was found on this machine.
        answers: Whether it has answered already.
    """

    alias: str
    model: str
    url: str
    key_var: str = ""
    has_key: bool = True
    source: str = ""
    answers: bool = False


class EndpointInfos(NamedTuple):
    """Those of the registry and those on this machine; `faults` are the registry's."""

    listed: list[EndpointInfo]
    faults: list[str]


class HomeBackend(Protocol):
    """Looks around and opens runs. What is not said to be quick is for a thread."""

    def runs(self) -> list[FoundRun]:
        """The runs that there are now."""

    def last_seen(self) -> tuple[Path, float] | None:
        """The run that somebody looked at last, and when, in unix seconds."""

    def note_seen(self, path: str) -> None:
        """Notes that somebody has looked at a run until now."""

    async def environments(self) -> list[EnvironmentInfo]:
        """The environments that there are, none of them imported in this process."""

    def endpoints(self) -> EndpointInfos:
        """The endpoints that there are; no value of a key is told."""

    def have_endpoints_changed(self) -> bool:
        """Whether the registry is another than when the endpoints were told last."""

    def unreachable(self, url: str) -> str:
        """Why nothing answers at an endpoint; empty where something does."""

    def open(self, run: FoundRun) -> Feed:
        """Quick: a run, joined at its socket where it has one."""

    def resume(self, run: FoundRun) -> Feed:
        """Quick: an engine that will go on with a run."""

    def demo(self) -> Feed:
        """Quick: an engine that will run a bundled environment."""

    def end(self, feed: Feed, *, save: str) -> str:
        """Waits for the end of an engine that was started here and told to stop.

        Args:
            save: The run's path where it is to be kept for good; else empty.

        Returns:
            What went wrong; empty where nothing did.
        """

    def save(self, path: str) -> str:
        """Keeps an unsaved run for good; returns why it cannot, else nothing."""


CompareScreen: TypeAlias = "Callable[[Sequence[Path]], Screen[Any]]"
"""Makes the screen that compares runs."""
ConfigureScreen: TypeAlias = "Callable[[str, Screen[Any] | None, Sequence[Fault]], Screen[Any]]"
"""Makes the form for an evaluation; it is dismissed with a request or None.

Takes an environment to begin with, empty for none; the form whose request an engine refused, which
comes back as it was; and why it was refused.
"""
