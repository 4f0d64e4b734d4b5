"""Overrides the private methods of the classes that it extends, and adds rubrics afterwards."""

import time
from typing import Any

import verifiers as vf
from datasets import Dataset
from verifiers.types import Messages, Response, State


class WatchedEnv(vf.MultiTurnEnv):
    def __init__(self, **kwargs: Any) -> None:
        self.rendered: list[str] = []
        super().__init__(**kwargs)

    async def init_state(self, *args: Any, **kwargs: Any) -> State:
        state = await super().init_state(*args, **kwargs)
        state["began"] = time.time()
        state["trail"] = ["init"]
        return state

    async def _render_stop(self, state: State, condition: Any) -> bool:
        ended = await super()._render_stop(state, condition)
        if ended:
            state["trail"].append(condition.__name__)
        return ended

    async def get_model_response(self, state: State, prompt: Messages, **kwargs: Any) -> Response:
        state["trail"].append(f"ask {len(prompt)}")
        return await super().get_model_response(state, prompt, **kwargs)

    async def env_response(self, messages: Messages, state: State, **kwargs: Any) -> Messages:
        state["trail"].append("answer")
        return [{"role": "user", "content": f"More than {len(messages)}?"}]

    @vf.stop
    async def said_enough(self, state: State) -> bool:
        return bool(state["trajectory"]) and "enough" in str(
            state["trajectory"][-1]["completion"][-1].content
        )

    @vf.cleanup(priority=-1)
    async def last(self, state: State) -> None:
        state["trail"].append("last")

    @vf.cleanup(priority=1)
    async def first(self, state: State) -> None:
        state["trail"].append("first")


class NamedRubric(vf.Rubric):
    def _get_reward_func_names(self) -> list[str]:
        return [name.upper() for name in super()._get_reward_func_names()]


def trail_length(state: State) -> float:
    return float(len(state["trail"]))


def ended_in_order(state: State) -> float:
    return float(state["trail"][-3:] == ["said_enough", "first", "last"])


def seconds(state: State) -> float:
    return float(0 < time.time() - state["began"] < 3600)


def load_environment(**kwargs: Any) -> vf.Environment:
    env = WatchedEnv(
        dataset=Dataset.from_list([{"question": "Say a lot."}, {"question": "Say little."}]),
        rubric=NamedRubric(funcs=[trail_length], weights=[0.5]),
        max_turns=3,
        **kwargs,
    )
    env.add_rubric(vf.Rubric(funcs=[ended_in_order], weights=[0.25]))
    env.add_rubric(vf.Rubric(funcs=[seconds], weights=[0.0]))
    return env
