"""Words for outcomes of rollouts: those left out of a mean, and how answers ended."""

from __future__ import annotations

from collections.abc import Mapping

ENDED = {"refusal": "refused", "content_filter": "filtered"}
"""Words for how an answer ended; one that was cut off is truncated."""
MANY = 1 / 3
"""Share of errored rollouts from which a run is no success, whatever its mean."""


def has_many_errors(errored: int, finished: int) -> bool:
    """Whether too many finished rollouts errored for the mean to be a success."""
    return errored > 0 and errored >= finished * MANY


def errors_as_0(mean: float | None, errored: int, finished: int) -> float | None:
    """A mean with errored rollouts counted as 0; None where none finished."""
    return (mean or 0.0) * (finished - errored) / finished if finished else None


def classes_text(classes: Mapping[str, int]) -> str:
    """Errors by class, most first: `2 endpoint, 1 tool`."""
    most_first = sorted(classes.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {name}" for name, count in most_first)


def left_out_text(errored: int, finished: int, classes: Mapping[str, int]) -> str:
    """Rollouts left out of a mean: `2 of 10 not in the mean: 2 endpoint`; or empty."""
    if not errored:
        return ""
    noun = "error" if min(classes.values(), default=errored) == 1 else "errors"
    return f"{errored:,} of {finished:,} not in the mean: {classes_text(classes)} {noun}"


def no_number_text(count: int) -> str:
    """Rewards that are no number: `2 rewards are no number, and not in the mean`."""
    nouns = "reward is" if count == 1 else "rewards are"
    return f"{count:,} {nouns} no number, and not in the mean"


def endings(truncated: int, finishes: Mapping[str, int]) -> dict[str, int]:
    """Rollouts with an answer that did not end by itself, by the word for it."""
    found = {"truncated": truncated}
    found |= {word: finishes.get(reason, 0) for reason, word in ENDED.items()}
    return {word: count for word, count in found.items() if count}


def endings_text(truncated: int, finishes: Mapping[str, int]) -> str:
    """The same as words: `3 truncated, 1 refused`."""
    return ", ".join(f"{count:,} {w}" for w, count in endings(truncated, finishes).items())
