"""Contradictions between metadata.json and the rows of its run; the rows count."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tui_eval.events import RolloutFinished, RowsTakenBack
from tui_eval.fold.saved_values import mapping, number_of, score_of
from tui_eval.printable import one_line
from tui_eval.runs.layout import RunDir
from tui_eval.runs.row_positions import REPEATS_SHOWN, RowPositions
from tui_eval.runs.run_info import count_of, read_metadata, recorded_date
from tui_eval.runs.scan import LineNumbers

TOLERANCE = 1e-6
"""Means differ by more than that, as a share of them: sums are rounded in several ways."""
NEAR_S = 36 * 3600.0
"""Dates without a time zone are no nearer to the rows."""
COUNT = "the rows count"
TEXT_MOST = 20
"""Characters that are shown of what is in place of a number."""


class RowSums:
    """Sums over the rows that count, of what metadata says the means of.

    Args:
        metrics: Those of which it says the means.
    """

    def __init__(self, metrics: Iterable[str]) -> None:
        self.rows = self.errored = self.rewarded = 0
        self.reward = 0.0
        self.by_example: dict[Any, tuple[float, int]] = {}
        self.metrics = dict.fromkeys(metrics, (0.0, 0))
        self.first, self.last = math.inf, -math.inf

    def add(self, events: Iterable[RolloutFinished | RowsTakenBack]) -> None:
        """Takes in what `RowPositions.count` yields."""
        for event in events:
            if isinstance(event, RowsTakenBack):
                self.rows -= len(event.rows)
                self.errored -= len(event.rows)
                continue
            self.rows += 1
            if event.started_at > 0:
                self.first = min(self.first, event.started_at)
                self.last = max(self.last, event.at)
            if event.error is not None:
                self.errored += 1
                continue
            if event.reward is not None:
                self.rewarded += 1
                self.reward += event.reward
                total, n = self.by_example.get(event.example_id, (0.0, 0))
                self.by_example[event.example_id] = total + event.reward, n + 1
            for name, (total, n) in self.metrics.items():
                if (value := event.metrics.get(name)) is not None:
                    self.metrics[name] = total + value, n + 1


def recorded_means(metadata: Mapping[str, Any]) -> dict[str, float]:
    """Means of metrics in metadata, by name."""
    recorded = mapping(metadata.get("avg_metrics")).items()
    return {str(name): value for name, one in recorded if (value := number_of(one)) is not None}


def contradictions(
    run: RunDir,
    info: Mapping[str, Any],
    positions: RowPositions,
    repeated: Collection[int],
    sums: RowSums,
) -> list[str]:
    """Contradictions between the files of a run that has ended, each with what counts.

    Repeated lines, by where they begin, were not placed.
    """
    found, metadata = [], read_metadata(run)
    if count := positions.repeats + len(repeated):
        first = sorted([*positions.repeated_at, *repeated])[:REPEATS_SHOWN]
        found.append(_repeats(run.results, first, count))
    if metadata:
        found += _settings(run, metadata, info, (positions.examples, positions.per_example))
    if sums.rows:
        found += _date(metadata, sums)
        found += _means(metadata, sums)
    return found


def _settings(
    run: RunDir, metadata: Mapping[str, Any], info: Mapping[str, Any], shape: tuple[int, int]
) -> Iterator[str]:
    recorded, requested = _shape_of(metadata), _shape_of(info)
    recorded_shape = f"{run.metadata.name} says num_examples {recorded[0]} and "
    recorded_shape = f"{recorded_shape}rollouts_per_example {recorded[1]}, "
    # a program may give groups of several sizes
    has_shape = all(recorded) and not info.get("groups")
    if has_shape and requested != recorded and run.is_ours:
        yield f"{recorded_shape}run.toml says {requested[0]} and {requested[1]}: run.toml counts"
    elif has_shape and (shape[0] > recorded[0] or shape[1] > recorded[1]):
        yield f"{recorded_shape}the rows show {shape[0]} and {shape[1]}: {COUNT}"
    model, counts = metadata.get("model"), info.get("model")
    if model and counts and model != counts:
        which = "run.toml says" if run.is_ours else "the rows show"
        count = "run.toml counts" if run.is_ours else COUNT
        yield f"{run.metadata.name} says model {model}, {which} {counts}: {count}"


def _shape_of(info: Mapping[str, Any]) -> tuple[int, int]:
    return count_of(info.get("num_examples")), count_of(info.get("rollouts_per_example"))


def _date(metadata: Mapping[str, Any], sums: RowSums) -> Iterator[str]:
    date = recorded_date(metadata)
    if date and not sums.first - NEAR_S <= date <= sums.last + NEAR_S < math.inf:
        if math.isinf(sums.first):
            return
        day = datetime.fromtimestamp(sums.first, UTC).date().isoformat()
        yield f"metadata.json says date {metadata['date']}, the rows are of {day}: {COUNT}"


def _means(metadata: Mapping[str, Any], sums: RowSums) -> Iterator[str]:
    finished = mapping(mapping(metadata.get("numbers")).get("counts")).get("finished")
    if isinstance(finished, int) and finished != sums.rows:
        if finished > sums.rows:  # else it was written before the last of them
            what = f"metadata.json says {finished} rollouts finished"
            yield f"{what}, the rows show {sums.rows}: {COUNT}"
        return
    recorded = score_of(metadata.get("avg_reward"))
    if recorded is not None and sums.rewarded and not _is_mean_reward(recorded, sums):
        yield _differs("avg_reward", metadata["avg_reward"], sums.reward / sums.rewarded)
    recorded = score_of(metadata.get("avg_error"))
    if recorded is not None and not _near(recorded, sums.errored / sums.rows):
        yield _differs("avg_error", metadata["avg_error"], sums.errored / sums.rows)
    if sums.errored:
        return  # programs take in metrics of such rows in different ways
    for name, recorded in recorded_means(metadata).items():
        total, n = sums.metrics.get(name, (0.0, 0))
        if n and not _near(recorded, total / n) and not _near(recorded, total / sums.rows):
            yield _differs(f"avg_metrics.{name}", recorded, total / n)


def _is_mean_reward(recorded: float, sums: RowSums) -> bool:
    """Whether a number is the mean reward in one of the ways in which it is taken."""
    every = sums.reward / sums.rewarded, sums.reward / sums.rows
    of_examples = [total / n for total, n in sums.by_example.values()]
    if any(_near(recorded, one) for one in (*every, sum(of_examples) / len(of_examples))):
        return True
    left = recorded * sums.rows - sums.reward  # what rows with an error may have added
    return sums.errored > 0 and 0.0 <= left <= sums.errored


def _near(recorded: float, found: float) -> bool:
    """Whether two means are the same; one that overflows is not compared."""
    return not math.isfinite(found) or abs(recorded - found) <= TOLERANCE * max(1.0, abs(found))


def _differs(name: str, value: Any, found: float) -> str:
    recorded = number_of(value)
    texts = [
        one_line(str(value), TEXT_MOST) if recorded is None else f"{recorded:.4g}",
        f"{found:.4g}",
    ]
    if texts[0] == texts[1]:
        texts = [repr(recorded), repr(found)]
    return f"metadata.json says {name} {texts[0]}, the rows come to {texts[1]}: {COUNT}"


def _repeats(path: Path, offsets: list[int], count: int) -> str:
    """Sentence on repeated rows, the first of them at these offsets, and which of them count."""
    numbers = LineNumbers(path)
    lines = ", ".join(str(numbers.at(offset)) for offset in offsets)
    more = ", …" if count > len(offsets) else ""
    what = f"{count:,} rows are there twice and count once: lines"
    if count == 1:
        what = "1 row is there twice and counts once: line"
    return f"{path.name}: {what} {lines}{more}; of each the first one without an error counts"
