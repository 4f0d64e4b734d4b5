"""`--json`: one object on stdout that a program can read, however the run ends."""

from __future__ import annotations

import json
import signal
import statistics
from typing import Any

import pytest
from command_here import command_here
from program import Finished, Program, chat_answer, tool_call, wait_until
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
SETTINGS = {
    "env_id", "env_args", "model", "base_url", "num_examples", "rollouts_per_example",
    "max_concurrent", "sampling_args", "pass_threshold", "until",
}  # fmt: skip


def strict(text: str) -> Any:
    """The one line that there is, as strict JSON in plain ASCII."""
    assert text.isascii() and text.count("\n") == 1 and text.endswith("\n"), text

    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=no_constant)


def object_of(done: Finished) -> dict[str, Any]:
    found: dict[str, Any] = strict(done.out)
    assert found["version"] == 1
    assert found["exit_code"] == done.code
    assert "Traceback" not in done.err
    return found


def test_a_finished_run_has_all_its_numbers(program: Program) -> None:
    done = program.run(
        "calculator", "-m", "demo", "-n", "3", "-r", "3", "-T", "0.5", "-s", "--json"
    )
    found = object_of(done)
    assert (found["status"], found["error"], found["saved"]) == ("finished", None, True)
    assert found["settings"].keys() == SETTINGS
    assert found["settings"]["sampling_args"]["temperature"] == 0.5
    assert found["counts"] == {
        "examples": 3, "examples_complete": 3, "rollouts": 9, "finished": 9, "used": 9,
        "errored": 0, "no_number": 0, "missing": 0, "truncated": 0, "refused": 0, "filtered": 0,
        "failed_tools": 0,
    }  # fmt: skip
    run = program.only_run()
    assert found["path"] == str(run.path)
    rewards = [row["reward"] for row in run.rows]
    reward = found["reward"]
    assert reward["mean"] == pytest.approx(sum(rewards) / 9)
    assert reward["std"] == run.metadata["reward_std"]
    assert reward["low"] <= reward["mean"] <= reward["high"]
    assert (reward["n"], reward["examples"], reward["method"]) == (9, 3, "t")
    assert found["per_example"] == [
        {
            "example_id": one,
            "mean": pytest.approx(sum(own) / 3),
            "std": pytest.approx(statistics.pstdev(own)),
            "used": 3,
            "errored": 0,
            "passed": sum(reward >= 0.5 for reward in own),
            "all_equal": len(set(own)) == 1,
        }
        for one in range(3)
        for own in [[row["reward"] for row in run.rows if row["example_id"] == one]]
    ]
    assert found["metrics"].keys() == run.metadata["avg_metrics"].keys()
    assert {k: v["value"] for k, v in found["pass_at_k"].items()} == run.metadata["pass_at_k"]
    assert {k: v["value"] for k, v in found["pass_all_k"].items()} == run.metadata["pass_all_k"]
    assert list(found["pass_at_k"]) == ["1", "2", "3"]
    usage = [row["token_usage"] for row in run.rows]
    assert found["tokens"]["input"] == sum(one["input_tokens"] for one in usage)
    assert found["tokens"]["total"] == found["tokens"]["input"] + found["tokens"]["output"]
    prices = ("input_price", "output_price", "cached_input_price", "cache_write_price")
    assert found["cost"] == dict.fromkeys(("usd", *prices, "list_price"))
    steps = [step["model_ms"] for row in run.rows for step in row["tui_eval"]["steps"]]
    assert found["latency"]["model_call_s"]["n"] == len(steps)
    assert min(steps) / 1000 <= found["latency"]["model_call_s"]["p50"] <= max(steps) / 1000
    calls = [call["name"] for row in run.rows for call in row["tui_eval"]["tool_calls"]]
    assert {k: v["calls"] for k, v in found["tool_calls"].items()} == {
        name: calls.count(name) for name in calls
    }
    assert sum(found["stop_conditions"].values()) == 9
    assert found["time_s"] > 0
    assert "Progress" in done.err and "Loading environment: calculator" in done.err


OUTCOMES = """
    import tui_eval as vf

    class Breaks(vf.ToolEnv):
        async def setup_state(self, state):
            if state["example_id"] == 3:
                raise vf.SandboxError("no sandbox")

    def weigh(pounds: int) -> int:
        '''Weighs.'''
        raise RuntimeError("no scale")

    def load_environment():
        return Breaks(
            dataset=[{"question": str(n)} for n in range(4)],
            tools=[weigh],
            rubric=vf.Rubric(funcs=[lambda answer, completion: 1.0]),
        )
"""


