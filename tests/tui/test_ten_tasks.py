"""The page of ten tasks, key by key, and the screen afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from app_driver import is_at_rest, press, seen, until
from compared_runs import two_runs
from run_on_disk import feed_on_disk
from scripted_home import FormBackend, found_run, pin_time_zone, running_run
from scripted_rows import failed_row, saved_rows
from scripted_run import NOW, ScriptedFeed, all_events, failed
from staging import over, running

from tui_eval.commands import Rerun, SetMaxConcurrent, Stop
from tui_eval.runs.layout import RunDir
from tui_eval.text.key_names import key_of
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.home_app import HomeApp

PAGE = Path(__file__).parents[2] / "docs" / "ten-tasks.md"
SIZES = [(80, 24), (120, 40)]
KEYS = re.compile(r"`(?P<key>.+?)`|\*\*(?P<answer>.+?)\*\*|\*(?P<typed>.+?)\*")
DAY = 24 * 3600.0


def tasks() -> dict[str, tuple[str, list[str]]]:
    """Where each task begins and its keys, as Textual calls them."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines()]
    found = {row[0]: (row[1], row[2]) for row in rows if len(row) == 4}
    del found["to"]
    return {task: (where, list(keys(text))) for task, (where, text) in found.items()}


def keys(text: str) -> Iterator[str]:
    for match in KEYS.finditer(text):
        if match["typed"]:
            yield from match["typed"]
        else:
            yield key_of(match["key"] or match["answer"])


@dataclass
class Done:
    """A task that somebody has done: the app at its end, and what the engine side heard."""

    app: Any
    backend: FormBackend
    folder: Path
    feed: Any = None
    began: list[dict[str, Any]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return seen(self.app)

    @property
    def calls(self) -> list[tuple[str, str]]:
        """What home wanted of the runs."""
        return [one for one in self.backend.calls if one[0] != "reach"]

    @property
    def said(self) -> str:
        return str(self.app.screen.keys.message)


Make = Callable[[Path], Done]
Check = Callable[[Done], None]


def of_run(feed: Callable[[Path], Any]) -> Make:
    def make(folder: Path) -> Done:
        done = Done(None, FormBackend(), folder, feed(folder))

        def start(request: dict[str, Any]) -> ScriptedFeed:
            done.began.append(request)
            return running()

        done.app = TuiEvalApp(done.feed, now=lambda: NOW, start=start)
        return done

    return make


def of_home(backend: Callable[[Path], FormBackend]) -> Make:
    def make(folder: Path) -> Done:
        pin_time_zone()
        done = Done(None, backend(folder), folder)
        done.app = HomeApp(done.backend, now=lambda: NOW)
        return done

    return make


def one_failed(folder: Path) -> ScriptedFeed:
    """A run in which rollout 1 of example 7 errored, far from the one that is selected first."""
    events = all_events()
    events[30] = failed(29)
    return ScriptedFeed(events, saved_rows() | {29: failed_row(29)}, live=False)


def two_prompts(folder: Path) -> FormBackend:
    older, newer = two_runs(folder)
    return FormBackend(
        [
            found_run("", run=RunDir(newer), date=NOW - 2 * 3600),
            found_run("", run=RunDir(older), date=NOW - DAY),
            found_run("9e8d7c6b", date=NOW - 2 * DAY),
        ]
    )


def yesterdays(folder: Path) -> FormBackend:
    today = found_run("11aa22bb", date=NOW - 3600)
    return FormBackend([today, found_run("9e8d7c6b", date=NOW - DAY, done=30)])


def why_it_failed(done: Done) -> None:
    assert re.search("example 7 (· rollout |#)1 · ✗ error", done.text)
    assert "ToolCallError: Tool 'divide' raised" in done.text and "Traceback" in done.text
    assert "ZeroDivisionError: cannot divide 108 by 0" in re.sub(r"\s+▌?\s*", " ", done.text)
    assert done.app.focused is done.app.live_screen.trajectory


def which_tool(done: Done) -> None:
    lines = [line.split() for line in done.text.splitlines()]
    head = next(at for at, line in enumerate(lines) if line[:3] == ["tool", "calls", "failed"])
    assert lines[head + 1][:4] == ["divide", "43", "✗", "12"]
    assert "enter its rollouts" in done.text


def what_b_broke(done: Done) -> None:
    text = done.text
    assert "A  careful-prompt" in text and "B  short-prompt" in text
    assert "broken 1 of 12" in text and text.count("↓ broken") == 2
    assert "A train leaves" not in text and "Three painters" in text


def run_again(done: Done) -> None:
    assert done.feed.sent[-1] == Rerun()


def copied(done: Done) -> None:
    call = json.loads(done.app.clipboard)
    assert (call["name"], call["arguments"]) == ("divide", {"a": 108, "b": 0})
    assert ": the tool call, " in done.said and done.said.endswith("copied.txt")


def max_concurrent_changed(done: Done) -> None:
    assert done.feed.sent[-1] == SetMaxConcurrent(6)
    assert "max_concurrent is 6" in done.said and "4 → 6" in done.text.splitlines()[1]


def rows_saved(done: Done) -> None:
    (file,) = done.folder.glob("*.jsonl")
    assert done.said == f"2 rollouts written to {file.name}"
    rewards = [json.loads(line)["reward"] for line in file.read_text().splitlines()]
    assert rewards == [0.0, 0.25]


def resumed(done: Done) -> None:
    assert done.calls == [("resume", "9e8d7c6b")]
    assert "▶ running" in done.text


def followed(done: Done) -> None:
    assert done.calls == [("join", "3f9a2c10")]
    assert "Rollouts · following" in done.text
    assert not [one for one in done.backend.feeds[0].sent if isinstance(one, Stop)]


def prompts_compared(done: Done) -> None:
    assert "example 4 · 1 of 12 · ↑ fixed" in done.text and "they part here" in done.text


TASKS: dict[str, tuple[Make, Check]] = {
    "find why example 7 failed": (of_run(one_failed), why_it_failed),
    "see which tool errs most": (of_run(lambda folder: over()), which_tool),
    "see which examples model B broke": (of_home(two_prompts), what_b_broke),
    "run the errored ones again": (of_run(lambda folder: running()), run_again),
    "copy a failing tool call": (of_run(lambda folder: over()), copied),
    "change how many run concurrently": (of_run(lambda folder: running()), max_concurrent_changed),
    "save the filtered rows": (of_run(lambda folder: feed_on_disk(folder / "run")[0]), rows_saved),
    "resume yesterday's run": (of_home(yesterdays), resumed),
    "follow a run that is running": (
        of_home(lambda folder: FormBackend([running_run(), *yesterdays(folder).found])),
        followed,
    ),
    "compare two prompts": (of_home(two_prompts), prompts_compared),
}


def came_about(check: Check, done: Done) -> bool:
    try:
        check(done)
    except (AssertionError, ValueError, StopIteration, AttributeError):
        return False
    return True


def test_the_page_has_these_ten() -> None:
    assert list(tasks()) == list(TASKS)
    assert len(TASKS) == 10


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("task", TASKS)
async def test_the_keys_of_the_page_do_the_task(
    task: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUI_EVAL_CACHE_DIR", str(tmp_path / "cache"))
    make, check = TASKS[task]
    done = make(tmp_path)
    async with done.app.run_test(size=size) as pilot:
        await until(pilot, lambda: is_at_rest(done.app))
        await press(pilot, *tasks()[task][1])
        for _ in range(600):  # another process writes an export
            if came_about(check, done):
                break
            await pilot.pause(0.02)
        check(done)
