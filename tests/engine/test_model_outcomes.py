"""Outcomes of the model are scored as they are and in the row; failures are out of the mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from program import Run, chat_answer
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.types import ClientConfig

CHAT = "/v1/chat/completions"


def ended(text: str | None, reason: str, **message: Any) -> dict[str, Any]:
    body = chat_answer("", **message)
    body["choices"][0] |= {"finish_reason": reason}
    body["choices"][0]["message"]["content"] = text
    return body


SPENT = {
    **ended("", "length"),
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 512,
        "total_tokens": 522,
        "completion_tokens_details": {"reasoning_tokens": 512},
    },
}
DONE = {
    "good": (chat_answer("yes"), "yes", "stop", False),
    "spent on thoughts": (SPENT, "", "length", True),
    "cut off": (ended("yes, be", "length"), "yes, be", "length", True),
    "refused": (ended(None, "stop", refusal="I cannot."), "I cannot.", "refusal", False),
    "filtered": (ended("", "content_filter"), "", "content_filter", False),
    "nothing to say": (ended("", "stop"), "", "stop", False),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "asked for as a stream"])
async def test_what_the_model_did_is_scored_and_stands_in_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault_server: FaultServer, stream: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    fault_server.script(CHAT, [Reply(body=body) for body, *_ in DONE.values()])

    def says_yes(completion: Any) -> float:
        return float("yes" in completion[-1]["content"])

    env = vf.SingleTurnEnv(
        dataset=[{"question": str(n)} for n in range(len(DONE))],
        rubric=vf.Rubric(funcs=[says_yes]),
    )
    config = ClientConfig(
        api_base_url=f"{fault_server.url}/v1", api_key_var="", max_retries=0, stream=stream
    )
    got = await env.evaluate(config, "m", max_concurrent=1, save_results=True)
    rows = sorted(Run(Path(got["metadata"]["path_to_save"])).rows, key=lambda r: r["example_id"])
    for row, (name, (_, text, reason, truncated)) in zip(rows, DONE.items(), strict=True):
        assert row["error"] is None, name
        assert row["completion"][-1]["content"] == text, name
        assert row["tui_eval"]["finish_reason"] == reason, name
        assert row["tui_eval"]["steps"][0]["finish_reason"] == reason, name
        assert row["is_truncated"] is truncated, name
    assert got["metadata"]["avg_reward"] == pytest.approx(2 / len(DONE))
