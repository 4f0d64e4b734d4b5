"""Tokens of rollouts that have no row: they were spent, so metadata.json keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tui_eval.fold.saved_values import listing, mapping, tokens_of
from tui_eval.runs.row_places import RowPlaces
from tui_eval.token_kinds import Tokens, from_names, named

KEY = "unfinished"


def unfinished_object(
    example_id: Any, number: int, row: int | None, tokens: Tokens
) -> dict[str, Any]:
    """What metadata.json has of one of them.

    Args:
        number: Its number in its group.
        row: Its place, where nothing else says it.
        tokens: Those of all its attempts.
    """
    place = {} if row is None else {"row": row}
    return {"example_id": example_id, "rollout": number, **place, **tokens_object(tokens)}


def tokens_object(tokens: Tokens) -> dict[str, Any]:
    """Tokens as files have them; kinds where there are any."""
    kinds = named(tokens[2:])
    both = {"input_tokens": tokens[0], "output_tokens": tokens[1]}
    return {**both, "token_kinds": kinds} if kinds else both


def unfinished_tokens(facts: Mapping[str, Any], places: RowPlaces) -> dict[int, Tokens]:
    """Tokens of each of them, by its place.

    Args:
        facts: metadata.json; what cannot be understood is left out.
    """
    found = {}
    for reported in map(mapping, listing(facts.get(KEY))):
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
