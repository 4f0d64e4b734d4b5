"""The training and evaluation examples of one environment, read when they are needed."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from tui_eval.environments.datasets.example_table import ExampleTable
from tui_eval.environments.datasets.prompt_rules import PromptRules
from tui_eval.environments.datasets.rows import Source

if TYPE_CHECKING:
    from datasets import Dataset

    Shown: TypeAlias = ExampleTable | Dataset

logger = logging.getLogger(__name__)


class ExampleSets:
    """Two datasets in any accepted form, and the rules by which their prompts are made.

    `parts` are the sets that these are made of, where they are: those of a group's members.

    Args:
        train, evaluation: Either may be None, not both. A function is called once, on first use;
            anything else is read at once.
        map_kwargs: For Hugging Face's `map`, where one is a `Dataset`.

    Raises:
        ValueError: There is neither.
        RefusedError: One cannot be read; carries every fault.
    """

    def __init__(
        self,
        train: Any,
        evaluation: Any,
        rules: PromptRules,
        map_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if train is None and evaluation is None:
            raise ValueError("Either dataset or eval_dataset must be provided")
        self._rules = rules
        self._map_kwargs = map_kwargs
        self._sources: dict[str, Any] = {}
        self._tables: dict[str, ExampleTable] = {}
        self.parts: Sequence[ExampleSets] = ()
        self.replace("train", train)
        self.replace("eval", evaluation)

    @property
    def has_training(self) -> bool:
        """Whether there is a training dataset, read or not."""
        return self._sources["train"] is not None

    def source(self, split: str) -> Callable[[], Any] | None:
        """The source of the rows of `train` or `eval`; None where there is none."""
        given = self._sources[split]
        return given if given is None or callable(given) else lambda: given

    def shown(self, split: str) -> Shown | None:
        """All rows of `train` or `eval`; None where there is no such dataset."""
        return None if self._sources[split] is None else self.show(split)

    def replace(self, split: str, source: Any) -> None:
        """Puts another dataset, in any accepted form, in the place of `train` or `eval`.

        Raises:
            RefusedError: It cannot be read.
        """
        self._sources[split] = source
        self._tables.pop(split, None)
        if source is not None and not callable(source):
            self.table(split)

    def change_rules(self, **changes: Any) -> None:
        """Makes prompts by other rules, those of examples already read included."""
        self._rules = replace(self._rules, **changes)
        for split, table in self._tables.items():
            self._tables[split] = table.with_rules(self._rules)

    @property
    def evaluated(self) -> str:
        """The split to evaluate on: `train` where there is no other."""
        return "eval" if self._sources["eval"] is not None else "train"

    def show(self, split: str, n: int = -1, seed: int | None = None) -> Shown:
        """A Hugging Face `Dataset` where the author gave one, and otherwise the table."""
        table = self.table(split)
        if seed is not None:
            table = self._tables[split] = table.shuffle(seed)
        table = table.head(n)
        if table.is_hub:
            return table.to_hf()
        if self._is_hub(split):
            with contextlib.suppress(ValueError):  # the parts' columns differ in type
                return table.to_hf()
        return table

    def _is_hub(self, split: str) -> bool:
        """Whether everything in a split comes from Hugging Face `Dataset`s."""
        if not self.parts:
            return self.table(split).is_hub
        if split == "eval":
            return all(part._is_hub(part.evaluated) for part in self.parts)
        return all(part._is_hub("train") for part in self.parts if part.has_training)

    def table(self, split: str) -> ExampleTable:
        """Examples as a run reads them: rows made ready one at a time."""
        table = self._tables.get(split)
        if table is None:
            source = self._sources[split]
            table = ExampleTable.read(source, self._rules, self._map_kwargs)
            self._tables[split] = table
            if self._rules.few_shot and "question" not in table[0]:
                logger.warning("few_shot is not used: the rows have prompts of their own")
        return table


class HasExamples:
    """The part of `Environment` that has training and evaluation examples."""

    system_prompt: str | None
    few_shot: list[Any]
    env_id: str
    _example_sets: ExampleSets

    @property
    def dataset(self) -> Shown | None:
        """The training examples; setting it takes any form that the constructor takes."""
        return self._example_sets.shown("train")

    @dataset.setter
    def dataset(self, source: Source | None) -> None:
        self._replace("train", source)

    @property
    def eval_dataset(self) -> Shown | None:
        """The evaluation examples, where there are such; set like `dataset`."""
        return self._example_sets.shown("eval")

    @eval_dataset.setter
    def eval_dataset(self, source: Source | None) -> None:
        self._replace("eval", source)

    @property
    def dataset_source(self) -> Callable[[], Any] | None:
        """Gives the training rows as the author gave them; None where there are none."""
        return self._example_sets.source("train")

    @property
    def eval_dataset_source(self) -> Callable[[], Any] | None:
        """Gives the evaluation rows as the author gave them; None where there are none."""
        return self._example_sets.source("eval")

    def build_dataset(self) -> Shown | None:
        """Reads the training examples, unless they are; None where there are none."""
        return self.dataset

    def build_eval_dataset(self) -> Shown | None:
        """Reads the evaluation examples, unless they are; None where there are none."""
        return self.eval_dataset

    def get_dataset(self, n: int = -1, seed: int | None = None) -> Shown:
        """The training examples, at most `n` of them; a seed shuffles them for good.

        Returns:
            A Hugging Face `Dataset` where the author gave one, else an `ExampleTable`.

        Raises:
            ValueError: There are none.
        """
        if not self.has_training:
            raise ValueError("This environment has no training dataset, only an eval_dataset")
        return self._example_sets.show("train", n, seed)

    def get_eval_dataset(self, n: int = -1, seed: int | None = None) -> Shown:
        """The examples to evaluate on: the training ones where there are no others."""
        return self._example_sets.show(self._example_sets.evaluated, n, seed)

    def eval_table(self, n: int = -1) -> ExampleTable:
        """The examples to evaluate on as a run reads them: rows made ready one at a time."""
        return self._example_sets.table(self._example_sets.evaluated).head(n)

    @property
    def has_training(self) -> bool:
        """Whether there are training examples; they need not have been read for it."""
        return self._example_sets.has_training

    def training_table(self) -> ExampleTable | None:
        """The training examples, read in the same way; None where there are none."""
        return self._example_sets.table("train") if self.has_training else None

    def _replace(self, split: str, source: Source | None) -> None:
        if "_example_sets" in self.__dict__:  # before that, the constructor sets it again
            self._example_sets.replace(split, source)

    def prompt_rules(self) -> PromptRules:
        """Rules for the prompts of rows without one."""
        return PromptRules(self.system_prompt, tuple(self.few_shot), self.env_id or "default")

    def set_system_prompt(self, system_prompt: str | None) -> None:
        """Puts another system prompt before every prompt, examples already loaded included."""
        self.system_prompt = system_prompt
        self._example_sets.change_rules(system_prompt=system_prompt)

    def set_few_shot(self, few_shot: Sequence[Any] | None) -> None:
        """Puts other messages before every question, examples already loaded included."""
        self.few_shot = list(few_shot or [])
        self._example_sets.change_rules(few_shot=tuple(self.few_shot))
