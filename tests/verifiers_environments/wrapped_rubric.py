"""A rubric around another, functions appended to its lists, and a group of three rubrics."""

import logging

import verifiers as vf
from datasets import Dataset
from verifiers.types import State


class Doubled(vf.Rubric):
    """Doubles what the rubric that it wraps has found."""

    def __init__(self, inner: vf.Rubric):
        super().__init__(parser=inner.parser)
        self.inner = inner
        self.funcs = inner._get_reward_funcs()
        self.weights = [2 * weight for weight in inner._get_reward_weights()]
        assert isinstance(self.logger, logging.Logger)

    def _get_reward_func_names(self) -> list[str]:
        return [f"inner {name}" for name in self.inner._get_reward_func_names()]

    async def score_rollout(self, state: State) -> None:
        await self.inner.score_rollout(state)
        state["reward"] *= 2

    async def score_group(self, states: list[State]) -> None:
        await self.inner.score_group(states)
        for state in states:
            state["reward"] *= 2


class Polite:
    """A callable object with a name."""

    __name__ = "polite"

    def __call__(self, completion, word, **kwargs) -> float:
        return float(word in completion[-1]["content"].lower())


def right(completion, answer) -> float:
    return 1.0 if answer in completion[-1]["content"] else -0.5


async def lengths(completions, answers) -> list[float]:
    return [len(c[-1]["content"]) / 7 for c in completions]


def order(states) -> list[float]:
    return [0.1 * index for index, _ in enumerate(sorted(states, key=lambda s: s["example_id"]))][
        :1
    ] * len(states)


def load_environment():
    inner = vf.Rubric()
    inner.funcs.append(right)
    inner.weights.append(0.3)
    manners = vf.Rubric(funcs=[Polite()], weights=[0.2])
    manners.add_class_object("word", "please")
    together = vf.Rubric(funcs=[lengths, order], weights=[0.1, 1.0])
    group = vf.RubricGroup([Doubled(inner), manners, together])
    group.add_metric(_asked, weight=0.0)
    names = group._get_reward_func_names()
    assert names[0].startswith("inner"), names
    dataset = Dataset.from_list(
        [
            {"question": "Ask for tea.", "answer": "tea"},
            {"question": "Ask for jam.", "answer": "jam"},
        ]
    )
    return vf.SingleTurnEnv(dataset=dataset, rubric=group)


def _asked(completion) -> float:
    return float("?" in completion[-1]["content"])
