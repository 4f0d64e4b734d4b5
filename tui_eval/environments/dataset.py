"""The examples of an environment: rows as they were given, made ready one at a time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tui_eval.environments.json_copy import copy_data
from tui_eval.environments.rows import read_rows

_OPTIONAL = ("question", "example_id", "task", "answer", "info")


@dataclass(frozen=True, slots=True)
class PromptRules:
    """How the prompt of a row is made.

    Args:
        system_prompt: Stands first, unless it is empty or the row's own prompt begins with a system
            message.
        few_shot: Messages between it and the question; not used for rows with a prompt.
        task: The task of rows that name none.
    """

    system_prompt: str | None = None
    few_shot: Sequence[Any] = field(default_factory=tuple)
    task: str = "default"

    def prompt_of(self, row: Mapping[str, Any]) -> Any:
        """The prompt of a row: a list of messages, or text."""
        prompt = row.get("prompt")
        if prompt is None:
            head = [self._system()] if self.system_prompt else []
            question = {"role": "user", "content": row["question"]}
            return [*head, *self.few_shot, question]
        if not self.system_prompt:
            return prompt
        if isinstance(prompt, str):
            return [self._system(), {"role": "user", "content": prompt}]
        first = prompt[0]
        if not isinstance(first, str) and first.get("role") in ("system", "developer"):
            return prompt
        return [self._system(), *prompt]

    def _system(self) -> dict[str, Any]:
        return {"role": "system", "content": self.system_prompt}


class ExampleTable:
    """Examples in an order; a selection shares the rows with the table it was made from.

    `table[i]` is one row ready to run: `example_id`, `prompt`, `task`, `answer` and `info` where
    the row has them, and its other columns. It shares what is in the row: whoever changes it
    copies first, as `Environment.init_state` does.

    Args:
        rows: Rows as `read_rows` returns them.
        order: Places of the rows that this table shows; all of them by default.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        rules: PromptRules,
        order: Sequence[int] | None = None,
        own_ids: bool | None = None,
    ) -> None:
        self.rules = rules
        self._rows = rows
        self._order: Sequence[int] = range(len(rows)) if order is None else order
        self._own_ids = _ids_are_usable(rows) if own_ids is None else own_ids

    @classmethod
    def read(cls, source: Any, rules: PromptRules) -> ExampleTable:
        """The table of a dataset in any accepted form.

        Raises:
            RefusedError: With every fault of every row.
        """
        if isinstance(source, cls):
            return cls(source._rows, rules, source._order, source._own_ids)
        return cls(read_rows(source), rules)

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, place: int) -> dict[str, Any]:
        index = self._order[place]
        row = self._rows[index]
        ready = dict(row)
        for key in _OPTIONAL:
            if key in ready and ready[key] is None:
                del ready[key]
        if not self._own_ids:
            if "example_id" in ready:
                ready.setdefault("src_id", ready["example_id"])
            ready["example_id"] = index
        ready["prompt"] = self.rules.prompt_of(row)
        ready.setdefault("task", self.rules.task)
        return ready

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[place] for place in range(len(self)))

    @property
    def column_names(self) -> list[str]:
        """The columns of the first row, ready to run."""
        return list(self[0]) if len(self) else []

    def select(self, places: Iterable[int]) -> ExampleTable:
        """The rows at these places, in this order."""
        chosen = places if isinstance(places, range) else list(places)
        return self._ordered([self._order[place] for place in chosen])

    def head(self, count: int) -> ExampleTable:
        """The first rows, at most so many; all of them where `count` is negative."""
        return self if count < 0 or count >= len(self) else self._ordered(self._order[:count])

    def shuffle(self, seed: int | None = None) -> ExampleTable:
        """The same rows in an order that the seed decides."""
        order = list(self._order)
        random.Random(seed).shuffle(order)
        return self._ordered(order)

    def filter(self, keep: Callable[[dict[str, Any]], bool]) -> ExampleTable:
        """The rows for which `keep` says yes."""
        return self.select([place for place in range(len(self)) if keep(self[place])])

    def with_rules(self, rules: PromptRules) -> ExampleTable:
        """The same rows with their prompts made by other rules."""
        return ExampleTable(self._rows, rules, self._order, self._own_ids)

    def to_list(self) -> list[dict[str, Any]]:
        """All rows ready to run, each a copy of its own."""
        return [copy_data(row) for row in self]

    def _ordered(self, order: Sequence[int]) -> ExampleTable:
        return ExampleTable(self._rows, self.rules, order, self._own_ids)


def _ids_are_usable(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every row has an integer `example_id` of its own."""
    ids = [row.get("example_id") for row in rows]
    if any(type(value) is not int for value in ids):
        return False
    return len(set(ids)) == len(ids)
