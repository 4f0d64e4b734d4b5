"""Settings of an evaluation, each observed by what it does at a server or on disk."""

from __future__ import annotations

import json
import signal

import pytest
from program import Program, Run, chat_answer, wait_until
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))

TALK = """
    import tui_eval as vf

    class Talk(vf.MultiTurnEnv):
        def __init__(self, size=12, own=None, **kwargs):
            self.own = own
            rows = [{"question": str(n)} for n in range(size)]
            super().__init__(dataset=rows, **kwargs)

        async def env_response(self, messages, state):
            return [{"role": "user", "content": "go on"}]

    def together(completions):
        return [1.0] * len(completions)

    def load_environment(grouped=False):
        funcs = [together] if grouped else [lambda completion: 1.0]
        return Talk(max_turns=3, system_prompt="old", rubric=vf.Rubric(funcs=funcs))
"""


@pytest.fixture
def talk(program: Program, fault_server: FaultServer) -> Program:
    program.environment("talk", TALK)
    fault_server.script(CHAT, [GOOD])
    return program


def at(server: FaultServer, *args: str) -> list[str]:
    return ["talk", "-m", "m", "-b", f"{server.url}/v1", "-s", *args]


def test_settings_of_the_environment_replace_those_of_its_constructor(
    talk: Program, fault_server: FaultServer
) -> None:
    replaced = json.dumps({"max_turns": 2, "system_prompt": "new", "own": [1]})
    done = talk.run(*at(fault_server, "-n", "1", "-r", "2", "-x", replaced))
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
    done = talk.run("all.toml")
    assert done.code == 2, done
    for number, said in enumerate(IRREPLACEABLE.values()):
        place = f"all.toml:{5 + 2 * number}, extra_env_kwargs"
        assert [line for line in done.err.splitlines() if place in line and said in line], done
    done = talk.run(*at(fault_server, "-x", '{"max_trns": 2}'))
    assert done.code == 2, done
    assert IRREPLACEABLE["{ max_trns = 2 }"] in done.err
    assert not talk.runs()


def test_a_bundled_environment_takes_other_settings(program: Program) -> None:
    replaced = json.dumps({"max_turns": 1, "system_prompt": "Guess."})
    done = program.run("word-guess", "-m", "demo", "-n", "2", "-r", "1", "-s", "-x", replaced)
    assert done.code == 0, done
    for row in program.only_run().rows:
        assert row["prompt"][0] == {"role": "system", "content": "Guess."}
        assert len([one for one in row["completion"] if one["role"] == "assistant"]) == 1


def test_independent_scoring_without_a_look_beforehand_lets_group_functions_fail_visibly(
    talk: Program, fault_server: FaultServer
) -> None:
    grouped = json.dumps({"grouped": True})
    args = ("-n", "1", "-r", "2", "-a", grouped, "-i", "--no-preflight")
    done = talk.run(*at(fault_server, *args))
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
        done = talk.run(*args, "--shuffle-seed", seed)
        assert done.code == 0, done
        asked = [one.json()["messages"][1]["content"] for one in fault_server.requests]
        taken.append(list(dict.fromkeys(asked)))
    assert taken[0] == taken[1] != taken[2]
    assert taken[0] != ["0", "1", "2", "3"]
    saved = [[str(row["example_id"]) for row in run.rows] for run in talk.runs()]
    assert sorted(saved) == sorted(taken)


def test_only_the_examples_that_are_named_run_in_that_order(
    talk: Program, fault_server: FaultServer
) -> None:
    args = at(fault_server, "-r", "2", "-c", "1")
    done = talk.run(*args, "--examples", "7,3")
    assert done.code == 0, done
    run = talk.only_run()
    assert [row["example_id"] for row in run.rows] == [7, 7, 3, 3]
    assert run.metadata["num_examples"] == 2
    (run.path / "results.jsonl").write_text(json.dumps(run.rows[3]) + "\n")
    resumed = talk.run("run", "--resume", str(run.path))
    assert resumed.code == 0, resumed
    assert sorted(row["example_id"] for row in talk.only_run().rows) == [3, 3, 7, 7]
    others = talk.run("run", "--resume", str(run.path), "--examples", "7,4")
    assert others.code == 2 and "Start a new run" in others.err
    missing = talk.run(*args, "--examples", "7,12,nine")
    assert missing.code == 2
    assert "its dataset has no example '12', 'nine'" in missing.err
    assert "0 to 11" in missing.err


def test_a_shuffled_run_goes_on_in_its_order(talk: Program, fault_server: FaultServer) -> None:
    bad = Reply(400, {"error": {"message": "bad"}})
    fault_server.script(CHAT, [*[GOOD] * 3, bad, GOOD])
    args = at(fault_server, "-n", "4", "-r", "1", "-c", "1", "--shuffle", "--shuffle-seed", "7")
    assert talk.run(*args).code == 3
    run = talk.only_run()
    ids = [row["example_id"] for row in run.rows]
    again = talk.run("run", "--resume", str(run.path), "-n", "6")
    assert again.code == 0, again
    assert {row["example_id"] for row in run.rows} > set(ids)
    assert len(run.places()) == 6 == len(set(run.places()))


