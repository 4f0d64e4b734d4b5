"""The training and evaluation examples of one environment, read when they are needed."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from tui_eval.environments.datasets.example_table import ExampleTable
from tui_eval.environments.datasets.prompt_rules import PromptRules

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
        self._sources = {"train": train, "eval": evaluation}
        self._tables: dict[str, ExampleTable] = {}
        self.parts: Sequence[ExampleSets] = ()
        for split, source in self._sources.items():
            if source is not None and not callable(source):
                self._table(split)

    @property
    def has_training(self) -> bool:
        """Whether there is a training dataset, read or not."""
        return self._sources["train"] is not None

    def training(self, n: int, seed: int | None) -> Shown:
        """The training examples, at most `n` of them; a seed shuffles them for good.

        Raises:
            ValueError: There are none.
        """
        if not self.has_training:
            raise ValueError("This environment has no training dataset, only an eval_dataset")
        return self._show("train", n, seed)

    def evaluation(self, n: int, seed: int | None) -> Shown:
        """The examples to evaluate on: the training ones where there are no others."""
        return self._show(self._evaluated(), n, seed)

    def training_table(self) -> ExampleTable | None:
        """The training examples as a run reads rows; None where there are none."""
        return self._table("train") if self.has_training else None

    def evaluation_table(self, n: int) -> ExampleTable:
        """The examples to evaluate on as a run reads them: rows made ready one at a time."""
        return self._table(self._evaluated()).head(n)

    def source(self, split: str) -> Callable[[], Any] | None:
        """What gives the rows of `train` or `eval` as they came; None where there are none."""
        given = self._sources[split]
        return given if given is None or callable(given) else lambda: given

    def shown(self, split: str) -> Shown | None:
        """All rows of `train` or `eval`; None where there is no such dataset."""
        return None if self._sources[split] is None else self._show(split, -1, None)

    def replace(self, split: str, source: Any) -> None:
        """Puts another dataset, in any accepted form, in the place of `train` or `eval`.

        Raises:
            RefusedError: It cannot be read.
        """
        self._sources[split] = source
        self._tables.pop(split, None)
        if source is not None and not callable(source):
            self._table(split)

    def change_rules(self, **changes: Any) -> None:
        """Makes prompts by other rules, those of examples already read included."""
        self._rules = replace(self._rules, **changes)
        for split, table in self._tables.items():
            self._tables[split] = table.with_rules(self._rules)

    def _evaluated(self) -> str:
        return "eval" if self._sources["eval"] is not None else "train"

    def _show(self, split: str, n: int, seed: int | None) -> Shown:
        """A Hugging Face `Dataset` where the author gave one, and otherwise the table."""
        table = self._table(split)
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
            return self._table(split).is_hub
        if split == "eval":
            return all(part._is_hub(part._evaluated()) for part in self.parts)
        return all(part._is_hub("train") for part in self.parts if part.has_training)

    def _table(self, split: str) -> ExampleTable:
        table = self._tables.get(split)
        if table is None:
            source = self._sources[split]
            table = ExampleTable.read(source, self._rules, self._map_kwargs)
            self._tables[split] = table
            if self._rules.few_shot and "question" not in table[0]:
                logger.warning("few_shot is not used: the rows have prompts of their own")
        return table
