"""Rollouts of one example that are scored together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from program import chat_answer
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.engine.limits.limits import Held
from tui_eval.engine.transport.hub import Hub
from tui_eval.environments.datasets.example_table import ExampleTable
from tui_eval.events import Stage
from tui_eval.worker.examples import Examples
from tui_eval.worker.gate import Gate
from tui_eval.worker.groups import Groups
from tui_eval.worker.rollout_observer import RolloutObserver
from tui_eval.worker.rollout_retries import Unscored

CHAT = "/v1/chat/completions"


def ranked(states: list[vf.State]) -> list[float]:
    return [float(len(states))] * len(states)


async def test_a_group_is_in_order_whoever_answers_first(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(
        CHAT, [Reply(body=chat_answer("a"), delay=0.3), Reply(body=chat_answer("b"))]
    )
    rubric = vf.Rubric([lambda states: [float(place) for place, _ in enumerate(states)]])
    env = vf.SingleTurnEnv(dataset=[{"question": "q"}], rubric=rubric)
    client = vf.ClientConfig(api_base_url=f"{fault_server.url}/v1", api_key_var="")
    got = await env.evaluate(client, "m", rollouts_per_example=3)
    assert [output["reward"] for output in got["outputs"]] == [0.0, 1.0, 2.0]


async def evaluated_twice(server: FaultServer, path: Path, *funcs: Any) -> list[Any]:
    """Outputs of a run whose second rollout failed in the first session."""
    answers = ["aaa", None, "b", "cc"]
    bad = Reply(400, {"error": {"message": "no"}})
    server.script(CHAT, [Reply(body=chat_answer(text)) if text else bad for text in answers])
    env = vf.SingleTurnEnv(dataset=[{"question": "q"}], rubric=vf.Rubric(list(funcs)))
    client = vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="", max_retries=0)
    for _ in range(2):
        got = await env.evaluate(
            client, "m", None, 1, 3, 1, results_path=path, state_columns=["note"]
        )
    return got["outputs"]


async def test_a_rollout_that_runs_again_is_compared_with_those_that_are_saved(
    folder: Path, fault_server: FaultServer
) -> None:
    seen: list[Any] = []

    def looks(state: vf.State, completion: Any) -> float:
        (step,) = state["trajectory"]
        state.setdefault("note", completion[-1]["content"] * 2)
        seen.append((state["note"], step["prompt"][-1]["content"], step["completion"][-1].content))
        return float(state["is_completed"])

    outputs = await evaluated_twice(fault_server, folder / "run", looks, ranked)
    assert [output["reward"] for output in outputs] == [3.0, 4.0, 3.0]
    assert [output["error"] for output in outputs] == [None] * 3
    saved = [("aaaaaa", "q", "aaa"), ("bb", "q", "b")]
    assert sorted(seen) == sorted([*saved, *saved, ("cccc", "q", "cc")])


async def test_a_saved_rollout_that_cannot_be_compared_with_is_reported(
    folder: Path, fault_server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    def looks(state: vf.State) -> float:
        return float(len(state["trajectory"][0]["response"].id))

    outputs = await evaluated_twice(fault_server, folder / "run", looks, ranked)
    assert outputs[1]["error"] is None
    assert "2 rollouts of earlier sessions" in caplog.text


def a_member(row: int) -> tuple[RolloutObserver, vf.State]:
    return RolloutObserver(row, row, Hub(), Gate(), Held()), vf.State(input={})


async def test_a_group_waits_from_its_first_member_to_its_last() -> None:
    groups = Groups(Examples(ExampleTable([]), 2), [])
    assert 0 not in groups
    first, second = a_member(0), a_member(1)
    assert groups.add(*first) is None
    assert 0 in groups and 1 not in groups
    assert groups.waiting(0) is first[1]
    assert groups.add(*second) == [first, second]
    assert 0 not in groups
    assert groups.waiting(0) is None


async def test_a_saved_member_is_compared_with_and_waits_for_nothing() -> None:
    rows = [{"example_id": 7, "prompt": [{"role": "user", "content": "q"}], "answer": ""}]
    groups, member = Groups(Examples(ExampleTable(rows), 2), ["note"]), a_member(1)
    said = [{"role": "assistant", "content": "yes"}]
    groups.add_saved(0, {"completion": said, "note": "kept", "metrics": {"f": 1.0}})
    assert groups.waiting(0) is None
    (nobody, saved), other = groups.add(*member) or ()
    assert (nobody, other) == (None, member)
    assert saved["completion"][0].content == "yes"
    assert (saved["note"], saved["metrics"], saved["input"]["example_id"]) == (
        "kept",
        {"f": 1.0},
        7,
    )
    assert "error" not in saved or saved["error"] is None


async def test_a_group_waits_for_a_member_that_runs_again() -> None:
    groups = Groups(Examples(ExampleTable([]), 2), [])
    groups.add(*a_member(0))
    groups.forget(0)
    groups.forget(2)
    assert 1 not in groups
    other, again = a_member(1), a_member(0)
    assert groups.add(*other) is None
    assert groups.add(*again) == [again, other]


def test_what_scoring_left_is_taken_back_and_what_was_there_before_stays() -> None:
    steps: list[dict[str, Any]] = [
        {"reward": None, "advantage": None},
        {"reward": 0.5, "advantage": 0.25},
    ]
    state = vf.State(input={}, trajectory=steps)
    unscored = Unscored(state)
    state["error"], state.failed_at = vf.InfraError("away"), Stage.SCORING
    state.metric_error = vf.InfraError("away")
    for step in steps:
        step.update(reward=1.0, advantage=-1.0)
    unscored.restore()
    left: list[Any] = [state["error"], state.failed_at, state.metric_error]
    assert left == [None, None, None]
    assert steps[0] == {"reward": None, "advantage": None}
    assert steps[1] == {"reward": 1.0, "advantage": -1.0}
