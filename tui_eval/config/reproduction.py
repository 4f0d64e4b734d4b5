"""The command line that runs a run again, from its files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tui_eval.config.command_line import command_line
from tui_eval.config.endpoints import DEFAULT_TYPE
from tui_eval.config.options import BY_NAME, SAMPLING
from tui_eval.config.secret_values import hidden_names
from tui_eval.config.values import list_text
from tui_eval.fold.saved_values import listing, mapping
from tui_eval.runs.run_info import format_of_run, read_info, read_requested
from tui_eval.runs.saved_run import find_run

PLAIN = (
    "env_args", "extra_env_kwargs", "env_dir_path", "python", "no_alias", "num_examples",
    "examples", "rollouts_per_example", "shuffle", "shuffle_seed", "max_concurrent",
    "max_concurrent_generation", "max_concurrent_scoring", "num_workers", "worker_memory",
    "max_retries", "timeout", "call_timeout", "max_cost", "max_total_tokens", "until",
    "independent_scoring", "pass_threshold", "output_dir", "state_columns", "verbose",
)  # fmt: skip
"""Options whose value is written down under their own name."""
TURNED = {"no_interleave_scoring": ("score_at_end", True), "no_adaptive": ("adaptive", False),
          "save_results": ("save", True)}  # fmt: skip
"""Options that are written down under another name, and the value that stands for them."""
MODEL = ("model", "endpoint_id", "provider", "api_base_url", "api_key_var", "api_client_type",
         "stream", "no_stream", "endpoints_path", "temperature", "max_tokens",
         "sampling_args")  # fmt: skip
NO_LIMIT = ("max_concurrent_generation", "max_concurrent_scoring", "num_workers")
"""Options that are written down as 0 where nobody set them."""
AS_JSON = ("env_args", "extra_env_kwargs", "sampling_args")


def command_of(path: Path, example: str | None = None) -> tuple[str, list[str]]:
    """The command line that runs a run again; see `command_from`.

    Args:
        path: Path of the run.

    Raises:
        RefusedError: There is no such run.
        ValueError: No command line gives it.
    """
    run = find_run(path)
    requested = read_requested(run) if run.is_ours else {}  # without what the environment added
    return command_from(requested or read_info(run, format_of_run(run)), example)


def command_from(info: Mapping[str, Any], example: str | None = None) -> tuple[str, list[str]]:
    """The command line, and the names of what it had to leave out.

    Args:
        info: Content of run.toml, or metadata.json of another program.
        example: Id of the only example to run, once; None for all that the run had.

    Raises:
        ValueError: No command line gives it; says why.
    """
    if info.get("given_inputs") or info.get("groups"):
        raise ValueError("a program gave the inputs of this run: no command line gives them")
    if not info.get("env_id") or not info.get("model"):
        raise ValueError("nothing says the environment and the model of this run")
    if example is not None:
        if not example or example != example.strip():
            what = "is empty or has spaces around it"
            raise ValueError(f"the id of this example, {example!r}, {what}")
        alone = {"examples": [example], "rollouts_per_example": 1, "until": None}
        info = {**info, **alone, "shuffle": False, "shuffle_seed": 0}
    raw = {**dict(_model(info)), **dict(_settings(info))}
    return command_line(str(info["env_id"]), raw), list(_left_out(info))


def _model(info: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Options that name the model: by its alias where a registry has it, else by its URL too."""
    sources = mapping(info.get("sources"))
    registry = sources.get("model_at_endpoint")

    def is_of_registry(name: str) -> bool:
        return registry is not None and str(sources.get(name, "")).split(", ")[0] == registry

    yield "model", str(info.get("alias") or info["model"])
    if registry is not None and "endpoints_path" in sources:
        yield "endpoints_path", str(registry).rpartition(":")[0]
    if info.get("base_url") and not is_of_registry("api_base_url"):
        yield "api_base_url", str(info["base_url"])
    key_var, kind = info.get("key_var"), info.get("client_type")
    if isinstance(key_var, str) and not is_of_registry("api_key_var"):
        yield "api_key_var", key_var
    usual = registry is None and kind == DEFAULT_TYPE
    if kind and not usual and not is_of_registry("api_client_type"):
        yield "api_client_type", kind
    if info.get("stream") and not is_of_registry("stream"):
        yield "stream", True
    elif "no_stream" in sources:
        yield "no_stream", True


def _settings(info: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings that differ from the defaults."""
    for name in PLAIN:
        value, option = info.get(name), BY_NAME[name]
        usual = False if option.kind == "flag" else option.default
        if name == "env_dir_path" and value is not None:
            value, usual = str(Path(value)), str(Path(str(usual)))
        if value is None or value in ({}, [], usual) or (name in NO_LIMIT and not value):
            continue
        if name == "num_examples" and info.get("examples"):
            continue
        yield name, _text(name, value)
    for name, (field, value) in TURNED.items():
        if info.get(field) == value and not (name == "save_results" and info.get("output_dir")):
            yield name, True
    sampling = dict(mapping(info.get("sampling_args")))
    for name in SAMPLING:
        if sampling.get(name) is not None:
            yield name, str(sampling.pop(name))
    if sampling:
        yield "sampling_args", _text("sampling_args", sampling)


def _text(name: str, value: Any) -> Any:
    option = BY_NAME[name]
    if option.kind == "flag":
        return True
    if option.kind == "json":
        return json.dumps(mapping(value), ensure_ascii=False)
    return list_text(option, value) if option.kind == "list" else str(value)


def _left_out(info: Mapping[str, Any]) -> Iterator[str]:
    """Words for what the command needs beside, or does not do again."""
    sources = mapping(info.get("sources"))
    served = str(sources.get("api_base_url")).split(", ")
    if not set(str(sources.get("headers")).split(", ")).issubset(served):
        names = [name for one in listing(info.get("endpoints")) for name in one.get("headers", {})]
        yield from (f"--header {name}" for name in dict.fromkeys(names))
    for name in AS_JSON:
        yield from hidden_names(dict(mapping(info.get(name))), name)
    if info.get("heartbeat_url"):
        yield "--heartbeat-url"
    if info.get("save_to_hf_hub"):
        yield "-H"
