"""Puzzle with its own end: is_completed, stops by priority, errors, dataclasses in the state."""

from __future__ import annotations

from dataclasses import dataclass, field

import verifiers as vf
from datasets import Dataset
from verifiers.envs.multiturn_env import MultiTurnEnv
from verifiers.types import Messages, State, UserMessage
from verifiers.utils.async_utils import maybe_await


@dataclass
class Door:
    code: str
    tries: list[str] = field(default_factory=list)

    def open_with(self, said: str) -> bool:
        self.tries.append(said)
        return said == self.code


class JammedError(vf.InfraError):
    """The door does not answer."""


class LockedDoorEnv(MultiTurnEnv):
    async def setup_state(self, state: State, **kwargs) -> State:
        state = await super().setup_state(state, **kwargs)
        state["door"] = Door(state["answer"])
        state["asked"] = []
        return state

    async def is_completed(self, state: State, **kwargs) -> bool:
        state["asked"].append(len(state["trajectory"]))
        return await super().is_completed(state, **kwargs)

    @vf.stop(priority=50)
    async def is_open(self, state: State) -> bool:
        state["asked"].append("first")
        return bool(state["trajectory"]) and state["answer"] in str(
            state["trajectory"][-1]["completion"][-1].content
        )

    @vf.stop(priority=-5)
    async def tried_the_same(self, state: State) -> bool:
        return len(set(state["door"].tries)) < len(state["door"].tries)

    @vf.cleanup
    async def forget(self, state: State):
        state["open"] = await maybe_await(lambda: state["door"].code in state["door"].tries[-1:])

    async def env_response(self, messages: Messages, state: State, **kwargs) -> Messages:
        said = str(messages[-1].content).strip()
        if said == "kick":
            raise JammedError("the door is jammed")
        if state["door"].open_with(said):
            return [UserMessage(content="It opens.")]
        return [{"role": "user", "content": f"Not {said}."}, UserMessage(content="Again?")]


def opened(state: State) -> float:
    return 1.0 if state["answer"] in str(state["completion"]) else 0.0


def tries(state: State) -> int:
    return len(state["door"].tries)


def times_asked(state: State) -> int:
    return len(state["asked"])


def load_environment(max_turns: int = 4):
    doors = [("red", "12"), ("blue", "34"), ("jammed", "56"), ("endless", "78")]
    dataset = Dataset.from_list(
        [
            {"prompt": [{"role": "user", "content": f"The {name} door."}], "answer": code}
            for name, code in doors
        ]
    )
    rubric = vf.Rubric(funcs=[opened, tries, times_asked], weights=[1.0, 0.01, 0.0])
    return LockedDoorEnv(dataset=dataset, rubric=rubric, max_turns=max_turns)
