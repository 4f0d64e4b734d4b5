"""The request of `tui-eval agent`, in the form of any other run's."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tui_eval.cli.resume_command import AGENT, is_of_agent, newest_here
from tui_eval.cli.run import typed_of
from tui_eval.config.options import NEWEST, TYPED_KEY_VAR, Option
from tui_eval.config.values import parse_text
from tui_eval.errors import Fault, RefusedError

SHARED = (
    *(
        "api_key_var",
        "headers",
        "endpoints_path",
        "temperature",
        "max_tokens",
        "timeout",
        "max_retries",
    ),
    *("max_cost", "max_total_tokens", "save_results", "resume", "keep_errors", "accept_changes"),
    *("verbose", "tui", "abbreviated_summary", "json", "dry_run", "no_preflight"),
    *("heartbeat_url", "heartbeat_status"),
)
"""Options shared with `tui-eval run`."""

NUMBERS = {
    option.name: option
    for option in (
        Option("n", ("--n",), "int", "", least=1),
        Option("pass_threshold", ("--pass-threshold",), "float", ""),
        Option("max_turns", ("--max-turns",), "int", "", least=1),
        Option("batch_size", ("--batch-size",), "int", "", least=1),
        Option("limit", ("--limit",), "int", "", least=1),
        Option("offset", ("--offset",), "int", "", least=0),
    )
}
"""Flag, kind and least value of every numeric option of this command."""

REQUIRED = {
    "module": ("-m/--module", "Name the agent loop: -m module:name"),
    "dataset": ("-d/--dataset", "Name a .jsonl, .json, .csv or .parquet file"),
    "model": ("--model", "Name an endpoint's alias, provider/model, or any model with --base-url"),
    "eval_fn": ("--eval-fn", "Name at least one function: --eval-fn module:name"),
}

_DEFAULTS = {"n": 1, "batch_size": 1, "limit": -1}
_PLAN = {"n": "rollouts_per_example", "batch_size": "max_concurrent", "limit": "num_examples"}
_FLAGS = {"env_args": "--module, --dataset, --eval-fn", "api_base_url": "--base-url"}


def missing(typed: Mapping[str, Any]) -> list[Fault]:
    """Required options that are missing; a named run has them already."""
    if _named_run(typed):
        return []
    return [
        Fault(flag, "it is required", hint)
        for name, (flag, hint) in REQUIRED.items()
        if not typed.get(name)
    ]


def name_newest(typed: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Typed options with the path of the newest incomplete run, where only `--resume` is typed.

    Where a new run's options are complete, the engine looks for the run that matches.

    Returns:
        The options, and a sentence on the run; empty where none was sought.

    Raises:
        RefusedError: No run that was begun here can be resumed.
    """
    if typed.get("resume") != NEWEST or not missing(typed):
        return dict(typed), ""
    module = typed.get("module")
    one, another = newest_here(
        lambda env_id: env_id == f"{AGENT}@{module}" if module else is_of_agent(env_id)
    )
    if one is not None:
        return {**typed, "resume": str(one.run.path)}, one.resuming
    what = f"no incomplete run of {module or 'an agent loop'} was begun in this folder"
    hint = f"Begin one with -m, -d, --model and --eval-fn{another}"
    raise RefusedError([Fault("--resume", what, hint)])


def _named_run(typed: Mapping[str, Any]) -> str | None:
    resume: str | None = typed.get("resume")
    return None if resume == NEWEST else resume


