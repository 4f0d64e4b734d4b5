"""The titles of the panes name the other panes."""

from __future__ import annotations

from pathlib import Path

import pytest
from app_driver import seen
from compare_staging import comparing, runs_screen
from compared_runs import two_runs
from home_staging import at_home
from staging import Stage, over, staged_app
from textual.app import App

OTHERS = "2 Trajectory  3 Numbers  4 Log  5 Reward"


def top(stage: Stage) -> str:
    """The line with the titles of the panes on top."""
    return seen(stage.app).splitlines()[2]


@pytest.mark.parametrize(
    ("size", "others"),
    [((80, 24), OTHERS), ((120, 40), "4 Log"), ((120, 24), "3 Numbers  4 Log  5 Reward")],
)
async def test_the_first_pane_names_those_that_are_not_shown(
    size: tuple[int, int], others: str
) -> None:
    async with staged_app(over(), size=size) as stage:
        await stage.until(lambda: f"─ 1 Rollouts  {others} ─" in top(stage))


async def test_another_pane_or_a_zoom_leaves_others_to_be_named() -> None:
    async with staged_app(over()) as stage:
        await stage.press("z")
        await stage.until(lambda: f"─ 1 Rollouts  {OTHERS} ─" in top(stage))
        await stage.press("z", "4")
        await stage.until(lambda: "─ 1 Rollouts  3 Numbers  5 Reward ─" in top(stage))


async def test_all_that_are_shown_are_not_named_and_where_names_do_not_fit_numbers_do() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        await stage.until(lambda: "─ 1 Rollouts ─" in top(stage))
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("j", "2")
        shorter = "#1 · ✓ done · 4.1s  1 Rollouts  3 Numbers  4 Log  5 Reward ─"
        await stage.until(lambda: shorter in top(stage))
    async with staged_app(over(), size=(50, 24)) as stage:
        await stage.until(lambda: "─ 1 Rollouts  2 3 4 5 ─" in top(stage))


def lines(app: App[None]) -> list[str]:
    return seen(app).splitlines()


async def test_a_pane_of_home_that_its_tab_names_is_not_named_again() -> None:
    async with at_home(size=(80, 24)) as stage:
        assert lines(stage.app)[1:3] == [
            " 1 Runs 7     2 Environments 6     3 Endpoints 5", "─ by date ".ljust(80, "─"),
        ]  # fmt: skip
        await stage.press("2")
        assert lines(stage.app)[2] == "─" * 80
        await stage.pilot.resize_terminal(120, 40)
        await stage.until(lambda: "─ 2 Environments ─" in seen(stage.app))
        assert "─ 1 Runs · by date ─" in seen(stage.app)


async def test_nor_is_one_of_a_comparison(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (80, 24)) as stage:
        titles = ("all 12 · greatest difference first · passes from 0.5",
                  "A and B · means, 95 % intervals", "")  # fmt: skip
        tabs = " 1 Examples 12     2 Numbers 7     3 Settings that differ 2"
        for key, title in zip("123", titles, strict=True):
            await stage.press(key)
            rule = f"─ {title} ".ljust(80, "─") if title else "─" * 80
            await stage.until(lambda rule=rule: lines(stage.app)[4:6] == [tabs, rule])
        await stage.pilot.resize_terminal(120, 40)
        await stage.until(lambda: "─ 1 Examples · all 12 ·" in seen(stage.app))
        assert "─ 3 Settings that differ · 2 ─" in seen(stage.app)
