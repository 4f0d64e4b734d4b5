"""`--until`: a run stops early once its rewards tell enough, and not because somebody looked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_here import command_here
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"

STEADY = """
    import tui_eval as vf

    def exact(completion, answer):
        return float(answer)

    def together(completions):
        return [1.0] * len(completions)

    def load_environment(rewards=(1.0,), size=200, grouped=False):
        rows = [{"question": str(n), "answer": str(rewards[n % len(rewards)])} for n in range(size)]
        funcs = [together] if grouped else [exact]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=funcs))
"""

UNTIL = ("--until", "width(reward) < 0.3")
ENOUGH = 26
"""Examples with a reward of 1 whose interval is narrower than that."""


@pytest.fixture
def steady(program: Program, fault_server: FaultServer) -> Program:
    program.environment("steady", STEADY)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    return program


def at(server: FaultServer, *args: str) -> list[str]:
    where = ["-m", "m", "-b", f"{server.url}/v1", "-n", "-1", "-s", "--no-preflight"]
    return ["steady", *where, *args]


@pytest.mark.parametrize("grouped", [False, True])
def test_a_run_stops_early_with_whole_examples_and_says_so(
    steady: Program, fault_server: FaultServer, grouped: bool
) -> None:
    env_args = json.dumps({"grouped": grouped})
    done = run_here(steady, *at(fault_server, "-r", "2", "-c", "4", "-a", env_args, *UNTIL))
    assert done.code == 0, done
    run = steady.only_run()
    assert ENOUGH <= len(run.rows) / 2 <= ENOUGH + 4, "what is in flight finishes"
    assert len(run.rows) == len(fault_server.requests)
    assert {example for example, number in run.places() if number == 0} == {
        example for example, number in run.places() if number == 1
    }, "an example that has begun is completed"
    why = run.metadata["stopped_because"]
    assert run.metadata["status"] == "stopped early"
    assert why.startswith("width(reward) = 0.2") and why.endswith(" of 200 examples")
    assert f"Stopped early: {why}." in done.out
    assert "(anytime-valid, the first " in done.out
    assert f"Resume: tui-eval run --resume {run.path}" in done.out
    opened = command_here(steady, "report", str(run.path))
    assert f"Stopped early: {why}." in opened.out and opened.code == 0


def test_the_json_says_that_it_stopped_early(steady: Program, fault_server: FaultServer) -> None:
    done = run_here(steady, *at(fault_server, "-r", "1", "-c", "1", *UNTIL, "--json"))
    report = json.loads(done.out)
    assert (report["status"], report["exit_code"], report["error"]) == ("stopped early", 0, None)
    assert report["stopped_early"] == f"width(reward) = 0.2897 < 0.3 after {ENOUGH} of 200 examples"
    assert "info: --until takes the order of the dataset as random" in done.err
    assert report["settings"]["until"] == UNTIL[1] and report["resumable"] is True
    assert report["counts"]["finished"] == ENOUGH and report["counts"]["missing"] == 200 - ENOUGH
    found = report["reward_anytime"]
    assert found["examples"] == ENOUGH and found["high"] - found["low"] < 0.3
    assert (report["reward"]["low"], report["reward"]["method"]) == (found["low"], "anytime")
    again = json.loads(command_here(steady, "report", "--json").out)
    assert again["reward_anytime"] == found and again["stopped_early"] == report["stopped_early"]


def test_a_run_that_stopped_early_is_resumed_with_the_rest(
    steady: Program, fault_server: FaultServer
) -> None:
    env_args = json.dumps({"size": 40})
    words = at(fault_server, "-r", "1", "-c", "1", "-a", env_args)
    assert run_here(steady, *words, *UNTIL).code == 0
    run = steady.only_run()
    assert len(run.rows) == ENOUGH
    again = run_here(steady, "run", "--resume", str(run.path), *UNTIL)
    assert again.code == 0 and "Stopped early" in again.out, again
    assert len(run.rows) == ENOUGH, "the rewards on disk tell enough already"
    whole = json.loads(run_here(steady, "run", "--resume", str(run.path), "--json").out)
    assert (whole["status"], whole["counts"]["finished"]) == ("finished", 40)
    assert whole["reward_anytime"] is None and whole["reward"]["method"] != "anytime"
    assert whole["stopped_early"] is None


def test_a_condition_that_never_holds_stops_nothing(
    steady: Program, fault_server: FaultServer
) -> None:
    args = at(fault_server, "-r", "1", "-a", '{"rewards": [0, 1], "size": 30}', *UNTIL)
    done = run_here(steady, *args, "--json", "--shuffle")
    report = json.loads(done.out)
    assert "--until" not in done.err
    assert (report["status"], report["exit_code"]) == ("finished", 0)
    assert report["counts"]["finished"] == 30 and report["stopped_early"] is None


def test_a_reward_outside_0_to_1_makes_the_condition_unusable_and_that_is_reported_once(
    steady: Program, fault_server: FaultServer
) -> None:
    args = at(fault_server, "-r", "1", "-a", '{"rewards": [1, 1, 3], "size": 60}', *UNTIL)
    done = run_here(steady, *args, "-c", "2")
    assert done.code == 0, done
    assert len(steady.only_run().rows) == 60
    warnings = [line for line in done.err.splitlines() if "warning: --until" in line]
    assert len(warnings) == 1 and "a reward of 3 is not from 0 to 1" in warnings[0]
    assert "continues to its end" in warnings[0] and "anytime" not in done.out


def test_rewards_that_are_known_to_be_outside_are_refused(
    steady: Program, fault_server: FaultServer
) -> None:
    words = at(fault_server, "-r", "1", "-a", '{"rewards": [1, 3], "size": 4}')
    assert run_here(steady, *words).code == 0
    path = str(steady.only_run().path)
    again = run_here(steady, "run", "--resume", path, "-n", "4", *UNTIL)
    assert again.code == 2, again
    assert "--until" in again.err and "3 is not from 0 to 1" in again.err


@pytest.mark.parametrize(
    ("until", "more", "said"),
    [
        ("width(rewrd) < 0.1", (), "Did you mean reward?"),
        ("width(exakt) < 0.1 and low(reward) > x", (), "character 38"),
        ("width(exakt) < 0.1", (), "Did you mean exact?"),
        ("errored > 3", (), "errored has no interval. Write one of a mean, as width(reward) < 0.1"),
        ("width(pass@1) < 0.1", (), "pass@1"),
        ("width(reward) < 0.1", ("-N",), "all rollouts are generated"),
    ],
)
def test_what_cannot_stop_a_run_is_refused_before_it_begins(
    steady: Program, fault_server: FaultServer, until: str, more: tuple[str, ...], said: str
) -> None:
    done = run_here(steady, *at(fault_server, *more, "--until", until))
    assert done.code == 2 and said in done.err and "--until" in done.err, done
    assert not fault_server.requests


def test_a_condition_of_one_evaluation_of_a_file_is_refused_before_any_begins(
    steady: Program, fault_server: FaultServer
) -> None:
    head = f'model = "m"\napi_base_url = "{fault_server.url}/v1"\nenv_id = "steady"\n'
    wrong = '[[eval]]\n[[eval]]\nrollouts_per_example = 2\nuntil = "width(rewrd) < 0.1"\n'
    (steady.folder / "two.toml").write_text(head + wrong)
    done = run_here(steady, "two.toml")
    assert done.code == 2 and "two.toml:7, until, character 7: there" in done.err, done
    assert "Did you mean reward?" in done.err
    assert not fault_server.requests


@pytest.mark.parametrize(
    ("grouped", "code"), [("true", 0), ("false", 2)], ids=["has-it", "has-it-not"]
)
def test_a_condition_is_of_what_the_environment_has_with_its_own_arguments(
    steady: Program, fault_server: FaultServer, grouped: str, code: int
) -> None:
    head = f'model = "m"\napi_base_url = "{fault_server.url}/v1"\nenv_id = "steady"\n'
    own = f'until = "width(together) < 0.1"\nenv_args = {{grouped = {grouped}, size = 4}}\n'
    (steady.folder / "two.toml").write_text(f"{head}[[eval]]\n[[eval]]\n{own}")
    done = command_here(steady, "two.toml", "--dry-run", "--no-preflight")
    assert done.code == code, done
    assert ("there is no together here" in done.err) == (code == 2)


@pytest.mark.slow
def test_every_evaluation_of_a_file_has_its_own_condition(
    steady: Program, fault_server: FaultServer
) -> None:
    path = Path(steady.folder / "two.toml")
    path.write_text(
        f'model = "m"\napi_base_url = "{fault_server.url}/v1"\nnum_examples = -1\n'
        "rollouts_per_example = 1\nmax_concurrent = 2\n"
        '[[eval]]\nenv_id = "steady"\nuntil = "width(reward) < 0.3"\n'
        '[[eval]]\nenv_id = "steady"\nenv_args = { rewards = [0, 1], size = 30 }\n'
    )
    done = steady.run("run", str(path), "--no-preflight", "--json", "-s")
    assert done.code == 0, done
    first, second = json.loads(done.out)["evaluations"]
    assert (first["status"], second["status"]) == ("stopped early", "finished")
    assert first["counts"]["finished"] < 40 and second["counts"]["finished"] == 30
    again = steady.run("run", str(path), "--no-preflight", "--resume", "--until", "none", "-s")
    assert again.code == 0, again
    assert sorted(len(run.rows) for run in steady.runs()) == [30, 200]
