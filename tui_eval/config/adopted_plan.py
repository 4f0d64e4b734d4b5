"""The plan of a run that is resumed: its own, or another program's metadata and what was typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tui_eval.config.endpoint_resolution import is_on_this_machine
from tui_eval.config.endpoints import DEFAULT_TYPE, read_registry, registry_path
from tui_eval.config.plan import RunPlan, read_plan
from tui_eval.config.providers import PROVIDER_TABLE, Provider
from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.saved_values import mapping
from tui_eval.runs.formats.detection import Format
from tui_eval.runs.layout import RESULTS, RunDir, is_unsaved
from tui_eval.runs.run_info import format_of_run, read_info, requested_shape

_ADDED_TO = (Format.OURS, Format.VERIFIERS)
_SAMPLING = ("sampling_args", "max_tokens", "temperature")
_GIVE = {
    "env_id": "Name the environment before --resume",
    "model": "Give it with -m",
    "base_url": "Give it with -b URL, -p PROVIDER or -m ALIAS",
    "key_var": "Name the variable of the endpoint's key with -k VAR; -k '' sends none",
    "num_examples": "Give it with -n",
    "rollouts_per_example": "Give it with -r",
    "env_args": "Give them with -a JSON, '{}' for none",
    "sampling_args": "Give them with -S JSON, '{}' for none",
}
"""Advice for each setting that metadata lacks."""


def plan_to_resume(
    run: RunDir, env_id: str | None, typed: Mapping[str, Any], wrong: Sequence[Fault] = ()
) -> RunPlan:
    """The plan in a run's run.toml; where there is none, what its metadata.json amounts to.

    What that does not say is taken from what was typed.

    Args:
        env_id: The environment that was typed, if any.
        typed: The values of the options that were typed, by name.
        wrong: Faults of others, reported with what lacks.

    Raises:
        RefusedError: Neither is there, or something is reported and typed nowhere; says all of it.
    """
    format = format_of_run(run)
    if run.plan.exists() or (run.name == RESULTS and not run.metadata.exists()):
        return read_plan(run.plan)
    if run.name != RESULTS or format not in _ADDED_TO:
        what = f"a {format.value} file holds no rollouts after which a run could be resumed"
        raise RefusedError([Fault(str(run.results), what, "Start a new run")])
    info = read_info(run, format)
    known, client_type = _known(info, env_id, typed)
    _refuse_gaps(run, known, wrong)
    return RunPlan(
        **{**known, "env_args": dict(mapping(known["env_args"]))},
        alias=str(known["model"]),
        client_type=typed.get("api_client_type") or client_type,
        env_dir_path=str(typed.get("env_dir_path") or "./environments"),
        state_columns=[str(one) for one in info.get("state_columns") or []],
        save=not is_unsaved(run),
        folder=str(Path.cwd()),
    )


def option_values(plan: RunPlan) -> dict[str, Any]:
    """The values of a plan by the names of the options that say them."""
    return {
        **plan.model_dump(),
        "api_base_url": plan.base_url,
        "api_key_var": plan.key_var,
        "api_client_type": plan.client_type,
    }


def _known(
    info: Mapping[str, Any], env_id: str | None, typed: Mapping[str, Any]
) -> tuple[dict[str, Any], Any]:
    """Reported or typed settings, None for others, and the protocol of the endpoint."""
    url, key_var, client_type = _served_at(info, typed)
    examples, rollouts = requested_shape(info)
    known = {
        "env_id": info.get("env_id") or info.get("env") or env_id,
        "model": info.get("model") or typed.get("model"),
        "base_url": url or None,
        "key_var": typed.get("api_key_var", key_var),
        "num_examples": examples or typed.get("num_examples"),
        "rollouts_per_example": rollouts or typed.get("rollouts_per_example"),
        "env_args": info.get("env_args", typed.get("env_args")),
        "sampling_args": _sampling(info, typed),
    }
    return known, client_type


def _refuse_gaps(run: RunDir, known: Mapping[str, Any], wrong: Sequence[Fault]) -> None:
    """Refuses a run of which something is reported and typed nowhere; names everything."""
    where = str(run.metadata)
    faults = [
        Fault(where, f"it has no {name}", _GIVE[name])
        for name, value in known.items()
        if value is None
    ]
    if faults:
        raise RefusedError([*wrong, *faults])


def _served_at(info: Mapping[str, Any], typed: Mapping[str, Any]) -> tuple[str, str | None, str]:
    """URL of the model, the variable with the key, and the protocol.

    A URL that is reported or typed has the key that the registry or a provider's name gives for it;
    where there is none, an alias or a provider that was typed has one.

    Returns:
        The URL is empty, and the variable None, where nobody can know it.
    """
    registry, _ = read_registry(registry_path(typed.get("endpoints_path")))
    reported = str(info.get("base_url") or "").rstrip("/")  # a client of OpenAI's adds a slash
    url = reported or str(typed.get("api_base_url") or "")
    if not url and typed.get("provider"):
        url = PROVIDER_TABLE[typed["provider"]].url
    if not url and (replicas := registry.get(typed.get("endpoint_id") or typed.get("model") or "")):
        urls = ",".join(one.url for one in replicas)
        return urls, replicas[0].key_var, replicas[0].client_type
    for one in (one for replicas in registry.values() for one in replicas):
        if url and one.url.rstrip("/") == url.rstrip("/"):
            return url, one.key_var, one.client_type
    provider = _provider_of(url)
    if provider is not None:
        return url, provider.key_var, provider.client_type
    return url, "" if is_on_this_machine(url) else None, DEFAULT_TYPE


def _provider_of(url: str) -> Provider | None:
    host = urlsplit(url).hostname
    known = (one for one in PROVIDER_TABLE.values() if urlsplit(one.url).hostname == host)
    return None if is_on_this_machine(url) else next(known, None)


def _sampling(info: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any] | None:
    """Requested parameters, without those that verifiers writes into every run; None if unknown."""
    if info.keys().isdisjoint(_SAMPLING):
        info = typed
    if info.keys().isdisjoint(_SAMPLING):
        return None
    single = {name: info[name] for name in _SAMPLING[1:] if name in info}
    every = {**single, **mapping(info.get("sampling_args"))}
    empty: tuple[Any, ...] = (None, {}, [])
    return {n: v for n, v in every.items() if v not in empty and (n, v) != ("n", 1)}