SLOW = """
    import asyncio, pathlib
    import tui_eval as vf

    class Slow(vf.MultiTurnEnv):
        async def env_response(self, messages, state):
            if state["answer"] == "hangs":
                await asyncio.sleep(60)
            if state["answer"] == "deaf":
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    pass
            return [{"role": "user", "content": "more"}]

        @vf.cleanup
        async def leave_a_mark(self, state):
            pathlib.Path(f"cleaned-{state['answer']}").touch()

    async def score(completion):
        await asyncio.sleep(1.2)
        return 1.0

    def load_environment():
        rows = [{"question": a, "answer": a} for a in ("good", "hangs", "deaf")]
        return Slow(max_turns=2, dataset=rows, rubric=vf.Rubric(funcs=[score]))
"""


def test_a_rollout_that_takes_too_long_ends_with_what_was_said(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("talk", SLOW)
    fault_server.script(CHAT, [GOOD])
    done = program.run(*at(fault_server, "-n", "3", "-r", "1", "--timeout", "1"))
    assert done.code == 3, done
    rows = {row["answer"]: row for row in program.only_run().rows}
    assert rows["good"]["reward"] == 1.0, "scoring takes longer, and is not counted"
    for answer in ("hangs", "deaf"):
        row = rows[answer]
        assert row["stop_condition"] == "timeout_reached"
        assert "RolloutTimeoutError" in json.dumps(row["error"])
        assert row["completion"][0] == {"role": "assistant", "content": "yes"}
        assert 900 < row["timing"]["generation_ms"] < 5000
        assert (program.folder / f"cleaned-{answer}").exists()
    assert len(fault_server.requests) == 4, "nothing is asked once the time is up"


def test_an_endpoint_that_never_answers_meets_the_timeout(
    talk: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD, Reply(hang=True)])
    done = talk.run(*at(fault_server, "-n", "1", "-r", "1", "--timeout", "0.5"))
    assert done.code == 3, done
    (row,) = talk.only_run().rows
    assert [one["content"] for one in row["completion"]] == ["yes", "go on"]
    assert row["stop_condition"] == "timeout_reached"


OWN_ROLLOUT = """
    import asyncio, pathlib
    import tui_eval as vf

    class Own(vf.Environment):
        async def rollout(self, input, client, model, sampling_args=None):
            state = await self.init_state(input, client, model, sampling_args)
            await asyncio.sleep(60)
            return state

        @vf.cleanup
        async def leave_a_mark(self, state):
            pathlib.Path("cleaned").touch()

    def load_environment():
        return Own(dataset=[{"question": "a"}])
"""


def test_a_rollout_of_ones_own_meets_the_timeout_and_is_cleaned_up(program: Program) -> None:
    program.environment("own", OWN_ROLLOUT)
    done = program.run("own", "-m", "demo", "-n", "1", "-r", "1", "-s", "--timeout", "0.3")
    assert done.code == 3, done
    (row,) = program.only_run().rows
    assert row["stop_condition"] == "timeout_reached"
    assert row["completion"] == []
    assert (program.folder / "cleaned").exists()


def test_the_wait_before_a_request_is_tried_again_is_not_counted(
    talk: Program, fault_server: FaultServer
) -> None:
    busy = Reply(429, {"error": {"message": "busy"}}, headers={"Retry-After": "4"})
    fault_server.script(CHAT, [busy, GOOD])
    done = talk.run(*at(fault_server, "-n", "1", "-r", "1", "--timeout", "3.5"))
    assert done.code == 0, done


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
def test_a_spent_budget_stops_softly_and_the_run_goes_on_with_another(
    talk: Program, fault_server: FaultServer, limit: tuple[str, str], calls: int, why: str
) -> None:
    registry = talk.folder / "prices.toml"
    registry.write_text(PRICES.replace("URL", fault_server.url))
    args = ["talk", "-m", "priced", "-e", str(registry), "-s", "-n", "6", "-r", "1", "-c", "1"]
    done = talk.run(*args, *limit)
    assert done.code == 4, done
    assert f"No further calls begin: {why}" in done.err
    assert f"Stopped: {why}. 1 of 6 rollouts are done." in done.out
    run = talk.only_run()
    assert f"Go on: tui-eval run --resume {run.path}" in done.out
    assert run.metadata["status"] == "stopped: budget"
    assert run.metadata["stopped_because"] == why
    assert len(fault_server.requests) == calls, "only what is in flight finishes"
    opened = talk.run("open", str(run.path))
    assert f"Stopped: {why}. 1 of 6 rollouts are done." in opened.out
    told = json.loads(talk.run("run", "--resume", str(run.path), *limit, "--json").out)
    assert (told["status"], told["exit_code"]) == ("stopped: budget", 4)
    assert (told["error"], told["resumable"]) == (why, True)
    assert len(fault_server.requests) == calls, "it is spent already"
    again = talk.run("run", "--resume", str(run.path), limit[0], "1000")
    assert again.code == 0, again
    assert len(run.rows) == 6
    assert "stopped_because" not in run.metadata


