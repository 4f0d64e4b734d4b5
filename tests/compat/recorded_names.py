"""Recorded names of verifiers that the alias lacks; a script too.

`python tests/compat/recorded_names.py` writes known_gaps.txt anew.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from walk_verifiers import attributes_of, function_of, parameters_of

from tui_eval.compat import verifiers_alias

FOLDER = Path(__file__).parent
RECORDED = FOLDER / "verifiers_0_1_11.json"
KNOWN = FOLDER / "known_gaps.txt"

_SANDBOX = "it needs a sandbox or a tunnel"
_AGENT = "it runs an agent's own loop"
_DISPLAY = "it draws on verifiers' own screen"
_TRAINER = "it trains models"
_COMMANDS = "it is verifiers' own command line"
_SERVER = "it is of the server of environments, which is not needed here"

ACCEPTED: dict[str, str] = {
    **dict.fromkeys(
        (
            *("*.SandboxEnv", "*.PythonEnv"),
            *("verifiers.envs.sandbox_env*", "verifiers.envs.python_env*"),
            *("verifiers.envs.experimental.sandbox_mixin*", "verifiers.utils.*sandbox_client*"),
            *("verifiers.utils.tunnel_utils*", "verifiers.envs.integrations.browser_env*"),
            "verifiers.envs.experimental.SandboxMixin",
        ),
        _SANDBOX,
    ),
    **dict.fromkeys(
        (
            *("verifiers.envs.experimental.cli_agent_env*", "verifiers.utils.interception_utils*"),
            *("verifiers.envs.experimental.harbor_env*", "verifiers.envs.experimental.rlm_env*"),
            *("verifiers.envs.experimental.opencode_*", "*.CliAgentEnv", "*.HarborEnv"),
            *("verifiers.envs.experimental.rollout_gateway_mixin*", "*.RolloutGatewayMixin"),
        ),
        _AGENT,
    ),
    **dict.fromkeys(
        (
            *("verifiers.utils.display_utils*", "verifiers.utils.eval_display*"),
            "verifiers.gepa*",
        ),
        _DISPLAY,
    ),
    "verifiers.rl*": _TRAINER,
    **dict.fromkeys(
        (
            *("verifiers.workers*", "verifiers.utils.worker_utils*", "*.EnvClient", "*.ZMQEnv*"),
            *("*.get_free_port_pair", "*.Environment.env_server_process"),
        ),
        _SERVER,
    ),
    **dict.fromkeys(
        ("verifiers.scripts*", "verifiers.cli.*", "verifiers.utils.install_utils*"), _COMMANDS
    ),
    **dict.fromkeys(
        (
            "*_env.logger",
            "verifiers.utils.*.logger",
            "verifiers.clients.openai_chat_completions_token_client.TokenizeResponse",
            "verifiers.utils.save_utils.extract_usage_tokens_from_response",
        ),
        "nobody but the package itself uses it",
    ),
    **dict.fromkeys(
        (
            *("*.MCPServerConnection", "*.MCPToolWrapper", "*.MCPEnv.server_connections"),
            *("*.MathRubric.executor", "*.OpenEnvEnv.wait_for_creation_max_attempts"),
        ),
        "how it is done there: connections, threads and sandboxes are others here",
    ),
    "*.DatasetBuilder": "a type, which theirs only names in a text",
    "verifiers.types.*ClientConfig": "a client that names no host asks nobody",
}
"""Why something is not here and need not be, by a pattern of its place."""


class Parameters(NamedTuple):
    """Parameters of a function: by position, by name, with the text of their defaults."""

    positional: list[str]
    named: list[str]
    defaults: dict[str, str]
    takes_more: bool
    takes_any_name: bool

    @property
    def all(self) -> list[str]:
        return [*self.positional, *self.named]


def parsed(text: str) -> Parameters:
    arguments = ast.parse(f"lambda {text[1:-1]}: 0", mode="eval").body.args  # type: ignore
    positional = [one.arg for one in [*arguments.posonlyargs, *arguments.args]]
    given = arguments.defaults
    defaults = dict(zip(positional[len(positional) - len(given) :], given, strict=True))
    named = [one.arg for one in arguments.kwonlyargs]
    defaults |= {n: d for n, d in zip(named, arguments.kw_defaults, strict=True) if d is not None}
    texts = {name: ast.unparse(default) for name, default in defaults.items()}
    any_name = arguments.kwarg is not None
    return Parameters(positional, named, texts, arguments.vararg is not None, any_name)


@cache
def gaps() -> list[str]:
    """Every gap as `place: what`, sorted."""
    with verifiers_alias():
        return sorted(set(_gaps()))


def place_of(gap: str) -> str:
    """The module, class or member of a gap, without a parameter."""
    return gap.partition(": ")[0].partition("(")[0]


def open_gaps() -> list[str]:
    """Gaps that nothing in `ACCEPTED` gives a reason for."""
    return [gap for gap in gaps() if not any(fnmatchcase(place_of(gap), one) for one in ACCEPTED)]


def _gaps() -> Iterator[str]:
    modules = json.loads(RECORDED.read_text())["modules"]
    for name, names in modules.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            yield f"{name}: no such module"
            continue
        for own, record in names.items():
            if record != "absent":
                yield from _of_name(f"{name}.{own}", getattr(module, own, None), record)


def _of_name(place: str, ours: Any, record: Any) -> Iterator[str]:
    if getattr(ours, "is_refused", False):
        yield f"{place}: refused"
    elif ours is None and record != "value NoneType":
        yield f"{place}: no such name"
    elif isinstance(record, dict):
        yield from _of_class(place, ours, record)
    elif record.startswith("value "):
        kind = record.removeprefix("value ")
        plain = kind in ("str", "int", "float", "bool", "tuple", "list", "dict", "set")
        if plain and type(ours).__name__ != kind:
            yield f"{place}: a {type(ours).__name__}, not a {kind}"
    elif not record.startswith("="):
        yield from _of_parameters(place, parameters_of(ours), record)


def _of_class(place: str, ours: Any, record: dict[str, str]) -> Iterator[str]:
    if not inspect.isclass(ours):
        yield f"{place}: no class"
        return
    if "keys" in record:
        own = getattr(ours, "__annotations__", {})
        yield from (
            f"{place}[{key}]: no such key" for key in record["keys"].split() if key not in own
        )
        return
    yield from _of_parameters(place, parameters_of(ours), record["("])
    bases = [base for base in ours.__mro__ if base.__module__.startswith("tui_eval")]
    attributes = {name for base in bases for name in attributes_of(base)}
    for name in record.get(".", "").split():
        if name not in attributes and not hasattr(ours, name):
            yield f"{place}.{name}: no such attribute"
    for name, parameters in record.items():
        if name not in ("(", "."):
            member = inspect.getattr_static(ours, name, None)
            function = function_of(member)
            if function is not None:
                yield from _of_parameters(f"{place}.{name}", parameters_of(function), parameters)
            elif member is None and name not in attributes:
                yield f"{place}.{name}: no such method"


def _of_parameters(place: str, ours: str, theirs: str) -> Iterator[str]:
    if "?" in (ours, theirs):
        return
    own, recorded = parsed(ours), parsed(theirs)
    for name in recorded.all:
        if name in own.all:
            yield from _of_default(f"{place}({name})", own, recorded, name)
        elif not own.takes_any_name:
            yield f"{place}({name}): no such parameter"
    for at, name in enumerate(recorded.positional):
        if name in own.all and own.positional[at : at + 1] != [name] and not own.takes_more:
            yield f"{place}({name}): not at position {at}"
    if recorded.takes_any_name and not own.takes_any_name and len(own.all) <= len(recorded.all):
        yield f"{place}(**): no further names"
    for name in own.all:
        if name not in recorded.all and name not in own.defaults and not recorded.takes_any_name:
            yield f"{place}({name}): required, and not there"


def _of_default(place: str, own: Parameters, recorded: Parameters, name: str) -> Iterator[str]:
    default, wanted = own.defaults.get(name), recorded.defaults.get(name)
    if wanted is None:
        return
    if default is None:
        yield f"{place}: required"
    elif "..." not in (default, wanted) and not _same(default, wanted):
        yield f"{place}: {default} by default, not {wanted}"


def _same(one: str, other: str) -> bool:
    """Whether two default values do the same: nothing at all is as good as an empty list."""
    values = [ast.literal_eval(text) for text in (one, other)]
    nothing = all(value is None or value in ([], (), {}) for value in values)
    return nothing or bool(values[0] == values[1])


if __name__ == "__main__":
    KNOWN.write_text("".join(f"{gap}\n" for gap in open_gaps()))
