"""Info of a saved run, from the files beside its rows: whatever program wrote them."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.events import RunStarted
from tui_eval.fold.saved_values import mapping, number_of
from tui_eval.runs.formats import episodes, osmosis, prime
from tui_eval.runs.formats.detection import Format, detect
from tui_eval.runs.layout import RESULTS, RunDir, is_unsaved
from tui_eval.runs.scan import decode_row, line_of, scan

MOST_ROLLOUTS = 10_000_000
"""Metadata with more is wrong: every rollout takes memory, finished or not."""


def format_of_run(run: RunDir) -> Format:
    """Format of a run; of an unknown one the lines say why they cannot be read."""
    if run.is_ours:
        return Format.OURS
    try:
        return detect(run.results) or Format.VERIFIERS
    except OSError:
        return Format.VERIFIERS


def read_metadata(run: RunDir) -> dict[str, Any]:
    """metadata.json as it is; empty where it is missing or torn, or another file's."""
    if run.name != RESULTS and (run.path / RESULTS).exists():
        return {}
    return _read(run.metadata)


def metadata_fault(run: RunDir) -> str:
    """Sentence why a metadata.json cannot be read; empty where all is well."""
    if run.name != RESULTS and (run.path / RESULTS).exists():
        return ""
    try:
        found = line_of(1, 0, run.metadata.read_bytes().rstrip() + b"\n")
    except OSError:
        return ""
    why = "it is empty" if found is None else found.fault
    return f"{run.metadata.name}: {why}; what it says is left out" if why else ""


def plan_fault(run: RunDir) -> str:
    """Sentence why a run.toml cannot be read; empty where all is well, or none is there."""
    try:
        tomllib.loads(run.plan.read_text("utf-8-sig"))
    except OSError:
        return ""
    except ValueError as error:
        return f"{run.plan.name}: no TOML: {error}; what it says is left out"
    return ""


def _read(path: Path) -> dict[str, Any]:
    try:
        return decode_row(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}


def read_requested(run: RunDir) -> dict[str, Any]:
    """run.toml as it is; empty where it is missing or torn."""
    try:
        return tomllib.loads(run.plan.read_text("utf-8-sig"))
    except (OSError, ValueError):
        return {}


def read_info(run: RunDir, format: Format) -> dict[str, Any]:
    """Info of a run by the names that ours has: its metadata, or the requested settings."""
    if format is Format.OSMOSIS:
        return osmosis.info_of(_read(run.results) or osmosis.head_of(run.results))
    metadata = read_metadata(run)
    if format is Format.EPISODES:
        config = _read(run.path / episodes.CONFIG)
        rows = (line.row for line in scan(run.results) if line.row is not None)
        found = episodes.info_of(next(rows, {}), config)
        return {**found, **metadata, "model": found.get("model") or metadata.get("model")}
    if run.is_ours and (requested := read_requested(run)):
        return requested | metadata | _requested_settings(requested)
    if "run" in metadata and "env_id" not in metadata:
        return prime.info_of(metadata)
    return metadata


