"""The list of rollouts: its order, its examples, and what it costs to draw."""

from __future__ import annotations

import re

import pytest
from app_driver import seen
from rollouts_staging import listed, shown
from scripted_rows import saved_rows
from scripted_run import ERRORS, TOTAL, ScriptedFeed, finished, run_started
from staging import over, staged_app

from tui_eval.tui.run.rollouts.filter_entry import HINTS


async def test_sorting_keeps_examples_together_until_the_list_is_flat() -> None:
    async with staged_app(over()) as stage:
        reward = stage.app.state.reward
        stage.live.rollouts.sort("reward")
        await stage.pilot.pause()
        groups = [row // 4 for row in listed(stage)]
        assert all(groups[at : at + 4] == [groups[at]] * 4 for at in range(0, TOTAL, 4))
        best = [max(reward[row] for row in listed(stage)[at : at + 2]) for at in range(0, TOTAL, 4)]
        assert best == sorted(best, reverse=True)
        assert "reward▼" in shown(stage)
        await stage.press("b")
        flat = [reward[row] for row in listed(stage) if row not in ERRORS]
        assert flat == sorted(flat, reverse=True)
        assert set(listed(stage)[-2:]) == set(ERRORS)
        await stage.press("S")
        assert listed(stage)[0] == min(
            (row for row in range(TOTAL) if row not in ERRORS), key=lambda row: reward[row]
        )
        assert "reward▲" in shown(stage)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_arrow_of_the_order_touches_no_other_name(size: tuple[int, int]) -> None:
    async with staged_app(over(), size=size) as stage:
        before = shown(stage).splitlines()[0]
        for field, name in (("example", "ex"), ("number", "#"), ("reward", "reward")):
            stage.live.rollouts.sort(field)
            marked = f" {name}[▲▼] | [▲▼]{name} "
            await stage.until(lambda marked=marked: re.search(marked, shown(stage)))
            assert re.sub("[▲▼]", " ", shown(stage).splitlines()[0]) == before


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_what_can_be_typed_is_shown_in_whole_words(size: tuple[int, int]) -> None:
    async with staged_app(over(), size=size) as stage:
        await stage.press("slash")
        output = next(line for line in shown(stage).splitlines() if "/regex/" in line)
        assert set(output.split()) <= {*HINTS, "…"}
        assert "reward<1" in output and "tag:odd" in output and "text:fox" in output


async def test_the_selected_rollout_stays_in_sight_when_the_order_changes() -> None:
    async with staged_app(over()) as stage:
        await stage.press("j", "j")
        stage.live.rollouts.sort("time")
        await stage.until(lambda: "▼time" in shown(stage))
        assert stage.live.rollouts.row == 2
        await stage.until(lambda: "▌" in shown(stage))


async def test_a_click_on_a_name_sorts_and_another_one_turns_it_round() -> None:
    async with staged_app(over()) as stage:
        x = shown(stage).splitlines()[0].index("turns") + 2
        await stage.pilot.click(stage.live.rollouts, offset=(x, 1))
        assert "turns▼" in shown(stage)
        await stage.pilot.click(stage.live.rollouts, offset=(x, 1))
        assert "turns▲" in shown(stage)


async def test_the_menu_sorts_by_columns_that_are_not_shown() -> None:
    async with staged_app(over()) as stage:
        await stage.press("s", "j", "j", "j", "j", "enter")
        assert stage.live.rollouts.listing.sorting.field == "metrics.exact_match"
        assert "by exact_match ▼" in str(stage.live.rollouts.border_title)


async def test_the_first_line_of_an_example_says_what_its_rollouts_came_to() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("g")
        lines = shown(stage).splitlines()
        assert "mean ±std pass@4" in lines[0]
        example = stage.live.state.examples.result(0)
        figures = f"{example.mean:.2f} ±{example.std:.2f}  1.00"
        assert [line.count(figures) for line in lines[1:5]] == [1, 0, 0, 0]
        await stage.press("b")
        assert "±0" not in shown(stage)


async def test_a_list_beside_a_trajectory_says_what_an_example_came_to_in_fewer_cells() -> None:
    async with staged_app(over(), size=(120, 40)) as stage:
        lines = shown(stage).splitlines()
        assert lines[0].split() == ["ex", "#", "reward", "mean", "±std", "turns", "time", "state"]
        assert "0.77 ±0.28" in lines[1]
        assert "0.77 ±0.28" not in lines[2]


async def test_the_palette_has_what_the_list_can_do_from_every_pane() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        for pane, title in (("3", "Errors only, and back"), ("4", "Filter the rollouts")):
            await stage.press(pane)
            (act,) = (
                one.callback
                for one in stage.app.get_system_commands(stage.live)
                if one.title == title
            )
            await act()
            await stage.until(lambda: stage.live.focused is stage.live.rollouts)
            await stage.until(lambda: listed(stage) == sorted(ERRORS))
        await stage.until(lambda: stage.live.rollouts.entry.is_open)
        await stage.press("escape", "colon")
        await stage.until(lambda: "enter runs · esc closes" in seen(stage.app))


@pytest.mark.slow
@pytest.mark.usefixtures("every_frame")
async def test_sorting_many_rows_draws_only_what_can_be_seen() -> None:
    rows = 20_000
    start = run_started(num_examples=rows // 4, total=rows)
    feed = ScriptedFeed([start, *(finished(row) for row in range(rows))], saved_rows())
    async with staged_app(feed) as stage:
        built = stage.live.rollouts.built
        stage.live.rollouts.sort("reward")
        await stage.until(lambda: stage.live.rollouts.listing.order is not None)
        assert stage.live.rollouts.built - built < 200
