"""Other environments loaded by name and grouped with one made here."""

import verifiers as vf
from datasets import Dataset


def echoes(prompt, completion) -> float:
    return float(prompt[-1]["content"] == completion[-1]["content"])


def load_environment(names: tuple[str, ...] = ("wrapped-rubric", "edited-messages")):
    others = [vf.load_environment(name) for name in names]
    mine = vf.SingleTurnEnv(
        dataset=Dataset.from_list([{"question": "Echo this.", "answer": ""}]),
        rubric=vf.Rubric(funcs=[echoes]),
    )
    return vf.EnvGroup(envs=[*others, mine], env_names=[*names, "echo"])