def test_what_became_of_answers_tools_and_errors_is_counted(
    program: Program, fault_server: FaultServer
) -> None:
    calls = chat_answer("", tool_calls=[tool_call("weigh", '{"pounds": 1}')])
    cut, refusal = chat_answer("I"), chat_answer("I will not")
    cut["choices"][0]["finish_reason"] = "length"
    refusal["choices"][0]["finish_reason"] = "refusal"
    replies = [calls, chat_answer("heavy"), cut, refusal]
    fault_server.script(CHAT, [Reply(body=body) for body in replies])
    program.environment("outcomes", OUTCOMES)
    arguments = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "4", "-r", "1", "-c", "1")
    found = object_of(run_here(program, "outcomes", *arguments, "--json"))
    counts = found["counts"]
    assert (counts["used"], counts["errored"], counts["truncated"]) == (3, 1, 1)
    assert counts["failed_tools"] == 1
    assert found["error_classes"] == {"sandbox": 1}
    assert found["finish_reasons"]["length"] == 1
    assert (found["reward"]["mean"], found["reward_with_errors_as_0"]) == (1.0, 0.75)


def test_what_is_printed_then_is_what_is_saved_and_reported_later(program: Program) -> None:
    done = run_here(program, "word-guess", "-m", "demo", "-n", "2", "-r", "2", "-s", "--json")
    found = object_of(done)
    run = program.only_run()
    for name, value in run.metadata["numbers"].items():
        assert value == found[name], name
    later = strict(command_here(program, "report", str(run.path), "--json").out)
    assert later["settings"] == found["settings"]
    for name in run.metadata["numbers"]:
        assert later[name] == found[name], name


def test_errored_rollouts_are_counted_by_their_exceptions(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(400, {"error": {"message": "no"}})])
    arguments = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-r", "2")
    done = run_here(program, "reverse-text", *arguments, "--json")
    found = object_of(done)
    assert (done.code, found["status"]) == (3, "finished")
    assert found["errors"] == {"ModelError -> BadRequestError": 4}
    assert (found["counts"]["used"], found["counts"]["errored"]) == (0, 4)
    assert found["reward"]["mean"] is None
    assert found["pass_at_k"] == {}


@pytest.mark.parametrize(
    ("args", "where"),
    [
        (["reverse-text", "-m", "demo", "-n", "many"], "-n/--num-examples"),
        (["no-such-environment", "-m", "demo"], "no-such-environment"),
        (["reverse-text", "--no-such-flag"], "command line"),
        (["run"], "command line"),
    ],
)
def test_a_refusal_lists_its_faults(program: Program, args: list[str], where: str) -> None:
    start = command_here if where == "command line" else Program.run
    done = start(program, *args, "--json")
    found = object_of(done)
    assert (done.code, found["status"]) == (2, "refused")
    assert any(where in fault["where"] + fault["what"] for fault in found["faults"]), found
    assert done.err


def test_an_interrupted_run_says_so(program: Program, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes")), Reply(hang=True)])
    arguments = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "3", "-r", "1", "-s", "--json")
    process = program.start("reverse-text", *arguments)
    wait_until(lambda: (r := program.runs()) and r[0].rows, "a row is there")
    process.send_signal(signal.SIGINT)
    done = program.finish(process)
    found = object_of(done)
    assert (done.code, found["status"], found["resumable"]) == (130, "interrupted", True)
    assert f"Resume: tui-eval run --resume {found['path']}" in done.err
    assert (found["counts"]["used"], found["counts"]["missing"]) == (1, 2)


def test_a_run_that_fails_says_why(program: Program) -> None:
    program.environment(
        "killer",
        """
        import os
        import tui_eval as vf

        class Killer(vf.SingleTurnEnv):
            async def setup_state(self, state):
                os.kill(os.getppid(), 9)  # the engine

        def load_environment():
            return Killer(dataset=[{"question": "?"}], rubric=vf.Rubric(funcs=[]))
        """,
    )
    done = program.run("killer", "-m", "demo", "-n", "1", "-r", "1", "--json")
    found = object_of(done)
    assert (done.code, found["status"]) == (1, "failed")
    assert "was killed (signal 9" in found["error"]


def test_a_signal_before_the_run_leaves_an_object_all_the_same(program: Program) -> None:
    program.environment("slow", "import time\ntime.sleep(30)\n")
    process = program.start("slow", "-m", "demo", "--json")
    assert process.stderr is not None
    assert "Loading environment: slow" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    found = object_of(program.finish(process))
    assert (found["status"], found["exit_code"]) == ("interrupted", 130)
