"""The compatibility of a resume with its run: its settings, its content, a program's call.

Rows of one run are compared and averaged together, so a difference is refused, or accepted by name
and kept with the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tui_eval.config.changes import NOTHING, Change, change, text_change
from tui_eval.config.options import Settings
from tui_eval.config.plan import AS_JSON, RunPlan
from tui_eval.config.secret_values import HIDDEN, hidden_names, masked
from tui_eval.errors import Fault
from tui_eval.runs.layout import RunDir
from tui_eval.runs.rescue import continued_in
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.versions import DATASET, FILE, CodeVersion, RunBefore, read_versions

ACCEPT = "Resume all the same with --accept-changes, or start a new run"
"""Advice where a resumed run differs from what it was."""

CONTINUED = "Resume that one, or both of them with --accept-changes"
"""The hint where a run was continued in another directory."""
ARGUMENT = "results_path"
"""The argument that names the run in a program's call."""
MOST_FILES_SHOWN = 5
_RECORDED = ("base_url", "env_version", "code", "rubric", "judge")
"""Changes that a program need not accept: rows of the same model and environment fit together.

Rows of another version of the code have its number."""
KEPT = ("model", "base_url", "client_type", "env_args", "extra_env_kwargs", "sampling_args")
"""Settings that rows of one run have in common."""

_ORDER = ("shuffle", "shuffle_seed", "examples")
"""Settings that choose the examples: with others, rows that are done would have no place."""

_SIZES = (("num_examples", "-n", "examples"), ("rollouts_per_example", "-r", "rollouts of each"))


def resume_faults(settings: Settings, values: dict[str, Any], before: RunPlan) -> list[Fault]:
    """Faults of a resume with these settings; accepted differences go to the values."""
    env_id = settings["env_id"].value if "env_id" in settings else None
    accepts = "accept_changes" in settings and bool(settings["accept_changes"].value)
    flags = {name: one.source for name, one in settings.items() if one.is_renamed}
    faults = _not_kept(values)
    faults += settings_faults(env_id, values, before, "--resume", flags, accepts=accepts)
    if accepts:
        values["changes"] = [*before.changes, *changes(values, before)]
    if before.given_inputs:
        what = "a program gave the inputs of this run"
        hint = "Resume it there: give its directory to generate() as results_path"
        faults.append(Fault("--resume", what, hint))
    return faults


def _not_kept(values: dict[str, Any]) -> list[Fault]:
    """Secrets that a resumed run needs and its run.toml does not hold."""
    flags = {"env_args": "-a", "extra_env_kwargs": "-x", "sampling_args": "-S"}
    faults = [
        Fault("--resume", f"the value of {name} is not kept with the run",
              f"Give it again: {flags[setting]} with all that was given then")
        for setting in AS_JSON
        for name in hidden_names(values.get(setting), setting)
    ]  # fmt: skip
    if HIDDEN in (values.get("heartbeat_url") or ""):
        what = "what is secret in the heartbeat URL is not kept with the run"
        faults.append(Fault("--resume", what, "Give it again: --heartbeat-url URL"))
    return faults


def settings_faults(
    env_id: str | None,
    requested: Mapping[str, Any],
    before: RunPlan,
    where: str,
    flags: Mapping[str, str] = {},
    *,
    accepts: bool,
) -> list[Fault]:
    """Faults of resuming a run with such settings; see `misfits`.

    Args:
        accepts: Settings of rows may differ.
    """
    changed = [] if accepts else changes(requested, before)
    found = misfits(env_id, requested, before, where, flags)
    return found + _change_faults(changed, where, ACCEPT)


def changes(requested: Mapping[str, Any], before: RunPlan) -> list[Change]:
    """The settings of rows that are requested now and were others in the run, key by key.

    Args:
        requested: By name; what is missing or None was not requested.
    """
    found: list[Change] = []
    for name in KEPT:
        now, then = masked(requested.get(name)), masked(getattr(before, name))
        if now is None or now == then:
            continue
        if isinstance(now, dict) and isinstance(then, dict):
            found += _by_key(name, then, now)
        else:
            found.append(change(name, then, now))
    return found


