"""What a form asks of the rest of the program, and what its draft amounts to by the answers.

Nothing of it runs people's code in this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tui_eval.errors import Fault

if TYPE_CHECKING:
    from tui_eval.config.draft import Draft


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


class Looked(NamedTuple):
    """A draft as it was when somebody looked.

    Args:
        request: What to start an engine on; None where it cannot be said.
        no_toml: Why there is no TOML; empty where there is.
        by_field: What is wrong with fields, by their names.
        others: What is wrong with no field.
        is_changed: Whether the file says something else.
        not_taken: See `Draft.not_taken`.
    """

    request: dict[str, Any] | None = None
    toml: str = ""
    no_toml: str = ""
    command: str = ""
    by_field: Mapping[str, str] = MappingProxyType({})
    others: tuple[Fault, ...] = ()
    is_changed: bool = False
    not_taken: tuple[str, ...] = ()

    def with_faults(self, faults: Iterable[Fault], draft: Draft) -> Looked:
        """The same with more that is wrong, each at its field and none twice."""
        by_field, others = dict(self.by_field), list(self.others)
        for fault in faults:
            name = draft.field_of(fault)
            text = fault.what + (f". {fault.hint}" if fault.hint else "")
            if name is not None and by_field.setdefault(name, text) == text:
                continue
            if fault not in others:
                others.append(fault)
        return self._replace(by_field=by_field, others=tuple(others))


def look(draft: Draft, backend: FormBackend) -> Looked:
    """Looks at a draft that nobody changes meanwhile; takes longer than a frame may."""
    toml = no_toml = ""
    request: dict[str, Any] | None = None
    faults: list[Fault] = []
    try:
        toml = draft.toml()
        faults += draft.file_faults()
    except ValueError as error:
        no_toml = str(error)
    try:
        request = draft.request()
        faults += backend.check(request)
    except ValueError as error:
        faults.append(Fault("TOML", str(error)))
    looked = Looked(request, toml, no_toml, draft.command(), not_taken=draft.not_taken())
    return looked._replace(is_changed=draft.is_changed()).with_faults(faults, draft)
