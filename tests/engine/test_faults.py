"""Endpoints, tools and reward functions that go wrong: data on their rollout, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from program import Finished, Program, Run, chat_answer, tool_call
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"

GOOD = Reply(body=chat_answer("yes"))


def plain(examples: int) -> str:
    return f"""
    import tui_eval as vf

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{{"question": "?"}}] * {examples},
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
    """


Work = Callable[..., Finished]
"""A function that works a request through: here, or as a process."""


def run_each(
    program: Program,
    server: FaultServer,
    environment: str,
    *replies: Reply,
    args: Any = (),
    work: Work = run_here,
) -> tuple[Finished, Run, list[dict[str, Any]]]:
    """Runs one rollout of each example, one after the other.

    Returns how the run ended, the run, and its rows in the order of the examples.
    """
    program.environment("one", environment)
    server.script(CHAT, replies)
    url = f"{server.url}/v1"
    done = work(program, "one", "-m", "m", "-b", url, "-n", "-1", "-r", "1", "-c", "1", *args)
    run = program.only_run()
    rows = sorted(run.rows, key=lambda row: row["example_id"])
    assert [row["example_id"] for row in rows] == list(range(len(rows)))
    assert all(isinstance(m["content"], str) for row in rows for m in row["completion"])
    return done, run, rows


SILENT = {**chat_answer(""), "choices": [{"index": 0, "message": {"content": ""}}]}
UNUSABLE = {
    "401": (Reply(401, {"error": {"message": "bad key"}}), "AuthenticationError", "bad key"),
    "400": (Reply(400, {"error": {"message": "no such"}}), "BadRequestError", "no such"),
    "truncated": (Reply(200, b'{"choices": [{"mess'), "InvalidModelResponseError", "JSON"),
    "no-choices": (Reply(200, {"choices": []}), "InvalidModelResponseError", "choices"),
    "silent": (Reply(200, SILENT), "EmptyModelResponseError", "finish reason: None"),
    # It is given again and again, as often as it is requested.
    "500": (Reply(500, b"oops", {"Retry-After": "0.01"}), "InternalServerError", "500"),
}


@pytest.mark.slow
def test_an_answer_that_cannot_be_used_is_the_rollouts_error(
    program: Program, fault_server: FaultServer
) -> None:
    replies = [reply for reply, _, _ in UNUSABLE.values()]
    done, run, rows = run_each(
        program, fault_server, plain(len(UNUSABLE)), *replies, work=Program.run
    )
    assert done.code == 3, done
    for row, (fault, (_, chain, said)) in zip(rows, UNUSABLE.items(), strict=True):
        assert chain in row["error"]["error_chain_str"], fault
        assert said in row["error"]["error_chain_repr"], fault
        assert row["reward"] == 0.0, fault
        assert chain in done.err
    assert (run.metadata["n_used"], run.metadata["n_errored"]) == (0, len(UNUSABLE))
    assert "Reward: –" in done.out


PASSING = [
    Reply(429, b"slow down", {"Retry-After": "0.05"}),
    Reply(500, b"oops", {"retry-after-ms": "10"}),
    Reply(reset=True),
    Reply(body=chat_answer("yes"), cut=40),
]


def test_a_transient_fault_is_retried(program: Program, fault_server: FaultServer) -> None:
    replies = [reply for fault in PASSING for reply in (fault, GOOD)]
    done, _, rows = run_each(program, fault_server, plain(len(PASSING)), *replies)
    assert done.code == 0, done
    assert [row["reward"] for row in rows] == [1.0] * len(PASSING)
    assert len(fault_server.requests) == 2 * len(PASSING)
    log = (program.only_run().path / "engine.log").read_text()
    assert log.count("tried again in") == len(PASSING)


def test_a_rollout_is_run_again_as_often_as_requested(
    program: Program, fault_server: FaultServer
) -> None:
    bad = Reply(200, {"choices": []})
    again = ("--max-retries", "1")
    done, _, (row,) = run_each(program, fault_server, plain(1), bad, GOOD, args=again)
    assert done.code == 0, done
    assert row["tui_eval"]["attempt"] == 2


BROKEN = {
    "raise KeyError('x')": "KeyError",
    "return None": "None",
    "return float('nan')": "nan",
    "return 'good'": "good",
    "import sys; sys.exit(1)": "SystemExit",
}


def cases(bodies: Iterable[str], indent: int) -> str:
    """Statements that do one of the bodies, by the value of `case`."""
    lines = (f"if case == {case}: {body}" for case, body in enumerate(bodies))
    return ("\n" + " " * indent).join(lines)


def test_a_reward_function_that_fails_is_a_scoring_error(
    program: Program, fault_server: FaultServer
) -> None:
    environment = f"""
    import tui_eval as vf

    def broken(completion, info):
        case = info["case"]
        {cases(BROKEN, 8)}

    def fine(completion):
        return 0.5

    def load_environment():
        rows = [{{"question": "?", "info": {{"case": case}}}} for case in range({len(BROKEN)})]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[broken, fine]))
    """
    done, run, rows = run_each(program, fault_server, environment, GOOD)
    assert done.code == 3, done
    for row, (body, said) in zip(rows, BROKEN.items(), strict=True):
        assert row["error"]["error"] == "ScoringError", body
        assert "broken" in row["error"]["error_chain_repr"], body
        scores = {score["name"]: score for score in row["tui_eval"]["scores"]}
        assert scores["broken"]["raw"] is None, body
        assert said in scores["broken"]["error"], body
        assert scores["fine"] == {"name": "fine", "raw": 0.5, "weight": 1.0, "error": None}
        assert "NaN" not in json.dumps(row)
    assert run.metadata["n_errored"] == len(BROKEN)


TOOLS = """
    import tui_eval as vf

    def tool({parameters}):
        "A tool."
        {body}

    def load_environment():
        return vf.ToolEnv(
            tools=[tool],
            dataset=[{{"question": "?"}}] * {examples},
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""

RESULTS = {
    "raise OSError('disk on fire')": "disk on fire",
    r"return b'\x00abc\xff'": "\x00abc",
    "return 'x' * 10_000_000": "x" * 10_000_000,
    "return {'a': object}": "<class 'object'>",
    r"return '\ud800'": r"\ud800",
}


def test_whatever_a_tool_does_its_result_is_kept(
    program: Program, fault_server: FaultServer
) -> None:
    calls = [tool_call("tool", json.dumps({"case": case})) for case in range(len(RESULTS))]
    replies = [
        reply for call in calls for reply in (Reply(body=chat_answer("", tool_calls=[call])), GOOD)
    ]
    environment = TOOLS.format(
        parameters="case: int", body=cases(RESULTS, 8), examples=len(RESULTS)
    )
    done, _, rows = run_each(program, fault_server, environment, *replies)
    assert done.code == 0, done
    for row, (body, content) in zip(rows, RESULTS.items(), strict=True):
        result = next(m for m in row["completion"] if m["role"] == "tool")
        assert content in result["content"], body
        (record,) = row["tui_eval"]["tool_calls"]
        assert (record["error"] is not None) == ("raise" in body), body


def test_arguments_that_no_tool_takes_are_answered_and_the_rollout_continues(
    program: Program, fault_server: FaultServer
) -> None:
    odd = ["{", "[1]", '{"unknown": 1}']
    replies = []
    for arguments in odd:
        calls = [tool_call("tool", arguments), tool_call("nothing", "{}", "call_2")]
        replies += [Reply(body=chat_answer("", tool_calls=calls)), GOOD]
    environment = TOOLS.format(parameters="", body="return 1", examples=len(odd))
    done, _, rows = run_each(program, fault_server, environment, *replies)
    assert done.code == 0, done
    for row, arguments in zip(rows, odd, strict=True):
        errors = [record["error"] for record in row["tui_eval"]["tool_calls"]]
        assert [error is not None for error in errors] == [True, True], arguments


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
                    os.kill(os.getppid(), 9)
                    os._exit(1)
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
    assert "was killed (signal 9" in done.err
    run = program.only_run()
    assert run.places() == [(0, 0), (1, 0), (2, 0)]
    (program.folder / "harmless").touch()
    again = program.run("deadly", "-m", "m", "-b", url, "--resume", str(run.path))
    assert again.code == 0, again
    assert run.places() == [(i, 0) for i in range(5)]
    assert len(fault_server.requests) == 5


ODD_STATES = {
    "state['error'] = 'a text'": "AttributeError",
    "state['metrics'] = 3": None,
    "state['timing'] = None": None,
    "return None": "TypeError",
    "state.clear()": "KeyError",
}


@pytest.mark.slow
def test_a_state_that_makes_no_row_is_an_errored_row_and_any_other_is_a_row(
    program: Program, fault_server: FaultServer
) -> None:
    environment = f"""
    import tui_eval as vf

    class Env(vf.SingleTurnEnv):
        async def rollout(self, *args, **kwargs):
            state = await super().rollout(*args, **kwargs)
            case = state["example_id"]
            {cases(ODD_STATES, 12)}
            return state

    def load_environment():
        return Env(dataset=[{{"question": "?"}}] * {len(ODD_STATES)}, rubric=vf.Rubric())
    """
    done, run, rows = run_each(program, fault_server, environment, GOOD)
    assert done.code == 3, done
    errors = [row["error"] and row["error"]["error_chain_str"] for row in rows]
    assert dict(zip(ODD_STATES, errors, strict=True)) == ODD_STATES
    assert run.metadata["n_errored"] == 3
