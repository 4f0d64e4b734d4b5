"""Plain text that is gone on with: message_type completion, a prompt that is one text."""

import verifiers as vf
from datasets import Dataset


def ends_well(completion, answer) -> float:
    text = completion if isinstance(completion, str) else completion[-1]["content"]
    return float(text.strip().endswith(answer))


def kind_of_completion(completion, prompt) -> float:
    return float(isinstance(completion, str)) + 2 * float(isinstance(prompt, str))


def load_environment():
    dataset = Dataset.from_list(
        [
            {"prompt": "Roses are red, violets are", "answer": "blue"},
            {"prompt": "One, two,", "answer": "three"},
        ]
    )
    rubric = vf.Rubric(funcs=[ends_well, kind_of_completion], weights=[1.0, 0.0])
    return vf.SingleTurnEnv(dataset=dataset, rubric=rubric, message_type="completion")
