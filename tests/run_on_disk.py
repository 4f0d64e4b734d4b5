"""A small run of ours on disk, and a feed that reads it, for what goes back to the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scripted_rows import saved_row, saved_rows
from scripted_run import ERRORS, NOW, ScriptedFeed, failed, finished, run_started

from tui_eval import events as ev
from tui_eval.events import Event
from tui_eval.feeds.saved_feed import SavedFeed
from tui_eval.runs.layout import RunDir

EXAMPLES, EACH = 2, 2


class FeedFromDisk(SavedFeed):
    """The reading of a run; `events` are those that nobody has taken yet."""

    @property
    def events(self) -> list[Event]:
        return list(self._events)


def run_on_disk(path: Path, rows: int = EXAMPLES * EACH) -> RunDir:
    """Writes a run of 2 x 2 rollouts, of which so many have finished."""
    run = RunDir(path)
    path.mkdir(parents=True)
    with open(run.results, "w") as file:
        for row in range(rows):
            ours = saved_row(row)["tui_eval"] | {"version": 1, "rollout": row % EACH}
            one = saved_row(row, example_id=row // EACH, tui_eval=ours, reward=row / 4)
            file.write(json.dumps(one) + "\n")
    run.plan.write_text(
        'env_id = "sums"\nmodel = "tiny"\nalias = "tiny"\nnum_examples = 2\n'
        "rollouts_per_example = 2\nsave_to_hf_hub = true\n"
    )
    metadata = {"env_id": "sums", "model": "tiny", "num_examples": 2, "rollouts_per_example": 2}
    run.metadata.write_text(json.dumps(metadata))
    return run


def feed_on_disk(path: Path, rows: int = EXAMPLES * EACH) -> tuple[FeedFromDisk, RunDir]:
    """A feed of such a run."""
    run = run_on_disk(path, rows)
    return FeedFromDisk(run), run


def scripted_on_disk(folder: Path, **changes: Any) -> ScriptedFeed:
    """A finished run whose rows are where its events say."""
    place, events = 0, [run_started(path=str(folder), **changes)]
    with open(folder / "results.jsonl", "wb") as file:
        for row, values in saved_rows().items():
            if row == 5:
                values["completion"][0]["content"] = "a needle in the hay"
            line = json.dumps(values).encode() + b"\n"
            make = failed if row in ERRORS else finished
            event = make(row)
            event.offset, event.length = place, len(line)
            events.append(event)
            place += file.write(line)
    events.append(ev.RunFinished(0, NOW, "finished", 3))
    return ScriptedFeed(events, saved_rows(), live=False)
