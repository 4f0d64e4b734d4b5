"""Rewards that compare the rollouts of one example; few-shot messages, a stop string."""

import verifiers as vf
from datasets import Dataset


async def rarity(completions, **kwargs) -> list[float]:
    """Rewards what fewer siblings said."""
    said = [completion[-1]["content"] for completion in completions]
    return [1.0 / said.count(text) for text in said]


def best_of(states: list[vf.State]) -> list:
    longest = max(len(state["completion"][-1]["content"]) for state in states)
    return [float(len(s["completion"][-1]["content"]) == longest) for s in states]


def no_full_stop(completion, state) -> float:
    return float("." not in completion[-1]["content"])


def load_environment():
    rubric = vf.Rubric(funcs=[rarity, best_of, no_full_stop], weights=[1.0, 0.0, 0.5])
    return vf.SingleTurnEnv(
        dataset=Dataset.from_list(
            [{"question": f"Name a boat that is {kind}."} for kind in ("old", "fast", "tiny")]
        ),
        system_prompt="Say one name.",
        few_shot=[
            {"role": "user", "content": "Name a boat that is red."},
            {"role": "assistant", "content": "Poppy"},
        ],
        sampling_args={"stop": ["."]},
        rubric=rubric,
    )
