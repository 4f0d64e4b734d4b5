"""The examples of an environment: rows as they were given, made ready one at a time."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from tui_eval.environments.datasets.hub import HubRows, import_datasets
from tui_eval.environments.datasets.json_copy import copy_data, plain_data
from tui_eval.environments.datasets.prompt_rules import PromptRules
from tui_eval.environments.datasets.row_calls import (
    RowCall,
    merge_batches,
    merge_rows,
    refuse_unknown,
)
from tui_eval.environments.datasets.rows import read_rows
from tui_eval.errors import nearest

if TYPE_CHECKING:
    from datasets import Dataset

logger = logging.getLogger(__name__)

_OPTIONAL = ("question", "example_id", "task", "answer", "info")


class ExampleTable:
    """Examples in an order: a small read-only table with the manners of a Hugging Face `Dataset`.

    `table[i]` is one row, `table["column"]` the list of a column's values (None where a row has
    none), `table[2:5]` and `table[[7, 1]]` are tables. A selection shares the rows with the table
    it was made from. With `rules` a row is made ready to run when it is read: `example_id`,
    `prompt`, `task`, `answer` and `info` where the row has them, and its other columns. It shares
    what is in the row: whoever changes it copies first, as `Environment.init_state` does.

    Args:
        rows: Dicts, or rows as `read_rows` returns them.
        rules: How prompts are made; without them the rows are shown as they are.
        order: Places of the rows that this table shows; all of them by default.
        own_ids: Whether the rows' own `example_id` are good; found out by default.
    """

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]],
        rules: PromptRules | None = None,
        order: Sequence[int] | None = None,
        own_ids: bool | None = None,
    ) -> None:
        self.rules = rules
        self._rows = rows
        self._order: Sequence[int] = range(len(rows)) if order is None else order
        self._own_ids = _ids_are_usable(rows) if own_ids is None else own_ids

    @classmethod
    def read(
        cls, source: Any, rules: PromptRules, map_kwargs: Mapping[str, Any] | None = None
    ) -> ExampleTable:
        """The table of a dataset in any accepted form.

        Args:
            map_kwargs: For Hugging Face's `map`, where the source is a `Dataset`.

        Raises:
            RefusedError: With every fault of every row.
        """
        return cls(read_rows(source, map_kwargs), rules)

    def __len__(self) -> int:
        return len(self._order)

    def __repr__(self) -> str:
        return f"ExampleTable(num_rows={len(self)}, column_names={self.column_names})"

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, place: str) -> list[Any]: ...
    @overload
    def __getitem__(self, place: slice | Iterable[int]) -> ExampleTable: ...
    def __getitem__(self, place: int | str | slice | Iterable[int]) -> Any:
        if isinstance(place, str):
            return self._column(place)
        if isinstance(place, slice):
            return self._ordered(self._order[place])
        if isinstance(place, Iterable):
            return self.select(place)
        return self._row(self._order[operator.index(place)])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._row, self._order)

    def _row(self, index: int) -> dict[str, Any]:
        row = self._rows[index]
        ready = dict(row)
        if self.rules is None:
            return ready
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

    def _column(self, name: str) -> list[Any]:
        if name == "example_id" and self.rules is not None:
            if not self._own_ids:
                return list(self._order)
            ids = _ids_of(self._rows)
            return [ids[index] for index in self._order]
        columns = self.column_names
        if name not in columns:
            raise KeyError(_no_column(name, columns))
        return [row.get(name) for row in self]

    @property
    def column_names(self) -> list[str]:
        """The columns that any row has."""
        if isinstance(self._rows, HubRows):
            names = dict.fromkeys(self._rows.column_names)
        else:
            names = {name: None for row in self._rows for name in row}
        if self.rules is not None:
            if "example_id" in names and not self._own_ids:
                names["src_id"] = None
            names |= dict.fromkeys(("example_id", "prompt", "task"))
        return list(names)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self)

    # Fewer rows, or another order

    def select(self, indices: Iterable[int]) -> ExampleTable:
        """The rows at these places, in this order.

        Raises:
            IndexError: There is no such row.
        """
        return self._ordered([self._order[place] for place in indices])

    def head(self, count: int) -> ExampleTable:
        """The first rows, at most so many; all of them where `count` is negative."""
        return self if count < 0 or count >= len(self) else self._ordered(self._order[:count])

    def take(self, n: int) -> ExampleTable:
        """The first `n` rows, or all where there are fewer."""
        return self.head(max(n, 0))

    def shuffle(self, seed: int | None = None, **options: Any) -> ExampleTable:
        """The same rows in the order into which the seed brings a Hugging Face `Dataset`.

        Args:
            seed: At least 0; without one the order is another one every time.
            options: Further options of Hugging Face's `shuffle`, which change nothing here.
        """
        refuse_unknown("shuffle", options)
        import numpy

        places = numpy.random.default_rng(seed).permutation(len(self))
        return self.select(places.tolist())

    def filter(
        self,
        function: Callable[..., Any],
        *,
        with_indices: bool = False,
        input_columns: str | Sequence[str] | None = None,
        fn_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> ExampleTable:
        """The rows for which `function` says yes; the arguments are those of `map`."""
        refuse_unknown("filter", options)
        call = RowCall(function, with_indices, input_columns, fn_kwargs)
        return self.select(place for place, row in enumerate(self) if call(row, place))

    # Other columns: made at once, and the rows are then shown as they were made

    def map(
        self,
        function: Callable[..., Any],
        *,
        with_indices: bool = False,
        input_columns: str | Sequence[str] | None = None,
        batched: bool = False,
        batch_size: int | None = 1000,
        remove_columns: str | Sequence[str] | None = None,
        fn_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> ExampleTable:
        """The rows, each with what `function` returns for it put over it.

        Args:
            function: Takes a row, a copy, and returns a dict, or None to change nothing.
            with_indices: Gives it the place of the row too.
            input_columns: Gives it the values of these columns instead of the row.
            batched: Gives it a dict of lists, and takes one: then there may be more or fewer rows.
            batch_size: Rows in a batch; None for all in one.
            remove_columns: Columns of the rows to leave out, unless the function returns them.
            fn_kwargs: Keyword arguments for the function.
            options: Further options of Hugging Face's `map`, which change nothing here.

        Raises:
            TypeError: The function returns something else, or there is no such option.
            ValueError: There is no such column, or a batch's columns differ in length.
            Exception: What the function raises, with a note that names the row.
        """
        refuse_unknown("map", options)
        removed = self._known(remove_columns or ())
        call = RowCall(function, with_indices, input_columns, fn_kwargs)
        if batched:
            columns = self.column_names
            rows = merge_batches(self, columns, call, removed, batch_size or max(len(self), 1))
        else:
            rows = merge_rows(map(copy_data, self), call, removed)
        return ExampleTable(rows)

    def remove_columns(self, column_names: str | Sequence[str]) -> ExampleTable:
        """The rows without these columns.

        Raises:
            ValueError: There is no such column.
        """
        removed = self._known(column_names)
        return ExampleTable([{k: v for k, v in row.items() if k not in removed} for row in self])

    def select_columns(self, column_names: str | Sequence[str]) -> ExampleTable:
        """The rows with these columns only.

        Raises:
            ValueError: There is no such column.
        """
        kept = self._known(column_names)
        return self.remove_columns([name for name in self.column_names if name not in kept])

    def rename_column(
        self, original_column_name: str, new_column_name: str, **options: Any
    ) -> ExampleTable:
        """The rows with one column under another name.

        Raises:
            ValueError: There is no such column, or there is one of the new name.
        """
        refuse_unknown("rename_column", options)
        self._known(original_column_name)
        self._refuse_taken(new_column_name)
        names = {original_column_name: new_column_name}
        return ExampleTable([{names.get(k, k): v for k, v in row.items()} for row in self])

    def add_column(self, name: str, column: Sequence[Any], **options: Any) -> ExampleTable:
        """The rows with one column more.

        Args:
            column: A value for each row.

        Raises:
            ValueError: There is a column of that name, or there are too few or too many values.
        """
        refuse_unknown("add_column", options)
        self._refuse_taken(name)
        if len(column) != len(self):
            raise ValueError(f"column {name!r} has {len(column)} values for {len(self)} rows")
        return ExampleTable([{**row, name: value} for row, value in zip(self, column, strict=True)])

    # Other forms

    def with_rules(self, rules: PromptRules) -> ExampleTable:
        """The same rows with their prompts made by other rules."""
        return ExampleTable(self._rows, rules, self._order, self._own_ids)

    def to_list(self) -> list[dict[str, Any]]:
        """All rows, each a copy of its own."""
        return [copy_data(row) for row in self]

    @property
    def is_hub(self) -> bool:
        """Whether the rows are those of a Hugging Face `Dataset`."""
        return isinstance(self._rows, HubRows)

    def to_hf(self) -> Dataset:
        """A Hugging Face `Dataset` of these rows, in this order.

        A column has one type there: what a dict does not have and others have becomes None.

        Raises:
            ImportError: The package `datasets` is not installed; says which extra to install.
            ValueError: The values of a column have no type in common.
        """
        datasets = import_datasets("to_hf()")
        if isinstance(self._rows, HubRows) and self.rules is not None:
            return self._rows.formatted(self.rules, self._own_ids, self._order)
        rows = [plain_data(row) for row in self]
        columns = {name: [row.get(name) for row in rows] for name in self.column_names}
        try:
            return datasets.Dataset.from_dict(columns)
        except Exception:
            for name, values in columns.items():
                try:
                    datasets.Dataset.from_dict({name: values})
                except Exception as error:
                    what = f"column {name!r} cannot be one of a Hugging Face Dataset: {error}"
                    raise ValueError(what) from error
            raise

    def _ordered(self, order: Sequence[int]) -> ExampleTable:
        return ExampleTable(self._rows, self.rules, order, self._own_ids)

    def _known(self, names: str | Sequence[str]) -> set[str]:
        columns = self.column_names
        requested = {names} if isinstance(names, str) else set(names)
        for name in sorted(requested - set(columns)):
            raise ValueError(_no_column(name, columns))
        return requested

    def _refuse_taken(self, name: str) -> None:
        if name in self.column_names:
            raise ValueError(f"there is a column {name!r} already")


def as_dataset(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a Hugging Face `Dataset` where `datasets` is installed, else as a table."""
    table = ExampleTable(rows)
    try:
        return table.to_hf()
    except ImportError:
        return table


def _no_column(name: str, columns: Sequence[str]) -> str:
    hint = nearest(name, columns)
    return f"there is no column {name!r}. {hint or 'The columns are: ' + ', '.join(columns)}"


def _ids_of(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    if isinstance(rows, HubRows):
        return rows.column("example_id")
    return [row.get("example_id") for row in rows]


def _ids_are_usable(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether every row has an integer `example_id` of its own."""
    ids = _ids_of(rows)
    if any(type(value) is not int for value in ids):
        return False
    repeated = len(ids) - len(set(ids))
    if repeated:
        what = "%d of %d rows have the example_id of another: all are numbered by their place"
        logger.warning(f"{what}, and src_id has what it was", repeated, len(ids))
    return not repeated
