"""Rollouts of OpenEnv's two contracts, and texts that are read as actions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openenv_projects import Make, play
from stub_client import Recorder, answer

import tui_eval as vf
from tui_eval.environments.adapters.openenv_session import InvalidActionError, read_action


def texts(state: vf.State) -> list[Any]:
    return [message.content for message in state["completion"]]


async def test_an_episode_is_reset_stepped_and_summed_up(make: Make, recorder: Recorder):
    env, project = await make("echo")
    state = await play(env, "hi", "hello", "bye", seed=7)
    assert state["error"] is None
    assert [m.content for m in state["prompt"]] == ["Say something. Seed 7."]
    assert texts(state) == [
        "hi", "You said 'hi'.", "hello", "You said 'hello'.", "bye", "You said 'bye'."
    ]  # fmt: skip
    assert state["stop_condition"] == "openenv_done"
    assert [step["reward"] for step in state["trajectory"]] == pytest.approx([0.2, 0.5, 0.3])
    assert state["reward"] == pytest.approx(1.0)
    assert state["metrics"]["sum_step_rewards"] == state["reward"]
    assert state["metrics"]["num_turns"] == 3.0
    assert [m.content for m in recorder.messages] == ["Say something. Seed 7.", *texts(state)]
    assert project.seeds == [7]


async def test_actions_are_json_objects(make: Make):
    env, _ = await make("guess")
    fenced = 'I think:\n```json\n{"number": 3}\n```\nLet us see.'
    state = await play(env, '{"number": 9, "why": "last"}', fenced, seed=13)
    assert texts(state)[1::2] == ["No, lower.", "Found."]
    assert state["reward"] == pytest.approx(1.25)


async def test_what_is_no_action_is_reported_to_the_model_and_counts_nothing(make: Make):
    env, _ = await make("guess")
    state = await play(env, "three", '{"number": "3"}', '{"number": 3}', seed=3)
    assert texts(state)[1] == (
        "This is no action: it is not one JSON object. Answer with one JSON object with the "
        "fields: number (integer, required), why (string)"
    )
    assert texts(state)[3].startswith("This is no action: number: Input should be a valid integer.")
    assert [step["reward"] for step in state["trajectory"]] == [0.0, 0.0, 1.0]
    assert (state["error"], state["stop_condition"]) == (None, "openenv_done")


async def test_three_invalid_actions_in_a_row_end_the_rollout(make: Make):
    env, _ = await make("guess")
    state = await play(env, "a", "b", '{"number": 9}', "c", "d", "e", "never asked", seed=0)
    assert (state["error"], state["stop_condition"]) == (None, "too_many_invalid_actions")
    assert len(state["trajectory"]) == 6
    assert state["reward"] == 0.25


async def test_the_last_action_that_max_turns_allows_is_taken(make: Make):
    env, _ = await make("echo", max_turns=1)
    state = await play(env, "hi", "never asked")
    assert state["stop_condition"] == "max_turns_reached"
    assert texts(state) == ["hi", "You said 'hi'."]
    assert state["reward"] == pytest.approx(0.2)


async def test_the_renderer_gets_the_keywords_that_it_takes(make: Make):
    seen: list[dict[str, Any]] = []

    async def every(observation, **kwargs):
        seen.append(kwargs)
        return vf.UserMessage(content=observation["text"])

    class Some:
        def __call__(self, observation, *, context, seed=None):
            return f"{context} {seed}"

    env, _ = await make("echo", prompt_renderer=every, system_prompt="Be brief.")
    state = await play(env, "a", "b", "c", seed=4)
    assert [m.content for m in state["prompt"]] == ["Be brief.", "Say something. Seed 4."]
    assert [k["context"] for k in seen] == ["reset", "step", "step", "step"]
    assert {(k["contract"], k["seed"]) for k in seen} == {("gym", 4)}
    assert seen[0]["action_schema"]["required"] == ["message"]
    env, _ = await make("echo", prompt_renderer=Some())
    state = await play(env, "a", "b", "c", seed=5)
    assert state["prompt"][0].content == "reset 5"
    assert texts(state)[1] == "step 5"


@pytest.mark.parametrize("rendered", [[], None, ""])
async def test_a_renderer_without_messages_is_the_rollouts_error(make: Make, rendered: Any):
    env, _ = await make("echo", prompt_renderer=lambda observation: rendered)
    state = await play(env, "hi")
    assert "prompt_renderer gave no messages for the observation of a reset" in str(state["error"])


async def test_a_renderer_may_fail_at_the_end_of_an_episode_only(make: Make):
    def picky(observation):
        if "Found" in observation["text"] or "higher" in observation["text"]:
            raise RuntimeError("nothing to say")
        return observation["text"]

    env, _ = await make("guess", prompt_renderer=picky)
    state = await play(env, '{"number": 5}', seed=5)
    assert (state["error"], state["reward"]) == (None, 1.0)
    state = await play(env, '{"number": 4}', seed=5)
    assert "nothing to say" in str(state["error"])


def use(name: str, arguments: str = "{}", call: str = "c0") -> Any:
    return answer(calls=[(call, name, arguments)])


async def test_tools_come_from_the_server_and_are_called_there(make: Make, recorder: Recorder):
    env, _ = await make("tools")
    state = await play(env, use("price_of", '{"item": "pear"}'), use("picture"), "0.5")
    assert state["error"] is None
    offered = state["asked"][0]["tools"]
    assert [tool.name for tool in offered] == ["price_of", "picture", "fail", "hand_in"]
    assert offered[0].parameters["required"] == ["item"]
    assert texts(state)[1] == "pear costs 0.5"
    assert [part["type"] for part in texts(state)[3]] == ["text", "image_url"]
    assert texts(state)[3][1]["image_url"]["url"] == "data:image/png;base64,AAAA"
    assert state["stop_condition"] == "mcp_no_tool_calls"
    assert state["reward"] == 0.0
    assert [(r["name"], r["error"]) for r in state.tool_log] == [
        ("price_of", None), ("picture", None)
    ]  # fmt: skip
    assert recorder.tools[0] == ("c0", "price_of", None, "pear costs 0.5")


async def test_an_episode_of_tools_ends_when_the_server_says_so(make: Make):
    env, _ = await make("tools")
    calls = [("a", "hand_in", '{"answer": "x"}'), ("b", "fail", "{}")]
    state = await play(env, answer(calls=calls), "never asked")
    assert state["stop_condition"] == "openenv_done"
    assert texts(state)[1:] == ["thanks"]
    assert state["reward"] == 1.0


@pytest.mark.parametrize(
    ("name", "arguments", "content", "error"),
    [
        ("fail", "{}", "out of stock", "out of stock"),
        ("nope", "{}", "Unknown tool: 'nope'", "tool_not_found: Unknown tool: 'nope'"),
        ("price_of", "{", "are not JSON", "ToolParseError"),
    ],
)
async def test_a_failing_call_is_reported_to_the_model(make: Make, name, arguments, content, error):
    env, _ = await make("tools")
    state = await play(env, use(name, arguments), "well")
    assert content in texts(state)[1]
    assert error in state.tool_log[0]["error"]
    assert state["error"] is None


TEXT = {"properties": {"code": {"type": "string"}, "metadata": {}}, "required": ["code"]}
TWO = {"properties": {"code": {"type": "string"}, "slow": {"type": "boolean"}}}


@pytest.mark.parametrize(
    ("text", "schema", "action"),
    [
        ("print(1)", TEXT, {"code": "print(1)"}),
        ("```python\nprint(1)\n```", TEXT, {"code": "print(1)"}),
        ('{"code": "x"}', TEXT, {"code": "x"}),
        ('So:\n```json\n{"code": "x"}\n```', TEXT, {"code": "x"}),
        ('{"a": 1}', TEXT, {"code": '{"a": 1}'}),
        ('```\n{"slow": true}\n```', TWO, {"slow": True}),
        ('```json\n{"code": "1"}\n```\nor\n```json\n{"code": "2"}\n```', TWO, {"code": "2"}),
        ("x", {**TWO, "required": ["code"]}, {"code": "x"}),
    ],
)
def test_a_text_is_read_as_an_action(text: str, schema: dict[str, Any], action: dict[str, Any]):
    assert read_action(text, schema) == action


@given(st.dictionaries(st.text(), st.integers() | st.text() | st.none()), st.booleans())
def test_any_json_object_is_read_whole(action: dict[str, Any], fenced: bool):
    text = json.dumps(action, indent=2)
    assert read_action(f"Here:\n```json\n{text}\n```" if fenced else text, TWO) == action


@given(st.text(alphabet='`{}[]":a1 \n') | st.text(), st.sampled_from([TEXT, TWO, {}]))
def test_any_text_is_an_action_or_is_none(text: str, schema: dict[str, Any]):
    try:
        assert isinstance(read_action(text, schema), dict)
    except InvalidActionError as error:
        assert str(error)
