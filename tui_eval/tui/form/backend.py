"""What a form asks of the rest of the program; nothing of it runs people's code in this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from tui_eval.errors import Fault


class Offer(NamedTuple):
    """Something to choose from.

    Args:
        name: What is written into the field.
        note: A few words beside it.
        about: A text on it; empty where there is none yet.
        sets: Other fields that the choice fills; empty text clears one.
        good: Whether it can be used as it is.
    """

    name: str
    note: str = ""
    about: str = ""
    sets: Mapping[str, str] = {}
    good: bool = True


class FormBackend(Protocol):
    """Answers of the engine, of the registry and of the disk."""

    def check(self, request: Mapping[str, Any]) -> list[Fault]:
        """What is wrong with a request, as far as settings and registry tell; for a thread."""

    def endpoints(self, registry: str | None) -> list[Offer]:
        """The endpoints of a registry, and servers on this machine; for a thread."""

    def files(self) -> list[Offer]:
        """TOML files of evaluations that are near; for a thread."""

    def resumable(self, environments_dir: str) -> list[Offer]:
        """Runs that can be resumed; for a thread."""

    async def environments(self, environments_dir: str) -> list[Offer]:
        """Those that there are."""

    async def describe(
        self, env_id: str, environments_dir: str, *, no_alias: bool
    ) -> dict[str, Any]:
        """What `python -m tui_eval.engine --describe` tells, or its faults."""

    async def estimate(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """What a dry run tells, or its faults; nothing is sent to an endpoint."""