def make_request(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The request for the engine, with the faults of what was typed.

    Args:
        typed: Options by name, as text; `eval_fn` is a sequence.
    """
    given = typed_of(typed)
    before, faults = _before(_named_run(typed))
    values, wrong = _numbers(typed)
    output = typed.get("output") or before.get("scores_path") or None
    faults += wrong + _not_text(given) + _output_faults(output, typed.get("dataset"))
    if not typed.get("resume"):
        values = {**_DEFAULTS, **values}
    raw: dict[str, Any] = {_PLAN[name]: values[name] for name in _PLAN if name in values}
    raw |= {name: given[name] for name in SHARED if name in given}
    raw |= _model(typed, before)
    if args := _env_args(typed, values, before):
        raw["env_args"] = args
    return {
        "env_id": f"{AGENT}@{typed['module']}" if typed.get("module") else None,
        "raw": raw,
        "faults": [(fault.where, fault.what, fault.hint) for fault in faults],
        "litellm_names": True,
        "scores_path": str(Path(output).absolute()) if output else "",
        "flags": _flags(typed),
    }


def _flags(typed: Mapping[str, Any]) -> dict[str, str]:
    """Names of a run's options in this command, by option; the command where none was typed."""
    sizes = {
        _PLAN[name]: NUMBERS[name].shown if typed.get(name) is not None else "tui-eval agent"
        for name in _PLAN
    }
    key = {"api_key_var": "--api-key"} if typed.get("api_key") is not None else {}
    return {**_FLAGS, **sizes, **key}


def _before(path: str | None) -> tuple[Mapping[str, Any], list[Fault]]:
    """The request of a named run; empty where it is no agent's, or none is named."""
    if path is None:
        return {}, []
    from tui_eval.runs.run_info import read_requested
    from tui_eval.runs.saved_run import find_run

    try:
        run = find_run(Path(path))
    except RefusedError:
        return {}, []  # the engine says so
    requested = read_requested(run)
    if not requested or is_of_agent(requested.get("env_id", "")):
        return requested, []
    hint = f"Resume: tui-eval run --resume {shlex.quote(path)}"
    return {}, [Fault(path, "this is no run of tui-eval agent", hint)]


def _env_args(
    typed: Mapping[str, Any], values: Mapping[str, Any], before: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of the environment; empty where a run is resumed with its own."""
    named = {
        "module": typed.get("module"),
        "dataset": _dataset(typed, before),
        "eval_fns": list(typed.get("eval_fn") or ()),
    }
    requested = {name: value for name, value in named.items() if value}
    numbers = ("offset", "max_turns", "pass_threshold")
    requested |= {name: values[name] for name in numbers if name in values}
    kept = before.get("env_args") or {}
    return (
        {**(json.loads(kept) if isinstance(kept, str) else kept), **requested} if requested else {}
    )


def _dataset(typed: Mapping[str, Any], before: Mapping[str, Any]) -> str | None:
    """The dataset as it was typed; absolute where the run works on in another folder."""
    path: str | None = typed.get("dataset")
    elsewhere = before.get("folder") not in (None, "", str(Path.cwd()))
    return str(Path(path).absolute()) if path and elsewhere and not typed.get("module") else path


def _numbers(typed: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, option in NUMBERS.items():
        if typed.get(name) is not None:
            try:
                values[name] = parse_text(option, typed[name])
            except ValueError as error:
                faults.append(Fault(option.shown, str(error)))
    return values, faults


def _not_text(given: Mapping[str, Any]) -> list[Fault]:
    """Faults of arguments whose bytes are no text, which no file can keep."""
    return [
        Fault(f"--{name.replace('_', '-')}", "this is not UTF-8 text")
        for name, value in given.items()
        for text in (value if isinstance(value, list) else (value,))
        if isinstance(text, str) and text != text.encode("utf-8", "replace").decode()
    ]


def _output_faults(output: str | None, dataset: str | None) -> list[Fault]:
    if output is None:
        return []
    path = Path(output)
    what = ""
    if path.is_dir():
        what = f"{output} is a folder; name a file"
    elif dataset and path.resolve() == Path(dataset).resolve():
        what = f"{output} is the dataset; name another file"
    elif not path.parent.is_dir():
        what = f"there is no folder {path.parent}"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        what = f"{output} cannot be written"
    return [Fault("-o/--output", what)] if what else []


def _model(typed: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run for the model, its server and its key."""
    found: dict[str, Any] = {}
    if typed.get("model"):
        found["model"] = typed["model"]
        if before.get("registry") and not typed.get("endpoints_path"):
            from tui_eval.config.endpoints import registry_at

            found["endpoints_path"] = str(registry_at(before["registry"]))
    if typed.get("base_url"):
        found["api_base_url"] = typed["base_url"]
    if typed.get("api_key") is not None:
        found["api_key_var"] = TYPED_KEY_VAR if typed["api_key"] else ""
    return found
