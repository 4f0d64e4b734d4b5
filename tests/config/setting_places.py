"""A working directory for tests of settings: a registry, environments, files of evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tui_eval.config.expansion import Expansion, expand
from tui_eval.config.plan import Request, RunPlan

REGISTRY = """
[[endpoint]]
endpoint_id = "mini"
model = "org/mini"
url = "https://api.example/v1"
key = "EXAMPLE_KEY"
input_price = 0.4
output_price = 1.6
[endpoint.headers]
X-Team = "of the registry"

[[endpoint]]
endpoint_id = "two"
model = "served-twice"
url = "http://127.0.0.1:1/v1"
max_concurrent = 4

[[endpoint]]
endpoint_id = "two"
model = "served-twice"
url = "http://127.0.0.1:2/v1"
extra_headers = { X-Replica = "second" }

[[endpoint]]
endpoint_id = "sonnet"
model = "claude"
api_base_url = "https://other.example"
type = "anthropic_messages"
"""


def expanded(target: str | None = "my-env", **raw: Any) -> Expansion:
    """Expansion of a command line."""
    return expand(Request(env_id=target, raw=raw))


def plans(target: str = "my-env", **raw: Any) -> list[RunPlan]:
    """The plans of a command line with which nothing is wrong."""
    found = expanded(target, **raw)
    assert found.faults == []
    return [one.plan for one in found.evaluations if one.plan is not None]


def plan(target: str = "my-env", **raw: Any) -> RunPlan:
    """The only plan of a command line with which nothing is wrong."""
    (one,) = plans(target, **raw)
    return one


def faults(target: str | None = "my-env", **raw: Any) -> list[str]:
    """Everything that is wrong with a command line, of which there is no plan."""
    found = expanded(target, **raw)
    assert found.faults
    return [str(fault) for fault in found.faults]


def source(one: Expansion, name: str, number: int = 0) -> tuple[Any, str]:
    """Value and source of a setting of one of the evaluations."""
    evaluation = one.evaluations[number]
    value, where = {**evaluation.settings, **evaluation.served}[name]
    return value, where


def write(path: str, text: str) -> str:
    """Writes a file under the working directory; returns its path."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)
    return path
