"""Six turns at servers that others wrote: over each protocol, whole and streamed, restarted."""

from __future__ import annotations

import pytest
from known_servers import Other
from six_turns import PROTOCOLS, WAYS, Evaluation

SERVERS = [
    pytest.param(name, marks=pytest.mark.xdist_group(name))
    for name in ("llama", "litellm", "llmock")
]


@pytest.fixture
def other(server: str, request: pytest.FixtureRequest) -> Other:
    """The server of that name."""
    found: Other = request.getfixturevalue(server)
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("server", SERVERS)
def test_six_turns_with_tools_come_through(
    evaluation: Evaluation, other: Other, protocol: str, way: str
) -> None:
    summary = evaluation.run("dice", *other.flags_of(protocol), way, "-n", "4", "-r", "2")
    summary.assert_whole(8)
    assert summary.finish_reasons() == {"tool_calls"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.xdist_group("llama")
def test_six_turns_of_text_come_through(evaluation: Evaluation, llama: Other, way: str) -> None:
    flags = llama.flags_of("openai_completions")
    summary = evaluation.run("talk", *flags, way, "-n", "4", "-r", "2", "-t", "60")
    summary.assert_whole(8)
    assert summary.finish_reasons() <= {"stop", "length"}


@pytest.mark.parametrize("server", SERVERS)
def test_a_server_that_is_killed_and_started_again_loses_no_rollout(
    evaluation: Evaluation, other: Other
) -> None:
    flags = other.flags_of("openai_chat_completions")
    process = evaluation.start("dice", *flags, "-n", "100", "-r", "1", "-c", "4", "--stream")
    other.server.kill()
    other.server.start()
    summary = evaluation.finish(process)
    summary.assert_whole(100)


@pytest.mark.parametrize("server", SERVERS)
def test_a_run_that_is_killed_and_resumed_loses_no_rollout(
    evaluation: Evaluation, other: Other
) -> None:
    flags = other.flags_of("openai_responses")
    args = ["dice", *flags, "-n", "100", "-r", "1", "-c", "4"]
    left = evaluation.kill_engine(evaluation.start(*args))
    assert 3 <= left < 100
    summary = evaluation.run(*args, "--resume")
    summary.assert_whole(100)