def _requested_settings(request: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for which run.toml counts: anybody may have changed metadata.json."""
    shape = count_of(request.get("examples_taken")), count_of(request.get("rollouts_per_example"))
    found = {"num_examples": shape[0], "rollouts_per_example": shape[1]} if all(shape) else {}
    return found | ({"model": request["model"]} if request.get("model") else {})


def known_shape(run: RunDir, info: Mapping[str, Any]) -> tuple[int, int] | None:
    """Examples and rollouts per example of a run of ours; None where nothing says them surely."""
    total = _size_of(info.get("groups"))
    if total is not None:  # groups of different sizes: every row says its place
        return total, 1
    shape = requested_shape(info)
    return shape if all(shape) and run.is_ours else None


def requested_shape(info: Mapping[str, Any]) -> tuple[int, int]:
    """Examples and rollouts per example as they are reported; 0 where they are not, or
    unbelievably.
    """
    shape = count_of(info.get("num_examples")), count_of(info.get("rollouts_per_example"))
    return shape if shape[0] * shape[1] <= MOST_ROLLOUTS else (0, 0)


def requested_values(info: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments and settings of the environment and sampling parameters that were given."""
    sampling = dict(mapping(info.get("sampling_args")))
    sampling.pop("n", None)  # it is 1 in every run
    both = {
        **mapping(info.get("env_args")),
        **mapping(info.get("extra_env_kwargs")),
        **sampling,
    }
    return {name: value for name, value in both.items() if value not in (None, {}, [])}


def count_of(value: Any) -> int:
    """A count that files say; 0 where they do not, or unbelievably."""
    return value if isinstance(value, int) and 0 < value < 1 << 31 else 0


def _size_of(groups: Any) -> int | None:
    """Rollouts of all groups, from the JSON text in run.toml; None where there is no such text."""
    try:
        total: int = sum(size for _, size in json.loads(groups))
        return total
    except (TypeError, ValueError):
        return None


def recorded_date(info: Mapping[str, Any]) -> float:
    """Unix seconds of the date in metadata, in one of the ways that there were; or 0."""
    text = " ".join(str(info[key]) for key in ("date", "time") if isinstance(info.get(key), str))
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def modified(path: Path) -> float:
    """Last change of a file, in unix seconds; 0 where it is missing."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def started_event(
    run: RunDir, format: Format, info: Mapping[str, Any], shape: tuple[int, int]
) -> RunStarted:
    """Event that begins the replay of a saved run.

    Args:
        info: See `read_info`.
        shape: Examples, and rollouts of each.
    """
    complete_at = modified(run.results) or modified(run.metadata)
    threshold = number_of(info.get("pass_threshold"))
    return RunStarted(
        seq=0,
        at=complete_at - (number_of(info.get("time_ms")) or 0.0) / 1000,
        path=str(run.place),
        env_id=env_id_of(run, info),
        model=str(info.get("model") or "?"),
        base_url=str(info.get("base_url") or ""),
        num_examples=shape[0],
        rollouts_per_example=shape[1],
        total=shape[0] * shape[1],
        max_concurrent=count_of(info.get("max_concurrent")),
        saved=not is_unsaved(run),
        sampling_args=dict(mapping(info.get("sampling_args"))),
        env_args=dict(mapping(info.get("env_args"))),
        pass_threshold=0.5 if threshold is None else threshold,
        complete_at=complete_at,
        input_price=number_of(info.get("input_price")),
        output_price=number_of(info.get("output_price")),
        cached_input_price=number_of(info.get("cached_input_price")),
        cache_write_price=number_of(info.get("cache_write_price")),
        list_price=str(info.get("list_price") or ""),
        format=format.value,
        names_env=bool(_recorded_env(info)),
        refused=refused_count(info),
        limits=limits_reached(info),
        until=until if isinstance(until := info.get("until"), str) else "",
    )


def refused_count(info: Mapping[str, Any]) -> int | None:
    """Number of refused requests in all sessions; None where nobody counted them."""
    reported = info.get("refused_requests")
    return reported if type(reported) is int and 0 <= reported < 1 << 53 else None


def missing_columns(info: Mapping[str, Any]) -> dict[str, str]:
    """State columns that no rollout had; see `RunFinished.missing_columns`."""
    pairs = mapping(info.get("missing_columns")).items()
    return {name: text for name, text in pairs if isinstance(text, str)}


def limits_reached(info: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Rollouts generated concurrently, and of how many, as requests were refused."""
    try:
        limits = msgspec.convert(info.get("concurrency_limits"), list[tuple[int, int]])
    except msgspec.ValidationError:
        return []
    return [pair for pair in limits if all(0 <= count < 1 << 31 for count in pair)]


def env_id_of(run: RunDir, info: Mapping[str, Any]) -> str:
    """The environment's name: as files have it, or as the folder or the file is called.

    The folder of runs is `env--model`; another folder's own name says more than that above it.
    """
    if reported := _recorded_env(info):
        return str(reported)
    stem = Path(run.name).stem
    if stem != Path(RESULTS).stem:
        return stem
    folder = run.path.absolute()
    env_id, dashes, _ = folder.parent.name.partition("--")
    return env_id if dashes else folder.name


def _recorded_env(info: Mapping[str, Any]) -> Any:
    return info.get("env_id") or info.get("env")


def read_log(path: Path, at: int, most: int) -> tuple[bytes, int]:
    """At most so many bytes from a place on, and the size of all; nothing where it is not there."""
    try:
        with path.open("rb") as file:
            file.seek(at)
            return file.read(most), os.fstat(file.fileno()).st_size
    except OSError:
        return b"", 0
