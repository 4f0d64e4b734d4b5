"""A rubric that calls its functions in its own way and scales what a group has earned."""

import verifiers as vf
from datasets import Dataset
from verifiers.types import RewardFunc, State


class ClippedRubric(vf.Rubric):
    """Clips each score, and takes the mean of the group from every reward."""

    def __init__(self, most: float, **kwargs):
        super().__init__(**kwargs)
        self.most = most
        self.calls: list[str] = []
        self.logger.debug("clipped at %s", most)

    async def _call_individual_reward_func(self, func: RewardFunc, state: State) -> float:
        self.calls.append(func.__name__)
        score = await super()._call_individual_reward_func(func, state)
        return min(score, self.most)

    async def score_group(self, states: list[State]) -> None:
        await super().score_group(states)
        mean = sum(state["reward"] for state in states) / len(states)
        for state in states:
            state["metrics"]["above_mean"] = state["reward"] - mean
            state["metrics"]["had_advantage"] = float(state["advantage"] != 0.0)
            state["reward"] = state["reward"] / 3 + 0.1


def words(completion, **kwargs) -> float:
    return len(completion[-1]["content"].split())


def as_text(answer, completion):
    return "0.7" if answer in completion[-1]["content"] else "1e-3"


def rarely_e(completion) -> float:
    return 1.0 / (1 + completion[-1]["content"].count("e"))


def load_environment(most: float = 2.5):
    dataset = Dataset.from_list(
        [
            {"question": "Name a green fruit.", "answer": "pear"},
            {"question": "Name a blue bird.", "answer": "jay"},
        ]
    )
    rubric = ClippedRubric(most=most, funcs=[words, as_text, rarely_e], weights=[0.3, 0.1, 0.7])
    return vf.SingleTurnEnv(dataset=dataset, rubric=rubric)
