"""Queries of a form to engines and files, and the state of its draft by the answers.

None of them runs people's code in this process.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.config.secret_values import masked_url
from tui_eval.errors import Fault
from tui_eval.stats.cost import prices_text, run_prices

if TYPE_CHECKING:
    from tui_eval.config.draft import Draft
    from tui_eval.config.endpoints import Endpoint
    from tui_eval.config.form import Form
    from tui_eval.config.plan import RunPlan

DESCRIBES_WITHIN_S = 60.0
PLANS_WITHIN_S = 300.0
FOLDERS = (".", "configs", "configs/eval", "configs/evals")
"""Folders that are searched for files of evaluations."""
MOST_FILES = 200
OF_EVALUATIONS = ("[[eval]]", "[[ablation]]", "env_id")
"""Beginnings of lines that only files of evaluations have."""


class Offer(NamedTuple):
    """Something to choose from.

    Args:
        name: The text for the field.
        note: A few words beside it.
        about: A text on it; empty where there is none yet.
        sets: Other fields that the choice sets; an empty text clears one.
        good: Whether it can be used as it is.
    """

    name: str
    note: str = ""
    about: str = ""
    sets: Mapping[str, str] = {}
    good: bool = True


class FormBackend:
    """Answers of the engine, of the registry and of the disk."""

    def check(self, request: Mapping[str, Any]) -> list[Fault]:
        """Faults of a request by settings and registry; for a thread."""
        from tui_eval.config.env_file import load_env_file
        from tui_eval.config.expansion import Expander
        from tui_eval.config.plan import Request

        load_env_file()
        if request.get("env_id") is None:
            return []
        expander = Expander(Request(**request))
        found = expander.expansion()
        if len(found.evaluations) == 1 and (before := _resumed_plan(expander.resume)):
            found = expander.expansion(before)
        return found.faults

    def endpoints(self, registry: str | None) -> list[Offer]:
        """The endpoints of a registry, and servers on this machine; for a thread."""
        from tui_eval.config.endpoints import read_registry, registry_path
        from tui_eval.config.env_file import load_env_file
        from tui_eval.config.local_servers import find_servers

        load_env_file()
        path = registry_path(registry)
        known, faults = read_registry(path)
        reported = "".join(f"\n{fault}" for fault in faults)
        found = [_endpoint(alias, replicas, reported) for alias, replicas in known.items()]
        for server in find_servers():
            url = f"http://localhost:{server.port}/v1"
            for model in server.models:
                sets = {"endpoint_id": "", "provider": "", "api_base_url": url}
                note = f"{server.name} at {url}"
                about = f"model: {model}\nat: {url}\nIt answers now."
                found.append(Offer(model, note, about, sets))
        return found

    def files(self) -> list[Offer]:
        """TOML files of evaluations in the usual folders; for a thread."""
        return [Offer(str(path)) for path in _eval_files()][:MOST_FILES]

    def resumable(self, environments_dir: str) -> list[Offer]:
        """Runs that can be resumed; for a thread."""
        from tui_eval.config.options import NEWEST
        from tui_eval.runs.layout import saved_roots
        from tui_eval.runs.unsaved import incomplete_runs

        found = [Offer(NEWEST, "the newest run that matches")]
        for one in incomplete_runs(saved_roots(Path(environments_dir))):
            kind = ", unsaved" if one.unsaved else ""
            wrong = f", {one.errored} errored" if one.errored else ""
            note = f"{one.done} of {one.total}{wrong}{kind} · {one.env_id} with {one.model}"
            path = os.path.relpath(one.run.path)
            found.append(Offer(str(one.run.path) if path.startswith("..") else path, note))
        return found

    async def environments(self, environments_dir: str) -> list[Offer]:
        """Environments that can be run."""
        from tui_eval.engine.transport.engine_query import query_engine

        words = ("--list", "--env-dir-path", environments_dir)
        found = await query_engine(*words, within=DESCRIBES_WITHIN_S)
        listed = found.get("environments", ())
        column = max((len(one["origin"]) for one in listed), default=0)
        return [
            Offer(one["env_id"], f"{one['origin']:<{column}}  {one['summary'] or ''}".rstrip())
            for one in listed
        ]

    async def describe(self, env_id: str, form: Form) -> dict[str, Any]:
        """An engine's description of an environment at the form's place, or its faults."""
        from tui_eval.engine.transport.engine_query import query_engine

        words = ["--describe", env_id, "--env-dir-path", str(form.effective("env_dir_path"))]
        words += ["--no-alias"] if form.effective("no_alias") else []
        return await query_engine(*words, within=DESCRIBES_WITHIN_S)

    async def estimate(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a dry run, or its faults; nothing is sent to an endpoint."""
        from tui_eval.engine.transport.engine_query import query_engine

        raw = {**request["raw"], "no_preflight": True}
        requested = {**request, "raw": raw}
        return await query_engine("-", "--dry-run", request=requested, within=PLANS_WITHIN_S)


def _resumed_plan(path: str | None) -> RunPlan | None:
    """The plan of the run that a request resumes, for unset values; None for a new run."""
    from tui_eval.config.options import NEWEST
    from tui_eval.config.plan import read_plan
    from tui_eval.errors import RefusedError
    from tui_eval.runs.saved_run import find_run

    if not path or path == NEWEST:
        return None
    try:
        return read_plan(find_run(Path(path)).plan)
    except RefusedError:
        return None


def _endpoint(alias: str, replicas: list[Endpoint], faults: str) -> Offer:
    from tui_eval.config.env_file import has_key

    first = replicas[0]
    usable = not first.key_var or has_key(first.key_var)
    key = f"{first.key_var}, which is {'' if usable else 'not '}set" if first.key_var else "none"
    details = {
        "model": first.model,
        "at": ", ".join(masked_url(one.url) for one in replicas),
        "key": key,
        "price of a million tokens": prices_text(run_prices(first)) or "unknown",
        "from": first.source,
    }
    about = "\n".join(f"{name}: {detail}" for name, detail in details.items())
    lacks = "" if usable else f"{first.key_var} is not set · "
    more = f" and {len(replicas) - 1} more" if len(replicas) > 1 else ""
    note = f"{lacks}{first.model} at {masked_url(first.url)}{more}"
    sets = {"endpoint_id": "", "provider": "", "api_base_url": ""}
    return Offer(alias, note, about + faults, sets, usable)


def _eval_files() -> Iterator[Path]:
    """TOML files with evaluations, by the beginnings of their lines."""
    for folder in FOLDERS:
        for path in sorted(Path(folder).glob("*.toml")):
            try:
                text = path.read_text("utf-8-sig")
            except (OSError, UnicodeDecodeError):
                continue
            if any(line.startswith(OF_EVALUATIONS) for line in text.splitlines()):
                yield path


class Looked(NamedTuple):
    """A checked draft.

    Args:
        request: The request to an engine; None where the draft gives none.
        no_toml: The reason why there is no TOML; empty where there is one.
        by_field: Faults of fields by name.
        others: Faults of no field.
        is_changed: Whether it differs from its file.
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
        """The same with more faults, each at its field and none twice."""
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
    """Checks a draft, which must not change meanwhile; takes longer than a frame may."""
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
