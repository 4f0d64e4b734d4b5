"""The rows of environments over many kinds of data set, printed as JSON.

Reads the name of the module that environments come from: this program's, or verifiers.
"""

from __future__ import annotations

import importlib
import io
import json
import sys
from typing import Any

from datasets import ClassLabel, Dataset, Features, Image, Sequence, Value
from PIL import Image as Picture

QUESTIONS = ["What is 1 + 1?", "Où?", ""]
ASKED = [[{"role": "user", "content": text}] for text in QUESTIONS]
BASE: dict[str, list[Any]] = {"question": QUESTIONS, "answer": ["2", "là", "x"]}


def pictures() -> Dataset:
    file = io.BytesIO()
    Picture.new("RGB", (2, 1), "red").save(file, "PNG")
    rows = {**BASE, "picture": [{"bytes": file.getvalue(), "path": None}] * 3}
    kinds = {"question": Value("string"), "answer": Value("string"), "picture": Image()}
    return Dataset.from_dict(rows, features=Features(kinds))


def labels() -> Dataset:
    kinds = {"question": Value("string"), "answer": ClassLabel(names=["no", "yes"])}
    return Dataset.from_dict({"question": QUESTIONS, "answer": [0, 1, 0]}, features=Features(kinds))


def lists() -> Dataset:
    kinds = {"question": Value("string"), "answer": Value("string"), "n": Sequence(Value("int32"))}
    return Dataset.from_dict({**BASE, "n": [[1], [], [2, 3]]}, features=Features(kinds))


def tables() -> dict[str, tuple[Dataset, dict[str, Any]]]:
    """Name, data set, and arguments of the environment."""
    plain = Dataset.from_dict(BASE)
    parts = [[{"role": "user", "content": [{"type": "text", "text": t}]}] for t in QUESTIONS]
    few = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    return {
        "questions": (plain, {}),
        "no answers": (plain.remove_columns("answer"), {}),
        "answers that are null": (Dataset.from_dict({**BASE, "answer": [None, "a", None]}), {}),
        "numbers as answers": (Dataset.from_dict({**BASE, "answer": [1, 2, 3]}), {}),
        "fractions as answers": (Dataset.from_dict({**BASE, "answer": [0.1, 1e300, -0.0]}), {}),
        "truths as answers": (Dataset.from_dict({**BASE, "answer": [True, False, True]}), {}),
        "lists as answers": (Dataset.from_dict({**BASE, "answer": [["a"], [], ["b", "c"]]}), {}),
        "labels": (labels(), {}),
        "prompts": (Dataset.from_dict({"prompt": ASKED, "answer": BASE["answer"]}), {}),
        "prompts and a system": (
            Dataset.from_dict({"prompt": ASKED, "answer": BASE["answer"]}),
            {"system_prompt": "Be brief."},
        ),
        "questions and a system": (plain, {"system_prompt": "Be brief."}),
        "few-shot": (plain, {"system_prompt": "Be brief.", "few_shot": few}),
        "prompts and few-shot": (Dataset.from_dict({"prompt": ASKED}), {"few_shot": few}),
        "parts of content": (Dataset.from_dict({"prompt": parts}), {}),
        "questions and prompts": (Dataset.from_dict({**BASE, "prompt": ASKED[::-1]}), {}),
        "info as objects": (
            Dataset.from_dict({**BASE, "info": [{"a": 1}, {"a": None}, {"a": 3}]}),
            {},
        ),
        "info as text": (Dataset.from_dict({**BASE, "info": ['{"a": 1}', "{}", '{"b": [2]}']}), {}),
        "info as lists": (Dataset.from_dict({**BASE, "info": [[1], [], [2]]}), {}),
        "tasks": (Dataset.from_dict({**BASE, "task": ["a", "b", "a"]}), {}),
        "numbers of its own": (Dataset.from_dict({**BASE, "example_id": [7, 8, 9]}), {}),
        "further columns": (Dataset.from_dict({**BASE, "level": [1, 2, 3], "tags": ["a"] * 3}), {}),
        "lists of numbers": (lists(), {}),
        "pictures": (pictures(), {}),
        "chosen rows": (plain.select([2, 0]), {}),
        "shuffled": (plain.shuffle(seed=3), {}),
        "filtered": (plain.filter(lambda row: bool(row["question"])), {}),
        "one row": (plain.select([1]), {}),
        "messages for completions": (
            Dataset.from_dict({"prompt": QUESTIONS, "answer": BASE["answer"]}),
            {"message_type": "completion"},
        ),
    }


def main() -> None:
    vf = importlib.import_module(json.load(sys.stdin))
    found: dict[str, Any] = {}
    for name, (table, options) in tables().items():
        try:
            env = vf.SingleTurnEnv(dataset=table, rubric=vf.Rubric(), **options)
            rows = env.get_dataset()
            found[name] = [rows.to_list(), env.get_eval_dataset(n=2).to_list()]
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(found, default=repr, sort_keys=True))


if __name__ == "__main__":
    main()
