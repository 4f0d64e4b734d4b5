"""Runs with faulty endpoints: what is tried again, and what the row says."""

from __future__ import annotations

import asyncio
import email.utils
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, PATHS
from pretended_time import PretendedTime
from program import Program, Run, chat_answer, wait_until
from servers import FaultServer, Reply
from tiers import first_always

import tui_eval as vf
from tui_eval.clients import pacing

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
PROTOCOLS = ["openai_chat_completions", "openai_responses", "anthropic_messages"]
WORDS = {"error": {"message": "so it is", "type": "some_error"}}


def environment(questions: int = 1) -> vf.SingleTurnEnv:
    dataset = [{"question": str(n)} for n in range(questions)]
    return vf.SingleTurnEnv(dataset=dataset, rubric=vf.Rubric(funcs=[lambda completion: 1.0]))


def config(server: FaultServer, protocol: str = PROTOCOLS[0], **more: Any) -> vf.ClientConfig:
    base = server.url if protocol == "anthropic_messages" else f"{server.url}/v1"
    given = {"max_retries": 2, "api_key_var": "", **more}
    return vf.ClientConfig(api_base_url=base, client_type=protocol, **given)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long requests slept; none of them really does."""
    return PretendedTime(monkeypatch).naps


async def only_row(env: vf.Environment, client: vf.ClientConfig, **more: Any) -> dict[str, Any]:
    """The one row of a run, as it is on disk."""
    got = await env.evaluate(client, "m", **more)
    (row,) = Run(Path(got["metadata"]["path_to_save"])).rows
    assert got["metadata"]["avg_error"] == (row["error"] is not None)
    return row


PASSING = {
    "408": Reply(408, WORDS),
    "409": Reply(409, WORDS),
    "429": Reply(429, WORDS),
    "500": Reply(500, WORDS),
    "502": Reply(502, b"<html>bad gateway</html>", {"Content-Type": "text/html"}),
    "529": Reply(529, WORDS),
    "reset": Reply(reset=True),
    "cut": Reply(body=b'{"id": "whatever"}', cut=9),
}


@pytest.mark.parametrize("protocol", first_always(PROTOCOLS))
@pytest.mark.parametrize("fault", PASSING)
async def test_a_fault_that_passes_is_not_seen_in_the_results(
    folder: Path, fault_server: FaultServer, waits: list[float], protocol: str, fault: str
) -> None:
    good = Reply(body=ANSWERS[protocol])
    fault_server.script(PATHS[protocol], [PASSING[fault], PASSING[fault], good])
    row = await only_row(environment(), config(fault_server, protocol))
    assert (row["reward"], row["error"], row["stop_condition"]) == (1.0, None, "max_turns_reached")
    assert len(fault_server.requests) == 3
    assert 0.5 <= waits[0] <= 1.0 < waits[1] + 0.001 <= 1.501


LASTING = {
    "408": ("APIStatusError", "408 from {url}: so it is (tried 3 times)"),
    "409": ("ConflictError", "409 from {url}: so it is (tried 3 times)"),
    "500": ("InternalServerError", "500 from {url}: so it is (tried 3 times)"),
    "502": ("InternalServerError", "502 from {url}: <html>bad gateway</html> (tried 3 times)"),
    "reset": ("APIConnectionError", "no connection to {url}: "),
    "cut": ("APIConnectionError", "the answer from {url} broke off: "),
}


@pytest.mark.parametrize("fault", LASTING)
async def test_a_fault_that_stays_is_the_rollouts_error_after_the_last_try(
    folder: Path, fault_server: FaultServer, waits: list[float], fault: str
) -> None:
    fault_server.script(CHAT, [PASSING[fault]])
    row = await only_row(environment(), config(fault_server))
    assert_error(row, f"ModelError -> {LASTING[fault][0]}")
    assert LASTING[fault][1].format(url=fault_server.url + CHAT) in row["error"]["error_chain_repr"]
    assert "(tried 3 times)" in row["error"]["error_chain_repr"]
    assert (len(fault_server.requests), len(waits)) == (3, 2)


@pytest.mark.parametrize("more", [{}, {"Retry-After": "7"}], ids=["no time", "7 s"])
@pytest.mark.parametrize("status", [429, 529])
async def test_an_endpoint_that_refuses_everything_is_given_up_after_a_time(
    folder: Path, fault_server: FaultServer, waits: list[float], status: int, more: dict[str, str]
) -> None:
    fault_server.script(CHAT, [Reply(status, WORDS, more)])
    given = config(fault_server, rate_limit_timeout=200.0)
    got = await environment(3).evaluate(given, "m", max_concurrent=2)
    rows = Run(Path(got["metadata"]["path_to_save"])).rows
    assert len(rows) == 3
    for row in rows:
        assert f"{status} from {fault_server.url}{CHAT}: so it is" in row["error"]["error"] + str(
            row["error"]["error_chain_repr"]
        )
    assert 200 <= sum(waits) <= 700
    assert len(fault_server.requests) > 8


async def test_a_request_is_refused_as_often_as_it_takes_while_others_are_answered(
    folder: Path, fault_server: FaultServer, waits: list[float]
) -> None:
    refused = Reply(429, WORDS, {"Retry-After": "60"})
    fault_server.script(CHAT, [refused, GOOD, *[refused] * 5] * 8 + [GOOD])
    given = config(fault_server, max_retries=1, rate_limit_timeout=900.0)
    got = await environment(9).evaluate(given, "m", max_concurrent=1)
    assert [output["error"] for output in got["outputs"]] == [None] * 9


def assert_error(row: dict[str, Any], chain: str) -> None:
    assert (row["reward"], row["is_completed"], row["stop_condition"]) == (0.0, True, "has_error")
    assert row["error"]["error_chain_str"].startswith(chain)
    assert row["error"]["error"] == chain.partition(" ")[0]


SILENT = {**chat_answer(""), "choices": [{"index": 0, "message": {"content": ""}}]}
TWO_CHOICES = {**chat_answer("yes"), "choices": chat_answer("yes")["choices"] * 2}
FINAL = {
    "404": (
        Reply(404, WORDS),
        "ModelError -> NotFoundError",
        "404 from {url}: so it is; check the model's name and the base URL",
    ),
    "400": (Reply(400, WORDS), "ModelError -> BadRequestError", "400 from {url}: so it is"),
    "quota": (
        Reply(429, {"error": {"message": "pay first", "code": "insufficient_quota"}}),
        "ModelError -> RateLimitError",
        "429 from {url}: pay first",
    ),
    "truncated": (
        Reply(body=b'{"choices": [{"mess'),
        "InvalidModelResponseError",
        "{url} answered with no usable JSON",
    ),
    "html": (
        Reply(body=b"<html>hello</html>", headers={"Content-Type": "text/html"}),
        "InvalidModelResponseError",
        "<html>hello</html>",
    ),
    "no choices": (Reply(body={"choices": []}), "InvalidModelResponseError", "0 choices"),
    "two choices": (Reply(body=TWO_CHOICES), "InvalidModelResponseError", "2 choices"),
    "empty": (Reply(body=SILENT), "EmptyModelResponseError", "finish reason: None"),
}


@pytest.mark.parametrize("fault", FINAL)
async def test_a_fault_that_another_try_does_not_mend_is_met_once(
    folder: Path, fault_server: FaultServer, waits: list[float], fault: str
) -> None:
    reply, chain, said = FINAL[fault]
    fault_server.script(CHAT, [reply, GOOD])
    row = await only_row(environment(), config(fault_server))
    assert_error(row, chain)
    assert said.format(url=fault_server.url + CHAT) in row["error"]["error_chain_repr"]
    assert "tried" not in row["error"]["error_chain_repr"]
    places = 2 if fault == "404" else 1  # with and without /v1
    assert (len(fault_server.requests), waits) == (places, [])


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "check the key"), (403, "check the key and what it may do")]
)
async def test_a_key_that_is_refused_is_tried_once(
    folder: Path, fault_server: FaultServer, waits: list[float], status: int, advice: str
) -> None:
    fault_server.script(CHAT, [Reply(status, WORDS)])
    said = re.escape(f"{status} from {fault_server.url}{CHAT}: so it is; {advice}")
    with pytest.raises(RuntimeError, match=said):
        await environment().evaluate(config(fault_server), "m", max_retries=3)
    assert (len(fault_server.requests), waits) == (1, [])


async def test_json_is_read_whatever_the_endpoint_calls_it(
    folder: Path, fault_server: FaultServer
) -> None:
    mislabelled = Reply(body=chat_answer("yes"), headers={"Content-Type": "text/plain"})
    fault_server.script(CHAT, [mislabelled])
    assert (await only_row(environment(), config(fault_server)))["reward"] == 1.0


async def test_a_body_that_comes_too_slowly_is_given_up_and_not_requested_again(
    folder: Path, fault_server: FaultServer, waits: list[float]
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), drip=0.05)])
    row = await only_row(environment(), config(fault_server, timeout=2.0))
    assert_error(row, "ModelError -> APITimeoutError")
    assert "within 2 s" in row["error"]["error_chain_repr"]
    assert (len(fault_server.requests), waits) == (1, [])


def in_half_a_minute() -> str:
    return email.utils.formatdate(time.time() + 30, usegmt=True)


@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize(
    ("header", "value", "least", "most"),
    [
        ("Retry-After", "7", 7.0, 7.0),
        ("Retry-After", in_half_a_minute, 20.0, 30.0),
        ("retry-after-ms", "1500", 1.5, 1.5),
    ],
    ids=["seconds", "date", "milliseconds"],
)
async def test_the_request_waits_as_long_as_the_answer_says(
    folder: Path, fault_server: FaultServer, waits: list[float],
    header: str, value: Any, least: float, most: float, status: int,
) -> None:  # fmt: skip
    headers = {header: value if isinstance(value, str) else value()}
    fault_server.script(CHAT, [Reply(status, WORDS, headers), GOOD])
    row = await only_row(environment(), config(fault_server))
    assert row["error"] is None
    assert len(waits) == 1
    assert least <= waits[0] <= most


async def test_others_have_the_slot_of_a_request_that_sleeps(
    folder: Path, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault_server.script(CHAT, [Reply(429), GOOD])

    async def until_the_others_were_served(seconds: float) -> None:
        async with asyncio.timeout(20):
            while len(fault_server.requests) < 6:
                await asyncio.sleep(0.001)

    monkeypatch.setattr(pacing, "sleep", until_the_others_were_served)
    got = await environment(6).evaluate(config(fault_server), "m", max_concurrent=2)
    assert [output["error"] for output in got["outputs"]] == [None] * 6
    assert len(fault_server.requests) == 7
    assert fault_server.most_at_once <= 2


def chained(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def network_errors() -> list[Exception]:
    import aiohttp
    import httpx2
    import openai

    request = httpx2.Request("GET", "http://127.0.0.1")
    return [
        ConnectionResetError("by peer"),
        TimeoutError("the sandbox"),
        aiohttp.ServerDisconnectedError(),
        httpx2.ConnectTimeout("slow"),
        openai.APIConnectionError(request=request),
        chained(RuntimeError("no sandbox"), ConnectionRefusedError("refused")),
    ]


def answered(status: int) -> Exception:
    import httpx2
    import openai

    response = httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1"))
    return openai.APIStatusError("no", response=response, body=WORDS)


PASSING_ERRORS = [
    vf.InfraError("broken"),
    vf.SandboxError("no sandbox"),
    vf.TunnelError("no tunnel"),
    vf.ModelError("no answer"),
    vf.InvalidModelResponseError("no JSON"),
    *network_errors(),
    chained(vf.SandboxError("no sandbox"), answered(404)),
    *(
        chained(vf.ModelError(f"{status}"), answered(status))
        for status in (408, 409, 429, 500, 529)
    ),
]
LASTING_ERRORS = [
    ValueError("wrong"),
    KeyError("missing"),
    FileNotFoundError("no file"),
    vf.ToolError("no tool"),
    vf.OverlongPromptError("too long"),
    *(
        chained(vf.ModelError(f"{status}"), answered(status))
        for status in (400, 401, 403, 404, 422)
    ),
    chained(RuntimeError("the judge"), answered(401)),
]
ERRORS = [*PASSING_ERRORS, *LASTING_ERRORS]


class Failing(vf.SingleTurnEnv):
    """Raises what there is for its example, the first time."""

    async def setup_state(self, state: Any) -> Any:
        seen: Counter[int] = self.seen
        seen[state["example_id"]] += 1
        if seen[state["example_id"]] == 1:
            raise ERRORS[state["example_id"]]
        return state


async def test_rollouts_run_again_after_errors_that_pass_and_only_those(
    folder: Path, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    env = Failing(dataset=[{"question": "?"}] * len(ERRORS), rubric=vf.Rubric(funcs=[lambda: 1.0]))
    env.seen = Counter()
    got = await env.evaluate(config(fault_server), "m", max_retries=2)
    rows = Run(Path(got["metadata"]["path_to_save"])).rows
    assert sorted(row["example_id"] for row in rows) == list(range(len(ERRORS)))
    attempts = {row["example_id"]: row["tui_eval"]["attempt"] for row in rows}
    expected = [2] * len(PASSING_ERRORS) + [1] * len(LASTING_ERRORS)
    assert {repr(error): attempts[place] for place, error in enumerate(ERRORS)} == {
        repr(error): attempt for error, attempt in zip(ERRORS, expected, strict=True)
    }
    assert {row["example_id"] for row in rows if row["error"]} == {
        place for place, attempt in enumerate(expected) if attempt == 1
    }


PLAIN = """
    import tui_eval as vf

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{"question": str(n)} for n in range(5)],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""