def _by_key(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Change]:
    for key in dict.fromkeys([*before, *now]):
        reported = change(f"{name}.{key}", before.get(key), now.get(key))
        for side, values in (("before", before), ("now", now)):
            if key not in values:
                setattr(reported, side, NOTHING)
        if reported.before != reported.now:
            yield reported


def _change_faults(found: Iterable[Change], where: str, hint: str) -> list[Fault]:
    return [Fault(where, str(one), hint) for one in found]


def _size_of(name: str, before: RunPlan) -> int:
    """Examples that a run has, or rollouts of each; -1 for all of a dataset that nobody counted."""
    counted = before.examples_taken if name == "num_examples" else None
    return int(counted or getattr(before, name))


def same_size(requested: Mapping[str, Any], before: RunPlan) -> bool:
    """Whether a run has as many examples and rollouts of each as are requested."""
    wanted = {name: requested[name] for name, _, _ in _SIZES if requested.get(name) is not None}
    return all(
        now in (getattr(before, name), _size_of(name, before)) for name, now in wanted.items()
    )


def misfits(
    env_id: str | None,
    requested: Mapping[str, Any],
    before: RunPlan,
    where: str,
    flags: Mapping[str, str] = {},
) -> list[Fault]:
    """Faults that nobody can accept: another environment or examples, or fewer than the run has.

    Args:
        requested: Settings by name; what is missing or None was not requested.
        where: Option that named the run: `--resume`, or an argument of a function.
        flags: Names of settings in a command, in place of the usual flags.
    """
    hint = "Start a new run for other settings"
    faults = []
    if env_id is not None and env_id != before.env_id:
        what = f"environment is {env_id!r}, the run has {before.env_id!r}"
        faults.append(Fault(where, what, hint))
    for name in _ORDER:
        now, then = requested.get(name), getattr(before, name)
        if now is not None and now != then:
            faults.append(Fault(where, str(change(name, then, now)), hint))
    for name, flag, things in _SIZES:
        now, has = requested.get(name), _size_of(name, before)
        if now is None or now < 0 or now == getattr(before, name) or 0 <= has <= now:
            continue
        shown = flags.get(name, flag) if where == "--resume" else name
        have = "all" if has < 0 else has
        faults.append(Fault(where, f"{shown} is {now}, the run has {have} {things}", hint))
    return faults


def rows_key(plan: RunPlan) -> str:
    """Settings that two runs must share for their rows to fit together, as text."""
    return json.dumps(masked(plan.model_dump(include={"env_id", *_ORDER, *KEPT})), sort_keys=True)


def continued_faults(run: RunDir, hint: str = CONTINUED) -> list[Fault]:
    """The fault that a run was continued in another directory."""
    if (other := continued_in(run)) is None:
        return []
    return [Fault(str(run.path), f"the run was saved as {other} and continued there", hint)]


def content_faults(
    plan: RunPlan,
    run: RunDir,
    before: RunPlan,
    rows: RunBefore,
    code: CodeVersion,
    *,
    accepts: bool,
) -> list[Fault]:
    """Faults of a dataset and code that differ from the run's; accepted changes go to the plan."""
    changed = _content_changes(run, before, plan, rows, code)
    if not accepts:
        return _change_faults(changed, "--resume", ACCEPT)
    plan.changes += changed
    return []


