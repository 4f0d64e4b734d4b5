"""The compatibility of a resume with its run.

`config.changes` compares settings. All else is compared here: what only the environment knows (its
examples, its code, its version) and a program's call. Rows of one run are compared and averaged
together, so a difference is refused, or accepted by name and kept with the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.config.changes import Change, change, change_faults, changes, misfits, text_change
from tui_eval.config.plan import RunPlan
from tui_eval.config.plan_builder import ACCEPT
from tui_eval.errors import Fault
from tui_eval.runs.layout import RunDir
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.versions import DATASET, FILE, read_versions
from tui_eval.worker.describing.info import EnvironmentInfo
from tui_eval.worker.examples import Places

ARGUMENT = "results_path"
"""The argument that names the run in a program's call."""
MOST_FILES_SHOWN = 5
_RECORDED = ("base_url", "env_version", "code", "rubric", "judge")
"""Changes that a program need not accept: rows of the same model and environment fit together.

Rows of another version of the code have its number."""


def content_faults(
    plan: RunPlan, run: RunDir, before: RunPlan, info: EnvironmentInfo, *, accepts: bool
) -> list[Fault]:
    """Faults of a dataset and code that differ from the run's; accepted changes go to the plan."""
    changed = _content_changes(run, before, plan, info)
    if not accepts:
        return change_faults(changed, "--resume", ACCEPT)
    plan.changes += changed
    return []


def _content_changes(
    run: RunDir, before: RunPlan, plan: RunPlan, info: EnvironmentInfo
) -> list[Change]:
    """Changes of dataset, package, code and prices of a resumed run.

    Args:
        plan: As it is resumed.
        info: Of the environment now; its code gets the dataset as a part.
    """
    rows, code = info.before, info.code
    assert rows is not None, "the environment was looked at for this run"
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
    if more := len(files) - MOST_FILES_SHOWN:
        count = f"{more} more file{'s' if more > 1 else ''}"
        found += [text_change("code", count, f"other text in {count}")] if more > 0 else []
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
    examples: Places,
    info: EnvironmentInfo,
) -> list[Fault]:
    """Faults of resuming a run with a program's call.

    Args:
        plan: Of the call; gets the changes that are recorded.
        wanted: Settings that the call gives, by name.
        info: Its inputs and code, compared with those of the run.
    """
    then = before.model_dump()
    faults = misfits(plan.env_id, wanted, then, ARGUMENT)
    changed = changes(wanted, then)
    faults += _input_faults(plan, run, before, examples)
    if not faults:
        changed += _content_changes(run, before, plan, info)
    plan.changes += [one for one in changed if one.name.partition(".")[0] in _RECORDED]
    refused = [one for one in changed if one.name.partition(".")[0] not in _RECORDED]
    faults += change_faults(refused, ARGUMENT, "Start a new run for other settings")
    if faults and not run.plan.exists():
        faults = [one._replace(what=f"metadata mismatch: {one.what}") for one in faults]
    return faults


def _input_faults(plan: RunPlan, run: RunDir, before: RunPlan, examples: Places) -> list[Fault]:
    what = ""
    if plan.given_inputs != before.given_inputs:
        whose = "given by a program" if before.given_inputs else "the environment's examples"
        what = f"the inputs of the run in {run.path} are {whose}"
    elif examples.groups != before.groups or (
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
    for fault in misfits(env_id, wanted, before.model_dump(), "--resume"):
        return fault.what
    each = wanted.get("rollouts_per_example", before.rollouts_per_example)
    if each != before.rollouts_per_example:
        return f"-r is {each}, the run has {before.rollouts_per_example} rollouts of each"
    return ""
