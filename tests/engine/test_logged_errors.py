"""The log of rollouts that errored: a line of each error, nothing of the others."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from program import chat_answer
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.worker import rollout_retries

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
KEY = "sk-verysecret"


def first(info: dict[str, Any]) -> float:
    return float(info["score"])


def second(info: dict[str, Any]) -> float:
    if not info:
        raise ValueError(f"no score for {KEY}\nat all")
    return 1.0


def together(completions: Any) -> list[float]:
    return [1.0] * len(completions)


async def test_each_error_of_a_rollout_is_one_line_of_the_log_where_it_is_over(
    folder: Path,
    fault_server: FaultServer,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setattr(rollout_retries, "LONGEST_BACKOFF_S", 0.0)
    refused = Reply(400, {"error": {"message": "no\nsuch model"}})
    fault_server.script(CHAT, [refused, GOOD, Reply(500), GOOD])
    client = vf.ClientConfig(
        api_base_url=f"{fault_server.url}/v1", api_key_var="MY_KEY", max_retries=0
    )
    env = vf.SingleTurnEnv(
        dataset=[{"question": "q", "info": info} for info in ({}, {}, {"score": 1})],
        rubric=vf.Rubric([first, second, together]),
    )
    got = await env.evaluate(client, "m", max_concurrent=1, max_retries=1)
    assert [one["error"] is None for one in got["outputs"]] == [False, False, True]
    logged = {logging.WARNING: list[str](), logging.ERROR: list[str]()}
    for record in caplog.records:
        if record.name == "tui_eval.rollout":
            logged[record.levelno].append(record.getMessage())
    model, *scores = logged[logging.ERROR]
    assert model.startswith("example 0 #0, attempt 1: ModelError(") and "such model" in model
    assert "\n" not in model
    assert [text.count('raise ValueError(f"no score') for text in scores] == [0, 1]
    assert [text.count('return float(info["score"])') for text in scores] == [1, 0]
    assert [text.partition("\n")[0] for text in scores] == [
        "example 1 #0, attempt 1: ScoringError(\"Reward function 'first' failed: "
        "KeyError: 'score'\") -> KeyError('score')",
        "example 1 #0, attempt 1: Reward function 'second' failed: "
        "ValueError: no score for *************",
    ]
    (again,) = logged[logging.WARNING]
    assert again.startswith("example 2 #0") and "runs again" in again
