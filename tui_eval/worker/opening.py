"""Environments opened for a run: loaded, with what replaces their settings, and their examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.compat import install_verifiers_alias
from tui_eval.config.plan import RunPlan
from tui_eval.config.settings import place_of
from tui_eval.environments.importing import keeping_names, local_roots
from tui_eval.environments.loading import load
from tui_eval.errors import Fault, RefusedError
from tui_eval.worker.examples import read_table
from tui_eval.worker.overriding import FLAG as REPLACED
from tui_eval.worker.overriding import override, override_faults

if TYPE_CHECKING:
    from tui_eval.environments.datasets.example_table import ExampleTable
    from tui_eval.environments.environment import Environment


def environment_of(
    plan: RunPlan | None,
) -> tuple[Environment | None, ExampleTable | None, list[Fault]]:
    """The environment of a plan, which may be at fault itself: see `open_environment`."""
    if plan is None or not plan.env_id:
        return None, None, []
    return open_environment(
        plan.env_id,
        Path(plan.env_dir_path),
        plan.env_args,
        replaced=plan.extra_env_kwargs,
        no_alias=plan.no_alias,
        num_examples=plan.num_examples,
        seed=plan.shuffle_seed if plan.shuffle else None,
        only=plan.examples,
        sources=plan.sources,
    )


def open_environment(
    env_id: str,
    folder: Path,
    env_args: Mapping[str, Any],
    *,
    replaced: Mapping[str, Any],
    no_alias: bool,
    num_examples: int,
    seed: int | None,
    only: Sequence[str] = (),
    sources: Mapping[str, str],
    others: Sequence[Mapping[str, Any]] = (),
) -> tuple[Environment | None, ExampleTable | None, list[Fault]]:
    """Loads an environment with its examples; what is at fault is None.

    Args:
        replaced: Settings that replace those of its constructor.
        seed: Of the order of its examples; None for their own.
        only: Ids of the examples that are wanted alone; empty for the first `num_examples`.
        sources: Where the settings came from, by their names.
        others: Settings of further evaluations of it, whose faults are reported as well. What they
            replace is looked at where their arguments are the same.
    """
    own = {"env_args": env_args, "extra_env_kwargs": replaced, "sources": sources}
    try:
        if not no_alias:
            install_alias()
        # One that is there already must still find what is beside it.
        with keeping_names() if local_roots() else nullcontext():
            env = load(env_id, folder, env_args, [_placed_env_args(one) for one in (own, *others)])
        faults = override(env, replaced, _replaced_at(own))
        for one in others:
            if (one["env_args"] or {}) == env_args:
                faults += override_faults(env, one["extra_env_kwargs"] or {}, _replaced_at(one))
        return env, read_table(env, num_examples, seed, only), faults
    except RefusedError as error:
        return None, None, [_with_line(fault, env_id, sources) for fault in error.faults]


def _with_line(fault: Fault, env_id: str, sources: Mapping[str, str]) -> Fault:
    """A fault of the environment itself also says where a file names it."""
    place = place_of(sources, "env_id", "")
    if not place or fault.where != f"environment {env_id}":
        return fault
    return replace(fault, where=f"{place}: {fault.where}")


def _placed_env_args(settings: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Where a file sets the arguments, as the beginning of a fault, and the arguments."""
    place = place_of(settings["sources"], "env_args", "")
    return f"{place}: " if place else "", settings["env_args"] or {}


def _replaced_at(settings: Mapping[str, Any]) -> str:
    return place_of(settings["sources"], "extra_env_kwargs", REPLACED)


def install_alias() -> None:
    """Lets environments that were written for verifiers import it, and get ours.

    Raises:
        RefusedError: The installed package was imported already.
    """
    try:
        install_verifiers_alias()
    except RuntimeError as error:
        raise RefusedError([Fault("verifiers", str(error))]) from None
