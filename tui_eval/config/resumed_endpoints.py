"""Endpoints of a resumed run: those of its plan, with what that does not keep."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tui_eval.config.endpoints import Endpoint, Registry, read_registry, registry_at
from tui_eval.config.plan import RunPlan
from tui_eval.config.secret_values import HIDDEN
from tui_eval.errors import Fault

RESUME = "--resume"


def endpoints_of(before: RunPlan, path: Path, read: Callable[[Path], Registry]) -> list[Endpoint]:
    """The endpoints of a run, with the headers that the registry has for their URLs."""
    needs = any(_hidden(one.headers) for one in before.served_at)
    replicas = read(path)[0].get(before.alias, []) if needs else []
    known = {one.url: one.headers for one in replicas}
    return [
        Endpoint(
            before.alias, before.model, one.url, one.key_var, before.client_type,
            {name: known.get(one.url, {}).get(name, text) if text == HIDDEN else text
             for name, text in one.headers.items()},
            one.max_concurrent, before.input_price, before.output_price,
            before.cached_input_price, before.cache_write_price, before.stream,
            list_price=before.list_price, profile=before.profile,
        )
        for one in before.served_at
    ]  # fmt: skip


def _hidden(headers: Mapping[str, str]) -> list[str]:
    return [name for name, text in headers.items() if text == HIDDEN]


def header_faults(
    endpoints: Sequence[Endpoint], before: RunPlan, path: Path, read: Callable[[Path], Registry]
) -> list[Fault]:
    """The headers whose values endpoints lack, and why; see `endpoints_of`."""
    hidden = {name for one in endpoints for name in _hidden(one.headers)}
    faults = [*_why_hidden(before, path, read)] if hidden else []
    for name in sorted(hidden):
        what = f"the value of the header {name} is not kept with the run"
        faults.append(Fault(RESUME, what, f"Type it again: --header '{name}: ...'"))
    return faults


def _why_hidden(before: RunPlan, path: Path, read: Callable[[Path], Registry]) -> Iterator[Fault]:
    """Reason why the registry of a run lacks the headers; nothing where it has no registry."""
    if not before.registry:
        return
    found, faults = read(path)
    urls = [one.url for one in found.get(before.alias, [])]
    hint = "Name the registry that has it: -e FILE"
    if not path.is_file():
        yield Fault(RESUME, f"the registry of the run, {path}, is gone", hint)
    elif faults:
        yield from faults
    elif not urls:
        yield Fault(RESUME, f"{path} has no {before.alias!r} any more", hint)
    elif gone := [one.url for one in before.served_at if one.url not in urls]:
        yield Fault(
            RESUME, f"{before.alias!r} in {path} is not at {', '.join(gone)} any more", hint
        )


def needed_again(plan: RunPlan) -> list[str]:
    """The headers that must be typed to resume a run, as words of a command line."""
    endpoints = endpoints_of(plan, registry_at(plan.registry), read_registry)
    hidden = dict.fromkeys(name for one in endpoints for name in _hidden(one.headers))
    return [f"--header {shlex.quote(f'{name}: ...')}" for name in hidden]
