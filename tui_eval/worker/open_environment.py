"""Environments opened for a run: loaded, with their settings replaced and their examples read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.compat import install_verifiers_alias
from tui_eval.config.settings import place_of
from tui_eval.environments.author_errors import describe as one_line_of
from tui_eval.environments.imports import keeping_names, local_roots
from tui_eval.environments.loader import load
from tui_eval.errors import Fault, RefusedError, must_propagate
from tui_eval.worker.description.describe import describe
from tui_eval.worker.description.info import EnvironmentInfo, EnvironmentSettings
from tui_eval.worker.examples import read_table
from tui_eval.worker.overrides import FLAG as REPLACED
from tui_eval.worker.overrides import override, override_faults

if TYPE_CHECKING:
    from tui_eval.environments.datasets.example_table import ExampleTable
    from tui_eval.environments.environment import Environment


class Loaded(NamedTuple):
    """An environment in this process, with the inputs of its examples."""

    env: Environment
    table: ExampleTable


def load_environment(settings: EnvironmentSettings) -> tuple[Loaded | None, list[Fault]]:
    """Loads an environment with its examples; returns its faults as well."""
    env_id, env_args, folder = settings.env_id, settings.env_args, Path(settings.folder)
    own = {
        "env_args": env_args,
        "extra_env_kwargs": settings.replaced,
        "sources": settings.sources,
    }
    try:
        if not settings.no_alias:
            install_alias()
        placed = [_placed_env_args(one) for one in (own, *settings.others)]
        # One that is there already must still find what is beside it.
        with keeping_names() if local_roots() else nullcontext():
            env = load(env_id, folder, env_args, placed)
        faults = override(env, settings.replaced, _replaced_at(own))
        for one in settings.others:
            if (one["env_args"] or {}) == env_args:
                faults += override_faults(env, one["extra_env_kwargs"] or {}, _replaced_at(one))
        table = read_table(env, settings.num_examples, settings.seed, settings.only)
        return Loaded(env, table), faults
    except RefusedError as error:
        return None, [_with_line(fault, env_id, settings.sources) for fault in error.faults]
    except BaseException as error:  # of people's code
        if isinstance(error, KeyboardInterrupt) and must_propagate(error):
            raise
        return None, [_raised(settings, "it cannot be loaded", error)]


def describe_loaded(
    loaded: Loaded, settings: EnvironmentSettings
) -> tuple[EnvironmentInfo | None, list[Fault]]:
    """Describes an environment, see `describe`; returns its faults as well."""
    env, table = loaded
    named, folder = settings.env_id, Path(settings.folder)
    try:
        return describe(env, table, settings.wanted, named, folder), []
    except (Exception, SystemExit) as error:  # of people's objects
        return None, [_raised(settings, "what it is cannot be read", error)]


def _raised(settings: EnvironmentSettings, what: str, error: BaseException) -> Fault:
    fault = Fault(f"environment {settings.env_id}", f"{what}: {one_line_of(error)}")
    return _with_line(fault, settings.env_id, settings.sources)


def _with_line(fault: Fault, env_id: str, sources: Mapping[str, str]) -> Fault:
    """The same fault, which also says where a file names the environment."""
    place = place_of(sources, "env_id", "")
    if not place or fault.where != f"environment {env_id}":
        return fault
    return fault._replace(where=f"{place}: {fault.where}")


def _placed_env_args(settings: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The place in a file that sets the arguments, for faults, and the arguments."""
    place = place_of(settings["sources"], "env_args", "")
    return f"{place}: " if place else "", settings["env_args"] or {}


def _replaced_at(settings: Mapping[str, Any]) -> str:
    return place_of(settings["sources"], "extra_env_kwargs", REPLACED)


def install_alias() -> None:
    """Has environments that import verifiers get our modules.

    Raises:
        RefusedError: The installed package was imported already.
    """
    try:
        install_verifiers_alias()
    except RuntimeError as error:
        raise RefusedError([Fault("verifiers", str(error))]) from None
