"""The part of an environment that has its examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.environments.datasets.example_sets import ExampleSets
from tui_eval.environments.datasets.example_table import ExampleTable
from tui_eval.environments.datasets.prompt_rules import PromptRules
from tui_eval.environments.datasets.rows import Source

if TYPE_CHECKING:
    from tui_eval.environments.datasets.example_sets import Shown


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
        return self._example_sets.training(n, seed)

    def get_eval_dataset(self, n: int = -1, seed: int | None = None) -> Shown:
        """The examples to evaluate on: the training ones where there are no others."""
        return self._example_sets.evaluation(n, seed)

    def eval_table(self, n: int = -1) -> ExampleTable:
        """The examples to evaluate on as a run reads them: rows made ready one at a time."""
        return self._example_sets.evaluation_table(n)

    @property
    def has_training(self) -> bool:
        """Whether there are training examples; they need not have been read for it."""
        return self._example_sets.has_training

    def training_table(self) -> ExampleTable | None:
        """The training examples, read in the same way; None where there are none."""
        return self._example_sets.training_table()

    def _replace(self, split: str, source: Source | None) -> None:
        if "_example_sets" in self.__dict__:  # before that, the constructor sets it again
            self._example_sets.replace(split, source)

    def prompt_rules(self) -> PromptRules:
        """How the prompts of rows without one are made."""
        return PromptRules(self.system_prompt, tuple(self.few_shot), self.env_id or "default")

    def set_system_prompt(self, system_prompt: str | None) -> None:
        """Puts another system prompt before every prompt, examples already loaded included."""
        self.system_prompt = system_prompt
        self._example_sets.change_rules(system_prompt=system_prompt)

    def set_few_shot(self, few_shot: Sequence[Any] | None) -> None:
        """Puts other messages before every question, examples already loaded included."""
        self.few_shot = list(few_shot or [])
        self._example_sets.change_rules(few_shot=tuple(self.few_shot))
