"""Numbers of a run in metadata.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_runs import failed_state, tool_state, write_run

from tui_eval.errors import Fault
from tui_eval.events import RolloutFinished, RunFinished, RunStarted
from tui_eval.fold.run_state import RunState
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.row import build_row, encode_row
from tui_eval.runs.saved_run import saved_events
from tui_eval.runs.summary_json import build_metadata
from tui_eval.runs.writer import RunWriter, write_metadata

KEYS = [
    "env_id", "env_args", "model", "base_url", "num_examples", "rollouts_per_example",
    "sampling_args", "time_ms", "avg_reward", "avg_metrics", "avg_error", "pass_at_k",
    "pass_all_k", "pass_threshold", "usage", "version_info", "state_columns", "tools",
]  # fmt: skip


def metadata_of(state: RunState) -> dict[str, Any]:
    version = {"env_version": "1.2"}
    return build_metadata(state, {"time_ms": 12.5, "state_columns": ["a"], "version_info": version})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of three rollouts, the last one errored, as the engine leaves it."""
    run = write_run(tmp_path, examples=2, per_example=2)
    states = [tool_state(example_id=0), tool_state(example_id=0, reward=0.25), failed_state()]
    states[2]["example_id"] = 1
    writer = RunWriter(run, Redactor())
    for number, state in enumerate(states):
        writer.append(encode_row(build_row(state, number=number % 2, attempt=1)))
    writer.close()
    fold = RunState()
    for event in saved_events(run):
        fold.apply(event)
    write_metadata(run, metadata_of(fold), Redactor())
    return tmp_path


def test_the_metadata_has_the_keys_of_the_format_in_their_order_and_ours_behind(
    folder: Path,
) -> None:
    metadata = json.loads((folder / "metadata.json").read_text())
    assert list(metadata)[: len(KEYS)] == KEYS
    assert {"reward", "reward_std", "date", "n_used", "n_errored"} <= metadata.keys()
    assert list(metadata["version_info"])[:4] == [
        "vf_version", "vf_commit", "env_version", "env_commit",
    ]  # fmt: skip


def test_errored_rollouts_are_counted_beside_the_means(folder: Path) -> None:
    metadata = json.loads((folder / "metadata.json").read_text())
    assert metadata["avg_reward"] == metadata["reward"] == pytest.approx(0.625)
    assert metadata["reward_std"] == pytest.approx(0.375)
    assert (metadata["n_used"], metadata["n_errored"]) == (2, 1)
    assert metadata["avg_error"] == pytest.approx(1 / 3)
    assert metadata["pass_at_k"] == {"1": 0.5, "2": 1.0}
    assert metadata["pass_all_k"] == {"1": 0.5, "2": 0.0}
    assert metadata["usage"] == {"input_tokens": 40.0, "output_tokens": 14.0}
    assert metadata["avg_metrics"] == {"correct": 1.0}
    assert metadata["env_id"] == "my-env"


def test_tokens_of_rollouts_that_run_are_no_part_of_the_average() -> None:
    from tui_eval.events import RolloutStaged, Stage

    state = RunState()
    state.apply(RunStarted(0, 1.0, "/x", "e", "m", "u", 1, 2, 2, 0, True, {}, {}))
    assert metadata_of(state)["usage"] is None
    state.apply(RolloutStaged(0, 1.0, 0, Stage.MODEL, 1, 1, 0, 500, 50))
    assert metadata_of(state)["usage"] is None
    state.apply(
        RolloutFinished(0, 2.0, 1, 0, 1, 1, 0, 9, 1.0, None, None, False, 1, 0, 10, 4, 1.0, 1.0,
                        1.0, 2.0, {})
    )  # fmt: skip
    assert metadata_of(state)["usage"] == {"input_tokens": 10.0, "output_tokens": 4.0}


def test_a_run_without_any_reward_claims_none(tmp_path: Path) -> None:
    state = RunState()
    state.apply(RunStarted(0, 1.0, "/x", "e", "m", "u", 0, 1, 0, 0, True, {}, {}))
    state.apply(RunFinished(0, 2.0, "interrupted", 130))
    metadata = metadata_of(state)
    names = ("avg_reward", "reward", "reward_std", "avg_error")
    assert [metadata[name] for name in names] == [None] * 4
    assert metadata["status"] == "interrupted"
    run = write_run(tmp_path)
    write_metadata(run, {**metadata, "env_args": {"fault": Fault("-n", "no")}}, Redactor())
    assert json.loads(run.metadata.read_text())["n_used"] == 0


def test_metadata_needs_a_run() -> None:
    with pytest.raises(ValueError, match="has not started"):
        metadata_of(RunState())
