"""Rollouts that continue live after a stop: the log says which field of which turn differs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from program import Program, Run, chat_answer, tool_call, wait_until
from run_here import run_here
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.engine.setup.resume import journal_notices
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import holder

CHAT = "/v1/chat/completions"
HANG = Reply(hang=True)
LIVE = re.compile("^example ([0-9]+) .* continues live in turn 1: (.*)")
SYSTEM, USER = vf.SystemMessage(content="Be brief."), vf.UserMessage(content="Look.")
CALL = vf.ToolCall(id="c1", name="look", arguments="{}")
ASSISTANT = vf.AssistantMessage(content="Well.", reasoning_content="Hm.", tool_calls=[CALL])
RESULT = vf.ToolMessage(tool_call_id="c1", content="free")
TALK = [SYSTEM, USER, ASSISTANT, RESULT]
LOOK = vf.Tool(name="look", description="Looks.", parameters={"type": "object"})
BOOK = vf.Tool(name="book", description="Books.", parameters={"type": "object"})


Difference: TypeAlias = tuple[dict[str, Any], dict[str, Any], str]
"""Parts of a request before the stop and after it, and what the log says of them."""


class Requesting(vf.SingleTurnEnv):
    """Of each example the first call has the parts of one difference."""

    differences: list[Difference]
    is_resumed = False
    waiting = 0

    async def setup_state(self, state: vf.State) -> vf.State:
        before, now, _ = self.differences[state["example_id"]]
        parts = {"prompt": TALK, "sampling_args": {"temperature": 0.5}}
        await self.get_model_response(state, **{**parts, **(now if self.is_resumed else before)})
        if not self.is_resumed:
            self.waiting += 1
            await asyncio.Event().wait()
        return state


def requesting(differences: list[Difference]) -> Requesting:
    dataset = [{"question": str(number)} for number, _ in enumerate(differences)]
    env = Requesting(dataset=dataset, rubric=vf.Rubric([lambda completion: 1.0]))
    env.differences = differences
    return env


async def evaluated(env: vf.Environment, server: FaultServer, path: Path) -> None:
    client = vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="", max_retries=0)
    await env.evaluate(client, "m", results_path=path)


async def stopped(
    env: vf.Environment, server: FaultServer, path: Path, is_far: Callable[[], bool]
) -> None:
    """A run that is cancelled once it is so far."""
    task = asyncio.create_task(evaluated(env, server, path))
    async with asyncio.timeout(20):
        while not is_far():
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def stopped_in_turn(env: vf.Environment, server: FaultServer, path: Path, texts: str) -> None:
    """A run that is cancelled while it waits for the answer after these."""
    expected = len(server.requests) + len(texts) + 1
    server.script(CHAT, [*(Reply(body=chat_answer(text)) for text in texts), HANG])
    await stopped(env, server, path, lambda: len(server.requests) == expected)


async def requested_first(env: Requesting, server: FaultServer, path: Path) -> None:
    """A run that is cancelled once the first call of each example has its answer."""
    server.script(CHAT, [Reply(body=chat_answer("1"))])
    await stopped(env, server, path, lambda: env.waiting == len(env.differences))
    env.is_resumed = True


def logged(caplog: pytest.LogCaptureFixture) -> dict[int, str]:
    """What the log says of each example that continues live in its first turn."""
    found = (LIVE.search(text) for text in caplog.messages)
    return {int(one[1]): one[2] for one in found if one}


def talk(place: int, **fields: Any) -> dict[str, Any]:
    """A prompt of which one message has other fields."""
    changed = TALK[place].model_copy(update=fields)
    return {"prompt": [*TALK[:place], changed, *TALK[place + 1 :]]}


def sampled(**sampling_args: Any) -> dict[str, Any]:
    return {"sampling_args": sampling_args}


def tools(*tools: vf.Tool) -> dict[str, Any]:
    return {"tool_defs": list(tools)}


CALLS_OTHER = [CALL.model_copy(update={"arguments": '{"room": 4}'})]
THINKING = [{"type": "thinking", "thinking": "Hm."}]
PARTS = [{"type": "text", "text": "Look."}]
OTHER_KIND = {"type": "object", "title": "other"}
DIFFERENCES: list[Difference] = [
    ({}, {"model": "n"}, "the model is n, not m"),
    ({}, sampled(temperature=0.7), "sampling parameter temperature differs"),
    ({}, sampled(temperature=0.5, top_p=0.9), "sampling parameter top_p is new"),
    (sampled(temperature=0.5, seed=1), {}, "sampling parameter seed is gone"),
    (
        sampled(extra_body={"top_k": 1, "min_p": 0.1}),
        sampled(extra_body={"top_k": 1, "min_p": 0.2}),
        "sampling parameter extra_body.min_p differs",
    ),
    (
        sampled(seed=1, temperature=0.5),
        sampled(temperature=0.5, seed=1),
        "the order of the sampling parameters differs",
    ),
    (tools(LOOK), tools(LOOK, BOOK), "tool book is new"),
    (tools(LOOK, BOOK), tools(LOOK), "tool book is gone"),
    (tools(LOOK, BOOK), tools(BOOK, LOOK), "the order of the tools differs"),
    (
        tools(LOOK, BOOK),
        tools(LOOK, BOOK.model_copy(update={"description": "Books it."})),
        "description of tool book differs",
    ),
    (
        tools(LOOK, BOOK),
        tools(LOOK.model_copy(update={"parameters": OTHER_KIND}), BOOK),
        "parameters of tool look differs",
    ),
    (tools(LOOK), tools(LOOK.model_copy(update={"strict": True})), "strict of tool look is new"),
    ({}, talk(0, content="Be long."), "content of message 1 (system) differs"),
    ({}, talk(1, content="Look!"), "content of message 2 (user) differs"),
    ({}, talk(1, content=PARTS), "content of message 2 (user) differs"),
    ({}, talk(1, name="Ann"), "name of message 2 (user) is new"),
    (talk(1, name="Ann"), talk(1, name="Bob"), "name of message 2 (user) differs"),
    (talk(1, name="Ann"), {}, "name of message 2 (user) is gone"),
    ({}, talk(2, content="So."), "content of message 3 (assistant) differs"),
    ({}, talk(2, content=None), "content of message 3 (assistant) is gone"),
    ({}, talk(2, reasoning_content="O."), "reasoning_content of message 3 (assistant) differs"),
    ({}, talk(2, thinking_blocks=THINKING), "thinking_blocks of message 3 (assistant) is new"),
    ({}, talk(2, tool_calls=CALLS_OTHER), "tool_calls of message 3 (assistant) differs"),
    ({}, talk(2, tool_calls=None), "tool_calls of message 3 (assistant) is gone"),
    ({}, talk(3, content="taken"), "content of message 4 (tool) differs"),
    ({}, talk(3, content="\ud800"), "content of message 4 (tool) differs"),
    ({}, talk(3, tool_call_id="c2"), "tool_call_id of message 4 (tool) differs"),
    ({}, {"prompt": [USER, *TALK[1:]]}, "role of message 1 is user, not system"),
    ({}, {"prompt": [*TALK, USER]}, "message 5 (user) is new"),
    ({}, {"prompt": TALK[:3]}, "message 4 (tool) is gone"),
]


async def test_the_field_that_differs_is_named(
    folder: Path, fault_server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    env, path = requesting(DIFFERENCES), folder / "run"
    await requested_first(env, fault_server, path)
    await evaluated(env, fault_server, path)
    assert logged(caplog) == dict(enumerate(words for *_, words in DIFFERENCES))


class Turns(vf.MultiTurnEnv):
    """Six turns; what it says after each is the text of its number."""

    texts: list[str]
    hold = 0
    held = 0

    async def env_response(self, messages: Any, state: vf.State, **_: Any) -> Any:
        turn = len(state["trajectory"])
        if turn == self.hold:
            self.held = turn
            await asyncio.Event().wait()
        drawn = await vf.record(state, "drawn", lambda: self.texts[turn])
        return [{"role": "user", "content": f"{self.texts[turn]} {drawn}"}]


def six_turns() -> Turns:
    rubric = vf.Rubric([lambda completion: 1.0])
    env = Turns(dataset=[{"question": "a"}], rubric=rubric, max_turns=6)
    env.texts = [*"-123456"]
    return env


def texts_logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [text.rsplit("attempt 1: ")[-1] for text in caplog.messages]


async def test_of_a_rollout_that_was_cut_short_twice_the_nearest_request_is_compared(
    folder: Path, fault_server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    env, path = six_turns(), folder / "run"
    for turn, script in ((2, "1234"), (4, "345"), (0, "5")):
        await stopped_in_turn(env, fault_server, path, script)
        env.texts[turn] = "other"
    assert texts_logged(caplog) == [
        "continues live in turn 3: content of message 5 (user) differs",
        "continues live in turn 5: content of message 9 (user) differs",
    ]


async def test_what_was_given_up_once_is_neither_compared_nor_counted_again(
    folder: Path, fault_server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    env, path = six_turns(), folder / "run"
    await stopped_in_turn(env, fault_server, path, "1234")
    env.texts[2] = "other"
    for script in "3", "4", "":
        await stopped_in_turn(env, fault_server, path, script)
    [notice] = journal_notices(RunDir(path), replayable=True)
    assert notice.text.startswith("4 answers of 1 rollout in flight are taken from the journal")
    fault_server.script(CHAT, [Reply(body=chat_answer(text)) for text in "56"])
    await evaluated(env, fault_server, path)
    assert texts_logged(caplog) == ["continues live in turn 3: content of message 5 (user) differs"]
    [row] = Run(path).rows
    assert row["token_usage"]["input_tokens"] == 60
    assert row["tui_eval"]["lost_usage"]["input_tokens"] == 20


async def test_a_result_that_was_given_up_is_given_to_no_later_branch(
    folder: Path, fault_server: FaultServer
) -> None:
    env, path = six_turns(), folder / "run"
    await stopped_in_turn(env, fault_server, path, "1234")
    env.texts[2:5], env.hold = ["x", "y", "z"], 4
    fault_server.script(CHAT, [Reply(body=chat_answer(text)) for text in "34"])
    await stopped(env, fault_server, path, lambda: env.held == 4)
    env.hold = 0
    fault_server.script(CHAT, [Reply(body=chat_answer(text)) for text in "56"])
    await evaluated(env, fault_server, path)
    [row] = Run(path).rows
    said = [message["content"] for message in row["completion"]]
    assert said[1::2] == ["1 1", "x 2", "y y", "z z", "5 5"]


def journal_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path / "journal.jsonl").read_text().splitlines()]


async def test_a_journal_of_before_has_digests_alone(
    folder: Path, fault_server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    differences: list[Difference] = [
        ({}, {}, ""),
        ({}, talk(3, content="taken"), "message 4 (tool) differs"),
        ({}, {"prompt": TALK[:3]}, "message 4 is gone"),
        ({}, sampled(temperature=0.7), "one of the sampling parameters differs"),
        ({}, tools(LOOK), "one of the tools differs"),
    ]
    env, path = requesting(differences), folder / "run"
    await requested_first(env, fault_server, path)
    records = [one for one in journal_of(path) if one.pop("settings", None)]
    assert len(records) == len(differences)
    for request in (one["request"] for one in records):
        request["messages"] = [digest[:16] for digest in request["messages"]]
    (path / "journal.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    await evaluated(env, fault_server, path)
    assert logged(caplog) == {n: words for n, (*_, words) in enumerate(differences) if words}


async def test_names_of_settings_stand_in_a_journal_once_a_rollout(
    folder: Path, fault_server: FaultServer
) -> None:
    class Many(vf.ToolEnv):
        async def env_response(self, messages: Any, state: vf.State, **_: Any) -> Any:
            return [{"role": "user", "content": "on"}]

        async def no_tools_called(self, state: vf.State) -> bool:
            return False

    def named(number: int) -> Any:
        def function(room: str) -> str:
            return room

        function.__name__ = f"tool_number_{number}"
        return vf.tool(function)

    rubric, functions = vf.Rubric([lambda completion: 1.0]), [named(n) for n in range(50)]
    env = Many(tools=functions, dataset=[{"question": "a"}], rubric=rubric, max_turns=9)
    path = folder / "run"
    await stopped_in_turn(env, fault_server, path, "123")
    await stopped_in_turn(env, fault_server, path, "45")
    first, *others = (one for one in journal_of(path) if "request" in one)
    assert len(others) == 4
    assert not any("settings" in one for one in others)
    assert len(json.dumps(first["settings"])) < 2000


IN_A_FILE = """
import tui_eval as vf

