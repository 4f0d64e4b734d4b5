"""Rollouts that were cut short: run to where they were with the answers that were paid for."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any, ClassVar

import pytest
from program import Program, Run, chat_answer
from servers import FaultServer, Reply

import tui_eval as vf

CHAT = "/v1/chat/completions"
HANG = Reply(hang=True)
TURNS = 4


def answers(*texts: str) -> list[Reply]:
    return [Reply(body=chat_answer(text)) for text in texts]


class Counting(vf.MultiTurnEnv):
    """Four turns; what it says after each is the number of the turn and `addition`."""

    addition = ""

    async def env_response(self, messages: Any, state: vf.State, **_: Any) -> Any:
        return [{"role": "user", "content": f"{len(state['trajectory'])}{self.addition}"}]


def length(completion: Any) -> float:
    return float(sum(len(message.content) for message in completion))


def environment(kind: type[vf.MultiTurnEnv] = Counting, rewards: Any = length) -> vf.MultiTurnEnv:
    return kind(
        dataset=[{"question": "a"}, {"question": "b"}],
        rubric=vf.Rubric([rewards]),
        max_turns=TURNS,
    )


async def evaluated(env: vf.Environment, server: FaultServer, path: Path, **more: Any) -> None:
    client = vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="", max_retries=0)
    await env.evaluate(client, "m", max_concurrent=1, results_path=path, **more)


async def stopped(
    env: vf.Environment, server: FaultServer, path: Path, script: list[Reply], **more: Any
) -> None:
    """A run that is cancelled while it waits for the last of these answers."""
    before = len(server.requests)
    server.script(CHAT, script)
    task = asyncio.create_task(evaluated(env, server, path, **more))
    async with asyncio.timeout(20):
        while len(server.requests) < before + len(script):
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def messages_since(server: FaultServer, count: int) -> list[int]:
    """How many messages each request after the first `count` ones had."""
    return [len(request.json()["messages"]) for request in server.requests[count:]]


def said(row: dict[str, Any]) -> list[str]:
    return [message["content"] for message in row["completion"]]


def used(row: dict[str, Any]) -> tuple[int, int]:
    """Tokens of the row, and those that are lost."""
    lost = row["tui_eval"].get("lost_usage", {})
    return int(row["token_usage"]["input_tokens"]), lost.get("input_tokens", 0)


async def test_no_answer_is_paid_for_twice(folder: Path, fault_server: FaultServer) -> None:
    env, path = environment(), folder / "run"
    await stopped(env, fault_server, path, [*answers("a", "bb", "ccc"), HANG])
    fault_server.script(CHAT, answers(*"defgh"))
    await evaluated(env, fault_server, path)
    assert messages_since(fault_server, 4) == [7, 1, 3, 5, 7]
    first, second = Run(path).rows
    assert said(first) == ["a", "1", "bb", "2", "ccc", "3", "d"]
    assert [used(row) for row in (first, second)] == [(40, 0), (40, 0)]
    assert first["reward"] == 10.0
    assert first["stop_condition"] == second["stop_condition"] == "max_turns_reached"
    assert first["tui_eval"]["attempt"] == 1
    assert len(first["tui_eval"]["steps"]) == TURNS
    assert not (path / "journal.jsonl").exists()


async def test_a_rollout_that_is_cut_short_again_and_again_keeps_its_answers(
    folder: Path, fault_server: FaultServer
) -> None:
    env, path = environment(), folder / "run"
    for text in "abc":
        await stopped(env, fault_server, path, [*answers(text), HANG])
    fault_server.script(CHAT, answers(*"defgh"))
    await evaluated(env, fault_server, path)
    assert said(Run(path).rows[0])[::2] == ["a", "b", "c", "d"]


async def test_from_the_first_request_that_differs_the_model_is_called(
    folder: Path, fault_server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    env, path = environment(), folder / "run"
    await stopped(env, fault_server, path, [*answers("a", "b", "c"), HANG])
    env.addition = "!"
    fault_server.script(CHAT, answers(*"BCDefgh"))
    with caplog.at_level(logging.WARNING):
        await evaluated(env, fault_server, path)
    assert messages_since(fault_server, 4)[:3] == [3, 5, 7]
    first = Run(path).rows[0]
    assert said(first) == ["a", "1!", "B", "2!", "C", "3!", "D"]
    assert used(first) == (40, 20)
    assert "continues live in turn 2: content of message 3 (user) differs" in caplog.text


async def test_who_is_not_replayable_restarts(folder: Path, fault_server: FaultServer) -> None:
    class NotReplayable(Counting):
        replayable = False

    env, path = environment(NotReplayable), folder / "run"
    await stopped(env, fault_server, path, [*answers("a", "b"), HANG])
    assert not (path / "journal.jsonl").exists()
    fault_server.script(CHAT, answers(*"abcdefgh"))
    await evaluated(env, fault_server, path)
    assert messages_since(fault_server, 3)[:2] == [1, 3]
    assert used(Run(path).rows[0]) == (40, 20)


async def test_who_ends_before_its_answers_are_used_has_lost_the_rest(
    folder: Path, fault_server: FaultServer
) -> None:
    env, path = environment(), folder / "run"
    await stopped(env, fault_server, path, [*answers("a", "b", "c"), HANG])
    env.max_turns = 1
    fault_server.script(CHAT, answers("z"))
    await evaluated(env, fault_server, path)
    assert messages_since(fault_server, 4) == [1]
    assert used(Run(path).rows[0]) == (10, 20)


async def test_calls_beside_each_other_find_their_answers_in_any_order(
    folder: Path, fault_server: FaultServer
) -> None:
    class Both(vf.SingleTurnEnv):
        texts: ClassVar = ["one", "two"]

        async def setup_state(self, state: vf.State) -> vf.State:
            prompts = [[vf.UserMessage(content=text)] for text in self.texts]
            calls = (self.get_model_response(state, prompt) for prompt in prompts)
            state["asked"] = [one.message.content for one in await asyncio.gather(*calls)]
            return state

    env = Both(dataset=[{"question": "a"}], rubric=vf.Rubric([lambda completion: 1.0]))
    path = folder / "run"
    await stopped(env, fault_server, path, [*answers("1", "2"), HANG])
    first = [request.json()["messages"][0]["content"] for request in fault_server.requests[:2]]
    Both.texts = first[::-1]
    fault_server.script(CHAT, answers("3"))
    await evaluated(env, fault_server, path, state_columns=["asked"])
    assert len(fault_server.requests) == 4
    assert Run(path).rows[0]["asked"] == ["2", "1"]


async def test_what_a_failed_attempt_was_answered_is_not_given_to_the_next(
    folder: Path, fault_server: FaultServer
) -> None:
    class FailsOnce(Counting):
        left = 1

        async def env_response(self, messages: Any, state: vf.State, **_: Any) -> Any:
            if self.left:
                FailsOnce.left -= 1
                raise vf.InfraError("not now")
            return await super().env_response(messages, state)

    env, path = environment(FailsOnce), folder / "run"
    script = [*answers(*"aAB"), HANG]
    await stopped(env, fault_server, path, script, num_examples=1, max_retries=1)
    fault_server.script(CHAT, answers("C", "D"))
    await evaluated(env, fault_server, path, num_examples=1, max_retries=1)
    (row,) = Run(path).rows
    assert said(row)[::2] == ["A", "B", "C", "D"]
    assert (used(row), row["tui_eval"]["attempt"]) == ((40, 10), 2)


async def test_who_is_stopped_at_the_same_place_again_and_again_keeps_its_answers(
    folder: Path, fault_server: FaultServer
) -> None:
    env, path = environment(), folder / "run"
    await stopped(env, fault_server, path, [*answers("a"), HANG])
    for _ in range(3):
        await stopped(env, fault_server, path, [HANG])
    fault_server.script(CHAT, answers(*"bcdefgh"))
    await evaluated(env, fault_server, path)
    assert said(Run(path).rows[0])[::2] == ["a", "b", "c", "d"]


KILLED = """
import os
import pathlib
import signal
import tui_eval as vf

