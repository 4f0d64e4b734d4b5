"""`--dry-run` says what would run, refuses what a start would refuse, and runs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_here import command_here
from program import Program, chat_answer
from servers import FaultServer, Reply

PRICED = """
[[endpoint]]
endpoint_id = "priced"
model = "m"
url = "{url}/v1"
key = "PRICED_KEY"
input_price = 2.0
output_price = 8.0
"""

TOOLS = """
    import tui_eval as vf

    print("people print here")

    def look_up(word: str, limit: int = 3) -> str:
        '''Finds a word.'''
        return word

    def right(completion, answer):
        return 1.0

    def long(completion):
        return 1.0

    def load_environment(secret_token=""):
        return vf.ToolEnv(
            tools=[look_up],
            system_prompt="Answer.",
            dataset=[{"question": "x" * 393, "answer": "b"}] * 6,
            rubric=vf.Rubric(funcs=[right, long], weights=[1.0, 0.25]),
        )
"""


@pytest.fixture(autouse=True)
def nothing_is_run(program: Program, fault_server: FaultServer) -> Iterator[None]:
    yield
    assert not program.runs()
    assert not list(program.folder.rglob("results.jsonl"))
    assert not fault_server.requests


@pytest.fixture
def priced(program: Program, fault_server: FaultServer) -> Program:
    configs = program.folder / "configs"
    configs.mkdir()
    (configs / "endpoints.toml").write_text(PRICED.format(url=fault_server.url))
    program.env["PRICED_KEY"] = "a-priced-key"
    program.environment("looking", TOOLS)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    return program


def test_the_plan_is_reported_whole_as_json(priced: Program) -> None:
    done = priced.run(
        *("looking", "-m", "priced", "-n", "4", "-r", "2", "-t", "50", "-s", "--dry-run", "--json"),
        *("-a", '{"secret_token": "hidden-one"}', "--header", "X-Key: hidden-two"),
    )
    assert done.code == 0, done
    found = json.loads(done.out)
    assert (found["status"], found["exit_code"], found["version"]) == ("planned", 0, 1)
    assert (found["examples"], found["rollouts_per_example"], found["rollouts"]) == (4, 2, 8)
    settings = {one["name"]: (one["value"], one["source"]) for one in found["settings"]}
    assert settings["max_tokens"] == (50, "--max-tokens")
    assert settings["env_args"] == ({"secret_token": "***"}, "--env-args")
    assert "temperature" not in settings
    assert "hidden-" not in done.out + done.err
    assert [message["role"] for message in found["first_prompt"]] == ["system", "user"]
    (tool,) = found["tools"]
    assert tool["name"] == "look_up"
    assert list(tool["parameters"]["properties"]) == ["word", "limit"]
    weights = {one["name"]: one["weight"] for one in found["reward_functions"]}
    assert (weights["right"], weights["long"]) == (1.0, 0.25)
    estimate = found["estimate"]
    assert estimate["input_tokens"] > 400 / 4 * 8
    assert estimate["output_tokens"] == 50 * 8
    usd = (estimate["input_tokens"] * 2.0 + 400 * 8.0) / 1e6
    assert estimate["usd"] == pytest.approx(usd)
    assert "Estimated" in estimate["how"]
    assert "people print here" in done.err


def test_the_plan_is_reported_to_people(priced: Program) -> None:
    done = command_here(
        priced, "looking", "-m", "priced", "-n", "4", "-r", "2", "-t", "50", "--dry-run"
    )
    assert done.code == 0, done
    for said in (
        "Rollouts: 4 examples x 2 = 8",
        "50  (--max-tokens)",
        "[system] Answer.",
        "look_up(word: string, limit: integer)",
        "right, weight 1",
        "long, weight 0.25",
        "of prompts, about 400 of answers",
        "Cost: about $",
        " for one turn each",
        "Estimated for one model call",
        "Nothing was run",
    ):
        assert said in done.out, said


def test_what_is_not_known_is_said_to_be_unknown(program: Program) -> None:
    done = command_here(program, "reverse-text", "-m", "demo", "--dry-run")
    assert done.code == 0, done
    assert "of prompts, answers unknown without max_tokens" in done.out
    assert "Cost: unknown" in done.out
    assert "Tools: none" in done.out


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_a_dry_run_is_refused_as_a_start_is(program: Program, how: tuple[str, ...]) -> None:
    typed = ("nope", "-m", "gpt-4.1-mino", "-n", "0", *how)
    done, started = command_here(program, *typed, "--dry-run"), program.run(*typed)
    assert (done.code, done.out.replace("Loading environment: nope\n", "")) == (
        2,
        started.out.replace("Loading environment: nope\n", ""),
    )
    assert done.err == started.err.replace("Loading environment: nope\n", "")
    assert "-n/--num-examples" in done.err + done.out


def test_an_environment_that_ends_the_process_is_reported(program: Program) -> None:
    program.environment("ends", "import os; os._exit(7)")
    done = command_here(program, "ends", "-m", "demo", "--dry-run", "--json")
    assert done.code == 1, done
    assert json.loads(done.out)["status"] == "failed"
    assert "ended with 7" in done.err


def test_a_file_of_one_evaluation_is_reported_too(program: Program, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(
        'model = "demo"\n[[eval]]\nenv_id = "reverse-text"\nnum_examples = 2\n'
    )
    done = command_here(program, "one.toml", "--dry-run", "-n", "3")
    assert done.code == 0, done
    assert "warning: Beside one.toml these flags are ignored" in done.err
    assert "num_examples" in done.out and "one.toml:4" in done.out


def test_a_file_with_several_evaluations_is_planned_whole(priced: Program) -> None:
    (priced.folder / "suite.toml").write_text(
        'model = "priced"\nnum_examples = 4\nrollouts_per_example = 2\nmax_tokens = 50\n'
        'env_id = "looking"\nmax_concurrent = 6\n'
        "[[eval]]\n[[eval]]\nname = 'small'\nnum_examples = -1\nrollouts_per_example = 1\n"
    )
    done = command_here(priced, "suite.toml", "--dry-run", "--json")
    assert done.code == 0, done
    found = json.loads(done.out)
    first, second = found["evaluations"]
    assert (first["rollouts"], second["rollouts"], second["title"]) == (8, 6, "small")
    assert (found["rollouts"], found["max_concurrent"]) == (14, 6)
    for name in ("input_tokens", "output_tokens", "usd"):
        total = first["estimate"][name] + second["estimate"][name]
        assert found["estimate"][name] == pytest.approx(total)
    text = command_here(priced, "suite.toml", "--dry-run")
    assert "[2/2] small" in text.out and "Rollouts: 14, max_concurrent 6" in text.out
    assert "Nothing was run" in text.out
