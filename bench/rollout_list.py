"""The list of 100,000 rollouts on the screen: filtering, sorting, and a row that changes."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

from textual.pilot import Pilot

from bench.figure import Figure, percentile, spread
from bench.filtering import made_state
from bench.setting import Setting
from tui_eval.feeds.feed import NullFeed
from tui_eval.fold.row_order import Sorting, make_order
from tui_eval.fold.run_state import RunState
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.run.rollouts.rollout_list import RolloutList
from tui_eval.tui.run.session import RunSession

ROWS = 100_000
ORDER_MS, ROW_MS = 50, 2
SORTINGS = {
    "sorted by reward, flat": Sorting("reward", True, grouped=False),
    "sorted by tokens, grouped": Sorting("tokens", True),
    "sorted by tool, grouped": Sorting("tool"),
}
FILTERED = "reward<0.5 and turns>3 and tool:search"


def measure(setting: Setting) -> Iterator[Figure]:
    """CPU of the thread that does the work."""
    from tui_eval.fold.query.filtering import RowFilter

    state = made_state(ROWS)
    repeats = setting.repeats(9, 3)
    wanted = RowFilter(FILTERED, state.details.metrics)
    for what, sorting in SORTINGS.items():
        yield _figure(what, repeats, partial(make_order, state, None, sorting, {}))
    yield _figure("filtered", repeats, lambda: make_order(state, wanted, Sorting(), {}))
    for what, text in (("a row changes", ""), ("a row changes, filtered list", FILTERED)):
        taken = asyncio.run(_row_updates(state, text, setting.repeats(400, 100)))
        how = f"CPU of the loop, p99 of {len(taken)}; median {median(taken):.2f}"
        yield Figure(what, percentile(taken, 99), ROW_MS, " ms", how)


def _figure(what: str, repeats: int, work: Callable[[], object]) -> Figure:
    taken = []
    for _ in range(repeats):
        before = time.thread_time()
        work()
        taken.append((time.thread_time() - before) * 1000)
    return Figure(what, median(taken), ORDER_MS, " ms", f"CPU, of {repeats}: {spread(taken)}")


async def _row_updates(state: RunState, text: str, times: int) -> list[float]:
    """Milliseconds that the list takes to see and to redraw one changed row, each time."""
    app = TuiEvalApp(NullFeed())
    async with app.run_test(size=(120, 40)) as pilot:
        rollouts = app.live_screen.rollouts
        app.live_screen.show_run(RunSession(NullFeed(), state))
        rollouts.filter_by(text)
        await _settle(pilot, rollouts)
        gc.freeze()  # as the app does after its first frame, on a terminal
        try:
            return [await _row_update(state, rollouts, at) for at in range(times)]
        finally:
            gc.unfreeze()


async def _row_update(state: RunState, rollouts: RolloutList, at: int) -> float:
    row = rollouts.listing.row(at % 10)
    state.turns[row] = 4 + at % 5
    state.changed += 1
    before = time.thread_time()
    rollouts.update()
    rollouts.render_lines(rollouts.size.region)
    taken = (time.thread_time() - before) * 1000
    await asyncio.sleep(0.005)
    return taken


async def _settle(pilot: Pilot[Any], rollouts: RolloutList) -> None:
    for _ in range(100):
        await pilot.pause(0.02)
        if not rollouts.listing.is_behind:
            return