class Turns(vf.MultiTurnEnv):
    async def env_response(self, messages, state):
        return [{"role": "user", "content": str(len(state["trajectory"]))}]

def load_environment(kills: int, replayable: bool = True):
    Turns.replayable = replayable
    marks = pathlib.Path("marks")

    def reward(completion):
        killed = len(marks.read_text()) if marks.exists() else 0
        if killed < kills:
            marks.write_text("x" * (killed + 1))
            os.kill(os.getppid(), signal.SIGKILL)  # the engine
            os._exit(1)
        return float(completion[-1].content)

    dataset = [{"question": "a"}]
    return Turns(dataset=dataset, rubric=vf.Rubric(funcs=[reward]), max_turns=3)
"""


def killed_while_it_is_scored(
    program: Program, server: FaultServer, kills: int, **env_args: Any
) -> Run:
    program.environment("killed", KILLED)
    server.script(CHAT, answers("1", "2", "3", "4", "5", "6"))
    more = ("-n", "1", "-r", "1", "-s", "-a", json.dumps({"kills": kills, **env_args}))
    assert program.run("killed", "-m", "m", "-b", f"{server.url}/v1", *more).code == 1
    return program.only_run()


def test_a_rollout_that_is_killed_while_it_is_scored_is_scored_without_a_model_call(
    program: Program, fault_server: FaultServer
) -> None:
    run = killed_while_it_is_scored(program, fault_server, 1)
    saved = "3 answers of 1 rollout in flight are taken from the journal: up to 45 tokens"
    looked = program.run("run", "--resume", str(run.path), "--dry-run")
    assert saved in looked.err
    resumed = program.run("run", "--resume", str(run.path))
    assert resumed.code == 0, resumed
    assert len(fault_server.requests) == 3
    assert saved in resumed.err
    assert [(row["reward"], used(row)) for row in run.rows] == [(3.0, (30, 0))]


def test_who_is_not_replayable_is_scored_from_its_record(
    program: Program, fault_server: FaultServer
) -> None:
    run = killed_while_it_is_scored(program, fault_server, 1, replayable=False)
    resumed = program.run("run", "--resume", str(run.path))
    assert resumed.code == 0, resumed
    assert len(fault_server.requests) == 3
    assert [(row["reward"], used(row)) for row in run.rows] == [(3.0, (30, 0))]
    assert said(run.rows[0]) == ["1", "1", "2", "2", "3"]
    assert run.rows[0]["stop_condition"] == "max_turns_reached"


WORKER_KILLED = KILLED.replace("os.kill(os.getppid(), signal.SIGKILL)  # the engine", "")


def test_another_worker_scores_who_is_not_replayable(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("killed", WORKER_KILLED)
    fault_server.script(CHAT, answers("1", "2", "3", "4", "5", "6"))
    more = ("-n", "1", "-r", "1", "-s", "-a", '{"kills": 1, "replayable": false}')
    done = program.run("killed", "-m", "m", "-b", f"{fault_server.url}/v1", *more)
    assert done.code == 0, done
    assert len(fault_server.requests) == 3
    assert [(row["reward"], used(row)) for row in program.only_run().rows] == [(3.0, (30, 0))]


def test_answers_after_which_the_engine_always_dies_are_given_up(
    program: Program, fault_server: FaultServer
) -> None:
    run = killed_while_it_is_scored(program, fault_server, 3)
    for _ in range(2):
        assert program.run("run", "--resume", str(run.path)).code == 1
    resumed = program.run("run", "--resume", str(run.path))
    assert resumed.code == 0, resumed
    assert "Example 0 #0 restarts: 3 times the engine ended after its same answer" in resumed.err
    assert [(row["reward"], used(row)) for row in run.rows] == [(6.0, (30, 30))]


async def test_what_an_environment_records_comes_out_as_it_did(
    folder: Path, fault_server: FaultServer
) -> None:
    drawn = iter(range(100))

    class Drawing(Counting):
        async def env_response(self, messages: Any, state: vf.State, **_: Any) -> Any:
            number = await vf.record(state, "number", lambda: next(drawn))
            return [{"role": "user", "content": f"draw {number}"}]

    env, path = environment(Drawing), folder / "run"
    await stopped(env, fault_server, path, [*answers("a", "b", "c"), HANG])
    fault_server.script(CHAT, answers(*"defgh"))
    await evaluated(env, fault_server, path)
    first, second = Run(path).rows
    assert said(first) == ["a", "draw 0", "b", "draw 1", "c", "draw 2", "d"]
    assert said(second)[1::2] == ["draw 3", "draw 4", "draw 5"]
    assert len(fault_server.requests) == 4 + 5


async def test_a_result_that_json_does_not_carry_is_refused_by_name(
    folder: Path, fault_server: FaultServer
) -> None:
    class Odd(Counting):
        async def env_response(self, messages: Any, state: vf.State, **_: Any) -> Any:
            await vf.record(state, "lock", object)

    path = folder / "run"
    fault_server.script(CHAT, answers(*"ab"))
    await evaluated(environment(Odd), fault_server, path)
    assert "a result is kept as JSON, and this one is a object" in str(Run(path).rows[0]["error"])


async def test_a_tool_that_changes_the_world_is_not_called_again(
    folder: Path, fault_server: FaultServer
) -> None:
    booked: list[str] = []

    @vf.tool(replay="recorded")
    def book(room: str) -> str:
        booked.append(room)
        return f"{room} is booked as number {len(booked)}"

    def look(room: str) -> str:
        looked.append(room)
        return "free"

    looked: list[str] = []
    calls = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": name, "arguments": '{"room": "4"}'},
        }
        for n, name in enumerate(("look", "book"))
    ]
    env = vf.ToolEnv(
        tools=[book, look],
        dataset=[{"question": "a"}],
        rubric=vf.Rubric([lambda completion: 1.0]),
        max_turns=3,
    )
    path = folder / "run"
    await stopped(env, fault_server, path, [Reply(body=chat_answer("", tool_calls=calls)), HANG])
    fault_server.script(CHAT, answers("done"))
    await evaluated(env, fault_server, path)
    (row,) = Run(path).rows
    assert (booked, looked) == (["4"], ["4", "4"])
    assert "4 is booked as number 1" in said(row)
    assert len(fault_server.requests) == 3


def test_a_replay_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(ValueError, match="takes 'repeated' or 'recorded'"):
        vf.tool(replay="never")  # type: ignore[call-overload]
