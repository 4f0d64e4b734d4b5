"""A file of another program that is cut off, rewritten or removed while it is on the screen."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from pathlib import Path

import pytest
from run_on_disk import FeedFromDisk, run_on_disk
from scripted_run import finished, run_started
from staging import Stage, staged_app

from tui_eval.feeds import saved_feed
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout
from tui_eval.runs import scan
from tui_eval.runs.saved_run import find_run, results_files
from tui_eval.tui.compare.rollouts_screen import CompareRollouts
from tui_eval.tui.run.reader import Reader


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_feed, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(scan, "SETTLED_S", 0.0)


def write(path: Path, rewards: list[float], words: str = "answer") -> None:
    """As another program does that replaces its file."""
    lines = [
        {"example_id": example, "prompt": "q", "reward": reward, "metrics": {"m": reward}}
        | {"completion": [{"role": "assistant", "content": f"{words} {example}"}]}
        for example, reward in enumerate(rewards)
    ]
    new = path.with_suffix(".new")
    new.write_text("".join(json.dumps(one) + "\n" for one in lines))
    os.replace(new, path)


def shown(stage: Stage) -> str:
    live = stage.live
    return "\n".join(map(stage.text, (live.header, live.rollouts, live.trajectory, live.numbers)))


@pytest.mark.parametrize("keys", [(), ("s", "s"), ("slash", *"reward>0.1", "enter")])
async def test_a_file_with_fewer_rows_than_before_is_shown_as_it_is(
    tmp_path: Path, keys: tuple[str, ...]
) -> None:
    file = tmp_path / "some.jsonl"
    write(file, [0.5] * 9)
    async with staged_app(FeedFromDisk(find_run(file)), size=(200, 60)) as stage:
        await stage.until(lambda: stage.live.state.finished == 9)
        await stage.press(*keys, "G")
        assert "answer 8" in shown(stage)
        write(file, [0.25] * 3, "other")
        await stage.until(lambda: "other 2" in shown(stage) and "3 rollouts" in shown(stage))
        assert "answer" not in shown(stage) and "reward 0.25" in shown(stage)
        file.write_bytes(b"")
        await stage.until(lambda: "no rollouts yet" in shown(stage))
        assert "other" not in shown(stage) and "The file is empty." in shown(stage)
        write(file, [0.75] * 2, "third")
        await stage.until(lambda: "third 0" in shown(stage) and "2 rollouts" in shown(stage))


async def test_a_file_of_which_nothing_can_be_read_is_not_called_empty(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    write(file, [0.5])
    run = find_run(file)
    file.write_text("no row\nneither\n")
    async with staged_app(FeedFromDisk(run)) as stage:
        await stage.until(lambda: "2 lines unreadable" in shown(stage))
        assert "None of its lines can be read; 4 says why." in shown(stage)
        assert "empty" not in shown(stage)


async def test_rows_that_were_rewritten_are_read_again(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    write(file, [0.5] * 4)
    async with staged_app(FeedFromDisk(find_run(file)), size=(200, 60)) as stage:
        await stage.until(lambda: "answer 0" in shown(stage))
        await stage.press("j")
        await stage.until(lambda: "answer 1" in shown(stage))
        write(file, [0.7] * 4, "ANSWER")  # as many rows, each as long, at the same places
        await stage.until(lambda: "ANSWER 1" in shown(stage))
        await stage.until(lambda: "reward 0.70" in stage.text(stage.live.numbers))
        file.unlink()
        await stage.until(lambda: "moved or removed" in stage.text(stage.live.keys))


async def test_trajectories_that_were_rewritten_are_searched_again(tmp_path: Path) -> None:
    file = tmp_path / "some.jsonl"
    write(file, [0.5] * 4)
    async with staged_app(FeedFromDisk(find_run(file)), size=(200, 60)) as stage:
        await stage.until(lambda: stage.live.state.finished == 4)
        await stage.press("slash", *"text:swer", "enter")
        await stage.until(lambda: "4 of 4" in shown(stage))
        write(file, [0.5] * 4, "others")  # as many rows, each as long, at the same places
        await stage.until(lambda: "0 of 4" in shown(stage))
        write(file, [0.5] * 3)
        await stage.until(lambda: "3 of 3" in shown(stage))


async def test_every_file_of_a_folder_has_notes_of_its_own(tmp_path: Path) -> None:
    files = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for file in files:
        write(file, [0.5] * 2)
    async with staged_app(FeedFromDisk(find_run(files[0])), size=(200, 60)) as stage:
        await stage.until(lambda: "answer 0" in shown(stage))
        await stage.press("a", *"looked", "enter")
        await stage.until(lambda: "looked" in shown(stage))
    for file, is_noted in zip(files, (True, False), strict=True):
        async with staged_app(FeedFromDisk(find_run(file)), size=(200, 60)) as stage:
            await stage.until(lambda: "answer 0" in shown(stage))
            await stage.press("slash", *"note:looked", "enter")
            count = "1 of 2" if is_noted else "0 of 2"
            await stage.until(lambda count=count: count in shown(stage))
    file = tmp_path / "one.notes.jsonl"
    assert file.exists() and results_files(tmp_path) == ["one.jsonl", "two.jsonl"]


class SlowDisk(FeedFromDisk):
    """Whose first rollout is read only when that is wanted."""

    def __init__(self, folder: Path) -> None:
        super().__init__(run_on_disk(folder))
        self.continues = threading.Event()
        self.read: list[Rollout] = []

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        found = Rollout(row=row, finished=True)
        self.read.append(found)
        if len(self.read) == 1:
            self.continues.wait()
        return found


async def test_a_rollout_that_was_being_read_when_its_file_was_rewritten_is_read_again(
    tmp_path: Path,
) -> None:
    feed, state = SlowDisk(tmp_path / "run"), RunState()
    reader, reset = Reader(feed, state), run_started(reading=1)
    for event in (run_started(), finished(0)):
        state.apply(event)
    reader.open(0)
    reading = asyncio.create_task(reader.read())
    await asyncio.sleep(0)
    state.apply(reset)
    reader.take(reset)
    state.apply(finished(0))
    feed.continues.set()
    assert not await reading
    assert reader.must_read and await reader.read()
    assert reader.rollout is feed.read[1]


async def test_rollouts_that_are_read_beside_each_other_may_go_with_their_file(
    tmp_path: Path,
) -> None:
    file = tmp_path / "some.jsonl"
    write(file, [0.5] * 9)
    async with staged_app(FeedFromDisk(find_run(file)), size=(200, 60)) as stage:
        await stage.until(lambda: stage.live.state.finished == 9)
        await stage.press("G", "m", "k", "d")
        beside = stage.app.screen
        await stage.until(lambda: beside.is_ready)
        write(file, [0.25] * 3)
        await stage.until(lambda: stage.live.state.total == 3)
        await stage.pilot.resize_terminal(90, 30)
        await stage.press("v")
        assert stage.text(beside.heads).count("no finished rollout") == 2


async def test_a_file_that_is_rewritten_while_two_rollouts_are_read_of_it_is_reported(
    tmp_path: Path,
) -> None:
    class Shrinking(FeedFromDisk):
        def saved(self, row: int, offset: int, length: int) -> Rollout | None:
            state.apply(run_started(reading=1, num_examples=1, rollouts_per_example=4, total=4))
            return Rollout(row=row, finished=True)

    state = RunState()
    for event in (run_started(), finished(7), finished(8)):
        state.apply(event)
    screen = CompareRollouts(Shrinking(run_on_disk(tmp_path / "run")), state, 7, 8)
    assert screen._two(7, 8) == "✗ Their file was rewritten and has fewer rollouts now."


async def test_a_byte_that_is_no_utf_8_is_reported_above_the_trajectory_that_has_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "some.jsonl"
    write(file, [0.5] * 3, "x" * 1000)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1].replace(b"x 1", b"x \xff") + lines[2])
    output = "some.jsonl, line 2: not UTF-8 at byte 1"
    async with staged_app(FeedFromDisk(find_run(file)), size=(200, 60)) as stage:
        await stage.until(lambda: stage.live.state.finished == 3)
        await stage.press("j")
        await stage.until(lambda: output in stage.text(stage.live.trajectory).splitlines()[0])
        await stage.press("j")
        await stage.until(lambda: "x 2" in stage.text(stage.live.trajectory))
        assert "UTF-8" not in shown(stage)
        screen = CompareRollouts(stage.feed, stage.live.state, 0, 1)
        stage.app.push_screen(screen)
        await stage.until(lambda: f"B: {output}" in stage.text(screen.keys))
