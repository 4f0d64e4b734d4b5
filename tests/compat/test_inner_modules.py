"""Inner modules of verifiers do for environments and scripts what they do there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tui_eval.compat.verifiers import async_utils, save_utils
from tui_eval.compat.verifiers.eval_utils import compute_pass_at_k
from tui_eval.compat.verifiers.logging_utils import print_time
from tui_eval.compat.verifiers.message_utils import message_to_printable, sanitize_tool_calls
from tui_eval.compat.verifiers.path_utils import find_latest_incomplete_eval_results_path
from tui_eval.errors import InfraError, ModelError, get_error_chain, get_vf_error_chain
from tui_eval.runs.saved_run import find_run
from tui_eval.state import State
from tui_eval.types import ClientConfig


def row_of(example: int, reward: float) -> Any:
    state = State(
        input={"prompt": [{"role": "user", "content": "q"}], "example_id": example, "task": "t"},
        completion=[{"role": "assistant", "content": "a", "tool_calls": [{"id": "1"}]}],
        reward=reward,
        metrics={"right": reward},
        timing={},
    )
    return save_utils.state_to_output(state)


def test_rows_are_saved_read_and_opened_by_our_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    builder = save_utils.GenerateOutputsBuilder(
        *("quiz", {}, "m/1", ClientConfig(api_base_url="http://a/v1"), 3, 1, None, {}, None)
    )
    builder.add_outputs([row_of(0, 1.0), row_of(1, 0.0)])
    results = builder.build()
    run = builder.results_path
    save_utils.save_outputs(results["outputs"], run)
    save_utils.save_metadata(results["metadata"], run)
    with (run / "results.jsonl").open("a") as file:
        file.write('{"example_id": 9, "rew')
    assert [one["reward"] for one in save_utils.load_outputs(run)] == [1.0, 0.0]
    settings = ("quiz", "m/1", 3, 1)
    assert find_latest_incomplete_eval_results_path(*settings) == run
    save_utils.validate_resume_metadata(run, *settings)
    with pytest.raises(ValueError, match="model: saved='m/1', current='m/2'"):
        save_utils.validate_resume_metadata(run, "quiz", "m/2", 3, 1)
    save_utils.save_new_outputs([row_of(2, 1.0)], run)
    assert find_latest_incomplete_eval_results_path(*settings) is None
    read = save_utils.load_outputs(run)
    assert [(one["example_id"], one["right"]) for one in read] == [(0, 1.0), (1, 0.0), (2, 1.0)]
    assert read[0]["completion"][0]["tool_calls"] == ['{"id": "1"}']
    assert find_run(run).path == run


def test_a_column_that_json_cannot_carry_is_refused() -> None:
    state = State(input={"example_id": 0}, thing=object())
    with pytest.raises(ValueError, match="'thing' is a object, which is not JSON-serializable"):
        save_utils.state_to_output(state, ["thing"])


def test_pass_rates_are_over_examples_with_all_their_rollouts() -> None:
    rows = [{"example_id": e, "reward": r} for e, r in ((0, 1), (0, 0), (1, 1), (1, 1), (2, 1))]
    assert compute_pass_at_k(rows, 2) == ({"1": 0.75, "2": 1.0}, {"1": 0.75, "2": 0.5})
    assert compute_pass_at_k(rows, 1) == ({}, {})


async def test_errors_in_a_state_are_tried_again() -> None:
    tries: list[int] = []

    async def run() -> dict[str, Any]:
        tries.append(1)
        return {"error": InfraError("away") if len(tries) < 3 else None}

    again = async_utils.maybe_retry(run, max_retries=2, initial=0, max_wait=0)
    assert (await again(), len(tries)) == ({"error": None}, 3)
    assert async_utils.maybe_retry(run) is run
    async with await async_utils.maybe_semaphore(0), await async_utils.maybe_semaphore(1):
        assert await async_utils.with_sem(asyncio.Semaphore(1), asyncio.sleep(0, "done")) == "done"


def test_chains_messages_and_times() -> None:
    outer = ModelError("a")
    outer.__cause__ = ValueError("b")
    assert get_error_chain(outer) == [outer, outer.__cause__]
    assert get_vf_error_chain(outer) == [outer]
    image = {"type": "image_url", "image_url": {"url": "u"}}
    said = {"role": "user", "content": [{"type": "text", "text": "see"}, image, {"type": "odd"}]}
    assert message_to_printable(said) == {"role": "user", "content": "see [image]"}
    assert sanitize_tool_calls("text") == "text"
    shown = [print_time(seconds) for seconds in (0.25, 5, 125, 3600, 90000)]
    assert shown == ["250ms", "5s", "2m 5s", "1h", "1d 1h"]
