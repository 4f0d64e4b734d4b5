"""Settings of an evaluation, each observed by what it does at a server or on disk."""

from __future__ import annotations

import json
import signal

import pytest
from command_here import command_here
from multi_turn_runs import CHAT, GOOD, TALK, at
from program import Program, wait_until
from run_here import run_here
from servers import FaultServer, Reply


@pytest.fixture
def talk(program: Program, fault_server: FaultServer) -> Program:
    program.environment("talk", TALK)
    fault_server.script(CHAT, [GOOD])
    return program


def test_settings_of_the_environment_replace_those_of_its_constructor(
    talk: Program, fault_server: FaultServer
) -> None:
    replaced = json.dumps({"max_turns": 2, "system_prompt": "new", "own": [1]})
    done = run_here(talk, *at(fault_server, "-n", "1", "-r", "2", "-x", replaced))
    assert done.code == 0, done
    assert len(fault_server.requests) == 4
    for request in fault_server.requests:
        assert request.json()["messages"][0] == {"role": "system", "content": "new"}
    for row in talk.only_run().rows:
        assert row["stop_condition"] == "max_turns_reached"
        assert row["prompt"][0] == {"role": "system", "content": "new"}


IRREPLACEABLE = {
    "{ max_trns = 2 }": "talk has no setting 'max_trns'. Did you mean max_turns",
    "{ _stops = [] }": "talk has no setting '_stops'",
    "{ size = 2 }": "size is used while talk is made, and cannot be replaced afterwards",
    "{ rubric = {} }": "which JSON cannot replace",
    "{ rollout = 1 }": "rollout of talk is a method, which JSON cannot replace",
    '{ max_turns = "2" }': "max_turns of talk is a number, not '2'",
}


def test_settings_that_cannot_be_replaced_are_refused(
    talk: Program, fault_server: FaultServer
) -> None:
    lines = ['model = "m"', 'env_id = "talk"', f'api_base_url = "{fault_server.url}/v1"']
    lines += [f"[[eval]]\nextra_env_kwargs = {settings}" for settings in IRREPLACEABLE]
    (talk.folder / "all.toml").write_text("\n".join(lines))
    done = run_here(talk, "all.toml")
    assert done.code == 2, done
    for number, said in enumerate(IRREPLACEABLE.values()):
        place = f"all.toml:{5 + 2 * number}, extra_env_kwargs"
        assert [line for line in done.err.splitlines() if place in line and said in line], done
    done = run_here(talk, *at(fault_server, "-x", '{"max_trns": 2}'))
    assert done.code == 2, done
    assert IRREPLACEABLE["{ max_trns = 2 }"] in done.err
    assert not talk.runs()


def test_a_bundled_environment_takes_other_settings(program: Program) -> None:
    replaced = json.dumps({"max_turns": 1, "system_prompt": "Guess."})
    done = run_here(program, "word-guess", "-m", "demo", "-n", "2", "-r", "1", "-s", "-x", replaced)
    assert done.code == 0, done
    for row in program.only_run().rows:
        assert row["prompt"][0] == {"role": "system", "content": "Guess."}
        assert len([one for one in row["completion"] if one["role"] == "assistant"]) == 1


def test_independent_scoring_without_a_look_beforehand_lets_group_functions_fail_visibly(
    talk: Program, fault_server: FaultServer
) -> None:
    grouped = json.dumps({"grouped": True})
    args = ("-n", "1", "-r", "2", "-a", grouped, "-i", "--no-preflight")
    done = run_here(talk, *at(fault_server, *args))
    assert done.code == 3, done
    for row in talk.only_run().rows:
        assert "needs all rollouts of the example" in json.dumps(row["error"])


def test_examples_are_taken_in_the_order_of_the_seed(
    talk: Program, fault_server: FaultServer
) -> None:
    taken = []
    for seed in ("7", "7", "8"):
        fault_server.requests.clear()
        args = at(fault_server, "-n", "4", "-r", "1", "-c", "1", "--shuffle")
        done = run_here(talk, *args, "--shuffle-seed", seed)
        assert done.code == 0, done
        questions = [one.json()["messages"][1]["content"] for one in fault_server.requests]
        taken.append(list(dict.fromkeys(questions)))
    assert taken[0] == taken[1] != taken[2]
    assert taken[0] != ["0", "1", "2", "3"]
    saved = [[str(row["example_id"]) for row in run.rows] for run in talk.runs()]
    assert sorted(saved) == sorted(taken)


def test_only_the_examples_that_are_named_run_in_that_order(
    talk: Program, fault_server: FaultServer
) -> None:
    args = at(fault_server, "-r", "2", "-c", "1")
    done = run_here(talk, *args, "--examples", "7,3")
    assert done.code == 0, done
    run = talk.only_run()
    assert [row["example_id"] for row in run.rows] == [7, 7, 3, 3]
    assert run.metadata["num_examples"] == 2
    (run.path / "results.jsonl").write_text(json.dumps(run.rows[3]) + "\n")
    resumed = run_here(talk, "run", "--resume", str(run.path))
    assert resumed.code == 0, resumed
    assert sorted(row["example_id"] for row in talk.only_run().rows) == [3, 3, 7, 7]
    others = run_here(talk, "run", "--resume", str(run.path), "--examples", "7,4")
    assert others.code == 2 and "Start a new run" in others.err
    missing = run_here(talk, *args, "--examples", "7,12,nine")
    assert missing.code == 2
    assert "its dataset has no example '12', 'nine'" in missing.err
    assert "0 to 11" in missing.err


