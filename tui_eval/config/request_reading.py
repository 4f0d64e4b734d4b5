"""Reads a request: the command line, the file of evaluations, and what is looked at beside them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

from tui_eval.config.endpoint_resolution import Surroundings
from tui_eval.config.endpoints import read_registry, registry_path
from tui_eval.config.environment_defaults import environment_defaults
from tui_eval.config.eval_file import read_eval_file
from tui_eval.config.local_servers import find_servers
from tui_eval.config.options import BY_NAME
from tui_eval.config.plan import Request
from tui_eval.config.settings import Setting, Settings, typed_settings
from tui_eval.config.values import parse_values
from tui_eval.errors import Fault, Notice, warning
from tui_eval.pasted import collected

Sets: TypeAlias = Sequence[tuple[list[str], str]]
"""Values of `--set`: a dotted key in parts, and text."""

Defaults: TypeAlias = Callable[[str, Path], tuple[Settings, list[Fault]]]
"""Reads the defaults of an environment, given its name and the folder of local ones."""


class TypedValues(NamedTuple):
    """Typed options that act.

    Args:
        values: Values of the valid options, by name.
        sets: Values of `--set`.
        faults: Faults of the others.
        notices: Sentences on flags that are ignored.
        pasted: Sentences on what came along with pasted text.
    """

    values: dict[str, Any]
    sets: Sets
    faults: list[Fault]
    notices: list[Notice]
    pasted: list[str]


class ReadRequest(msgspec.Struct):
    """Settings of a request, by their place; see `expansion.Expander`.

    Args:
        top, own: Settings of all evaluations of a file, and of each.
        typed: Typed settings, `sets` of them apart.
        faults: Faults of what was typed, and then of the file: `unread`.
        pasted: Sentences on what came along with pasted text.
    """

    top: Settings
    own: list[Settings]
    typed: Settings
    sets: Sets
    notices: list[Notice]
    faults: list[Fault]
    unread: list[Fault]
    around: Surroundings
    defaults: Defaults
    pasted: list[str] = msgspec.field(default_factory=list)


def parse_typed(request: Request) -> TypedValues:
    """Values of the options that were typed, as far as they act beside the file.

    The command line has parsed them; a form or a program sends text.
    """
    raw, notices = _acting(request)
    if request.parsed is None:
        with collected() as pasted:
            values, faults = parse_values(raw)
    else:
        given, pasted = request.parsed
        acting = {BY_NAME[name].shown: name for name in raw if name in BY_NAME}
        faults = [Fault(*one) for one in given if one[0] in acting]
        wrong = {acting[one.where] for one in faults} - {"sets"}  # those that are right are there
        values = {name: raw[name] for name in acting.values() if name not in wrong}
    sets = values.pop("sets", [])
    return TypedValues(values, sets, faults, notices, pasted)


def read_request(request: Request, typed: TypedValues) -> ReadRequest:
    """Reads the file of evaluations, if there is one, once the command line is parsed."""
    top, own, unread = _settings_of(request)
    once = functools.cache
    return ReadRequest(
        top=top,
        own=own,
        typed=typed_settings(typed.values, request.flags),
        sets=typed.sets,
        notices=typed.notices,
        faults=typed.faults,
        unread=unread,
        around=Surroundings(once(read_registry), once(registry_path), once(find_servers)),
        defaults=once(environment_defaults),
        pasted=list(typed.pasted),
    )


def _acting(request: Request) -> tuple[dict[str, Any], list[Notice]]:
    """Typed options that act: beside a file not those that describe an evaluation."""
    typed = request.raw
    ignored = {
        name: BY_NAME[name]
        for name, value in typed.items()
        if name in BY_NAME and BY_NAME[name].describes == "evaluation" and value is not None
    }
    if not (request.of_file and ignored):
        return typed, []
    flags = ", ".join(option.shown for option in ignored.values())
    first = next(iter(ignored))
    notice = (
        f"Beside {request.env_id} these flags are ignored: {flags}. Write them into the file, or "
        f"replace its settings with --set {first}=..."
    )
    return {name: text for name, text in typed.items() if name not in ignored}, [warning(notice)]


def _settings_of(request: Request) -> tuple[Settings, list[Settings], list[Fault]]:
    """Settings of all evaluations, those of each, and what is wrong with the file."""
    if request.of_file:
        file, faults = read_eval_file(Path(str(request.env_id)), request.text)
        return file.top, file.own, faults
    named = {"env_id": Setting(request.env_id, "ENVIRONMENT")} if request.env_id else {}
    return {}, [named], []
