"""Limits, full contexts and broken streams, as servers that others wrote have them."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from known_servers import (
    LIMIT_A_MINUTE,
    Other,
    llama_server,
    llmock_of,
    llmock_server,
)
from six_turns import PROTOCOLS, WAYS, Evaluation

BRIEF = """
    import tui_eval as vf

    def load_environment(questions=200):
        return vf.SingleTurnEnv(
            dataset=[{"question": f"Question {n}?"} for n in range(questions)],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""
LONG = """
    import tui_eval as vf

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{"question": "word " * 2000}],
            rubric=vf.Rubric(funcs=[lambda completion: float(len(completion))]),
        )
"""


@pytest.fixture
def mock(tmp_path: Path) -> Iterator[Other]:
    """LLMock that allows so many requests a minute, and a context of so many tokens."""
    limits = ["--rpm", str(LIMIT_A_MINUTE), "--context-window", "1000"]
    with llmock_server(tmp_path, *limits) as server:
        yield llmock_of(server)


def report_of(other: Other, what: str) -> dict[str, Any]:
    """A report of LLMock: its `requests`, or its `verdict` on their sender."""
    with urllib.request.urlopen(f"{other.server.url}/_llmock/{what}") as answer:
        reported: dict[str, Any] = json.load(answer)
        return reported


def misbehave(other: Other, *behaviours: dict[str, Any]) -> None:
    """Has LLMock do these, one after the other."""
    body = json.dumps({"behaviors": behaviours}).encode()
    request = urllib.request.Request(f"{other.server.url}/_llmock/scenario", body)
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 201


@pytest.mark.parametrize("protocol", ["openai_chat_completions", "anthropic_messages"])
@pytest.mark.xdist_group("llmock")
def test_a_limit_of_requests_a_minute_loses_no_rollout(
    evaluation: Evaluation, mock: Other, protocol: str
) -> None:
    evaluation.program.environment("brief", BRIEF)
    rollouts = LIMIT_A_MINUTE + 20
    flags = mock.flags_of(protocol)
    summary = evaluation.run("brief", *flags, "-n", str(rollouts), "-r", "1")
    counts = summary.summary["counts"]
    assert (counts["used"], counts["errored"]) == (rollouts, 0), summary.done
    requests = report_of(mock, "requests")["requests"]
    started_at = [one["started_at"] for one in requests if one["method"] == "POST"]
    allowed_s = 20 * 60 / LIMIT_A_MINUTE
    assert max(started_at) - min(started_at) <= 1.1 * allowed_s + 60 / LIMIT_A_MINUTE
    findings = report_of(mock, "verdict")["findings"]
    assert not [one for one in findings if one["severity"] == "error"]


@pytest.mark.xdist_group("litellm")
def test_a_limit_behind_a_proxy_loses_no_rollout(evaluation: Evaluation, litellm: Other) -> None:
    evaluation.program.environment("brief", BRIEF)
    flags = litellm.flags_of("openai_chat_completions", "limited")
    rollouts = LIMIT_A_MINUTE + 20
    summary = evaluation.run("brief", *flags, "-n", str(rollouts), "-r", "1", "-c", "8")
    counts = summary.summary["counts"]
    assert (counts["used"], counts["errored"]) == (rollouts, 0), summary.done


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.xdist_group("llama")
def test_a_prompt_that_outgrew_llama_cpps_context_is_truncated(
    evaluation: Evaluation, tiny_model: Path, tmp_path: Path, llama: Other, protocol: str
) -> None:
    evaluation.program.environment("long", LONG)
    with llama_server(tiny_model, tmp_path, context=512) as server:
        other = Other(server, llama.model, llama.bases)
        flags = other.flags_of(protocol)
        summary = evaluation.run("long", *flags, "-n", "1", "-r", "1", "--no-preflight")
    assert_too_long(summary.run.rows, summary.summary)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.xdist_group("llmock")
def test_a_prompt_that_outgrew_llmocks_context_is_truncated(
    evaluation: Evaluation, mock: Other, protocol: str
) -> None:
    evaluation.program.environment("long", LONG)
    summary = evaluation.run("long", *mock.flags_of(protocol), "-n", "1", "-r", "1")
    assert_too_long(summary.run.rows, summary.summary)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.xdist_group("litellm")
def test_a_prompt_that_a_proxys_provider_calls_too_long_is_truncated(
    evaluation: Evaluation, litellm: Other, protocol: str
) -> None:
    evaluation.program.environment("long", LONG)
    summary = evaluation.run("long", *litellm.flags_of(protocol), "-n", "1", "-r", "1")
    assert_too_long(summary.run.rows, summary.summary)


def assert_too_long(rows: list[dict[str, Any]], reported: dict[str, Any]) -> None:
    (row,) = rows
    assert (row["error"], row["stop_condition"]) == (None, "prompt_too_long"), row["error"]
    assert (reported["counts"]["used"], reported["counts"]["truncated"]) == (1, 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", ["truncate", "disconnect"])
@pytest.mark.xdist_group("llmock")
def test_a_stream_that_breaks_is_requested_again(
    evaluation: Evaluation, llmock: Other, protocol: str, kind: str
) -> None:
    evaluation.program.environment("brief", BRIEF)
    misbehave(llmock, {"type": "stream_fault", "kind": kind, "after_chunks": 2, "times": 2})
    flags = llmock.flags_of(protocol)
    summary = evaluation.run("brief", *flags, "--stream", "-n", "2", "-r", "1", "-c", "1")
    counts = summary.summary["counts"]
    assert (counts["used"], counts["errored"]) == (2, 0), summary.done
    assert summary.finish_reasons() == {"stop"}
    whole = evaluation.run("brief", *flags, "--no-stream", "-n", "2", "-r", "1")
    assert said_in(summary.run.rows) == said_in(whole.run.rows)


def said_in(rows: list[dict[str, Any]]) -> dict[int, str]:
    """The last answer to each question."""
    return {row["example_id"]: row["completion"][-1]["content"] for row in rows}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.xdist_group("llmock")
def test_a_stream_with_an_event_that_cannot_be_read_is_never_graded(
    evaluation: Evaluation, llmock: Other, protocol: str
) -> None:
    evaluation.program.environment("brief", BRIEF)
    fault = {"type": "stream_fault", "kind": "malformed", "after_chunks": 2, "times": 1}
    misbehave(llmock, fault)
    flags = llmock.flags_of(protocol)
    summary = evaluation.run("brief", *flags, "--stream", "-n", "2", "-r", "1", "-c", "1")
    assert summary.summary["error_classes"] == {"endpoint": 1}
    assert summary.summary["counts"]["used"] == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
@pytest.mark.xdist_group("llmock")
def test_a_broken_tool_call_is_reported_to_the_model(
    evaluation: Evaluation, llmock: Other, protocol: str, kind: str, way: str
) -> None:
    misbehave(llmock, {"type": "tool_fault", "kind": kind, "times": 1})
    flags = llmock.flags_of(protocol)
    summary = evaluation.run("dice", *flags, way, "-n", "1", "-r", "1")
    (row,) = summary.run.rows
    assert (row["error"], row["stop_condition"]) == (None, "max_turns_reached")
    assert summary.summary["counts"]["failed_tools"] == 1
