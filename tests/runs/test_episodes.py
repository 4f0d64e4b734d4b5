"""traces.jsonl of verifiers since 0.2: read under whatever name, with its own numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from made_runs import opened

from tui_eval.runs.discovery import find_runs
from tui_eval.runs.export.source import row_object
from tui_eval.runs.formats.detection import Format, detect
from tui_eval.runs.formats.episodes import row_of
from tui_eval.runs.saved_run import find_run, read_rollout


def trace(name: str = "agent", trainable: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "id": name,
        "agent": {"config": {"model": "m"}, "name": name, "trainable": trainable},
        "nodes": [
            {"message": {"role": "system", "content": "be brief"}},
            {"parent": 0, "message": {"role": "user", "content": "2+2?"}},
            {"parent": 1, "message": {"role": "assistant", "content": "a branch left"}},
            {
                "parent": 1,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "name": "add", "arguments": "{}"}],
                },
            },
            {"parent": 3, "message": {"role": "tool", "tool_call_id": "c", "content": "4"}},
            {"parent": 4, "message": {"role": "assistant", "content": "it is 4"}},
        ],
        "calls": [
            {"node": 3, "finish_reason": "tool_calls", "usage": {"prompt_tokens": 5,
                                                                "completion_tokens": 2}},
            {"node": 5, "finish_reason": "stop", "usage": {"prompt_tokens": 9,
                                                          "completion_tokens": 3}},
        ],
        "rewards": {"correct": {"score": 1.0, "weight": 0.5}, "unscored": None},
        "metrics": {"num_turns": 2.0},
        "timing": {"start": 100.0, "agent": {"start": 100.5, "end": 102.0},
                   "scoring": {"start": 102.0, "end": 102.5}},
        "is_completed": True,
        **more,
    }  # fmt: skip


def episode(place: int = 0, *traces: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": f"e{place}",
        "env": {"id": "sums"},
        "task": {"type": "Sum", "data": {"idx": place, "prompt": "2+2?", "answer": "4"}},
        "ok": True,
        "traces": list(traces or (trace(),)),
        **more,
    }


def write(folder: Path, name: str, *records: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


@pytest.mark.parametrize("name", ["traces.jsonl", "results.jsonl", "mine.jsonl"])
def test_episodes_are_read_under_any_name_by_folder_and_by_file(tmp_path: Path, name: str) -> None:
    records = [episode(0), episode(1), episode(1)]
    for one in records:
        one["traces"][0]["task"] = one["task"]
    path = write(tmp_path / "run", name, *records)
    assert detect(path) is Format.EPISODES
    for named in (path, path.parent):
        state = opened(find_run(named))
        assert state.run is not None and (state.run.env_id, state.run.model) == ("sums", "m")
        assert state.finished == 3 and state.reward_mean.result().mean == 0.5
        found = row_object(state, 0, {})
        assert (found["turns"], found["tool_calls"], found["tools"]) == (2, 1, ["add"])
        assert (found["input_tokens"], found["output_tokens"], found["time_s"]) == (14, 5, 2.5)
        assert found["metrics"] == {"correct": 1.0, "num_turns": 2.0}
        assert found["finish_reason"] == "stop" and not found["is_truncated"]
        rollout = read_rollout(find_run(named), 0, state.offset[0], state.length[0])
        assert rollout is not None
        assert [one["role"] for one in rollout.messages] == [
            *("system", "user", "assistant", "tool", "assistant")
        ]


def test_a_folder_of_them_is_found_among_the_runs(tmp_path: Path) -> None:
    write(tmp_path / "sums--m" / "one", "traces.jsonl", episode())
    write(tmp_path / "else", "traces.jsonl", {"span": 1})
    found = [one.run.place for one in find_runs([tmp_path])]
    assert [one.name for one in found if tmp_path in one.parents] == ["traces.jsonl"]


def test_what_failed_is_an_error_and_what_went_well_at_last_is_none() -> None:
    failed = [{"type": "ProviderError", "message": "503", "traceback": "Traceback: x"}]
    row = row_of(episode(0, trace(errors=failed, rewards={"correct": None}), ok=False))
    assert row["error"]["error"] == "ProviderError" and "503" in row["error"]["error_chain_repr"]
    assert "reward" not in row and row["tui_eval"]["traceback"] == "Traceback: x"
    assert "error" not in row_of(episode(0, errors=failed))
    nothing = row_of({**episode(), "traces": [], "ok": False, "errors": failed})
    assert nothing["error"]["error"] == "ProviderError"
    assert nothing["prompt"] == [{"role": "user", "content": "2+2?"}]


def test_the_trainable_agent_is_the_rollout_and_others_are_metrics() -> None:
    judge = trace("judge", trainable=False, rewards={"agrees": {"score": 0.25}})
    row = row_of(episode(0, judge, trace("solver"), judge))
    assert row["reward"] == 0.5
    assert row["metrics"] == {
        **{"correct": 1.0, "num_turns": 2.0, "judge.reward": 0.25, "judge.reward#2": 0.25}
    }


@pytest.mark.parametrize(
    ("more", "cut"),
    [
        ({"stop_condition": "max_turns"}, True),
        ({"calls": [{"finish_reason": "length"}, {"error": {"type": "x"}}]}, True),
        ({"stop_condition": "submitted"}, False),
    ],
)
def test_what_was_cut_off_is_truncated(more: dict[str, Any], cut: bool) -> None:
    assert row_of(episode(0, trace(**more)))["is_truncated"] is cut


def test_nonsense_in_an_episode_ends_nothing(tmp_path: Path) -> None:
    odd = [
        episode(0, {"nodes": [{"parent": 0, "message": 7}], "agent": 3, "rewards": [1]}),
        {**episode(1), "task": None, "errors": "none"},
        episode(2, trace(calls=7, timing=3, metrics={"a": "b"}, tools="x")),
        {**episode(3), "traces": [None]},
    ]
    write(tmp_path, "traces.jsonl", *odd)
    assert opened(find_run(tmp_path)).finished == 4
