"""Endpoints of a resumed run: those of its plan, with what that does not keep."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from tui_eval.config.endpoint_resolution import Chosen, Surroundings, changed, endpoint_faults
from tui_eval.config.endpoints import Endpoint, kept_registry, registry_at
from tui_eval.config.plan import RunPlan
from tui_eval.config.secret_values import HIDDEN
from tui_eval.config.settings import Setting, Settings
from tui_eval.config.typed_url import at_typed_url
from tui_eval.errors import Fault

WHERE = "--resume"


def choose_again(
    before: RunPlan, settings: Settings, around: Surroundings
) -> tuple[Chosen | None, list[Fault]]:
    """The endpoints of a resumed run, with what was set for them now.

    Values of headers, which a plan does not keep, are read from the registry again.
    """
    requested = settings.get("endpoints_path")
    path = (
        around.path(requested.value)
        if requested and requested.value
        else registry_at(before.registry)
    )
    known = _with_headers(before, path, around)
    unkeyed: list[Fault] = []
    if settings.get("api_base_url") and known and not settings.get("provider"):
        only, unkeyed = at_typed_url(known, settings)
        known = [only]
    endpoints = [changed(one, settings) for one in known]
    named = {"model": Setting(before.alias, WHERE), **settings}
    wrong = unkeyed + [fault for one in endpoints for fault in endpoint_faults(one, named, "model")]
    hidden = {name for one in endpoints for name in _hidden(one.headers)}
    if hidden:
        wrong += _why_hidden(before, path, around)
    for name in sorted(hidden):
        what = f"the value of the header {name} is not kept with the run"
        wrong.append(Fault(WHERE, what, f"Type it again: --header '{name}: ...'"))
    kept = kept_registry(path) if requested and requested.value else before.registry
    return (None, wrong) if wrong else (Chosen(endpoints, {}, kept), [])


def _with_headers(before: RunPlan, path: Path, around: Surroundings) -> list[Endpoint]:
    """The endpoints of a run, with the headers that the registry has for their URLs."""
    needs = any(_hidden(one.headers) for one in before.served_at)
    replicas = around.registry(path)[0].get(before.alias, []) if needs else []
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


def _why_hidden(before: RunPlan, path: Path, around: Surroundings) -> Iterator[Fault]:
    """Why the registry of a run does not say the headers; nothing where it has no registry."""
    if not before.registry:
        return
    found, faults = around.registry(path)
    urls = [one.url for one in found.get(before.alias, [])]
    hint = "Name the registry that has it: -e FILE"
    if not path.is_file():
        yield Fault(WHERE, f"the registry of the run, {path}, is gone", hint)
    elif faults:
        yield from faults
    elif not urls:
        yield Fault(WHERE, f"{path} has no {before.alias!r} any more", hint)
    elif gone := [one.url for one in before.served_at if one.url not in urls]:
        yield Fault(WHERE, f"{before.alias!r} in {path} is not at {', '.join(gone)} any more", hint)


def needed_again(plan: RunPlan) -> list[str]:
    """The headers that must be typed for a run to go on, as words of a command line."""
    endpoints = _with_headers(plan, registry_at(plan.registry), Surroundings())
    hidden = dict.fromkeys(name for one in endpoints for name in _hidden(one.headers))
    return [f"--header {shlex.quote(f'{name}: ...')}" for name in hidden]
