"""Reading a dataset in any accepted form, and refusing what cannot be run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from tui_eval.environments.author_errors import describe
from tui_eval.errors import Fault, RefusedError
from tui_eval.messages import CustomBaseModel

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "text"})
_MOST_FAULTS = 20
_FORMS = "a list of dicts, the path of a JSONL file, a Hugging Face Dataset, or a function"


class Table(Protocol):
    """The part of a Hugging Face `Dataset` that is used."""

    column_names: Any

    def __iter__(self) -> Any: ...


Source: TypeAlias = Sequence[Mapping[str, Any]] | Table | str | Path | Callable[[], Any]


def read_rows(source: Any) -> list[Mapping[str, Any]]:
    """The rows of a dataset, as they were given.

    Args:
        source: A list of dicts, the path of a JSONL file, a Hugging Face `Dataset`, or a function
            that returns one of these.

    Raises:
        RefusedError: With every fault that was found, by row or line.
    """
    if callable(source):
        source = _built(source)
    if isinstance(source, (str, Path)):
        places, rows, faults = _read_jsonl(Path(source))
    elif isinstance(source, (list, tuple)) or _is_table(source):
        rows, faults = list(source), []
        places = None
    else:
        kind = type(source).__name__
        hint = f"It must be {_FORMS} that returns one of these"
        raise RefusedError([Fault("dataset", f"it is a {kind}", hint)])
    for index, row in enumerate(rows):
        where = places[index] if places is not None else f"dataset row {index}"
        faults += [Fault(where, what, hint) for what, hint in _row_faults(row)]
    if not rows and not faults:
        where = str(source) if places is not None else "dataset"
        faults.append(Fault(where, "it has no rows", "Give it at least one example"))
    if faults:
        raise RefusedError(_shortened(faults))
    return rows


def _built(builder: Callable[[], Any]) -> Any:
    try:
        return builder()
    except RefusedError:
        raise
    except Exception as error:
        what = f"the function that builds it raised {describe(error)}"
        raise RefusedError([Fault("dataset", what)]) from error


def _is_table(source: Any) -> bool:
    return hasattr(source, "column_names") and not isinstance(source, Mapping)


def _read_jsonl(path: Path) -> tuple[list[str], list[Any], list[Fault]]:
    """Where each row stands, the rows, and what could not be read."""
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


def _row_faults(row: Any) -> Iterable[tuple[str, str]]:
    """What is wrong with a row, each with what to do."""
    if not isinstance(row, Mapping):
        yield f"it is a {type(row).__name__}, not an object", "A row is an object with a question"
        return
    prompt, question = row.get("prompt"), row.get("question")
    if prompt is None and question is None:
        columns = ", ".join(map(str, row)) or "none"
        yield "it has neither 'prompt' nor 'question'", f"Its columns: {columns}"
    elif prompt is not None:
        yield from _prompt_faults(prompt)
    elif not isinstance(question, (str, list)):
        yield f"its 'question' is a {type(question).__name__}", "It must be text"
    info = row.get("info")
    if isinstance(info, str):
        try:
            info = json.loads(info)
        except ValueError:
            info = False
    if info is not None and not isinstance(info, Mapping):
        yield "its 'info' is not an object", "It must be an object, or JSON text of one"


def _prompt_faults(prompt: Any) -> Iterable[tuple[str, str]]:
    hint = "It must be text, or a list of messages with role and content"
    if isinstance(prompt, str):
        return
    if not isinstance(prompt, (list, tuple)):
        yield f"its 'prompt' is a {type(prompt).__name__}", hint
    elif not prompt:
        yield "its 'prompt' has no messages", hint
    else:
        for place, message in enumerate(prompt):
            if isinstance(message, (str, CustomBaseModel)):
                continue
            if not isinstance(message, Mapping) or str(message.get("role")) not in _ROLES:
                yield f"message {place} of its 'prompt' has no known role", hint
            elif message.get("content") is None and message["role"] != "assistant":
                yield f"message {place} of its 'prompt' has no content", hint


def _shortened(faults: list[Fault]) -> list[Fault]:
    if len(faults) <= _MOST_FAULTS:
        return faults
    more = Fault("dataset", f"{len(faults) - _MOST_FAULTS:,} more faults of this kind")
    return [*faults[:_MOST_FAULTS], more]
