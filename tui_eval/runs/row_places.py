"""Places in a run of saved rollouts, and of those that cost tokens and have no row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from tui_eval.events import RolloutFinished
from tui_eval.fold.saved_values import listing, mapping, tokens_of
from tui_eval.token_kinds import Tokens, from_names, named


class RowPlaces:
    """Gives every saved rollout its place in the run: its own, or from its example and number.

    `positions` are places of example ids, where the dataset is known. Otherwise integer ids below
    `examples` are their own place, where it is free, and others take the first free one.
    """

    def __init__(
        self, rollouts_per_example: int, examples: int, positions: Mapping[Any, int] | None = None
    ) -> None:
        self.per_example = max(rollouts_per_example, 1)
        self._examples = examples
        self._known = positions
        self._positions: dict[Any, int] = {}
        self._taken: set[int] = set()
        self._first_free = 0
        self._numbers: defaultdict[int, set[int]] = defaultdict(set)
        self._free: dict[int, int] = {}

    def learn(self, event: RolloutFinished) -> None:
        """Takes over the place that a rollout has already."""
        position = event.row // self.per_example
        self._take(_hashable(event.example_id), position)
        self._numbers[position].add(event.number)

    def place(self, row: Mapping[str, Any]) -> tuple[int, int] | None:
        """(place in the run, number in its group), or None where the run has no such place."""
        ours = mapping(row.get("tui_eval"))
        return self.place_of(example_id_of(row), ours.get("rollout"), ours.get("row"))

    def place_of(self, example_id: Any, number: Any, own: Any) -> tuple[int, int] | None:
        """The place of a rollout of an example.

        Args:
            number: Its number in its group, where its row has one.
            own: Its place in the run, where its row has one.
        """
        example_id = _hashable(example_id)
        position = self._positions.get(example_id)
        if position is None and example_id is not None:
            position = self._position(example_id)
        if position is None:
            return None
        if isinstance(own, int) and isinstance(number, int):
            return (own, number) if 0 <= own < self._examples * self.per_example else None
        if not isinstance(number, int):
            number, taken = self._free.get(position, 0), self._numbers.get(position, ())
            while number in taken:
                number += 1
            self._free[position] = number + 1
        else:
            self._numbers[position].add(number)
        if not 0 <= number < self.per_example:
            return None
        return position * self.per_example + number, number

    def _position(self, example_id: Any) -> int | None:
        if self._known is not None:
            return self._known.get(example_id)
        own = isinstance(example_id, int) and 0 <= example_id < self._examples
        if own and example_id not in self._taken:
            return self._take(example_id, example_id)
        while self._first_free in self._taken:
            self._first_free += 1
        return self._take(example_id, self._first_free)

    def _take(self, example_id: Any, position: int) -> int:
        self._taken.add(position)
        self._positions[example_id] = position
        return position


def _hashable(example_id: Any) -> Any:
    return str(example_id) if isinstance(example_id, (list, dict)) else example_id


def example_id_of(row: Mapping[str, Any]) -> Any:
    """The id of a row's example, by the names that it has had."""
    for name in ("example_id", "id", "problem_id"):
        if name in row:
            return row[name]
    return None


KEY = "unfinished"


def unfinished_object(
    example_id: Any, number: int, row: int | None, tokens: Tokens
) -> dict[str, Any]:
    """Entry of metadata.json for one of them: its place only where nothing else says it."""
    place = {} if row is None else {"row": row}
    return {"example_id": example_id, "rollout": number, **place, **tokens_object(tokens)}


def tokens_object(tokens: Tokens) -> dict[str, Any]:
    """Tokens as files have them; kinds where there are any."""
    kinds = named(tokens[2:])
    both = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    return {**both, "token_kinds": kinds} if kinds else both


def unfinished_tokens(info: Mapping[str, Any], places: RowPlaces) -> dict[int, Tokens]:
    """Tokens of each of them, by its place; what metadata.json has else is left out."""
    found = {}
    for reported in map(mapping, listing(info.get(KEY))):
        number = reported.get("rollout")
        if not isinstance(number, int):
            continue
        place = places.place_of(reported.get("example_id"), number, reported.get("row"))
        if place is not None:
            found[place[0]] = (
                tokens_of(reported.get("input_tokens")),
                tokens_of(reported.get("output_tokens")),
                *from_names(reported.get("token_kinds")),
            )
    return found
