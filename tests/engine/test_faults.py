"""Endpoints, tools and reward functions that go wrong: data on their rollout, nothing lost."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest
from program import Finished, Program, Run, chat_answer, tool_call
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"

GOOD = Reply(body=chat_answer("yes"))

PLAIN = """
    import tui_eval as vf

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{"question": "?"}], rubric=vf.Rubric(funcs=[lambda completion: 1.0])
        )
"""


def run_one(
    program: Program, server: FaultServer, environment: str, *replies: Reply, args: Any = ()
) -> tuple[Finished, Run, dict[str, Any]]:
    """Runs one rollout and returns how it ended, the run, and its row."""
    program.environment("one", environment)
    server.script(CHAT, replies)
    url = f"{server.url}/v1"
    done = program.run("one", "-m", "m", "-b", url, "-n", "1", "-r", "1", *args)
    run = program.only_run()
    (row,) = run.rows
    assert isinstance(row["completion"][-1]["content"], str)
    return done, run, row


@pytest.mark.parametrize(
    ("reply", "chain", "said"),
    [
        (Reply(401, {"error": {"message": "bad key"}}), "AuthenticationError", "bad key"),
        (Reply(400, {"error": {"message": "no such"}}), "BadRequestError", "no such"),
        (Reply(500, b"oops", {"Retry-After": "0.01"}), "InternalServerError", "500"),
        (Reply(200, b'{"choices": [{"mess'), "InvalidModelResponseError", "JSON"),
        (Reply(200, {"choices": []}), "InvalidModelResponseError", "choices"),
        (Reply(200, chat_answer("")), "EmptyModelResponseError", ""),
    ],
    ids=["401", "400", "500", "truncated", "no-choices", "empty"],
)
def test_an_answer_that_cannot_be_used_is_the_rollouts_error(
    program: Program, fault_server: FaultServer, reply: Reply, chain: str, said: str
) -> None:
    done, run, row = run_one(program, fault_server, PLAIN, reply)
    assert done.code == 3, done
    assert chain in row["error"]["error_chain_str"]
    assert said in row["error"]["error_chain_repr"]
    assert row["reward"] == 0.0
    assert (run.metadata["n_used"], run.metadata["n_errored"]) == (0, 1)
    assert chain in done.err
    assert "Reward: –" in done.out


@pytest.mark.parametrize(
    "fault",
    [
        Reply(429, b"slow down", {"Retry-After": "0.05"}),
        Reply(500, b"oops", {"retry-after-ms": "10"}),
        Reply(reset=True),
        Reply(body=chat_answer("yes"), cut=40),
    ],
    ids=["429", "500", "reset", "cut"],
)
def test_a_passing_fault_is_tried_again(
    program: Program, fault_server: FaultServer, fault: Reply
) -> None:
    done, run, row = run_one(program, fault_server, PLAIN, fault, GOOD)
    assert done.code == 0, done
    assert row["reward"] == 1.0
    assert len(fault_server.requests) == 2
    assert "tried again in" in run.log


def test_a_rollout_is_run_again_as_often_as_asked(
    program: Program, fault_server: FaultServer
) -> None:
    bad = Reply(200, {"choices": []})
    done, _, row = run_one(program, fault_server, PLAIN, bad, GOOD, args=["--max-retries", "1"])
    assert done.code == 0, done
    assert row["tui_eval"]["attempt"] == 2


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('x')", "KeyError"),
        ("return None", "None"),
        ("return float('nan')", "nan"),
        ("return 'good'", "good"),
        ("import sys; sys.exit(1)", "SystemExit"),
    ],
)
def test_a_reward_function_that_fails_is_a_scoring_error(
    program: Program, fault_server: FaultServer, body: str, said: str
) -> None:
    environment = f"""
    import tui_eval as vf

    def broken(completion):
        {body}

    def fine(completion):
        return 0.5

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{{"question": "?"}}], rubric=vf.Rubric(funcs=[broken, fine])
        )
    """
    done, run, row = run_one(program, fault_server, environment, GOOD)
    assert done.code == 3, done
    assert row["error"]["error"] == "ScoringError"
    assert "broken" in row["error"]["error_chain_repr"]
    scores = {score["name"]: score for score in row["tui_eval"]["scores"]}
    assert scores["broken"]["raw"] is None
    assert said in scores["broken"]["error"]
    assert scores["fine"] == {"name": "fine", "raw": 0.5, "weight": 1.0, "error": None}
    assert run.metadata["n_errored"] == 1
    assert "NaN" not in json.dumps(row)


TOOLS = """
    import tui_eval as vf

    def tool():
        "A tool."
        {body}

    def load_environment():
        return vf.ToolEnv(
            tools=[tool],
            dataset=[{{"question": "?"}}],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ("raise OSError('disk on fire')", "disk on fire"),
        ("return b'\\\\x00abc\\\\xff'", "\x00abc"),
        ("return 'x' * 10_000_000", "x" * 10_000_000),
        ("return {'a': object}", "<class 'object'>"),
        ("return '\\\\ud800'", r"\ud800"),
    ],
    ids=["raises", "bytes", "10MB", "object", "surrogate"],
)
def test_whatever_a_tool_does_its_result_is_kept(
    program: Program, fault_server: FaultServer, body: str, content: str
) -> None:
    calls = Reply(body=chat_answer("", tool_calls=[tool_call("tool", "{}")]))
    environment = textwrap.dedent(TOOLS).format(body=body.replace("\\\\", "\\"))
    done, _, row = run_one(program, fault_server, environment, calls, GOOD)
    assert done.code == 0, done
    result = next(m for m in row["completion"] if m["role"] == "tool")
    assert content in result["content"]
    (record,) = row["tui_eval"]["tool_calls"]
    assert (record["error"] is not None) == ("raise" in body)


