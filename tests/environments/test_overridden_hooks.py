"""Hooks of environments that subclasses read, order and override."""

from __future__ import annotations

from typing import Any

from stub_client import StubClient, answer

import tui_eval as vf
from tui_eval.environments.monitors import MultiTurnMonitorRubric, ToolMonitorRubric
from tui_eval.environments.stateful_tool_env import filter_signature

ROW = {"prompt": [{"role": "user", "content": "q"}], "example_id": 0, "task": "t"}
DATASET = [{"question": "q", "answer": "a"}]


class Hooked(vf.MultiTurnEnv):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(dataset=DATASET, **kwargs)
        self.log: list[str] = []

    async def env_response(self, messages: Any, state: vf.State, **kwargs: Any) -> Any:
        return "go on"

    @vf.stop(priority=5)
    async def early(self, state: vf.State) -> bool:
        return len(state["trajectory"]) == 2

    @vf.cleanup
    async def b_cleans(self, state: vf.State) -> None:
        self.log.append("b")

    @vf.cleanup(priority=1)
    async def c_cleans(self, state: vf.State) -> None:
        self.log.append("c")

    @vf.teardown
    async def leaves(self) -> None:
        self.log.append("teardown")


async def rollout(env: vf.Environment, *texts: str) -> vf.State:
    return await env.rollout(dict(ROW), StubClient(*map(answer, texts)), "m", {})


def test_handlers_are_readable_in_their_order() -> None:
    env = Hooked()
    names = [one.__name__ for one in env._stop_conditions]
    assert names[:2] == ["has_error", "early"] and names[2:] == sorted(names[2:])
    assert [one.stop_priority for one in env._stop_conditions[:2]] == [100, 5]
    assert [one.__name__ for one in env._cleanup_handlers] == ["c_cleans", "b_cleans"]
    assert [one.__name__ for one in env._teardown_handlers] == ["leaves"]


async def test_a_handler_that_is_added_to_them_counts() -> None:
    env = Hooked()

    async def at_once(state: vf.State) -> bool:
        return bool(state["trajectory"])

    env._stop_conditions.insert(0, at_once)
    assert (await rollout(env, "one", "two"))["stop_condition"] == "at_once"


async def test_what_a_subclass_makes_of_a_stop_and_a_cleanup_counts() -> None:
    class Own(Hooked):
        async def _render_stop(self, state: vf.State, condition: Any) -> bool:
            self.log.append(condition.__name__) if condition.__name__ == "early" else None
            return await super()._render_stop(state, condition)

        async def _cleanup(self, state: vf.State) -> None:
            await super()._cleanup(state)
            self.log.append("own")

        async def _teardown(self) -> None:
            await super()._teardown()
            self.log.append("own teardown")

    env = Own()
    state = await rollout(env, "one", "two")
    assert state["stop_condition"] == "early"
    assert env.log == ["early"] * 3 + ["c", "b", "own"]
    assert await env.run_teardown() == []
    assert env.log[-2:] == ["teardown", "own teardown"]


async def test_tokens_that_an_environment_used_itself_are_the_rollouts() -> None:
    env = Hooked()
    state = await rollout(env, "one", "two")
    before = env.get_state_usage(state) or {"input_tokens": 0, "output_tokens": 0}
    env.increment_state_usage(state, 3, 4)
    after = env.get_state_usage(state)
    assert after is not None and after["input_tokens"] == before["input_tokens"] + 3
    bare = vf.State(input={})
    env.increment_state_usage(bare, 1, 2)
    assert bare["usage"]["output_tokens"] == 2


def test_datasets_are_built_on_first_use() -> None:
    built: list[str] = []

    def source() -> list[dict[str, Any]]:
        built.append("train")
        return DATASET

    env = vf.SingleTurnEnv(dataset=source)
    assert not built and env.dataset_source is source and env.eval_dataset_source is None
    assert env.build_eval_dataset() is None and len(env.build_dataset() or ()) == 1
    assert len(env.build_dataset() or ()) == 1 and built == ["train"]
    eager = vf.SingleTurnEnv(dataset=DATASET)
    assert eager.dataset_source is not None and eager.dataset_source() is DATASET


def test_monitors_count_what_they_are_configured_to() -> None:
    def look() -> str:
        return ""

    rubric = ToolMonitorRubric([look])
    assert rubric.get_reward_func_names() == ["total_tool_calls", "look_calls"]
    rubric.remove_tool_metric(look)
    rubric.add_tool_metric("other")
    assert rubric.tool_names == ["other"] and rubric.weights == [0.0, 0.0]
    assert MultiTurnMonitorRubric().get_reward_func_names() == ["num_turns"]
    env = vf.ToolEnv(dataset=DATASET, tools=[look])
    assert env.tool_monitor_rubric.tool_names == ["look"]


def test_a_filtered_signature_leaves_parameters_out() -> None:
    def find(self: Any, path: str, box: str, depth: int = 1) -> str:
        """Looks."""
        return f"{path} {box} {depth}"

    assert filter_signature(find, []) is find
    filtered = filter_signature(find, ["box"])
    import inspect

    assert list(inspect.signature(filtered).parameters) == ["path", "depth"]
    assert (filtered.__name__, filtered.__doc__) == ("find", "Looks.")
    assert "box" not in filtered.__annotations__
    assert filtered(None, "a", "b", depth=2) == "a b 2"
