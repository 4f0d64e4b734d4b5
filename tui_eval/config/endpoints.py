"""The endpoint registry: aliases of models, where they are served, how, and what they cost.

It is TOML, or Python with `ENDPOINTS = {...}`, which is read without being run.
"""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tui_eval.client_types import CLIENT_TYPES, REASONING_FIELDS, TOKEN_LIMITS
from tui_eval.config.secret_values import masked_url
from tui_eval.config.toml_files import KeyPath, TomlFile, read_toml
from tui_eval.config.values import header_table, is_url
from tui_eval.errors import Fault, nearest
from tui_eval.pasted import unwrapped
from tui_eval.shipped import shipped

EMBEDDED = "embedded:demo"
"""The URL that stands for the endpoint which the program itself brings up."""

SHIPPED = "shipped"
"""Stands in a plan for the registry that comes with the program."""

DEFAULT_TYPE = "openai_chat_completions"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One way to reach a model.

    Args:
        key_var: Name of the environment variable that holds the key; empty where none is needed.
        headers: Sent with every request.
        max_concurrent: Maximum number of concurrent rollouts at it; 0 for no limit of its own.
        input_price, output_price: USD per million tokens; None where it is not known.
        cached_input_price, cache_write_price: USD per million tokens read from a cache or written
            to one; None where they cost what others do.
        list_price: Source of prices that no registry has; empty for a registry.
        stream: Whether its answers are requested as streams.
        profile: Its `ProviderProfile`, where that is not its provider's.
        source: Place where it is written: `file:line`.
    """

    alias: str
    model: str
    url: str
    key_var: str
    client_type: str
    headers: Mapping[str, str] = field(default_factory=dict)
    max_concurrent: int = 0
    input_price: float | None = None
    output_price: float | None = None
    cached_input_price: float | None = None
    cache_write_price: float | None = None
    list_price: str = field(default="", kw_only=True)
    stream: bool = False
    profile: Mapping[str, Any] = field(default_factory=dict)
    source: str = field(default="", compare=False)


PROFILE: dict[str, tuple[Any, ...]] = {
    "token_limit": TOKEN_LIMITS,
    "reasoning_field": REASONING_FIELDS,
    "encrypted_reasoning": (True, False),
}
"""Keys that say what an endpoint understands, and what may be there."""
_ONE_OF = {"stream": (True, False), **PROFILE}

PRICES = ("input_price", "output_price", "cached_input_price", "cache_write_price")
"""US dollars per million tokens."""

_NEEDED = ("endpoint_id", "model", "url")
_NAMES = (*_NEEDED, "key", "type", "headers", "max_concurrent", *PRICES, *_ONE_OF)
_FIELDS = {name: name for name in _NAMES} | {
    "api_base_url": "url",
    "api_key_var": "key",
    "api_client_type": "type",
    "extra_headers": "headers",
}
"""Fields by the keys that mean them."""

_ALIKE = {
    "model": "model",
    "client_type": "api_client_type",
    **{name: name for name in PRICES},
    "stream": "stream",
    "profile": "profile",
}
"""Fields that the replicas of an alias have in common: attribute, and how it is written."""


def registry_path(requested: str | None) -> Path:
    """The registry to read: the one requested, `./configs/endpoints.toml`, or the shipped one.

    Args:
        requested: A file, or a folder that holds `endpoints.toml`, or else `endpoints.py`.
    """
    path = Path(requested or "configs")
    if os.path.isdir(path):  # noqa: PTH112  where nobody may look there is none
        for name in ("endpoints.toml", "endpoints.py"):
            if os.path.isfile(path / name):  # noqa: PTH113
                return path / name
        path = path / "endpoints.toml"
    if requested or os.path.isfile(path):  # noqa: PTH113
        return path
    return shipped("configs", "endpoints.toml")


def kept_registry(path: Path) -> str:
    """A registry as a plan keeps it, so that it is found from any folder.

    The shipped one is kept by a word: another installation has it elsewhere.
    """
    return SHIPPED if path == shipped("configs", "endpoints.toml") else str(path.resolve())


def registry_at(kept: str) -> Path:
    """The registry that a plan keeps; where it keeps none, the one found here."""
    return shipped("configs", "endpoints.toml") if kept == SHIPPED else registry_path(kept or None)


Registry: TypeAlias = tuple[dict[str, list[Endpoint]], list[Fault]]
"""Endpoints by alias, and what is wrong with their file."""


def read_registry(path: Path) -> Registry:
    """All endpoints of a registry by alias, and everything that is wrong with the file.

    An alias that stands more than once has replicas, in the order of the file. What the program
    itself serves is known beside any registry; an entry of the same name is in its place.
    """
    found, faults = _read(path)
    own = shipped("configs", "endpoints.toml")
    if not faults and path != own:
        for alias, replicas in _read(own)[0].items():
            if replicas[0].url == EMBEDDED:
                found.setdefault(alias, replicas)
    return found, faults


def _read(path: Path) -> Registry:
    is_python = path.suffix == ".py"
    file, faults = read_python_registry(path) if is_python else read_toml(path, "the registry")
    if file is None:
        return {}, faults
    for name in file.tables:
        if name != "endpoint":
            what = f"unknown table {name!r}"
            faults.append(Fault(file.at(name), what, "Endpoints are [[endpoint]] tables"))
    entries = file.tables.get("endpoint", [])
    if not isinstance(entries, list):
        what = "[endpoint] is one table"
        return {}, [Fault(file.at("endpoint"), what, "Write [[endpoint]]"), *faults]
    found: dict[str, list[Endpoint]] = {}
    for number, table in enumerate(entries):
        endpoint, wrong = _endpoint(file, number, table)
        faults += wrong
        if endpoint is not None:
            found.setdefault(endpoint.alias, []).append(endpoint)
    return found, faults + _unlike_replicas(found)


def _unlike_replicas(found: Mapping[str, list[Endpoint]]) -> list[Fault]:
    faults = []
    for alias, (first, *others) in found.items():
        for other in others:
            for attribute, name in _ALIKE.items():
                mine, theirs = getattr(other, attribute), getattr(first, attribute)
                if mine != theirs:
                    own = f"{name} is {mine!r}" if mine is not None else f"there is no {name}"
                    other_one = f"has {theirs!r}" if theirs is not None else "has none"
                    what = f"{own}, another {alias!r} {other_one}"
                    hint = f"Replicas have the same {name} (see {first.source})"
                    faults.append(Fault(other.source, what, hint))
    return faults


def _endpoint(file: TomlFile, number: int, table: Any) -> tuple[Endpoint | None, list[Fault]]:
    here = file.at("endpoint", number)
    if not isinstance(table, Mapping):
        return None, [Fault(here, f"this is {table!r}, no table", "Write [[endpoint]]")]
    faults: list[Fault] = []
    values: dict[str, Any] = {}
    for name, value in table.items():
        where = file.at("endpoint", number, name)
        key = _FIELDS.get(name)
        if key is None:
            faults.append(Fault(where, f"unknown key {name!r}", nearest(name, _FIELDS)))
        elif key in values and values[key] != value:
            spellings = " and ".join(n for n, f in _FIELDS.items() if f == key)
            faults.append(Fault(where, f"{spellings} are the same field; keep one"))
        else:
            try:
                values[key] = value
                values[key] = _value(key, name, value)
            except ValueError as error:
                faults.append(Fault(where, str(error)))
    faults += [Fault(here, f"{name} is missing") for name in _NEEDED if name not in values]
    if faults:
        return None, faults
    prices: dict[str, Any] = {name: values.get(name) for name in PRICES}
    endpoint = Endpoint(
        alias=values["endpoint_id"],
        model=values["model"],
        url=unwrapped(values["url"], f"the URL in {here}"),
        key_var=values.get("key", ""),
        client_type=values.get("type", DEFAULT_TYPE),
        headers=values.get("headers", {}),
        max_concurrent=values.get("max_concurrent", 0),
        **prices,
        stream=values.get("stream", False),
        profile={name: values[name] for name in PROFILE if name in values},
        source=here,
    )
    return endpoint, []


def _value(key: str, name: str, value: Any) -> Any:
    if key == "headers":
        try:
            return header_table(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if key == "max_concurrent":
        if type(value) is not int or value < 1:
            raise ValueError(f"{name} must be a whole number from 1 on")
        return value
    if key in _ONE_OF:
        known = _ONE_OF[key]
        if type(value) is not type(known[0]) or value not in known:
            raise ValueError(f"{name} must be {' or '.join(map(json.dumps, known))}")
        return value
    if key in PRICES:
        if type(value) not in (int, float) or not 0 <= value < float("inf"):
            raise ValueError(f"{name} must be a number from 0 on: USD per million tokens")
        return float(value)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} must be text that is not empty")
    if key == "url" and value != EMBEDDED and not is_url(value):
        shown = masked_url(value) if "@" in value else value
        raise ValueError(f"{shown!r} is no URL; it begins with http:// or https:// and a host")
    if key == "type" and value not in CLIENT_TYPES:
        raise ValueError(f"unknown client type {value!r}. Known are {', '.join(CLIENT_TYPES)}")
    return value


_IN_PYTHON = "ENDPOINTS"
_LITERALS = "Write text and numbers there, or the entry as an [[endpoint]] table in endpoints.toml"


def read_python_registry(path: Path) -> tuple[TomlFile | None, list[Fault]]:
    """The entries of `ENDPOINTS` as the `[[endpoint]]` tables that say the same.

    `ENDPOINTS` is a dict of alias to a dict of settings, or to a list of these for replicas.

    Returns:
        The tables with their lines, or None, and everything that is wrong.
    """
    try:
        tree = ast.parse(path.read_text("utf-8-sig"), filename=str(path))
    except OSError as error:
        return None, [Fault(str(path), f"the registry cannot be read: {error.strerror}")]
    except SyntaxError as error:
        return None, [Fault(f"{path}:{error.lineno or 1}", f"this is no Python: {error.msg}")]
    except (ValueError, RecursionError) as error:
        return None, [Fault(str(path), f"this is no Python: {error}")]
    given = _assigned(tree)
    if not isinstance(given, ast.Dict):
        where = str(path) if given is None else f"{path}:{given.lineno}"
        what = (
            f"there is no {_IN_PYTHON} = {{...}}"
            if given is None
            else f"{_IN_PYTHON} is no dict as it stands"
        )
        return None, [Fault(where, what, f"The file is read, not run. {_LITERALS}")]
    return _entries(path, given)


def _assigned(tree: ast.Module) -> ast.expr | None:
    """Value of the name, by the last statement that sets it."""
    found: ast.expr | None = None
    for node in tree.body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            names = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(name, ast.Name) and name.id == _IN_PYTHON for name in names):
                found = node.value
    return found


def _entries(path: Path, given: ast.Dict) -> tuple[TomlFile, list[Fault]]:
    tables: list[dict[str, Any]] = []
    lines: dict[KeyPath, int] = {("endpoint",): given.lineno}
    faults: list[Fault] = []
    for key, value in zip(given.keys, given.values, strict=True):
        alias = _literal(key)
        if not isinstance(alias, str):
            faults.append(_not_literal(path, key or value, "this alias is no text"))
            continue
        for entry in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            here: KeyPath = ("endpoint", len(tables))
            settings, wrong = _settings(path, entry, alias)
            tables.append(
                {"endpoint_id": alias, **{n: value for n, (value, _) in settings.items()}}
            )
            lines[here] = entry.lineno
            lines |= {(*here, name): line for name, (_, line) in settings.items()}
            faults += wrong
    return TomlFile(path, {"endpoint": tables}, lines), faults


def _settings(
    path: Path, entry: ast.expr, alias: str
) -> tuple[dict[str, tuple[Any, int]], list[Fault]]:
    """The values of one endpoint with their lines, by name."""
    if not isinstance(entry, ast.Dict):
        return {}, [_not_literal(path, entry, f"the entry of {alias!r} is no dict")]
    found, faults = {}, []
    for key, value in zip(entry.keys, entry.values, strict=True):
        name, literal = _literal(key), _literal(value)
        if isinstance(name, str) and literal is not None:
            found[name] = literal, value.lineno
            continue
        which = name if isinstance(name, str) else "a key"
        faults.append(_not_literal(path, value, f"{which} of {alias!r} is no text"))
    return found, faults


def _not_literal(path: Path, node: ast.expr, what: str) -> Fault:
    return Fault(f"{path}:{node.lineno}", f"{what} as it stands", _LITERALS)


def _literal(node: ast.expr | None) -> Any:
    """The value of a literal; None for everything else."""
    try:
        return None if node is None else ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
