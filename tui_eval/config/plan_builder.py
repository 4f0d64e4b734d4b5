"""Builds the validated plan of one evaluation from its settings.

A plan is complete: nothing that comes later looks at flags, files or defaults again. It is saved as
run.toml, which is why a resume needs nothing but that file, and why each value keeps the place that
it came from.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.config.compatibility import resume_faults
from tui_eval.config.endpoint_resolution import Chosen, Surroundings, choose
from tui_eval.config.endpoints import PRICES
from tui_eval.config.options import OF_ONE_COMMAND, Setting, Settings
from tui_eval.config.plan import PlannedEndpoint, RunPlan
from tui_eval.config.secret_values import masked_url
from tui_eval.config.settings import built_in_settings, sampling_args
from tui_eval.config.values import is_url
from tui_eval.errors import Fault

_HUB_PART = re.compile(r"\w(?:[\w.-]*\w)?", re.ASCII)


class Evaluation(msgspec.Struct):
    """One evaluation that was requested.

    Args:
        plan: None where something is wrong with it.
        draft: Known part of the plan where something is wrong, to look for more that is.
        settings: Every setting with the place that it came from.
        served: Settings of the registry or a provider where the others say nothing.
        resume: The run to resume: a path, `newest`, or None for a new one.
    """

    plan: RunPlan | None
    settings: Settings
    served: Settings
    resume: str | None = None
    draft: RunPlan | None = None


def compose(
    settings: Settings,
    before: RunPlan | None,
    around: Surroundings,
    *,
    takes_default_model: bool = True,
) -> tuple[Evaluation, list[Fault]]:
    """The evaluation that merged settings amount to, and everything that is wrong with it.

    Args:
        settings: Only what somebody set.
        before: The plan of the resumed run: what is not set is as it was then.
        takes_default_model: False where something is wrong that may have meant to name the model;
            then nothing is said of the default one.
    """
    chosen, faults = None, list[Fault]()
    if takes_default_model or not settings.keys().isdisjoint(("model", "endpoint_id")):
        chosen, faults = choose(settings, before, around)
    served = chosen.settings if chosen else {}
    resume = settings.get("resume")
    every = {**built_in_settings(), **settings}
    if "endpoint_id" in settings:
        every["model"] = Setting(None, settings["endpoint_id"].source)
    evaluation = Evaluation(None, every, served, resume.value if resume else None)
    values = _plan_values(settings, before)
    _write_served(values, chosen)
    faults += _heartbeat(settings) + _sampling(settings) + _dataset_name(settings)
    if before is not None:
        faults += resume_faults(settings, values, before)
    reported = {name: setting.source for name, setting in {**settings, **served}.items()}
    values["sources"] = {**values.get("sources", {}), **reported}
    if faults or chosen is None:
        unknown = {"env_id": "", "alias": "", "model": "", "base_url": ""}
        evaluation.draft = RunPlan(**{**unknown, **values})
    elif "env_id" in values:
        evaluation.plan = RunPlan(**values)
    return evaluation, faults


def _plan_values(settings: Settings, before: RunPlan | None) -> dict[str, Any]:
    """The fields of a plan that were set, or are as they were before, without what stopped it."""
    values: dict[str, Any] = {"folder": str(Path.cwd())}
    if before is not None:
        values = before.model_dump(exclude=set(OF_ONE_COMMAND))
    for name, setting in settings.items():
        if name in RunPlan.model_fields and name != "model" and setting.value is not None:
            values[name] = setting.value
    if values.get("examples"):
        values["examples"] = list(dict.fromkeys(values["examples"]))
        values["num_examples"] = len(values["examples"])
    if {"sampling_args", "temperature", "max_tokens"} & settings.keys():
        values["sampling_args"] = sampling_args(settings)
    if any(name in settings and settings[name].value for name in ("save_results", "output_dir")):
        values["save"] = True
    for name, field, turned in (
        ("no_interleave_scoring", "score_at_end", False),
        ("no_adaptive", "adaptive", True),
    ):
        if name in settings:
            values[field] = settings[name].value != turned
    return values


def _write_served(values: dict[str, Any], chosen: Chosen | None) -> None:
    """Writes the endpoints into a plan's values."""
    if chosen is None:
        return
    first = chosen.endpoints[0]
    values |= {
        "alias": first.alias,
        "model": first.model,
        "base_url": ",".join(one.url for one in chosen.endpoints),
        "key_var": first.key_var,
        "client_type": first.client_type,
        "registry": chosen.registry,
        **{name: getattr(first, name) for name in (*PRICES, "list_price")},
        "stream": first.stream,
        "profile": dict(first.profile),
        "endpoints": [
            PlannedEndpoint(
                url=one.url, key_var=one.key_var, headers=dict(one.headers),
                max_concurrent=one.max_concurrent,
            )
            for one in chosen.endpoints
        ],
    }  # fmt: skip


def _sampling(settings: Settings) -> list[Fault]:
    """Sampling parameters that no rollout could be run with."""
    setting = settings.get("sampling_args")
    given = (setting.value if setting else None) or {}
    where = setting.where("sampling_args") if setting else ""
    faults = []
    if given.get("n") not in (None, 1):
        what = f"n = {given['n']!r}: a rollout takes one answer"
        faults.append(Fault(where, what, "For several rollouts of an example say -r"))
    if "model" in given:
        hint = "Say -m, or write model = outside of the table"
        faults.append(Fault(where, "model is a setting of its own", hint))
    if "messages" in given:
        faults.append(Fault(where, "messages are the environment's own", "Leave them out"))
    if given.get("stream"):
        hint = "Say --stream, or write stream = true beside the model"
        faults.append(Fault(where, "stream is a setting of its own", hint))
    return faults


def _dataset_name(settings: Settings) -> list[Fault]:
    """Faults of a dataset's name that the hub would refuse, found before anything is paid."""
    setting = settings.get("hf_hub_dataset_name")
    if setting is None or setting.value is None:
        return []
    name = setting.value
    parts = name.split("/")
    is_name = len(name) <= 96 and len(parts) <= 2 and all(map(_HUB_PART.fullmatch, parts))
    if is_name and "--" not in name and ".." not in name and not name.endswith(".git"):
        return []
    what = f"{name!r} is no name of a dataset on the hub"
    hint = "It is owner/name of letters, digits, '-', '_' and '.', 96 characters at most"
    return [Fault(setting.where("hf_hub_dataset_name"), what, hint)]


def _heartbeat(settings: Settings) -> list[Fault]:
    setting = settings.get("heartbeat_url")
    if setting is None or is_url(setting.value):
        return []
    what = f"{masked_url(setting.value)!r} is no URL"
    where = setting.where("heartbeat_url")
    return [Fault(where, what, "It begins with http:// or https:// and a host")]
