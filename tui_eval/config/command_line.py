"""The command line that does what a request says."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tui_eval.config.options import BY_NAME, NEWEST, OPTIONS, Option
from tui_eval.config.secret_values import HIDDEN, is_secret, masked, masked_url


def command_words(target: str, raw: Mapping[str, Any]) -> list[str]:
    """The words of a command line that amounts to a request.

    Args:
        target: An environment, or a TOML file of evaluations; empty where a run is resumed.
        raw: Text of the options, as a form has it.
    """
    return ["tui-eval", "run", *([target] if target else []), *_option_words(OPTIONS, raw)]


def resume_words(raw: Mapping[str, Any]) -> list[str]:
    """Options beside a file of evaluations that are typed again to resume them.

    What is secret is hidden in it, and a budget is left out: it held for one invocation.
    """
    again = dict(raw)
    again["sets"] = [_without_secret(_assignment_text(one)) for one in raw.get("sets") or []]
    url = raw.get("heartbeat_url")
    if url and masked_url(url) != url:
        del again["heartbeat_url"]
    return _option_words(map(BY_NAME.__getitem__, _TYPED_AGAIN), again)


def parse_resume_words(words: Sequence[str]) -> dict[str, Any] | None:
    """The options that such words are, as `Request.raw` has them; None where one is hidden."""
    by_flag = {option.flags[0]: option for option in map(BY_NAME.__getitem__, _TYPED_AGAIN)}
    raw: dict[str, Any] = {}
    left = iter(words)
    for flag in left:
        option = by_flag[flag]
        if option.kind == "flag":
            raw[option.name] = True
        elif (text := next(left)).endswith(f"={HIDDEN}"):
            return None
        elif option.kind == "sets":
            raw.setdefault(option.name, []).append(text)
        else:
            raw[option.name] = text
    return raw


_HEADERS = ("headers", *BY_NAME["headers"].spellings)
_TYPED_AGAIN = ("no_preflight", "heartbeat_url", "heartbeat_status", "sets")


def _assignment_text(given: str | tuple[list[str], str]) -> str:
    """The text of `--set`, whether it was parsed or not."""
    return given if isinstance(given, str) else f"{'.'.join(given[0])}={given[1]}"


def _without_secret(assignment: str) -> str:
    key, _, value = assignment.partition("=")
    try:
        whole = json.loads(value)
    except ValueError:
        whole = value
    hides = key.partition(".")[0] in _HEADERS or is_secret(key.rpartition(".")[2], whole)
    return f"{key}={HIDDEN}" if hides or masked(whole) != whole else assignment


def _option_words(options: Iterable[Option], raw: Mapping[str, Any]) -> list[str]:
    words: list[str] = []
    for option in options:
        value = raw.get(option.name)
        if value is None:
            continue
        flag = option.flags[0]
        if option.kind == "flag":
            words.append(flag)
        elif option.kind == "optional_path":
            words += [option.flags[-1] if value == NEWEST else f"{option.flags[-1]}={value}"]
        else:
            for text in value if isinstance(value, list) else [value]:
                words += [flag, text]
    return words


def command_line(target: str, raw: Mapping[str, Any]) -> str:
    """The same as it is typed into a shell."""
    return shlex.join(command_words(target, raw))
