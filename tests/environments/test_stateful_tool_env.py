from __future__ import annotations

import logging
from typing import Any

import pytest
from stub_client import Recorder, StubClient, answer

import tui_eval as vf

ROW = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}
DATASET = [{"question": "q"}]


class Box:
    """Something without a JSON schema."""


class Level(vf.CustomBaseModel):
    depth: int


async def read(path: str, box_id: str, level: Level | None = None, box: Box | None = None) -> str:
    """Reads a file.

    Args:
        path: Where it is.
        box_id: Which box.
    """
    return f"{path} in {box_id}, {level}"


def ping(count: int = 1) -> str:
    return "pong" * count


class BoxEnv(vf.StatefulToolEnv):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(dataset=DATASET, tools=[ping], **kwargs)
        self.add_tool(read, args_to_skip=["box_id", "level", "box"])
        self.updates: list[Any] = []

    async def setup_state(self, state):
        state["box_id"] = "mine"
        return state

    def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
        self.updates.append((tool_name, dict(tool_args), messages[-1].role))
        if tool_name == "read":
            tool_args.setdefault("box_id", state["box_id"])
        return tool_args


class AsyncBoxEnv(BoxEnv):
    async def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
        return super().update_tool_args(tool_name, tool_args, messages, state, **kwargs)


async def use(env: vf.ToolEnv, *calls: tuple[str, str]) -> vf.State:
    requested = [(f"c{i}", name, arguments) for i, (name, arguments) in enumerate(calls)]
    return await env.rollout(
        dict(ROW), StubClient(answer(calls=requested), answer("done")), "m", {}
    )


def contents(state: vf.State) -> list[Any]:
    return [m.content for m in state["completion"][1:]]


def test_hidden_arguments_and_their_definitions_are_not_in_the_schema():
    env = BoxEnv()
    ping_tool, read_tool = env.tool_defs
    assert list(ping_tool.parameters["properties"]) == ["count"]
    assert read_tool.parameters == {
        "properties": {"path": {"description": "Where it is.", "title": "Path", "type": "string"}},
        "required": ["path"],
        "title": "read_args",
        "type": "object",
        "additionalProperties": False,
    }
    assert env.skipped_args["read"] == ["box_id", "level", "box"]
    assert env.tool_map == {"ping": ping, "read": read}
    env.remove_tool(read)
    assert list(env.tool_map) == list(env.skipped_args) == ["ping"]


@pytest.mark.parametrize("kind", [BoxEnv, AsyncBoxEnv])
async def test_every_call_gets_the_arguments_of_its_rollout(kind, recorder: Recorder):
    env = kind()
    state = await use(env, ("read", '{"path": "a"}'), ("ping", '{"count": 2}'))
    assert contents(state) == ["a in mine, None", "pongpong", "done"]
    assert env.updates == [
        ("read", {"path": "a"}, "assistant"),
        ("ping", {"count": 2}, "assistant"),
    ]
    assert recorder.tools[0] == ("c0", "read", None, "a in mine, None")


async def test_a_hidden_argument_that_the_model_sends_never_reaches_the_tool():
    env = BoxEnv()
    sent = '{"path": "a", "box_id": "theirs", "level": {"depth": 3}}'
    state = await use(env, ("read", sent))
    assert env.updates[0][1] == {"path": "a"}
    assert contents(state)[0] == "a in mine, None"


@pytest.mark.parametrize(
    ("name", "arguments", "content"),
    [
        ("read", "{", "Expecting property name"),
        ("read", '["a"]', "must be a JSON object, not a list"),
        ("raed", "{}", "There is no tool named 'raed'"),
    ],
)
async def test_calls_that_cannot_be_made_are_reported_to_the_model(name, arguments, content):
    env = BoxEnv()
    state = await use(env, (name, arguments))
    assert content in contents(state)[0]
    assert state["error"] is None
    assert env.updates == []


@pytest.mark.parametrize("error", [vf.SandboxError("gone"), KeyError("box_id")])
@pytest.mark.parametrize("stops", [(), (Exception,)])
async def test_what_update_tool_args_raises_is_the_rollouts_error(error, stops):
    class Broken(BoxEnv):
        def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
            if tool_name == "read":
                raise error
            return tool_args

    state = await use(Broken(stop_errors=stops), ("ping", "{}"), ("read", "{}"), ("ping", "{}"))
    assert state["error"] is error
    assert state["stop_condition"] == "has_error"
    assert contents(state) == ["pong"]
    assert [record["name"] for record in state.tool_log] == ["ping", "read"]
    assert type(error).__name__ in state.tool_log[1]["error"]


async def test_forgetting_to_return_the_arguments_says_so():
    class Forgets(BoxEnv):
        def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
            tool_args["count"] = 3

    state = await use(Forgets(), ("ping", "{}"))
    assert isinstance(state["error"], TypeError)
    assert "returned a NoneType for tool 'ping'" in str(state["error"])


async def test_what_the_tool_raises_follows_the_rules_of_tool_environments():
    class Low(BoxEnv):
        def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
            return {**tool_args, "count": "x"}

    assert "can't multiply" in contents(await use(Low(), ("ping", "{}")))[0]
    state = await use(Low(stop_errors=[TypeError]), ("ping", "{}"))
    assert isinstance(state["error"], vf.ToolCallError)


async def test_a_call_tool_of_its_own_gets_tools_that_only_it_knows():
    class Remote(BoxEnv):
        async def call_tool(self, tool_name, tool_args, tool_call_id, **kwargs):
            return f"{tool_name} {sorted(tool_args)}"

        def update_tool_args(self, tool_name, tool_args, messages, state, **kwargs):
            return {**tool_args, "session": 1}

    assert contents(await use(Remote(), ("elsewhere", '{"x": 1}')))[0] == (
        "elsewhere ['session', 'x']"
    )


def test_an_environment_says_how_arguments_are_made():
    with pytest.raises(TypeError, match="update_tool_args"):
        vf.StatefulToolEnv(dataset=DATASET)


def test_hiding_a_parameter_that_does_not_exist_is_warned_of(caplog):
    env = BoxEnv()
    with caplog.at_level(logging.WARNING, logger="tui_eval.environments.stateful_tool_env"):
        env.add_tool(lambda_free, args_to_skip=["bxo_id"])
    assert "no parameter 'bxo_id'. Did you mean box_id?" in caplog.text


async def test_names_taken_through_keyword_arguments_can_be_hidden_too(caplog):
    env = BoxEnv()
    env.add_tool(takes_all, args_to_skip=["box_id"])
    state = await use(env, ("takes_all", '{"box_id": "theirs", "free": 1}'))
    assert contents(state)[0] == "{'free': 1}"
    assert caplog.text == ""


def lambda_free(box_id: str) -> str:
    return box_id


def takes_all(**more: Any) -> str:
    return str(more)
