from __future__ import annotations

import functools
import json
from typing import Any

import pytest
from stub_client import Recorder, StubClient, answer

import tui_eval as vf

ROW = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}


def add(a: int, b: int) -> int:
    """Adds.

    Args:
        a: one
        b: other
    """
    return a + b


async def count(data: dict[str, int]) -> str:
    """Counts."""
    return f"{len(data)} keys"


def fails(text: str = "x"):
    raise ValueError(f"bad {text}")


def leaves():
    raise SystemExit(2)


SILENT = "its message raised RuntimeError"


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no words")


def fails_silently():
    raise Silent


def raw():
    return b"caf\xc3\xa9 \xff"


def parts():
    return [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:,"}}]


def nothing():
    return None


def mixed():
    return [{"type": "text", "text": "see"}, 3]


TOOLS = [add, count, fails, fails_silently, leaves, raw, parts, nothing, mixed]


def env_with(**kwargs: Any) -> vf.ToolEnv:
    return vf.ToolEnv(dataset=[{"question": "q"}], tools=TOOLS, **kwargs)


async def use(env: vf.ToolEnv, *calls: tuple[str, str]) -> vf.State:
    requested = [(f"c{i}", name, arguments) for i, (name, arguments) in enumerate(calls)]
    client = StubClient(answer(calls=requested), answer("done"))
    state = await env.rollout(dict(ROW), client, "m", {})
    await env.rubric.score_rollout(state)
    return state


async def test_plain_tools_are_called_one_after_the_other_and_all_are_counted(recorder: Recorder):
    env = env_with()
    calls = [("add", '{"a": 1, "b": 2}'), ("count", '{"data": {"x": 1}}'), ("add", '{"a":0,"b":0}')]
    state = await use(env, *calls)
    assert [m.content for m in state["completion"]] == [None, "3", "1 keys", "0", "done"]
    assert [m.get("tool_call_id") for m in state["completion"][1:4]] == ["c0", "c1", "c2"]
    assert state["stop_condition"] == "no_tools_called"
    assert state["metrics"]["total_tool_calls"] == 3.0
    assert state["metrics"]["add_calls"] == 2.0
    assert state["metrics"]["fails_calls"] == 0.0
    assert state["metrics"]["num_turns"] == 2.0
    assert [(r["id"], r["name"], r["error"]) for r in state.tool_log] == [
        ("c0", "add", None), ("c1", "count", None), ("c2", "add", None)
    ]  # fmt: skip
    assert all(record["ms"] >= 0 for record in state.tool_log)
    assert sorted(recorder.tools)[1] == ("c1", "count", None, "1 keys")
    assert [one[0] for one in recorder.tools if one[1] == "add"] == ["c0", "c2"]
    ends = [one for one in recorder.log if not one.startswith("tool ")]
    assert ends == [
        "SETUP", "user", "MODEL", "gate", "answered", "assistant",
        "TOOL", "TOOL", "TOOL", "tool+tool+tool", "MODEL", "gate", "answered", "assistant",
    ]  # fmt: skip
    assert [m.role for m in recorder.messages] == [
        "user", "assistant", "tool", "tool", "tool", "assistant"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "content", "error"),
    [
        ("fails", '{"text": "y"}', "bad y", "ValueError: bad y"),
        ("fails_silently", "{}", SILENT, f"Silent: {SILENT}"),
        ("leaves", "{}", "2", "SystemExit: 2"),
        ("nothing", "", "Expecting value: line 1 column 1", "JSONDecodeError: Expecting value"),
        ("add", "{", "Expecting property name", "JSONDecodeError: Expecting property name"),
        ("add", "[1]", "must be a JSON object, not a list", "ValueError: The arguments of 'add'"),
        ("add", '{"a": 1}', "missing 1 required", "TypeError"),
        ("ad", "{}", "There is no tool named 'ad'. The tools are: add, count", "UnknownToolError"),
    ],
)
async def test_a_failing_call_is_reported_to_the_model(name, arguments, content, error):
    state = await use(env_with(), (name, arguments), ("nothing", "{}"))
    assert content in state["completion"][1].content
    assert state["completion"][2].content == "None"
    assert error in state.tool_log[0]["error"]
    assert state["error"] is None
    assert state["completion"][-1].content == "done"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("raw", "café \ufffd"),
        ("nothing", "None"),
        ("mixed", "[{'type': 'text', 'text': 'see'}, 3]"),
    ],
)
async def test_any_result_becomes_text(name, content):
    state = await use(env_with(), (name, "{}"))
    assert state["completion"][1].content == content


async def test_text_and_image_parts_stay_parts():
    state = await use(env_with(), ("parts", "{}"))
    content = state["completion"][1].content
    assert [part["type"] for part in content] == ["text", "image_url"]


