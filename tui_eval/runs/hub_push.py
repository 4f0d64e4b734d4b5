"""A run's rollouts as a dataset on the Hugging Face hub."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.errors import Fault, RefusedError
from tui_eval.fold.saved_values import whole_text
from tui_eval.install_commands import extra_command
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import holder
from tui_eval.runs.saved_run import finished_on_disk, run_started
from tui_eval.runs.scan import scan

if TYPE_CHECKING:
    import pyarrow

LONGEST_NAME = 96
CONVERSATIONS = ("prompt", "completion")
"""Columns whose messages may get null where another message has a field."""


def dataset_name(env_id: str, model: str, num_examples: int, rollouts_per_example: int) -> str:
    """The name of a dataset that nobody named, of the characters that the hub allows."""
    name = f"{env_id}_{model}_n{num_examples}_r{rollouts_per_example}".replace("/", "_")
    name = re.sub(r"-{2,}|\.{2,}", "-", re.sub(r"[^\w.-]", "-", name, flags=re.ASCII))
    return name.strip("-.")[-LONGEST_NAME:].lstrip("-.")


def push_run(run: RunDir, name: str | None = None, *, private: bool = False) -> tuple[str, int]:
    """Pushes every finished rollout of a run; the files stay as they are.

    Args:
        name: `owner/name` or a name under the user's own account; made up where it is None.
        private: Whether a dataset that does not exist yet is made for the owner alone.

    Returns:
        The name of the dataset, and how many rows it has.

    Raises:
        RefusedError: There is nothing to push, a package is missing, or the hub did not take it.
    """
    if holder(run.lock) is not None:
        raise RefusedError([Fault(str(run.path), "the run is not over", "Push it when it is")])
    offsets = {event.offset for event in finished_on_disk(run)}
    lines = (line for line in scan(run.results) if line.offset in offsets)
    rows = [line.row for line in lines if line.row is not None]
    if not rows:
        raise RefusedError([Fault(str(run.path), "the run has no finished rollout to push")])
    started = run_started(run)
    name = name or dataset_name(
        started.env_id, started.model, started.num_examples, started.rollouts_per_example
    )
    try:
        import datasets
    except ImportError:
        hint = f"Install it: {extra_command('hub')}"
        raise RefusedError([Fault("hub", "the package datasets is missing", hint)]) from None
    try:
        datasets.Dataset(arrow_table(rows)).push_to_hub(name, private=private or None)
    except Exception as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        fault = Fault(f"dataset {name}", f"the hub did not take it: {what}")
        raise RefusedError([fault]) from error
    return name, len(rows)


def retry(run: RunDir, name: str | None) -> str:
    """The command that pushes a run."""
    named = ["-D", name] if name else []
    return shlex.join(["tui-eval", "push", str(run.path), *named])


def arrow_table(rows: Sequence[dict[str, Any]]) -> pyarrow.Table:
    """Rows as a table: one column a key, in the order in which the keys come up.

    A column that Arrow cannot hold as it is, such as objects of different keys, and what only this
    program reads are JSON text.
    """
    import pyarrow

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pyarrow.table({name: _column(name, [row.get(name) for row in rows]) for name in names})


def _column(name: str, values: list[Any]) -> pyarrow.Array:
    import pyarrow

    if name != "tui_eval":
        try:
            column = pyarrow.array(values)
        except (pyarrow.ArrowException, OverflowError, UnicodeError):
            column = None
        if column is not None and _can_be_written(column.type):
            kept = column.to_pylist()
            if kept == values or (name in CONVERSATIONS and _without_null(kept) == values):
                return column
    return pyarrow.array([None if value is None else _text(value) for value in values], "string")


def _can_be_written(kind: pyarrow.DataType) -> bool:
    """Whether Parquet can hold a type: objects without any key it cannot."""
    import pyarrow

    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return bool(inner or not pyarrow.types.is_struct(kind)) and all(map(_can_be_written, inner))


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(item) for name, item in value.items() if item is not None}
    return [_without_null(item) for item in value] if isinstance(value, list) else value


def _text(value: Any) -> str:
    return whole_text(value if isinstance(value, str) else json.dumps(value))