class Warm(vf.ToolEnv):
    async def setup_state(self, state):
        state["sampling_args"] = {**(state["sampling_args"] or {}), "temperature": 0.5}
        return await super().setup_state(state)

def look() -> str:
    '''Looks about.'''
    return "free"

def load_environment():
    rubric = vf.Rubric(funcs=[lambda completion: 1.0])
    dataset = [{"question": "a"}]
    return Warm(dataset=dataset, tools=[look], rubric=rubric, system_prompt="Brief.", max_turns=3)
"""
CHANGES = {
    ("Brief.", "Long."): "turn 1: content of message 1 (system) differs",
    ("0.5", "0.7"): "turn 1: sampling parameter temperature differs",
    ("Looks about.", "Looks."): "turn 1: description of tool look differs",
    ("free", "taken"): "turn 2: content of message 4 (tool) differs",
}


@pytest.mark.slow
def test_after_a_kill_the_log_says_what_changed_code_sends(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("warm", IN_A_FILE)
    calls = [Reply(body=chat_answer("", tool_calls=[tool_call("look", "{}")]))] * 2
    fault_server.script(CHAT, [*calls, HANG])
    url = f"{fault_server.url}/v1"
    process = program.start("warm", "-m", "m", "-b", url, "-n", "1", "-r", "1", "-s")
    wait_until(lambda: len(fault_server.requests) == 3, "the third turn is in flight")
    run = program.only_run()
    held = holder(run.path / "lock")
    assert held is not None
    os.kill(held.pid, signal.SIGKILL)
    assert program.finish(process).code == 1
    fault_server.script(CHAT, [Reply(body=chat_answer("done"))])
    for (before, now), words in CHANGES.items():
        program.environment("warm", IN_A_FILE.replace(before, now))
        copy = shutil.copytree(run.path, program.folder / words[:6] / now)
        resumed = run_here(program, "run", "--resume", str(copy), "--accept-changes")
        assert resumed.code == 0, resumed
        assert f"continues live in {words}\n" in Run(copy).log


ENDS_ITS_WORKER = """
import os, pathlib
import tui_eval as vf