def _content_changes(
    run: RunDir, before: RunPlan, plan: RunPlan, rows: RunBefore, code: CodeVersion
) -> list[Change]:
    """Changes of dataset, package, code and prices of a resumed run.

    Args:
        plan: As it is resumed.
        code: That of the environment now; gets the dataset as a part.
    """
    versions = read_versions(run)
    found = []
    digest = rows.digest
    if rows.other_prompts:
        found.append(text_change("dataset", "the prompts of its rows", rows.other_prompts))
    if digest != before.examples_digest:
        found.append(change("dataset", _digest(before.examples_digest), _digest(digest)))
    else:
        digest = versions.parts.get(DATASET, digest)
    code.parts[DATASET] = digest
    reported = read_metadata(run).get("version_info")
    if isinstance(reported, dict) and "env_version" in reported:
        then, now = reported["env_version"], rows.version
        if then != now:
            found.append(change("env_version", then, now))
    if versions.parts and not versions.knows(code):
        found += code_changes(versions.parts, code.parts)
    return found + _price_changes(before, plan)


def code_changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[Change]:
    """The parts of the code that changed, of many files the first; the dataset is left out."""
    names = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    files = [name for name in names if name.startswith(FILE)]
    others = [name for name in names if not name.startswith(FILE) and name != DATASET]
    reported = [*files[:MOST_FILES_SHOWN], *others]
    found = [text_change(name, before.get(name), now.get(name)) for name in reported]
    if (more := len(files) - MOST_FILES_SHOWN) > 0:
        count = f"{more} more file{'s' if more > 1 else ''}"
        found.append(text_change("code", count, f"other text in {count}"))
    return found


def _price_changes(before: RunPlan, plan: RunPlan) -> list[Change]:
    """Prices that were known and have changed: the cost is that of all rows together."""
    names = [name for name in RunPlan.model_fields if name.endswith("_price")]
    pairs = {name: (getattr(before, name), getattr(plan, name)) for name in names}
    return [
        change(name, then, now)
        for name, (then, now) in pairs.items()
        if None not in (then, now) and then != now
    ]


def _digest(digest: str) -> str:
    count, _, content = digest.partition(":")
    return f"{count} examples with the hash {content}"


def call_faults(
    plan: RunPlan,
    wanted: Mapping[str, Any],
    run: RunDir,
    before: RunPlan,
    rows: RunBefore,
    code: CodeVersion,
) -> list[Fault]:
    """Faults of resuming a run with a program's call.

    Args:
        plan: Of the call; gets the changes that are recorded.
        wanted: Settings that the call gives, by name.
    """
    faults = misfits(plan.env_id, wanted, before, ARGUMENT) + _input_faults(plan, run, before)
    changed = changes(wanted, before)
    if not faults:
        changed += _content_changes(run, before, plan, rows, code)
    plan.changes += [one for one in changed if one.name.partition(".")[0] in _RECORDED]
    refused = [one for one in changed if one.name.partition(".")[0] not in _RECORDED]
    faults += _change_faults(refused, ARGUMENT, "Start a new run for other settings")
    if faults and not run.plan.exists():
        faults = [one._replace(what=f"metadata mismatch: {one.what}") for one in faults]
    return faults


def _input_faults(plan: RunPlan, run: RunDir, before: RunPlan) -> list[Fault]:
    what = ""
    if plan.given_inputs != before.given_inputs:
        whose = "given by a program" if before.given_inputs else "the environment's examples"
        what = f"the inputs of the run in {run.path} are {whose}"
    elif plan.groups != before.groups or (
        plan.given_inputs and plan.rollouts_per_example != before.rollouts_per_example
    ):
        what = f"the run in {run.path} has other inputs, or groups of other sizes"
    return [Fault(ARGUMENT, what, "Start a new run for other inputs")] if what else []


def misfit(env_id: str | None, wanted: Mapping[str, Any], before: RunPlan) -> str:
    """Why a run cannot have what is requested, or be extended to it; empty where it can.

    Args:
        env_id: None for that of the run.
        wanted: Settings by name; what is missing or None was not requested.
    """
    for fault in misfits(env_id, wanted, before, "--resume"):
        return fault.what
    each = wanted.get("rollouts_per_example", before.rollouts_per_example)
    if each != before.rollouts_per_example:
        return f"-r is {each}, the run has {before.rollouts_per_example} rollouts of each"
    return ""
