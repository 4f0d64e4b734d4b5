"""The endpoint registry: aliases of models, where they are served and how."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from tui_eval.errors import Fault, nearest
from tui_eval.shipped import shipped
from tui_eval.types import ClientType

CLIENT_TYPES: tuple[str, ...] = get_args(ClientType)

EMBEDDED = "embedded:demo"
"""The URL that stands for the endpoint which the program itself brings up."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One way to reach a model.

    Args:
        key_var: Name of the environment variable that holds the key; empty where none is needed.
    """

    alias: str
    model: str
    url: str
    key_var: str
    client_type: str


_FIELDS = {
    "endpoint_id": "endpoint_id",
    "model": "model",
    "url": "url",
    "api_base_url": "url",
    "key": "key",
    "api_key_var": "key",
    "type": "type",
    "api_client_type": "type",
}


def registry_path(asked: str | None) -> Path:
    """The registry to read: the one asked for, `./configs/endpoints.toml`, or the shipped one."""
    path = Path(asked or "configs/endpoints.toml")
    return path if asked or path.is_file() else shipped("configs", "endpoints.toml")


def read_registry(path: Path) -> tuple[dict[str, list[Endpoint]], list[Fault]]:
    """All endpoints of a registry by alias, and everything that is wrong with the file.

    An alias that stands more than once has replicas, in the order of the file.
    """
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        return {}, [Fault(str(path), f"the registry cannot be read: {error.strerror}")]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return {}, [Fault(str(path), f"this is no TOML: {error}")]
    faults = [
        Fault(str(path), f"unknown table {name!r}", "Endpoints are [[endpoint]] tables")
        for name in tables
        if name != "endpoint"
    ]
    found: dict[str, list[Endpoint]] = {}
    entries = tables.get("endpoint", [])
    if not isinstance(entries, list):
        return {}, [Fault(str(path), "[endpoint] is one table", "Write [[endpoint]]"), *faults]
    for number, table in enumerate(entries, 1):
        endpoint, wrong = _endpoint(table, f"{path}, [[endpoint]] {number}")
        faults += wrong
        if endpoint is not None:
            found.setdefault(endpoint.alias, []).append(endpoint)
    return found, faults


def _endpoint(table: Any, where: str) -> tuple[Endpoint | None, list[Fault]]:
    if not isinstance(table, Mapping):
        return None, [Fault(where, f"this is {table!r}, no table", "Write [[endpoint]]")]
    faults: list[Fault] = []
    values: dict[str, str] = {}
    named: set[str] = set()
    for name, value in table.items():
        field = _FIELDS.get(name)
        if field is None:
            faults.append(Fault(where, f"unknown key {name!r}", nearest(name, _FIELDS)))
            continue
        named.add(field)
        if not isinstance(value, str) or not value:
            faults.append(Fault(where, f"{name} must be text that is not empty"))
        elif field in values:
            spellings = " and ".join(n for n, f in _FIELDS.items() if f == field)
            faults.append(Fault(where, f"{spellings} are the same field; keep one"))
        else:
            values[field] = value
    for field in ("endpoint_id", "model", "url"):
        if field not in named:
            faults.append(Fault(where, f"{field} is missing"))
    kind = values.get("type", "openai_chat_completions")
    if kind not in CLIENT_TYPES:
        what = f"unknown client type {kind!r}"
        faults.append(Fault(where, what, f"Known are {', '.join(CLIENT_TYPES)}"))
    if faults:
        return None, faults
    return Endpoint(
        values["endpoint_id"], values["model"], values["url"], values.get("key", ""), kind
    ), []