def test_a_budget_that_is_spent_by_the_last_rollout_stops_nothing(
    talk: Program, fault_server: FaultServer
) -> None:
    done = talk.run(*at(fault_server, "-n", "1", "-r", "1", "--max-total-tokens", "35"))
    assert done.code == 0, done


COUNTING = """
    import asyncio
    import tui_eval as vf

    at_once = {"scoring": 0, "flight": 0}
    most = dict(at_once)

    def move(name, by):
        at_once[name] += by
        most[name] = max(most[name], at_once[name])

    class Counting(vf.SingleTurnEnv):
        async def setup_state(self, state):
            move("flight", 1)
            return state

    async def each(state):
        move("scoring", 1)
        await asyncio.sleep(0.1)
        move("scoring", -1)
        move("flight", -1)
        state["most"] = dict(most)
        return 1.0

    async def together(states):
        move("scoring", len(states))
        await asyncio.sleep(0.1)
        move("scoring", -len(states))
        for state in states:
            state["most"] = dict(most)
        return [1.0] * len(states)

    def load_environment(grouped=False):
        rows = [{"question": str(n)} for n in range(12)]
        return Counting(dataset=rows, rubric=vf.Rubric(funcs=[together if grouped else each]))
"""


def most_of(run: Run) -> dict[str, int]:
    seen = [row["most"] for row in run.rows]
    return {name: max(one[name] for one in seen) for name in seen[0]}


@pytest.fixture
def counting(program: Program, fault_server: FaultServer) -> Program:
    program.environment("talk", COUNTING)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.1)])
    return program


def test_rollouts_are_generated_so_many_at_a_time(
    counting: Program, fault_server: FaultServer
) -> None:
    limit = ("-c", "1", "--max-concurrent-generation", "2")
    done = counting.run(*at(fault_server, "-n", "12", "-r", "1", "-C", "most", *limit))
    assert done.code == 0, done
    assert fault_server.most_at_once == 2
    most = most_of(counting.only_run())
    assert most["flight"] > 2
    assert most["scoring"] == 1


@pytest.mark.parametrize(("grouped", "least"), [(False, 3), (True, 2)])
def test_rollouts_are_scored_so_many_at_a_time(
    counting: Program, fault_server: FaultServer, grouped: bool, least: int
) -> None:
    args = ("-a", json.dumps({"grouped": grouped}), "--max-concurrent-scoring", "3", "-C", "most")
    done = counting.run(*at(fault_server, "-n", "6", "-r", "2", *args))
    assert done.code == 0, done
    assert least <= most_of(counting.only_run())["scoring"] <= 3
    assert fault_server.most_at_once == 12


def test_an_endpoint_gets_no_more_than_its_own_limit_and_others_stay_busy(
    counting: Program, fault_server: FaultServer
) -> None:
    one = '[[endpoint]]\nendpoint_id = "two"\nmodel = "m"\nurl = "URL/v1"\nmax_concurrent = N\n'
    registry = counting.folder / "two.toml"
    with FaultServer() as other:
        other.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.1)])
        both = [(fault_server.url, "1"), (other.url, "4")]
        registry.write_text("".join(one.replace("URL", u).replace("N", n) for u, n in both))
        args = ("-m", "two", "-e", str(registry), "-n", "12", "-r", "1", "-C", "most")
        done = counting.run("talk", *args, "-s")
        assert done.code == 0, done
        assert (fault_server.most_at_once, other.most_at_once) == (1, 4)
        assert len(other.requests) >= 8, "the faster one does not wait for the other"


def test_a_request_that_is_tried_again_lends_all_slots(
    counting: Program, fault_server: FaultServer
) -> None:
    busy = Reply(429, {"error": {"message": "busy"}}, headers={"Retry-After": "0.3"})
    fault_server.script(CHAT, [busy, *[GOOD] * 4, busy, GOOD])
    limits = ("-c", "2", "--max-concurrent-generation", "1", "--max-concurrent-scoring", "1")
    done = counting.run(*at(fault_server, "-n", "6", "-r", "2", *limits, "-C", "most"))
    assert done.code == 0, done
    assert fault_server.most_at_once == 1
    assert most_of(counting.only_run())["scoring"] == 1


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
    done = program.run(*at(fault_server, *args))
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
    again = program.run("run", "--resume", str(run.path))
    assert again.code == 0, again
    assert len(fault_server.requests) == 9, "three were left"
    assert len(run.places()) == 8 == len(set(run.places()))
    order = (program.folder / "order").read_text().split()
    assert order.index("scored") == len(order) - order.count("scored")
