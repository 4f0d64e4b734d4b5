"""Columns of the list of rollouts: known, chosen, and those that fit."""

from __future__ import annotations

import re

import pytest
from app_driver import seen
from rollouts_staging import shown
from scripted_rows import saved_rows
from scripted_run import NOW, TOTAL, ScriptedFeed, failed, finished, run_started, staged
from staging import over, staged_app

from tui_eval import events as ev
from tui_eval.tui.run.rollouts.columns import known_columns


async def test_columns_are_chosen_and_carried_and_the_usual_ones_come_back() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        before = shown(stage).splitlines()[0].split()
        await stage.press("c", "G", "k", "k", "k", "k", "space", *"KKKKKKKKKKKKKKKK", "enter")
        assert stage.live.rollouts.lines.chosen[0] == "stop"
        assert shown(stage).splitlines()[0].split()[3] == "stop"
        assert "no_tools_called" in shown(stage)
        await stage.press("c", "r")
        assert shown(stage).splitlines()[0].split() == before


@pytest.mark.parametrize(
    ("width", "output"),
    [
        (120, "No room for bar, group, closeness, answer_format. z zooms."),
        (80, "No room for group, answer_format."),
    ],
)
async def test_what_was_chosen_comes_before_bar_and_group_and_what_has_no_room_is_shown(
    width: int, output: str
) -> None:
    async with staged_app(over(), size=(width, 40)) as stage:
        await stage.press("c", *"jjjj", "space", "j", "space", "j", "space", "enter")
        assert "exact_match" in shown(stage).splitlines()[0]
        assert stage.text(stage.live.keys).strip() == output


async def test_tokens_come_before_pass_at_k_and_tools_take_what_the_state_leaves() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        head = shown(stage).splitlines()[0]
        assert "tokens" in head and "pass@4" not in head
        await stage.press("z")
        await stage.until(lambda: "pass@4" in shown(stage).splitlines()[0])
        lines = shown(stage).splitlines()
        assert "divide, multiply, note, sub" in lines[1]


@pytest.mark.parametrize("width", [80, 100, 104, 112, 120, 200])
async def test_the_name_of_an_error_has_room(width: int) -> None:
    errors = ("ScoringError", "RuntimeError", "ToolCallError", "ScoringError -> KeyError")
    events = [run_started(), *(failed(row, error) for row, error in enumerate(errors))]
    feed = ScriptedFeed([*events, ev.RunFinished(0, NOW, "interrupted", 130)], saved_rows())
    async with staged_app(feed, size=(width, 40)) as stage:
        states = [line.split("  ")[-1].strip() for line in shown(stage).splitlines()[1:5]]
        assert states[:3] == ["scoring error", "RuntimeError", "ToolCallError"]
        assert states[3].removesuffix(" -> KeyError") == "scoring error"


@pytest.mark.parametrize(("width", "output"), [(80, "done · truncated"), (100, "truncated")])
async def test_a_truncated_answer_is_no_plain_success(width: int, output: str) -> None:
    events = [run_started(), *(finished(row, truncated=row == 1) for row in range(3))]
    feed = ScriptedFeed([*events, ev.RunFinished(0, NOW, "interrupted", 130)], saved_rows())
    async with staged_app(feed, size=(width, 40)) as stage:
        states = [line.split("  ")[-1].strip() for line in shown(stage).splitlines()[1:4]]
        assert states == ["done ◆✗", f"{output} ◆✗", "done"]
        await stage.press("g", "2")
        await stage.until(lambda: "example 0 #0 · ✓ done · " in seen(stage.app))
        await stage.press("right_square_bracket")
        await stage.until(lambda: f"example 0 #1 · ✓ {output} · " in seen(stage.app))


@pytest.mark.parametrize(
    ("width", "text"),
    [(80, ["sleeping  try 2", "scoring  try 3"]), (120, ["sleeping ↻2", "scoring try 3"])],
)
async def test_a_later_try_is_shown_in_the_room_that_there_is(width: int, text: list[str]) -> None:
    asleep = staged(0, ev.Stage.SLEEPING, attempt=2)
    events = [run_started(), asleep, staged(1, ev.Stage.SCORING, attempt=3)]
    async with staged_app(ScriptedFeed(events, saved_rows()), size=(width, 40)) as stage:
        lines = shown(stage).splitlines()
        at = lines[0].index("state")
        assert [line[at:].strip() for line in lines[1:3]] == text


async def test_a_rollout_of_hours_keeps_its_time_apart_from_its_turns() -> None:
    hours = [finished(row, total_ms=1e3 * took, turns=2) for row, took in enumerate((4096, 531441))]
    feed = ScriptedFeed([run_started(), *hours], saved_rows(), live=False)
    async with staged_app(feed, size=(80, 24)) as stage:
        lines = shown(stage).splitlines()[1:3]
        assert [line.rstrip(" ◆✗").split()[-3:] for line in lines] == [
            ["2", "1h08m", "done"],
            ["2", "147h", "done"],
        ]


async def test_metrics_whose_long_names_begin_alike_differ_in_the_menus() -> None:
    names = [f"judge_rates_the_final_answer_for_{what}" for what in ("style", "truth")]
    done = finished(0, metrics=dict.fromkeys(names, 0.5))
    async with staged_app(ScriptedFeed([run_started(), done], saved_rows())) as stage:
        for box in "cs":
            await stage.press(box)
            assert all(f"{name}  metric" in seen(stage.app) for name in names)
            await stage.press("escape")


async def test_a_wide_list_shows_metrics() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        assert "mean ±std" in shown(stage).splitlines()[0]
        await stage.press("z")
        await stage.until(lambda: "exact_match" in shown(stage).splitlines()[0])
        assert "closeness" in shown(stage).splitlines()[0]


async def test_names_of_metrics_stand_in_full_where_there_is_room() -> None:
    name = "the_answer_names_every_digit"
    rows = [finished(row, metrics={name: 0.5}) for row in range(TOTAL)]
    events = [run_started(), *rows, ev.RunFinished(0, NOW, "finished", 0)]
    async with staged_app(ScriptedFeed(events, saved_rows(), live=False)) as stage:
        await stage.press("z")
        await stage.until(lambda: f" {name[:15]}… " in shown(stage).splitlines()[0])
        assert name not in shown(stage)
    feed = ScriptedFeed(events, saved_rows(), live=False)
    async with staged_app(feed, size=(200, 60)) as stage:
        await stage.press("z")
        await stage.until(lambda: f"  {name}  " in shown(stage).splitlines()[0])
        assert f" {'0.50':>{len(name)}}" in shown(stage).splitlines()[1]


async def test_no_two_columns_have_names_that_are_alike() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        heads = [column.head for column in known_columns(stage.live.state).values()]
        named = [head.removesuffix("s") for head in heads if head]
        assert len(named) == len(set(named))
        await stage.press("s")
        menu = seen(stage.app)
        assert "tokens of the prompts · headed in" in menu
        assert "tool calls  " in menu


async def test_metrics_that_count_for_the_reward_are_distinguished_once_one_was_read() -> None:
    async with staged_app(over(), size=(120, 40)) as stage:
        await stage.until(lambda: stage.live.reader.rollout is not None)
        for box in "cs":
            await stage.press(box)
            output = seen(stage.app)
            assert re.search(r" exact_match +reward function ", output), output
            assert re.search(r" num_turns +metric ", output), output
            await stage.press("escape")
