"""Flags of `tui-eval agent`, in every spelling, each by what it does at a server or on disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from agent_here import agent_here
from program import Finished, Program, chat_answer, tool_call
from servers import FaultServer, Reply

PROJECT = Path(__file__).parents[1] / "osmosis_projects" / "calculator"
CHAT = "/v1/chat/completions"
SEVEN = Reply(body=chat_answer("It is 7"))
CALLS = Reply(body=chat_answer("", tool_calls=[tool_call("add", '{"a": 3, "b": 4}')]))
REFUSED = Reply(400, {"error": {"message": "no"}})
AGENT = "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward"


@pytest.fixture
def calculator(program: Program, fault_server: FaultServer) -> Program:
    shutil.copytree(PROJECT, program.folder, dirs_exist_ok=True)
    fault_server.script(CHAT, [SEVEN])
    return program


def agent(program: Program, words: str) -> Finished:
    return agent_here(program, *words.split())


def results(program: Program) -> Any:
    return json.loads((program.folder / "out.json").read_text())


@pytest.mark.parametrize(
    "flags",
    [
        "-m server:agent_loop -d test_data.jsonl -b URL -k MY_KEY -s -v -q",
        "--module server:agent_loop --dataset test_data.jsonl --base-url URL --api-key-var MY_KEY "
        "--save-results --verbose --quiet",
    ],
)
def test_agent_everyday_flags(calculator: Program, fault_server: FaultServer, flags: str) -> None:
    calculator.env["MY_KEY"] = "sk-of-the-flag"
    flags = flags.replace("URL", f"{fault_server.url}/v1")
    words = f"{flags} --model org/m --eval-fn rewards:compute_reward"
    done = calculator.run("agent", *words.split())
    assert done.code == 0, done
    bodies = [request.json() for request in fault_server.requests]
    requested = [body["messages"][1]["content"] for body in bodies]
    assert requested == ["What is 3 + 4?", "What is 10 / 4?", "What is 8 + 8?"], "dataset, URL"
    assert [tool["function"]["name"] for tool in bodies[0]["tools"]] == ["add", "divide"], "module"
    assert {body["model"] for body in bodies} == {"org/m"}
    (auth,) = {request.headers["Authorization"] for request in fault_server.requests}
    assert auth == "Bearer sk-of-the-flag", "key"
    run = calculator.only_run()
    assert run.path.is_relative_to(calculator.folder / "outputs"), "save"
    assert [row["reward"] for row in run.rows] == [1.0, 0.0, 0.0]
    assert "What is 8 + 8?" in done.err, "verbose"
    assert done.out.split()[:2] == ["Examples:", "3,"] and "Results:" not in done.out, "quiet"


@pytest.mark.parametrize(("registry", "output"), [("-e", "-o"), ("--endpoints-path", "--output")])
def test_registry_and_scores(
    calculator: Program, fault_server: FaultServer, registry: str, output: str
) -> None:
    (calculator.folder / "r.toml").write_text(
        f'[[endpoint]]\nendpoint_id = "mini"\nmodel = "org/mini"\nurl = "{fault_server.url}/v1"\n'
    )
    flags = f"{registry} r.toml --model mini {output} out.json --eval-fn rewards:partial_match"
    done = agent(calculator, f"{AGENT} {flags} --n 2 --pass-threshold 0.5")
    assert done.code == 0, done
    assert {request.json()["model"] for request in fault_server.requests} == {"org/mini"}
    reported = results(calculator)
    assert reported["config"]["pass_threshold"] == 0.5
    assert [len(row["runs"]) for row in reported["rows"]] == [2, 2, 2], "--n"
    near = reported["summary"]["eval_fns"]["rewards:partial_match"]
    assert near["mean"] == pytest.approx((1 + 0.55 + 0.1) / 3), "each --eval-fn scores"
    assert near["pass_at_1"] == pytest.approx(2 / 3), "0.55 passes"


def test_an_agent_gets_its_turns(calculator: Program, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [CALLS])
    served = f"--api-base-url {fault_server.url}/v1"
    done = agent(calculator, f"{AGENT} --model m {served} --limit 1 --max-turns 2 -s")
    assert done.code == 0, done
    assert len(fault_server.requests) == 2
    (row,) = calculator.only_run().rows
    assert row["stop_condition"] == "max_turns"


def test_a_run_that_failed_is_run_again(calculator: Program, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [Reply(200, {"choices": []}), SEVEN])
    done = agent(
        calculator, f"{AGENT} --model m -b {fault_server.url}/v1 --limit 1 --max-retries 1 -s"
    )
    assert done.code == 0, done
    (row,) = calculator.only_run().rows
    assert (row["reward"], row["tui_eval"]["attempt"]) == (1.0, 2)


def test_a_run_is_resumed(calculator: Program, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [REFUSED, SEVEN])
    assert agent(calculator, f"{AGENT} --model m -b {fault_server.url}/v1 -s").code == 3
    run = calculator.only_run()
    requested = len(fault_server.requests)
    kept = agent(calculator, f"-R {run.path} --keep-errors")
    assert (kept.code, len(fault_server.requests)) == (3, requested), kept
    less = agent(calculator, f"--resume {run.path} --limit 2 --n 1")
    assert "--limit is 2, the run has 3 examples" in less.err
    changed = agent(calculator, f"{AGENT} -R {run.path} --temperature 0.5")
    assert changed.code == 2
    assert "Resume all the same with --accept-changes" in changed.err
    done = agent(calculator, f"{AGENT} --resume {run.path} --temperature 0.5 --accept-changes")
    assert done.code == 0, done
    (request,) = fault_server.requests[requested:]
    assert request.json()["temperature"] == 0.5
    assert run.places() == [(0, 0), (1, 0), (2, 0)]


def test_the_newest_run_is_resumed_without_being_named(
    calculator: Program, fault_server: FaultServer
) -> None:
    none = agent(calculator, "--resume")
    assert none.code == 2
    assert "--resume: no incomplete run of an agent loop was begun in this folder" in none.err
    assert "-m, -d, --model and --eval-fn" in none.err
    fault_server.script(CHAT, [SEVEN, SEVEN, SEVEN, REFUSED, SEVEN, SEVEN, REFUSED, SEVEN])
    served = f"-b {fault_server.url}/v1"
    assert agent(calculator, f"{AGENT} --model done {served} -s").code == 0
    assert agent(calculator, f"{AGENT} --model old {served} -s").code == 3
    assert agent(calculator, f"{AGENT} --model new {served}").code == 3
    elsewhere = calculator.folder / "elsewhere"
    elsewhere.mkdir()
    calculator.folder, here = elsewhere, calculator.folder
    other = agent(calculator, "--resume")
    assert other.code == 2
    assert f"tui-eval agent --resume {calculator.state}" in other.err, "begun elsewhere, unsaved"
    calculator.folder = here
    requested = len(fault_server.requests)
    changed = agent(calculator, "--resume --temperature 0.5")
    assert changed.code == 2 and "Resume all the same with --accept-changes" in changed.err
    done = agent(calculator, "--resume --json")
    assert done.code == 0, done
    assert "Resuming the unsaved run" in done.err and "3 of 3 done, 1 of them errored" in done.err
    assert json.loads(done.out)["status"] == "finished"
    assert agent(calculator, "-R -m server:agent_loop -q").code == 0
    models = [one.json()["model"] for one in fault_server.requests[requested:]]
    assert models == ["new", "old"], "the newest first, and none that is complete"
    assert agent(calculator, "--resume").code == 2, "nothing is left"


def test_a_model_that_is_not_listed_is_warned_of_and_requested(
    calculator: Program, fault_server: FaultServer
) -> None:
    fault_server.script("/v1/models", [Reply(body={"data": [{"id": "org/model"}]})])
    line = f"{AGENT} --model openai/org/modl -b {fault_server.url}/v1 --limit 1"
    done = agent(calculator, line)
    assert done.code == 0, done
    assert "does not list the model 'org/modl', and may not serve it" in done.err
    assert "Did you mean org/model?" in done.err
    before = len(fault_server.requests)
    assert agent(calculator, f"{line} --no-preflight").code == 0
    (request,) = fault_server.requests[before:]
    assert request.json()["model"] == "org/modl"


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/served", "OPENAI_BASE_URL"),
        ("served", "OPENAI_BASE_URL"),
        ("gpt-served", "OPENAI_BASE_URL"),
        ("served", "OPENAI_API_BASE"),
    ],
)
def test_models_of_openai_are_where_its_variable_says(
    calculator: Program, fault_server: FaultServer, name: str, variable: str
) -> None:
    calculator.env |= {variable: f"{fault_server.url}/v1", "OPENAI_API_KEY": "sk-of-it"}
    done = agent(calculator, f"{AGENT} --model {name} --limit 1 --no-preflight")
    assert done.code == 0, done
    assert {one.json()["model"] for one in fault_server.requests} == {name.removeprefix("openai/")}
    assert {one.headers["Authorization"] for one in fault_server.requests} == {"Bearer sk-of-it"}


def test_nothing_but_the_file_is_left_beside_the_scores(
    calculator: Program, fault_server: FaultServer
) -> None:
    before = {path.name for path in calculator.folder.iterdir()}
    url = f"{fault_server.url}/v1"
    done = agent(calculator, f"{AGENT} --model m -b {url} --limit 1 -o scores.json")
    assert done.code == 0, done
    left = {path.name for path in calculator.folder.iterdir()} - before
    assert left - {"state", "__pycache__"} == {"scores.json"}
