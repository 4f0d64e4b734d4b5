"""Tokens of rollouts that have no row: they were spent, so metadata.json keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.fold.saved_values import listing, mapping, tokens_of
from tui_eval.runs.places import RowPlaces

KEY = "unfinished"


def unfinished_object(
    example_id: Any, number: int, row: int | None, tokens: tuple[int, int]
) -> dict[str, Any]:
    """What metadata.json has of one of them.

    Args:
        number: Its number in its group.
        row: Its place, where nothing else says it.
        tokens: Input and output, of all its attempts.
    """
    place = {} if row is None else {"row": row}
    spent = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    return {"example_id": example_id, "rollout": number, **place, **spent}


def unfinished_tokens(facts: Mapping[str, Any], places: RowPlaces) -> dict[int, tuple[int, int]]:
    """Tokens (input, output) of each of them, by its place.

    Args:
        facts: metadata.json; what cannot be understood is left out.
    """
    found = {}
    for told in map(mapping, listing(facts.get(KEY))):
        number = told.get("rollout")
        if not isinstance(number, int):
            continue
        place = places.place_of(told.get("example_id"), number, told.get("row"))
        if place is not None:
            found[place[0]] = (
                tokens_of(told.get("input_tokens")),
                tokens_of(told.get("output_tokens")),
            )
    return found