async def test_the_error_formatter_gets_what_python_raised():
    env = env_with(error_formatter=lambda error: type(error).__name__)
    state = await use(env, ("add", "{"), ("add", "3"))
    assert [m.content for m in state["completion"][1:3]] == ["JSONDecodeError", "ValueError"]


async def test_an_environment_may_say_itself_what_stops():
    class Own(vf.ToolEnv):
        def _should_stop_for_error(self, err):
            return "bad x" in str(err)

    state = await use(Own(dataset=[{"question": "q"}], tools=[fails]), ("fails", '{"text": "x"}'))
    assert isinstance(state["error"], vf.ToolCallError)


async def test_the_error_formatter_has_the_word():
    env = env_with(error_formatter=lambda error: f"<{type(error).__name__}>")
    state = await use(env, ("fails", "{}"), ("nope", "{}"))
    assert [m.content for m in state["completion"][1:3]] == ["<ValueError>", "<UnknownToolError>"]


async def test_stop_errors_end_the_rollout_and_keep_earlier_results(recorder: Recorder):
    env = env_with(stop_errors=[ValueError])
    state = await use(env, ("add", '{"a": 1, "b": 1}'), ("fails", "{}"), ("add", "{}"))
    error = state["error"]
    assert isinstance(error, vf.ToolCallError)
    assert isinstance(error.__cause__, ValueError)
    assert "bad x" in str(error)
    assert state["stop_condition"] == "has_error"
    assert [m.content for m in state["completion"]] == [None, "2"]
    assert [m.role for m in recorder.messages] == ["user", "assistant", "tool"]
    assert [call[1] for call in recorder.tools] == ["add", "fails"]


async def test_stop_errors_for_arguments():
    for kinds in ([json.JSONDecodeError], [ValueError]):
        state = await use(env_with(stop_errors=kinds), ("add", "{"))
        assert type(state["error"]) is vf.ToolParseError
        assert state["completion"][-1].role == "assistant"


async def test_what_a_partial_has_bound_is_not_the_models_to_choose():
    def look(path: str, root: str, *more: str) -> str:
        return f"{root}/{path} {more}"

    env = vf.ToolEnv(dataset=[{"question": "q"}], tools=[functools.partial(look, root="mine")])
    state = await use(env, ("look", '{"path": "a", "root": "theirs"}'))
    assert state["completion"][1].content == "mine/a ()"
    assert state["metrics"]["look_calls"] == 1.0


async def test_tools_with_arguments_by_place_work():
    def total(start: int, /, *args: int) -> int:
        return start + sum(args)

    env = vf.ToolEnv(dataset=[{"question": "q"}], tools=[total])
    state = await use(env, ("total", '{"start": 1, "args": [2, 3]}'), ("total", '{"args": [2]}'))
    assert state["completion"][1].content == "6"
    assert "missing a required argument: 'start'" in state["completion"][2].content


async def test_an_overridden_call_tool_is_used():
    class Loud(vf.ToolEnv):
        async def call_tool(self, tool_name, tool_args, tool_call_id, **kwargs):
            if tool_name == "add":
                return {"role": "tool", "content": "mine"}
            message = await super().call_tool(tool_name, tool_args, tool_call_id)
            message.content = message.content.upper()
            return message

    env = Loud(dataset=[{"question": "q"}], tools=[add, count])
    state = await use(env, ("add", "{}"), ("count", '{"data": {}}'))
    assert [m.content for m in state["completion"][1:3]] == ["mine", "0 KEYS"]
    assert state["completion"][1].tool_call_id == "c0"
    assert len(state.tool_log) == 2


async def test_turns_are_limited():
    env = env_with(max_turns=1)
    state = await use(env, ("add", '{"a": 1, "b": 2}'))
    assert state["stop_condition"] == "max_turns_reached"
    assert state["metrics"]["total_tool_calls"] == 1.0
    assert state.tool_log == []


async def test_tools_come_and_go():
    env = vf.ToolEnv(dataset=[{"question": "q"}])
    assert env.max_turns == 10
    env.add_tool(add)
    env.add_tool(count)
    client = StubClient(answer("x"))
    await env.rollout(dict(ROW), client, "m", {})
    assert [tool.name for tool in client.calls[0]["tools"]] == ["add", "count"]
    env.remove_tool(add)
    assert [tool.name for tool in env.tool_defs] == ["count"]
    state = await use(env, ("add", "{}"))
    assert "There is no tool named 'add'" in state["completion"][1].content
    assert "add_calls" not in state["metrics"]
    with pytest.raises(ValueError, match=r"no tool named 'add'\. The tools are: count\.$"):
        env.remove_tool(add)
    with pytest.raises(ValueError, match="already"):
        env.add_tool(count)
