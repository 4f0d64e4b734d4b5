"""ThinkParser, and a rubric of its own that adds to what the library computes."""

import logging

import verifiers as vf
from datasets import Dataset
from verifiers.types import State

logger = logging.getLogger("verifiers.thinking_quiz")


class QuizRubric(vf.Rubric):
    def __init__(self, bonus: float = 0.25, **kwargs):
        super().__init__(**kwargs)
        self.bonus = bonus
        self.add_reward_func(self.chose)

    def chose(self, parser, completion, answer) -> float:
        self_said = (parser.parse_answer(completion) or "").strip().rstrip(".")
        return float(self_said.endswith(answer))

    async def score_group(self, states: list[State], **kwargs):
        await super().score_group(states, **kwargs)
        for state in states:
            if state["trajectory"][-1]["response"].message.get("reasoning_content"):
                logger.info("reasoning apart from the text")
            state["metrics"]["bonus"] = self.bonus
            state["reward"] += self.bonus


def load_environment(use_think: bool = True, **kwargs):
    parser = vf.ThinkParser() if use_think else vf.MaybeThinkParser()
    system = "Think inside <think> and </think>, then answer with one letter."
    rows = [
        {"question": "Which is a fish?\nA) heron\nB) trout\nC) otter", "answer": "B"},
        {"question": "Which floats?\nA) cork\nB) lead", "answer": "A"},
    ]
    rubric = QuizRubric(parser=parser)
    rubric.add_reward_func(parser.get_format_reward_func(), weight=0.0)
    return vf.SingleTurnEnv(
        dataset=Dataset.from_list(rows),
        system_prompt=system,
        parser=rubric.parser,
        rubric=rubric,
        **kwargs,
    )
