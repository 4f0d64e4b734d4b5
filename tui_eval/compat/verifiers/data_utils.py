"""`verifiers.utils.data_utils`: rows made ready, and how rows of well-known datasets are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.environments.datasets.example_datasets import (
    BOXED_SYSTEM_PROMPT as BOXED_SYSTEM_PROMPT,
)
from tui_eval.environments.datasets.example_datasets import (
    THINK_BOXED_SYSTEM_PROMPT as THINK_BOXED_SYSTEM_PROMPT,
)
from tui_eval.environments.datasets.example_datasets import (
    load_example_dataset as load_example_dataset,
)
from tui_eval.environments.datasets.example_datasets import reader_of
from tui_eval.environments.datasets.example_datasets import strip_non_numeric as strip_non_numeric
from tui_eval.environments.datasets.prompt_rules import PromptRules
from tui_eval.parsers.answers import extract_boxed_answer as extract_boxed_answer
from tui_eval.parsers.answers import extract_hash_answer as extract_hash_answer

if TYPE_CHECKING:
    from datasets import Dataset


def format_dataset(
    dataset: Dataset,
    system_prompt: str | None = None,
    few_shot: Sequence[Any] | None = None,
    question_key: str = "question",
    answer_key: str = "answer",
    map_kwargs: Mapping[str, Any] = {},
) -> Dataset:
    """A dataset with the columns `example_id` and `prompt`, made of the question where it has none.

    Args:
        question_key, answer_key: The columns with question and answer; the answer's becomes
            `answer`.
        map_kwargs: For `dataset.map`.
    """
    columns = dataset.column_names
    if "example_id" in columns and not isinstance(dataset[0]["example_id"], int):
        dataset = dataset.rename_column("example_id", "src_id")
    if "example_id" not in dataset.column_names:
        dataset = dataset.add_column("example_id", range(len(dataset)))
    if "prompt" in columns:
        return dataset
    rules = PromptRules(system_prompt, tuple(few_shot or ()))

    def ready(row: Mapping[str, Any]) -> dict[str, Any]:
        made = {"prompt": rules.prompt_of({"question": row[question_key]})}
        return made if answer_key == "answer" else {**made, "answer": row[answer_key]}

    return dataset.map(ready, **map_kwargs)


def get_preprocess_fn(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Gives question and answer of a row of a well-known dataset, as the hub has it.

    Raises:
        ValueError: There is no such dataset.
    """
    read = reader_of(name)

    def preprocess(row: dict[str, Any]) -> dict[str, Any]:
        question, answer = read(row)
        return {"question": question, "answer": answer}

    return preprocess
