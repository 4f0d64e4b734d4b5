"""Settings for people: each with its value and the place that it came from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tui_eval.clients.credentials import is_literal_key
from tui_eval.config.options import BY_NAME, OPTIONS, Setting, Settings
from tui_eval.config.plan_builder import Evaluation
from tui_eval.config.secret_values import HIDDEN, masked, masked_url
from tui_eval.config.settings import BUILT_IN

VALUE_WIDTH = 48
"""Longer values push the place away from its column instead of being cut."""

_ABSENT = Setting(None, "")


def explanation(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Lines that explain evaluations: the first whole, of the others what differs from it."""
    first: Settings | None = None
    for number, evaluation in enumerate(evaluations, 1):
        settings = {**evaluation.settings, **evaluation.served}
        if len(evaluations) > 1:
            if first is not None:
                yield ""
            yield f"[{number}/{len(evaluations)}] {_title(settings)}"
        yield from _lines(settings, first)
        first = first or settings


def plain_settings(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Settings of an evaluation that somebody set: `name`, `value` without secrets, `source`."""
    settings = {**evaluation.settings, **evaluation.served}
    return [
        {"name": name, "value": _shown(name, setting.value), "source": setting.source}
        for name, setting in settings.items()
        if setting.source != BUILT_IN
        and name != "env_id"
        and (name not in BY_NAME or BY_NAME[name].describes != "command")
    ]


def _title(settings: Settings) -> str:
    named = settings["name"].value or settings["env_id"].value
    return str(named or "no environment")


def _lines(settings: Settings, first: Settings | None) -> Iterator[str]:
    names = dict.fromkeys([*(option.name for option in OPTIONS), *settings])
    width = max(map(len, names))
    for name in names:
        setting = settings.get(name, _ABSENT)
        if name == "sets":
            continue
        if first is None or setting.value != first.get(name, _ABSENT).value:
            yield f"{name:<{width}}  {_text(name, setting.value):<{VALUE_WIDTH}}  {setting.source}"


def _text(name: str, value: Any) -> str:
    if value is None:
        return "–"
    if value == "":
        return '""'
    value = _shown(name, value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(name: str, value: Any) -> Any:
    if name == "headers" and value:
        return dict.fromkeys(value, HIDDEN)
    if name == "heartbeat_url" and value:
        return masked_url(value)
    if name == "api_key_var" and value:
        key_vars = value if isinstance(value, list) else [value]
        return ", ".join(HIDDEN if one and is_literal_key(one) else one or '""' for one in key_vars)
    return masked(value)
