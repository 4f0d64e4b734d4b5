"""Applies authors' functions to the rows of a table, by Hugging Face's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from tui_eval.environments.datasets.json_copy import copy_data
from tui_eval.errors import nearest

# Options of Hugging Face's methods on speed, files and types: without a meaning in memory.
_WITHOUT_MEANING = frozenset(
    {
        "cache_file_name",
        "desc",
        "disable_nullable",
        "feature",
        "features",
        "generator",
        "indices_cache_file_name",
        "keep_in_memory",
        "load_from_cache_file",
        "new_fingerprint",
        "num_proc",
        "on_mixed_types",
        "suffix_template",
        "try_original_type",
        "writer_batch_size",
    }
)


def refuse_unknown(method: str, options: Mapping[str, Any]) -> None:
    """Lets the options pass that change nothing here.

    Raises:
        TypeError: Another one is given, or one that a table in memory does not have.
    """
    for name in options:
        if name not in _WITHOUT_MEANING:
            hint = nearest(name, _WITHOUT_MEANING) or "table.to_hf() has all of Hugging Face's"
            raise TypeError(f"{method}() has no option {name!r}. {hint}")


class RowCall(NamedTuple):
    """A function of an author, and what it is given of a row or of a batch."""

    function: Callable[..., Any]
    with_indices: bool
    input_columns: str | Sequence[str] | None
    fn_kwargs: Mapping[str, Any] | None

    def __call__(self, row: Mapping[str, Any], place: int | list[int]) -> Any:
        given: list[Any] = [row]
        if isinstance(self.input_columns, str):
            given = [row[self.input_columns]]
        elif self.input_columns is not None:
            given = [row[name] for name in self.input_columns]
        if self.with_indices:
            given.append(place)
        try:
            return self.function(*given, **(self.fn_kwargs or {}))
        except Exception as error:
            first = place[0] if isinstance(place, list) else place
            error.add_note(f"(at row {first:,} of the dataset)")
            raise


def merge_rows(
    rows: Iterable[dict[str, Any]], call: RowCall, removed: set[str]
) -> list[dict[str, Any]]:
    """Each row without some columns, and what the function returns for it put over it."""
    merged = []
    for place, row in enumerate(rows):
        made = call(row, place)
        if made is not None and not isinstance(made, Mapping):
            kind = type(made).__name__
            raise TypeError(f"the function returned a {kind} for row {place:,}, not a dict")
        merged.append({**_without(row, removed), **(made or {})})
    return merged


def merge_batches(
    rows: Iterable[dict[str, Any]],
    columns: Sequence[str],
    call: RowCall,
    removed: set[str],
    size: int,
) -> list[dict[str, Any]]:
    """The same by batches: dicts of lists, and back to rows."""
    merged = []
    for first, taken in _batches(rows, size):
        batch = {name: [copy_data(row.get(name)) for row in taken] for name in columns}
        made = call(batch, list(range(first, first + len(taken))))
        if made is not None and not isinstance(made, Mapping):
            kind = type(made).__name__
            raise TypeError(f"the function returned a {kind} for a batch, not a dict of lists")
        result = {**_without(batch, removed), **(made or {})}
        lengths = {name: len(values) for name, values in result.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of a batch differ in length: {lengths}")
        names = list(result)
        merged += [
            dict(zip(names, values, strict=True)) for values in zip(*result.values(), strict=True)
        ]
    return merged


def _batches(
    rows: Iterable[dict[str, Any]], size: int
) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    source = iter(rows)
    first = 0
    while taken := list(islice(source, size)):
        yield first, taken
        first += len(taken)


def _without(row: Mapping[str, Any], removed: set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in removed}
