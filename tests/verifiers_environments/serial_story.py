"""Overrides the hooks of a rollout, and reads trajectory and timing afterwards."""

import verifiers as vf
from datasets import Dataset
from verifiers.types import Messages, State, TrajectoryStep


class SerialStoryEnv(vf.MultiTurnEnv):
    def __init__(self, chapters: int, **kwargs):
        super().__init__(max_turns=chapters, **kwargs)
        self.chapters = chapters

    async def setup_state(self, state: State) -> State:
        state["chapter_lengths"] = []
        return state

    async def env_response(self, messages: Messages, state: State, **kwargs) -> Messages:
        return [vf.UserMessage(content=f"Chapter {len(state['trajectory']) + 1}, please.")]

    async def get_prompt_messages(self, state: State) -> Messages:
        prompt = await super().get_prompt_messages(state)
        return prompt[:1] + prompt[-3:] if len(prompt) > 4 else prompt

    async def add_trajectory_step(self, state: State, trajectory_step: TrajectoryStep):
        text = trajectory_step["completion"][-1]["content"]
        state["chapter_lengths"].append(len(text))
        trajectory_step["extras"]["chapter"] = len(state["trajectory"]) + 1
        await super().add_trajectory_step(state, trajectory_step)

    async def render_completion(self, state: State):
        texts = [step["completion"][-1]["content"] for step in state["trajectory"]]
        state["completion"] = [{"role": "assistant", "content": "\n".join(texts)}]


def finished(state, **kwargs) -> float:
    assert [step["extras"]["chapter"] for step in state["trajectory"]] == [1, 2, 3]
    assert state["timing"]["generation_ms"] > 0
    return len(state["trajectory"]) / 3


def short_prompts(state) -> float:
    return max(len(step["prompt"]) for step in state["trajectory"])


def load_environment(**kwargs):
    return SerialStoryEnv(
        chapters=3,
        dataset=Dataset.from_list(
            [{"prompt": [{"role": "user", "content": f"Tell of {who}."}]} for who in ("Ida", "Bo")]
        ),
        rubric=vf.Rubric(funcs=[finished, short_prompts], weights=[1, 0]),
        **kwargs,
    )
