"""Well-known datasets with the columns `question` and `answer`, and what goes with them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from tui_eval.environments.datasets.hub import import_datasets
from tui_eval.errors import nearest
from tui_eval.parsers.answers import extract_boxed_answer, extract_hash_answer

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = [
    "BOXED_SYSTEM_PROMPT",
    "THINK_BOXED_SYSTEM_PROMPT",
    "extract_boxed_answer",
    "extract_hash_answer",
    "load_example_dataset",
]

BOXED_SYSTEM_PROMPT = (
    "Work the problem out step by step. Finish with the answer alone inside \\boxed{}."
)
THINK_BOXED_SYSTEM_PROMPT = (
    "Work the problem out step by step between <think> and </think>. "
    "After that, finish with the answer alone inside \\boxed{}."
)

Row: TypeAlias = Mapping[str, Any]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PYTHON_TASKS = "Solve the following coding problem using the programming language python:"


class _Example(msgspec.Struct, frozen=True):
    """The place of a dataset on the hub, and how its rows are read.

    Args:
        configs: The dataset's configurations, one after the other; None for the only one.
        split: Where the caller names none.
        read: Question and answer of a row.
        keep: The condition of rows that are taken; all by default.
    """

    hub_id: str
    split: str
    read: Callable[[Row], tuple[str, str]]
    configs: Sequence[str | None] = (None,)
    keep: Callable[[Row], bool] | None = None


def load_example_dataset(
    name: str = "gsm8k", split: str | None = None, n: int | None = None, seed: int = 0
) -> Dataset:
    """A well-known dataset from the Hugging Face hub, or from its cache.

    Args:
        name: One of aime2024, aime2025, amc2023, gpqa_diamond, gpqa_main, gsm8k, math, math500,
            mmlu, mmlu_pro, openbookqa, openrs, openrs_easy, openrs_hard and prime_code.
        split: A split that the dataset has on the hub; test or train by default, dev for mmlu and
            validation for mmlu_pro.
        n: How many rows, at most, of those that the seed shuffles; without it, or where it is not
            positive, all in their own order.
        seed: For the choice of `n`.

    Returns:
        A Hugging Face `Dataset` with two columns of text. The answer is the final one: a number,
        an expression, the letter of a choice; for prime_code the JSON text of how to verify it.

    Raises:
        ValueError: There is no such name.
        ImportError: The package `datasets` is not installed; says which extra to install.
        Exception: What `datasets` raises where it cannot load it.
    """
    example = _example(name)
    datasets = import_datasets("load_example_dataset()")
    parts = [
        datasets.load_dataset(example.hub_id, config, split=split or example.split)
        for config in example.configs
    ]
    whole = parts[0] if len(parts) == 1 else datasets.concatenate_datasets(parts)
    if example.keep is not None:
        whole = whole.filter(example.keep)

    def read(row: Row) -> dict[str, str]:
        question, answer = example.read(row)
        return {"question": question, "answer": answer}

    if n is not None and n > 0:
        whole = whole.shuffle(seed).select(range(min(n, len(whole))))
    text = datasets.Value("string")
    features = datasets.Features({"question": text, "answer": text})
    return whole.map(read, remove_columns=whole.column_names, features=features)


def reader_of(name: str) -> Callable[[Row], tuple[str, str]]:
    """Gives question and answer of a well-known dataset's row; `ValueError` for an unknown name."""
    return _example(name).read


def _example(name: str) -> _Example:
    example = _EXAMPLES.get(name)
    if example is None:
        hint = f"{nearest(name, _EXAMPLES)} The names are: {', '.join(_EXAMPLES)}".strip()
        raise ValueError(f"there is no example dataset {name!r}. {hint}")
    return example


def strip_non_numeric(text: str) -> str:
    """The digits and points of a text."""
    return "".join(letter for letter in text if letter.isdigit() or letter == ".")


def _problem(row: Row) -> tuple[str, str]:
    return row["problem"], _as_text(row["answer"])


def _aime_2024(row: Row) -> tuple[str, str]:
    """Answers are numbers of three digits there, such as 025."""
    return row["problem"], str(int(row["answer"]))


def _aime_2025(row: Row) -> tuple[str, str]:
    """Answers are numbers that have a unit here and there."""
    return row["question"], strip_non_numeric(_as_text(row["answer"]))


def _as_text(answer: Any) -> str:
    return str(int(answer) if isinstance(answer, float) and answer.is_integer() else answer)


def _gsm8k(row: Row) -> tuple[str, str]:
    return row["question"], extract_hash_answer(row["answer"])


def _solved(row: Row) -> tuple[str, str]:
    return row["problem"], extract_boxed_answer(row["solution"])


def _mmlu(row: Row) -> tuple[str, str]:
    return _with_choices(row["question"], row["choices"]), _LETTERS[row["answer"]]


def _mmlu_pro(row: Row) -> tuple[str, str]:
    return _with_choices(row["question"], row["options"]), row["answer"]


def _openbookqa(row: Row) -> tuple[str, str]:
    return _with_choices(row["question_stem"], row["choices"]["text"]), row["answerKey"]


def _gpqa(row: Row) -> tuple[str, str]:
    """The choices in an order that depends on the question alone."""
    right = row["Correct Answer"]
    choices = [right, *(row[f"Incorrect Answer {number}"] for number in (1, 2, 3))]
    order = list(range(4))
    random.Random(row["Question"]).shuffle(order)
    question = _with_choices(row["Question"], [choices[place] for place in order])
    return question, _LETTERS[order.index(0)]


def _code(row: Row) -> tuple[str, str]:
    return row["prompt"], row["verification_info"]


def _with_choices(question: str, choices: Sequence[str]) -> str:
    listed = (f"{letter}. {choice}" for letter, choice in zip(_LETTERS, choices, strict=False))
    return "\n".join((question, "", *listed))


def _of_level(level: str) -> Callable[[Row], bool]:
    def keep(row: Row) -> bool:
        return bool(row["level"] == level)

    return keep


def _is_python(row: Row) -> bool:
    return bool(row["prompt"].startswith(_PYTHON_TASKS))


_EXAMPLES = {
    "aime2024": _Example("HuggingFaceH4/aime_2024", "train", _aime_2024),
    "aime2025": _Example("opencompass/AIME2025", "test", _aime_2025, ("AIME2025-I", "AIME2025-II")),
    "amc2023": _Example("knoveleng/AMC-23", "train", _problem),
    "gpqa_diamond": _Example("Idavidrein/gpqa", "train", _gpqa, ("gpqa_diamond",)),
    "gpqa_main": _Example("Idavidrein/gpqa", "train", _gpqa, ("gpqa_main",)),
    "gsm8k": _Example("openai/gsm8k", "test", _gsm8k, ("main",)),
    "math": _Example("chiayewken/competition_math", "train", _solved),
    "math500": _Example("HuggingFaceH4/MATH-500", "test", _problem),
    "mmlu": _Example("cais/mmlu", "dev", _mmlu, ("all",)),
    "mmlu_pro": _Example("TIGER-Lab/MMLU-Pro", "validation", _mmlu_pro),
    "openbookqa": _Example("allenai/openbookqa", "train", _openbookqa, ("main",)),
    "openrs": _Example("knoveleng/open-rs", "train", _problem),
    "openrs_easy": _Example("knoveleng/open-rs", "train", _problem, keep=_of_level("Easy")),
    "openrs_hard": _Example("knoveleng/open-rs", "train", _problem, keep=_of_level("Hard")),
    "prime_code": _Example(
        "PrimeIntellect/verifiable-coding-problems", "train", _code, keep=_is_python
    ),
}