@pytest.mark.parametrize("arguments", ["{", "[1]", '{"unknown": 1}'])
def test_arguments_that_no_tool_takes_are_answered_and_the_rollout_goes_on(
    program: Program, fault_server: FaultServer, arguments: str
) -> None:
    calls = [tool_call("tool", arguments), tool_call("nothing", "{}", "call_2")]
    asks = Reply(body=chat_answer("", tool_calls=calls))
    environment = textwrap.dedent(TOOLS).format(body="return 1")
    done, _, row = run_one(program, fault_server, environment, asks, GOOD)
    assert done.code == 0, done
    assert [record["error"] is not None for record in row["tui_eval"]["tool_calls"]] == [True, True]


def test_an_environment_that_kills_the_engine_loses_only_what_was_in_flight(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment(
        "deadly",
        """
        import os
        import tui_eval as vf

        class Deadly(vf.SingleTurnEnv):
            async def setup_state(self, state):
                if state["example_id"] == 3 and not os.path.exists("harmless"):
                    os._exit(77)
                return state

        def load_environment():
            return Deadly(
                dataset=[{"question": str(i)} for i in range(5)],
                rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
            )
        """,
    )
    fault_server.script(CHAT, [GOOD])
    url = f"{fault_server.url}/v1"
    done = program.run("deadly", "-m", "m", "-b", url, "-n", "5", "-r", "1", "-c", "1", "-s")
    assert done.code == 1, done
    assert "exit code 77" in done.err
    run = program.only_run()
    assert run.places() == [(0, 0), (1, 0), (2, 0)]
    (program.folder / "harmless").touch()
    again = program.run("deadly", "-m", "m", "-b", url, "--resume", str(run.path))
    assert again.code == 0, again
    assert run.places() == [(i, 0) for i in range(5)]
    assert len(fault_server.requests) == 5


def test_a_full_disk_ends_the_run_with_whole_lines(
    program: Program, fault_server: FaultServer
) -> None:
    environment = """
    import resource
    import tui_eval as vf

    def load_environment():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        return vf.SingleTurnEnv(
            dataset=[{"question": "x" * 3000} for i in range(20)],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
    """
    program.environment("full", environment)
    fault_server.script(CHAT, [GOOD])
    url = f"{fault_server.url}/v1"
    done = program.run("full", "-m", "m", "-b", url, "-n", "20", "-r", "1", "-s")
    assert done.code == 1, done
    assert "cannot be written" in done.err
    run = program.only_run()
    assert 0 < len(run.rows) < 20


@pytest.mark.parametrize(
    ("body", "chain"),
    [
        ("state['error'] = 'a text'", ""),
        ("state['metrics'] = 3", ""),
        ("state['timing'] = None", ""),
        ("return None", "TypeError"),
        ("state.clear()", ""),
    ],
    ids=["error", "metrics", "timing", "no-state", "nothing-left"],
)
def test_a_state_that_makes_no_row_is_an_errored_row(
    program: Program, fault_server: FaultServer, body: str, chain: str
) -> None:
    environment = f"""
    import tui_eval as vf

    class Env(vf.SingleTurnEnv):
        async def rollout(self, *args, **kwargs):
            state = await super().rollout(*args, **kwargs)
            {body}
            return state

    def load_environment():
        return Env(dataset=[{{"question": "?"}}], rubric=vf.Rubric())
    """
    done, run, row = run_one(program, fault_server, environment, GOOD)
    assert done.code in (0, 3), done
    assert row["example_id"] == 0
    assert chain in json.dumps(row["error"])
    assert run.metadata["n_errored"] == (done.code == 3)
