"""The titles of the panes tell which other panes there are."""

from __future__ import annotations

import pytest
from seeing import seen
from staging import Stage, over, staged_app

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
