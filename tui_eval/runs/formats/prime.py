"""Downloads of hosted Prime runs: rows with JSON inside strings, and what their metadata says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.fold.saved_values import listing, mapping, number_of

TEXTS = ("prompt", "completion", "metrics", "info")
"""Fields that may be JSON inside a string."""


def is_prime(record: Mapping[str, Any]) -> bool:
    """Whether a line is a sample of a hosted run."""
    return "problem_id" in record or ("sample_id" in record and "run_id" in record)


def row_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """A sample as a row; its spans of time are in seconds."""
    timing = mapping(record.get("timing"))
    found = {
        "start_time": timing.get("start_time"),
        "generation_ms": _milliseconds(mapping(timing.get("generation")).get("duration")),
        "scoring_ms": _milliseconds(mapping(timing.get("scoring")).get("duration")),
        "total_ms": _milliseconds(timing.get("total")),
    }
    usage = {
        "input_tokens": record.get("num_input_tokens"),
        "output_tokens": record.get("num_output_tokens"),
    }
    example = {} if "example_id" in record else {"example_id": record.get("problem_id")}
    reported = {name: _opened(record[name]) for name in TEXTS if name in record}
    return {**example, "token_usage": usage, **record, **reported, "timing": {**timing, **found}}


def _opened(value: Any) -> Any:
    """Value of JSON text; the value itself where it is none."""
    if not isinstance(value, str):
        return value
    found: Any = listing(value) if value.startswith("[") else mapping(value)
    return found if found or value.strip() in ("{}", "[]") else value


def _milliseconds(seconds: Any) -> float | None:
    number = number_of(seconds)
    return None if number is None else number * 1000


def info_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Info of a run, from a download's metadata; the counts there are those of the training."""
    run = mapping(metadata.get("run"))
    environment = mapping(next(iter(listing(run.get("environments"))), None))
    return {
        "env_id": environment.get("id"),
        "env_args": environment.get("args"),
        "model": run.get("base_model"),
        "sampling_args": {"max_tokens": run["max_tokens"]} if run.get("max_tokens") else {},
        "date": run.get("completed_at") or run.get("created_at"),
    }