def test_a_shuffled_run_is_resumed_in_its_order(talk: Program, fault_server: FaultServer) -> None:
    bad = Reply(400, {"error": {"message": "bad"}})
    fault_server.script(CHAT, [*[GOOD] * 3, bad, GOOD])
    args = at(fault_server, "-n", "4", "-r", "1", "-c", "1", "--shuffle", "--shuffle-seed", "7")
    assert run_here(talk, *args).code == 3
    run = talk.only_run()
    ids = [row["example_id"] for row in run.rows]
    again = run_here(talk, "run", "--resume", str(run.path), "-n", "6")
    assert again.code == 0, again
    assert {row["example_id"] for row in run.rows} > set(ids)
    assert len(run.places()) == 6 == len(set(run.places()))


PRICES = """
[[endpoint]]
endpoint_id = "priced"
model = "m"
url = "URL/v1"
input_price = 100
output_price = 200
"""


@pytest.mark.parametrize(
    ("limit", "calls", "why"),
    [
        (("--max-total-tokens", "70"), 5, "75 tokens are used, the limit is 70"),
        (("--max-cost", "0.007"), 4, "$0.0080 is spent, the limit is $0.0070"),
    ],
)
def test_a_spent_budget_stops_softly_and_the_run_is_resumed_with_another(
    talk: Program, fault_server: FaultServer, limit: tuple[str, str], calls: int, why: str
) -> None:
    registry = talk.folder / "prices.toml"
    registry.write_text(PRICES.replace("URL", fault_server.url))
    args = ["talk", "-m", "priced", "-e", str(registry), "-s", "-n", "6", "-r", "1", "-c", "1"]
    done = run_here(talk, *args, *limit)
    assert done.code == 4, done
    assert f"No further calls begin: {why}" in done.err
    assert f"Stopped: {why}. 1 of 6 rollouts are done." in done.out
    run = talk.only_run()
    assert f"Resume: tui-eval run --resume {run.path}" in done.out
    assert run.metadata["status"] == "stopped: budget"
    assert run.metadata["stopped_because"] == why
    assert len(fault_server.requests) == calls, "only what is in flight finishes"
    opened = command_here(talk, "open", str(run.path))
    assert f"Stopped: {why}. 1 of 6 rollouts are done." in opened.out
    report = json.loads(run_here(talk, "run", "--resume", str(run.path), *limit, "--json").out)
    assert (report["status"], report["exit_code"]) == ("stopped: budget", 4)
    assert (report["error"], report["resumable"]) == (why, True)
    assert len(fault_server.requests) == calls, "it is spent already"
    again = run_here(talk, "run", "--resume", str(run.path), limit[0], "1000")
    assert again.code == 0, again
    assert len(run.rows) == 6
    assert "stopped_because" not in run.metadata


def test_a_budget_that_is_spent_by_the_last_rollout_stops_nothing(
    talk: Program, fault_server: FaultServer
) -> None:
    done = run_here(talk, *at(fault_server, "-n", "1", "-r", "1", "--max-total-tokens", "35"))
    assert done.code == 0, done


ORDERED = """
    import pathlib
    import tui_eval as vf

    class Env(vf.SingleTurnEnv):
        async def setup_state(self, state):
            note("generated")
            return state

    def note(what):
        with open("order", "a") as file:
            file.write(what + chr(10))

    async def each(completion):
        note("scored")
        return 1.0

    async def together(completions):
        note("scored")
        return [1.0] * len(completions)

    def load_environment(grouped=False):
        rows = [{"question": str(n)} for n in range(4)]
        return Env(dataset=rows, rubric=vf.Rubric(funcs=[together if grouped else each]))
"""


@pytest.mark.parametrize("grouped", [False, True])
def test_scoring_waits_until_all_are_generated(
    program: Program, fault_server: FaultServer, grouped: bool
) -> None:
    program.environment("talk", ORDERED)
    fault_server.script(CHAT, [GOOD])
    args = ("-n", "4", "-r", "2", "-c", "2", "-N", "-a", json.dumps({"grouped": grouped}))
    done = run_here(program, *at(fault_server, *args))
    assert done.code == 0, done
    order = (program.folder / "order").read_text().split()
    assert order == ["generated"] * 8 + ["scored"] * (4 if grouped else 8)
    run = program.only_run()
    assert len(run.rows) == 8
    assert not (run.path / "journal.jsonl").exists()


@pytest.mark.parametrize("grouped", [False, True])
def test_what_is_generated_and_not_scored_outlives_a_stop(
    program: Program, fault_server: FaultServer, grouped: bool
) -> None:
    program.environment("talk", ORDERED)
    fault_server.script(CHAT, [*[GOOD] * 5, Reply(hang=True)])
    args = ("-n", "4", "-r", "2", "-c", "1", "-N", "-a", json.dumps({"grouped": grouped}))
    process = program.start(*at(fault_server, *args))
    wait_until(lambda: len(fault_server.requests) == 6, "one hangs")
    process.send_signal(signal.SIGTERM)
    assert program.finish(process).code == 130
    run = program.only_run()
    assert run.rows == []
    fault_server.script(CHAT, [GOOD])
    again = run_here(program, "run", "--resume", str(run.path))
    assert again.code == 0, again
    assert len(fault_server.requests) == 9, "three were left"
    assert len(run.places()) == 8 == len(set(run.places()))
    order = (program.folder / "order").read_text().split()
    assert order.index("scored") == len(order) - order.count("scored")