class Ends(vf.MultiTurnEnv):
    async def env_response(self, messages, state):
        if pathlib.Path("ends").exists() and len(state["trajectory"]) == 2:
            os._exit(9)
        return [{"role": "user", "content": str(pathlib.Path("ends").exists())}]

def load_environment():
    rubric = vf.Rubric(funcs=[lambda completion: 1.0])
    return Ends(dataset=[{"question": "a"}], rubric=rubric, max_turns=9)
"""


@pytest.mark.slow
def test_the_row_of_one_that_ends_its_worker_has_no_answers_that_were_given_up(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("ends", ENDS_ITS_WORKER)
    fault_server.script(CHAT, [*(Reply(body=chat_answer(text)) for text in "123"), HANG])
    url = f"{fault_server.url}/v1"
    process = program.start("ends", "-m", "m", "-b", url, "-n", "1", "-r", "1", "-s")
    wait_until(lambda: len(fault_server.requests) == 4, "the fourth turn is in flight")
    process.send_signal(signal.SIGINT)
    assert program.finish(process).code == 130
    (program.folder / "ends").touch()
    fault_server.script(CHAT, [Reply(body=chat_answer("live"))])
    run = program.only_run()
    run_here(program, "run", "--resume", str(run.path))
    [row] = run.rows
    assert row["error"]["error"] == "WorkerEndedError"
    assert [message["content"] for message in row["completion"]] == ["1", "live"]
    assert row["token_usage"]["input_tokens"] == row["tui_eval"]["lost_usage"]["input_tokens"] == 20
