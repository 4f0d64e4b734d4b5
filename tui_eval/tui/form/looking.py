"""What a draft amounts to and what is wrong with it, as far as no engine is needed to tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tui_eval.config.draft import Draft
from tui_eval.errors import Fault
from tui_eval.tui.form.backend import FormBackend


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