def words(program: Program, server: FaultServer, *more: str) -> list[str]:
    program.environment("plain", PLAIN)
    return ["plain", "-m", "m", "-b", f"{server.url}/v1", "-r", "1", *more]


def test_a_run_without_an_answer_ends_with_3_and_prints_three_of_its_errors(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(403, {"error": {"message": "not for you"}})])
    done = program.run(*words(program, fault_server, "-n", "5", "-c", "1"))
    assert done.code == 3, done
    assert done.err.count("error: example") == 3
    assert "example 0, rollout 0: ModelError('403 from" in done.err
    assert "not for you" in done.err
    assert "further ModelError -> PermissionDeniedError are counted and not printed" in done.err
    assert "0 used, 5 errored, 0 missing of 5" in done.out
    assert len(fault_server.requests) == 5


@pytest.mark.slow
def test_an_answer_that_comes_after_its_rollout_was_run_again_changes_nothing(
    program: Program, fault_server: FaultServer
) -> None:
    late = Reply(body=chat_answer("late"), delay=1.0)
    slow = Reply(body=chat_answer("other"), delay=1.5)
    # The second rollout begins while the first one sleeps before its second attempt.
    fault_server.script(CHAT, [late, slow, Reply(body=chat_answer("in time")), slow])
    limits = ("-n", "2", "-c", "1", "--timeout", "0.6", "--max-retries", "1")
    done = program.run(*words(program, fault_server, *limits))
    run = program.only_run()
    assert run.places() == [(0, 0), (1, 0)]
    first, second = sorted(run.rows, key=lambda row: row["example_id"])
    assert first["completion"][-1]["content"] == "in time"
    assert (first["tui_eval"]["attempt"], first["error"]) == (2, None)
    assert (second["tui_eval"]["attempt"], second["stop_condition"]) == (2, "timeout_reached")
    assert second["error"]["error"] == "RolloutTimeoutError"
    assert done.code == 3, done
    assert len(fault_server.requests) == 4


def test_a_body_that_trickles_in_meets_the_rollouts_time_limit(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), drip=0.1)])
    done = program.run(*words(program, fault_server, "-n", "1", "--timeout", "0.5"))
    assert done.code == 3, done
    assert "RolloutTimeoutError" in done.err
    (row,) = program.only_run().rows
    assert row["stop_condition"] == "timeout_reached"
    wait_until(lambda: fault_server.in_flight == 0, "the request is given up")
