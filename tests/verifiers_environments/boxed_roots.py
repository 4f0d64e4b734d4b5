"""MathRubric with a parser of its own, more functions, and a metric that raises."""

import verifiers as vf
from datasets import Dataset
from verifiers.rubrics.math_rubric import MathRubric
from verifiers.utils.data_utils import BOXED_SYSTEM_PROMPT, extract_boxed_answer

PAIRS = [
    ("Half of three?", "\\frac{3}{2}"),
    ("Roots of x^2 = 4?", "\\{-2, 2\\}"),
    ("One third as a decimal?", "1/3"),
    ("Twelve hundred?", "1200"),
]


def boxes(completion) -> float:
    return float(completion[-1]["content"].count("\\boxed"))


def raises(completion, answer) -> float:
    raise KeyError(answer)


def load_environment(with_system: bool = True, use_think: bool = False):
    make = vf.ThinkParser if use_think else vf.MaybeThinkParser
    parser = make(extract_boxed_answer)
    rubric = MathRubric(funcs=[boxes], weights=[0.125], parser=parser)
    rubric.add_metric(raises)
    rubric.add_reward_func(parser.get_format_reward_func(), weight=0.0625)
    dataset = Dataset.from_dict(
        {
            "question": [question for question, _ in PAIRS],
            "answer": [answer for _, answer in PAIRS],
            "task": ["roots"] * len(PAIRS),
        }
    )
    assert "boxed" in BOXED_SYSTEM_PROMPT
    return vf.SingleTurnEnv(
        dataset=dataset,
        system_prompt="Put the answer in \\boxed{}." if with_system else None,
        parser=parser,
        rubric=rubric,
    )
