"""Hugging Face datasets: detected without loading the package, checked by column, read by row."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from tui_eval.environments.datasets.json_copy import plain_data
from tui_eval.environments.datasets.prompt_rules import ROLES, PromptRules, is_json, row_faults
from tui_eval.errors import Fault, RefusedError
from tui_eval.install_commands import extra_command

if TYPE_CHECKING:
    from datasets import Dataset

_BATCH = 10_000
_CHECKED = ("prompt", "question", "info")


def hub_dataset(source: Any) -> Dataset | None:
    """A Hugging Face `Dataset` as it is, None for what is none of theirs.

    Raises:
        RefusedError: It is a set of splits, a stream, or has a transform of its own.
    """
    if _is_a(source, "arrow_dataset", "Dataset"):
        if source.format["type"] == "custom":
            what = "it has a transform, which would change its rows whenever they are read"
            raise RefusedError([Fault("dataset", what, "Make the change with dataset.map")])
        return source
    if _is_a(source, "dataset_dict", "DatasetDict", "IterableDatasetDict"):
        splits = ", ".join(source)
        hint = f"Name one of them, as in dataset[{next(iter(source), 'train')!r}]"
        raise RefusedError([Fault("dataset", f"it is a dict of the splits {splits}", hint)])
    if _is_a(source, "iterable_dataset", "IterableDataset"):
        what = "it is a stream (IterableDataset), which has no length and no order"
        hint = "Load it without streaming=True, or take rows: list(dataset.take(100))"
        raise RefusedError([Fault("dataset", what, hint)])
    return None


def import_datasets(user: str) -> Any:
    """The package `datasets`, for something that cannot do without it.

    Raises:
        ImportError: It is not installed; says which extra to install.
    """
    try:
        import datasets
    except ModuleNotFoundError as error:
        if error.name != "datasets":
            raise
        what = f"{user} needs the package 'datasets': {extra_command('hub')}"
        raise ImportError(what, name="datasets") from error
    return datasets


def _is_a(source: Any, module: str, *names: str) -> bool:
    """Whether it is an object of one of these classes; a class nobody loaded has no objects."""
    home = sys.modules.get(f"datasets.{module}")
    return isinstance(source, tuple(getattr(home, name) for name in names)) if home else False


class HubRows(Sequence[Mapping[str, Any]]):
    """The rows of a Hugging Face `Dataset`, each decoded when it is read.

    Pictures, sounds and the like stay the bytes and paths that the dataset holds.

    Args:
        dataset: Any format but a transform; rows are read as Python objects.
        map_kwargs: For the `map` that makes the columns of `formatted`.
    """

    def __init__(self, dataset: Dataset, map_kwargs: Mapping[str, Any] | None = None) -> None:
        self.dataset = dataset.with_format(None)
        holds_media = any(map(_needs_decoding, self.dataset.features.values()))
        self._undecoded = self.dataset.with_format("arrow") if holds_media else None
        self.column_names: list[str] = self.dataset.column_names
        self._map_kwargs = dict(map_kwargs or {})
        self._formatted: tuple[PromptRules, Dataset] | None = None

    def __len__(self) -> int:
        return len(self.dataset)

    @overload
    def __getitem__(self, place: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return list(HubRows(self.dataset.select(range(*place.indices(len(self))))))
        if self._undecoded is None:
            return self.dataset[place]
        return self._undecoded[place].to_pylist()[0]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        if self._undecoded is None:
            return iter(self.dataset)
        return map(self.__getitem__, range(len(self)))

    def column(self, name: str) -> list[Any]:
        """The values of one column, without decoding the others; None where there is none."""
        if name not in self.column_names:
            return [None] * len(self)
        return list(self.dataset.select_columns([name])[name])

    def faults(self) -> Iterator[Fault]:
        """Faults of the columns, or else of rows, each with its place."""
        if not len(self):
            yield Fault("dataset", "it has no rows", "Give it at least one example")
            return
        checked = [name for name in _CHECKED if name in self.column_names]
        if not {"prompt", "question"} & set(checked):
            hint = f"Rename one of its columns: {', '.join(self.column_names)}"
            yield Fault("dataset", "it has no column 'prompt' or 'question'", hint)
            return
        rows = HubRows(self.dataset.select_columns(checked))
        arrow = rows.dataset.with_format("arrow")
        for start in range(0, len(self), _BATCH):
            if _are_proven(arrow[start : start + _BATCH]):
                continue
            for place, row in enumerate(rows[start : start + _BATCH], start):
                for what, hint in row_faults(row):
                    yield Fault(f"dataset row {place}", what, hint)

    def formatted(self, rules: PromptRules, own_ids: bool, order: Sequence[int]) -> Dataset:
        """The dataset with the columns `prompt`, `example_id` and `task` as a run needs them.

        All of it is made once for the same rules, a part whenever it is requested before. Where
        the contents of messages are lists of parts, texts that are put before them become parts
        too: a column has one type.

        Args:
            own_ids: Whether its `example_id` is good; otherwise it is kept as `src_id`, and rows
                are numbered by their place.
            order: Places of the rows to return.
        """
        everything = range(len(self))
        if self._formatted is None or self._formatted[0] != rules:
            if len(order) < len(self):
                return self._make_ready(rules, own_ids, order)
            self._formatted = (rules, self._make_ready(rules, own_ids, everything))
        whole = self._formatted[1]
        return whole if order == everything else whole.select(order)

    def _make_ready(self, rules: PromptRules, own_ids: bool, order: Sequence[int]) -> Dataset:
        dataset = self.dataset if len(order) == len(self) else self.dataset.select(order)
        if not own_ids and "example_id" in self.column_names:
            if "src_id" in self.column_names:
                dataset = dataset.remove_columns("example_id")
            else:
                dataset = dataset.rename_column("example_id", "src_id")
        parts = self._has_parts(rules)

        def ready(row: Mapping[str, Any], place: int) -> dict[str, Any]:
            prompt = plain_data(rules.prompt_of(row))
            made = {"prompt": _with_parts(prompt) if parts else prompt}
            if not own_ids:
                made["example_id"] = order[place]
            if row.get("task") is None:
                made["task"] = rules.task
            return made

        return dataset.map(ready, with_indices=True, **self._map_kwargs)

    def _has_parts(self, rules: PromptRules) -> bool:
        """Whether the contents of the messages in the column `prompt` have to be lists."""
        if any(isinstance(shot.get("content"), list) for shot in rules.few_shot):
            return True
        import pyarrow

        schema = self.dataset.features.arrow_schema
        kind = schema.field("prompt" if "prompt" in schema.names else "question").type
        if "prompt" in schema.names and pyarrow.types.is_list(kind):
            message = kind.value_type
            if not pyarrow.types.is_struct(message) or "content" not in message.names:
                return False
            kind = message.field("content").type
        return bool(pyarrow.types.is_list(kind))


def _needs_decoding(feature: Any) -> bool:
    """Whether a column holds what `datasets` makes objects of, such as pictures, also inside."""
    if hasattr(feature, "decode_example"):
        return True
    if isinstance(feature, Mapping):
        return any(map(_needs_decoding, feature.values()))
    inside = feature if isinstance(feature, list) else [getattr(feature, "feature", None)]
    return any(_needs_decoding(one) for one in inside if one is not None)


def _with_parts(prompt: Any) -> Any:
    if isinstance(prompt, str):
        return prompt
    return [
        {**message, "content": [{"type": "text", "text": message["content"]}]}
        if isinstance(message.get("content"), str)
        else message
        for message in prompt
    ]


def _are_proven(columns: Any) -> bool:
    """Whether the columns alone, an Arrow table, show that each row can be run."""
    import pyarrow.compute as pc

    given = {name: columns.column(name) for name in columns.column_names}
    info = given.pop("info", None)
    texts = info.to_pylist() if info is not None and _is_text(info) else ()
    if not all(text is None or is_json(text) for text in texts):
        return False
    filled = [pc.is_valid(column) for column in given.values()]
    if not pc.all(pc.or_(filled[0], filled[-1])).as_py():
        return False
    prompt, question = given.get("prompt"), given.get("question")
    if prompt is not None and not (_is_text(prompt) or _messages_are_proven(prompt)):
        return False
    return question is None or _is_text(question) or bool(pc.all(pc.is_null(question)).as_py())


def _is_text(column: Any) -> bool:
    import pyarrow

    kind = column.type
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _messages_are_proven(prompt: Any) -> bool:
    import pyarrow
    import pyarrow.compute as pc

    if not pyarrow.types.is_list(prompt.type):
        return bool(pyarrow.types.is_null(prompt.type))
    kind = prompt.type.value_type
    if not pyarrow.types.is_struct(kind) or not {"role", "content"} <= set(kind.names):
        return False
    if pc.any(pc.equal(pc.list_value_length(prompt), 0)).as_py():
        return False
    messages = pc.list_flatten(prompt)
    role = pc.struct_field(messages, "role")
    if not _is_text(role):
        return False
    known = pc.is_in(role, value_set=pyarrow.array(ROLES))
    if not _are_plain(messages, role):
        return False
    silent = pc.is_in(role, value_set=pyarrow.array(["assistant"]))
    has_content = pc.or_(pc.is_valid(pc.struct_field(messages, "content")), silent)
    return bool(pc.all(pc.and_(known, has_content)).as_py())


def _are_plain(messages: Any, role: Any) -> bool:
    """Whether contents are of a type that a message takes, and no tool is called or answers."""
    import pyarrow
    import pyarrow.compute as pc

    content = pc.struct_field(messages, "content")
    parts = pyarrow.types.is_list(content.type) and pyarrow.types.is_struct(content.type.value_type)
    if not (_is_text(content) or parts or pyarrow.types.is_null(content.type)):
        return False
    if "tool_calls" in [field.name for field in messages.type]:
        calls = pc.struct_field(messages, "tool_calls")
        if pc.any(pc.is_valid(calls)).as_py():
            return False
    return not pc.any(pc.equal(role, "tool")).as_py()
