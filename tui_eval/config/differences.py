"""What tells the evaluations of one command from each other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tui_eval.config.options import OPTIONS
from tui_eval.config.secret_values import masked
from tui_eval.config.settings import SAMPLING, Settings, sampling_args

_TABLES = ("env_args", "extra_env_kwargs")
_TOLD_OTHERWISE = {"env_id", "name", "model", "endpoint_id", *SAMPLING, "sampling_args", "headers"}

_APART = _TOLD_OTHERWISE | {one.name for one in OPTIONS if one.describes != "evaluation"}


def what_varies(evaluations: Sequence[Settings]) -> list[dict[str, str]]:
    """For each evaluation the settings in which not all agree, as text.

    Keys of tables are told apart: `env_args.difficulty`. What an evaluation does not set is left
    out of its own. Secrets are hidden.
    """
    flat = [dict(_flat(settings)) for settings in evaluations]
    names = dict.fromkeys(name for one in flat for name in one)
    varying = [name for name in names if len({_identity(one, name) for one in flat}) > 1]
    return [{name: _shown(name, one[name]) for name in varying if name in one} for one in flat]


def _flat(settings: Settings) -> Iterator[tuple[str, Any]]:
    yield "model", str(settings["endpoint_id"].value or settings["model"].value)
    for name, value in sampling_args(settings).items():
        yield name, value
    for name, setting in settings.items():
        if name in _TABLES:
            for key, value in (setting.value or {}).items():
                yield f"{name}.{key}", value
        elif name not in _APART and setting.value is not None:
            yield name, setting.value


def _identity(settings: Mapping[str, Any], name: str) -> object:
    """What is equal where two settings are; None where it is not set."""
    if name not in settings:
        return None
    value = settings[name]
    return (type(value), value) if isinstance(value, (str, int, float)) else _text(value)


def _shown(name: str, value: Any) -> str:
    """The text of a setting, or of a key inside of one, without secrets."""
    key = name.rpartition(".")[2]
    return _text(masked({key: value})[key])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
