"""`verifiers.utils.path_utils`: where runs are, by environment and model."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from tui_eval.types import EvalConfig


def get_results_path(
    env_id: str, model: str, base_path: Path = Path("./outputs"), subdir: str = "evals"
) -> Path:
    """A directory for a new run, which is not made: `evals/<environment>--<model>/<8 digits>`."""
    return base_path / subdir / _name(env_id, model) / uuid.uuid4().hex[:8]


def get_eval_results_path(config: EvalConfig) -> Path:
    """A directory for a new run of an evaluation."""
    base = _outputs(config.env_id, config.env_dir_path)
    return get_results_path(config.env_id, config.model, base)


def get_eval_runs_dir(env_id: str, model: str, env_dir_path: str = "./environments") -> Path:
    """The folder of the runs of a model in an environment."""
    return _outputs(env_id, env_dir_path) / "evals" / _name(env_id, model)


def get_gepa_results_path(env_id: str, model: str, env_dir_path: str = "./environments") -> Path:
    """A directory for a new optimisation of prompts."""
    return get_results_path(env_id, model, _outputs(env_id, env_dir_path), subdir="gepa")


def is_valid_eval_results_path(path: Path) -> bool:
    """Whether a directory holds a run: rows and metadata."""
    return all((path / name).is_file() for name in ("results.jsonl", "metadata.json"))


def find_latest_incomplete_eval_results_path(
    env_id: str,
    model: str,
    num_examples: int,
    rollouts_per_example: int,
    env_dir_path: str = "./environments",
) -> Path | None:
    """The newest run of these settings that lacks rows of what they request; None without one.

    A run of fewer examples is one too: it is extended.
    """
    folder = get_eval_runs_dir(env_id, model, env_dir_path)
    found = folder.iterdir() if folder.is_dir() else ()
    runs = [path for path in found if is_valid_eval_results_path(path)]
    for run in sorted(runs, key=lambda path: path.stat().st_mtime, reverse=True):
        saved = _metadata(run)
        fits = (saved.get("env_id"), saved.get("model"), saved.get("rollouts_per_example"))
        if fits != (env_id, model, rollouts_per_example):
            continue
        examples = saved.get("num_examples")
        if not isinstance(examples, int) or examples > num_examples:
            continue
        if _count_rows(run) < num_examples * rollouts_per_example:
            return run
    return None


def _outputs(env_id: str, env_dir_path: str | None) -> Path:
    own = Path(env_dir_path or "./environments") / env_id.replace("-", "_")
    return own / "outputs" if own.exists() else Path("./outputs")


def _name(env_id: str, model: str) -> str:
    return f"{env_id}--{model.replace('/', '--')}"


def _metadata(run: Path) -> dict[str, Any]:
    try:
        saved = json.loads((run / "metadata.json").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}
    return saved if isinstance(saved, dict) else {}


def _count_rows(run: Path) -> int:
    """Rows before the first line that is none."""
    count = 0
    with (run / "results.jsonl").open("rb") as lines:
        for line in filter(bytes.strip, lines):
            try:
                json.loads(line)
            except ValueError:
                break
            count += 1
    return count
