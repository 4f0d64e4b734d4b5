"""Differences between a run and the request that resumes it: refused, or accepted and kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from tui_eval.config.secret_values import masked
from tui_eval.errors import Fault

KEPT = ("model", "base_url", "client_type", "env_args", "extra_env_kwargs", "sampling_args")
"""Settings that rows of one run have in common."""

_ORDER = ("shuffle", "shuffle_seed", "examples")
"""Settings that choose the examples: with others, rows that are done would have no place."""

_SIZES = (("num_examples", "-n", "examples"), ("rollouts_per_example", "-r", "rollouts of each"))

NOTHING = "nothing"
"""Stands for the value of a key that one side does not have."""


class Change(BaseModel):
    """One difference that was accepted.

    Args:
        name: The setting, where it has keys with the one that differs: `env_args.split`; `dataset`,
            `env_version`, or a part of the code: `code.FILE`, `rubric.FUNCTION`, `judge.model`.
        before, now: JSON text, `nothing` where there is no such key; of a dataset or file what was
            done and differs is reported in words.
        at: When it was accepted, ISO 8601 in UTC.
    """

    model_config = ConfigDict(extra="forbid")

    name: str
    before: str
    now: str
    at: str = ""

    def __str__(self) -> str:
        return f"{self.name} is {self.now}, the run has {self.before}"


def change(name: str, before: Any, now: Any) -> Change:
    """A difference between two values that JSON carries."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    then, since = (json.dumps(one, ensure_ascii=False, default=str) for one in (before, now))
    return Change(name=name, before=then, now=since, at=at)


def text_change(name: str, before: str | None, now: str | None) -> Change:
    """A difference between two texts; None where one side has no such thing."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return Change(name=name, before=before or NOTHING, now=now or NOTHING, at=at)


def changes(requested: Mapping[str, Any], before: Mapping[str, Any]) -> list[Change]:
    """The settings of rows that are requested now and were others in the run, key by key.

    Args:
        requested: By name; what is missing or None was not requested.
    """
    found: list[Change] = []
    for name in KEPT:
        now, then = masked(requested.get(name)), masked(before.get(name))
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


def change_faults(found: Iterable[Change], where: str, hint: str) -> list[Fault]:
    """Faults of a resume with changes."""
    return [Fault(where, str(one), hint) for one in found]


def size_of(name: str, before: Mapping[str, Any]) -> int:
    """Examples that a run has, or rollouts of each; -1 for all of a dataset that nobody counted."""
    counted = before.get("examples_taken") if name == "num_examples" else None
    return int(counted or before[name])


def same_size(requested: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether a run has as many examples and rollouts of each as are requested."""
    wanted = {name: requested[name] for name, _, _ in _SIZES if requested.get(name) is not None}
    return all(now in (before[name], size_of(name, before)) for name, now in wanted.items())


def misfits(
    env_id: str | None,
    requested: Mapping[str, Any],
    before: Mapping[str, Any],
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
    if env_id is not None and env_id != before["env_id"]:
        what = f"environment is {env_id!r}, the run has {before['env_id']!r}"
        faults.append(Fault(where, what, hint))
    for name in _ORDER:
        if requested.get(name) is not None and requested[name] != before.get(name):
            faults.append(Fault(where, str(change(name, before.get(name), requested[name])), hint))
    for name, flag, things in _SIZES:
        now, has = requested.get(name), size_of(name, before)
        if now is None or now < 0 or now == before[name] or 0 <= has <= now:
            continue
        shown = flags.get(name, flag) if where == "--resume" else name
        have = "all" if has < 0 else has
        faults.append(Fault(where, f"{shown} is {now}, the run has {have} {things}", hint))
    return faults
