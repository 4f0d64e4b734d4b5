"""Reading a dataset in any accepted form, and refusing what cannot be run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from tui_eval.environments.author_errors import describe
from tui_eval.environments.datasets.hub import HubRows, hub_dataset
from tui_eval.environments.datasets.prompt_rules import PromptRules, row_faults
from tui_eval.errors import Fault, RefusedError
from tui_eval.types import RolloutInput

_MOST_FAULTS = 20
_FORMS = "a list of dicts, the path of a JSONL file, a Hugging Face Dataset, or a function"


class Table(Protocol):
    """The part of a Hugging Face `Dataset` that is used."""

    column_names: Any

    def __iter__(self) -> Any: ...


Source: TypeAlias = Sequence[Mapping[str, Any]] | Table | str | Path | Callable[[], Any]


def read_rows(
    source: Any, map_kwargs: Mapping[str, Any] | None = None
) -> Sequence[Mapping[str, Any]]:
    """The rows of a dataset, as they were given, every one of them checked.

    A list and a JSONL file are checked row by row. A Hugging Face `Dataset` is checked by column,
    in its own memory; rows of it are decoded only where a column cannot vouch for them, and
    otherwise when they are read.

    Args:
        source: A list of dicts, the path of a JSONL file, a Hugging Face `Dataset`, or a function
            that returns one of these.
        map_kwargs: For Hugging Face's `map`, when all rows of a `Dataset` are made ready.

    Raises:
        RefusedError: With every fault that was found, by row or line.
    """
    if callable(source):
        source = _built(source)
    dataset = hub_dataset(source)
    if dataset is not None:
        hub_rows = HubRows(dataset, map_kwargs)
        _refuse(list(hub_rows.faults()))
        return hub_rows
    where: Sequence[str] | None = None
    faults: list[Fault] = []
    if isinstance(source, (str, Path)):
        where, rows, faults = _read_jsonl(Path(source))
    elif isinstance(source, (list, tuple)) or (
        hasattr(source, "column_names") and not isinstance(source, Mapping)
    ):
        rows = list(source)
    else:
        kind = type(source).__name__
        hint = f"It must be {_FORMS} that returns one of these"
        if hasattr(source, "to_dict"):
            hint = "Give it as dataset.to_dict('records')"
        raise RefusedError([Fault("dataset", f"it is of type {kind}", hint)])
    for index, row in enumerate(rows):
        place = f"dataset row {index}" if where is None else where[index]
        faults += [Fault(place, what, hint) for what, hint in row_faults(row)]
    if not rows and not faults:
        name = "dataset" if where is None else str(source)
        faults.append(Fault(name, "it has no rows", "Give it at least one example"))
    _refuse(faults)
    return rows


def _built(builder: Callable[[], Any]) -> Any:
    try:
        return builder()
    except RefusedError:
        raise
    except Exception as error:
        what = f"the function that builds it raised {describe(error)}"
        raise RefusedError([Fault("dataset", what)]) from error


def _read_jsonl(path: Path) -> tuple[list[str], list[Any], list[Fault]]:
    """The place of each row, the rows, and faults of what could not be read."""
    places: list[str] = []
    rows: list[Any] = []
    faults: list[Fault] = []
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        hint = f"A dataset is {_FORMS}; a path is relative to {Path.cwd()}"
        fault = Fault(str(path), f"it cannot be read: {error.strerror}", hint)
        raise RefusedError([fault]) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path} line {number}"
        try:
            rows.append(json.loads(line))
            places.append(where)
        except (ValueError, RecursionError) as error:
            hint = "Each line must be one JSON object"
            faults.append(Fault(where, f"it is not JSON: {error}", hint))
    return places, rows, faults


def _refuse(faults: list[Fault]) -> None:
    if len(faults) > _MOST_FAULTS:
        more = Fault("dataset", f"{len(faults) - _MOST_FAULTS:,} more faults of this kind")
        faults = [*faults[:_MOST_FAULTS], more]
    if faults:
        raise RefusedError(faults)


Group: TypeAlias = list[RolloutInput]

_OPTIONAL = ("question", "prompt", "example_id", "task", "answer", "info")


def read_groups(inputs: Any, rules: PromptRules) -> list[Group]:
    """The rows of the inputs: those with the same `example_id` are the rollouts of one group.

    Groups are in the order in which their ids first come. A row without an id is a group of its
    own and gets the next free number. Where an id is no integer, all are numbered, and what they
    were is in `src_id`.

    Args:
        inputs: A list of dicts, an `ExampleTable` or a Hugging Face `Dataset`; a row has `prompt`,
            which is taken as it is, or `question`, from which `rules` make one.

    Raises:
        RefusedError: With everything that is wrong with the rows.
    """
    rows = [_ready(row, rules) for row in read_rows(inputs)]
    _number(rows)
    groups: dict[int, Group] = {}
    for row in rows:
        groups.setdefault(row["example_id"], []).append(cast(RolloutInput, row))
    return list(groups.values())


def _ready(row: Mapping[str, Any], rules: PromptRules) -> dict[str, Any]:
    ready = {k: v for k, v in row.items() if v is not None or k not in _OPTIONAL}
    if "prompt" not in ready:
        ready["prompt"] = rules.prompt_of(row)
    ready.setdefault("task", rules.task)
    return ready


def _number(rows: list[dict[str, Any]]) -> None:
    """Gives every row an integer id."""
    given = [row["example_id"] for row in rows if "example_id" in row]
    are_kept = all(type(value) is int for value in given)
    free = _free_numbers(given if are_kept else ())
    numbers: dict[str, int] = {}
    for row in rows:
        if "example_id" not in row:
            row["example_id"] = next(free)
        elif not are_kept:
            row.setdefault("src_id", row["example_id"])
            name = repr(row["example_id"])
            if name not in numbers:
                numbers[name] = next(free)
            row["example_id"] = numbers[name]


def _free_numbers(taken: Iterable[int]) -> Iterator[int]:
    known = set(taken)
    return (number for number in count() if number not in known)
