"""A long trajectory on the screen: a frame of scrolling, a change of focus, the next rollout."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from statistics import median
from typing import Any

from textual import events as textual_events
from textual.pilot import Pilot

from bench.figure import Figure, NotMeasuredError, percentile, spread
from bench.setting import Setting
from tui_eval.events import Event, RolloutFinished, RunFinished, RunStarted
from tui_eval.fold.trajectory import Rollout, from_row
from tui_eval.tui.app import TuiEvalApp

NOW = 1_760_000_000.0
TURNS = 1_000
HUGE, LARGE, SMALL = 20_000_000, 5_000_000, 50_000
"""Characters of the rollouts."""
APPEARS_WITHIN_S = 30.0
SIZE = (120, 40)
REPEATED_EVERY_S = 1 / 30
"""Seconds between the repeats of a key that is held."""


class Saved:
    """The feed of a finished run whose rows are JSON text in memory."""

    live = False

    def __init__(self, rows: list[bytes]) -> None:
        self._rows = rows
        self._events: list[Event] = [_started(len(rows))]
        self._events += [_finished(row) for row in range(len(rows))]
        self._events.append(RunFinished(0, NOW, "finished", 0))

    async def start(self) -> None:
        """There is nothing to open."""

    def drain(self, most: int = 5000) -> list[Event]:
        """Everything at once."""
        found, self._events = self._events, []
        return found

    def send(self, command: Any) -> None:
        """Nobody listens."""

    def saved(self, row: int, offset: int, length: int) -> Rollout | None:
        """Reads a row as the one of a run directory is read."""
        return from_row(row, json.loads(self._rows[row]))

    def log(self, at: int, most: int) -> tuple[bytes, int]:
        """Nobody printed anything."""
        return b"", 0

    async def close(self) -> None:
        """Nothing is held open."""


def _started(total: int) -> RunStarted:
    sizes = (total, 1, total, 1)
    return RunStarted(0, NOW, "/run", "bench", "mock", "http://x/v1", *sizes, True, {}, {})


def _finished(row: int) -> RolloutFinished:
    return RolloutFinished(
        *(0, NOW, row, row, 0, 1, row * 100, 100, 1.0, None, "stop", False, TURNS, TURNS, 3, 4),
        *(NOW, 1.0, 1.0, 2.0, {}),
    )


def row_of(turns: int, characters: int) -> bytes:
    """A line of results.jsonl: turns with prose, code and a tool call with a JSON result."""
    each = characters // (2 * turns)
    completion: list[dict[str, Any]] = []
    for turn in range(turns):
        prose = f"## Turn {turn}\n\n" + "The model **says** something about `it`. " * (each // 82)
        code = "```python\n" + "for item in items:\n    print(item)  # all of them\n" * (each // 94)
        call = {"id": f"c{turn}", "name": "search", "arguments": json.dumps({"query": turn})}
        found = [{"title": f"hit {n}", "score": n / 7} for n in range(each // 40)]
        completion += [
            {"role": "assistant", "content": f"{prose}\n\n{code}```", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": json.dumps(found)},
        ]
    return json.dumps({"prompt": "Go on.", "completion": completion, "answer": ""}).encode()


def measure(setting: Setting) -> Iterator[Figure]:
    """In one process, on Textual's headless driver: CPU time of its main thread, or wall time."""
    repeats = setting.repeats(5, 2)
    rows = [row_of(TURNS, HUGE), *[row_of(9, SMALL)] * repeats]
    for _ in range(repeats):
        rows += [row_of(200, LARGE), row_of(9, SMALL)]
    return iter(asyncio.run(_all(rows, repeats)))


async def _all(rows: list[bytes], repeats: int) -> list[Figure]:
    async with _running(rows) as (app, pilot):
        frames = await _scrolling(app)
        focus = await _focusing(app, pilot)
        small: list[float] = []
        large: list[float] = []
        for row in range(1, len(rows)):
            passed = await _turning(app, pilot, row)
            (large if len(rows[row]) > LARGE / 2 else small).append(passed)
    size = f"{TURNS:,} turns, {len(rows[0]) / 1e6:.0f} MB"
    return [
        Figure(f"scrolling through {size}: a frame, p95", percentile(frames, 0.95), 10, " ms",
               f"of {len(frames)}: {spread(frames)}"),
        Figure("focus of the terminal goes or comes", median(focus), 50, " ms",
               f"of {len(focus)}: {spread(focus)}"),
        Figure("next rollout", median(small), 30, " ms", f"of {len(small)}: {spread(small)}"),
        Figure("next rollout, of 5 MB", median(large), 200, " ms",
               f"of {len(large)}: {spread(large)}"),
    ]  # fmt: skip


@asynccontextmanager
async def _running(rows: list[bytes]) -> AsyncIterator[tuple[TuiEvalApp, Pilot[Any]]]:
    app = TuiEvalApp(Saved(rows), now=lambda: NOW)
    async with app.run_test(size=SIZE) as pilot:
        gc.freeze()  # as the app does after its first frame, on a terminal
        try:
            await _until(lambda: _shows(app, 0))
            await pilot.press("2", "g")
            await pilot.pause()
            yield app, pilot
        finally:
            gc.unfreeze()


def _shows(app: TuiEvalApp, row: int) -> bool:
    rollout = app.live_screen.trajectory.rollout
    return rollout is not None and rollout.row == row and rollout.finished


async def _until(condition: Callable[[], bool]) -> None:
    end = time.perf_counter() + APPEARS_WITHIN_S
    while not condition():
        if time.perf_counter() > end:
            raise NotMeasuredError("the rollout never came on the screen")
        await asyncio.sleep(0.001)


async def _scrolling(app: TuiEvalApp) -> list[float]:
    """Frames while a key is held: by the wheel, by pages, from the end up again."""
    trajectory = app.live_screen.trajectory
    moves: list[Callable[[], Any]] = [lambda: trajectory.scroll_lines(3)] * 60
    moves += [lambda: trajectory.action_page(1.0)] * 60
    moves += [trajectory.action_bottom, *[lambda: trajectory.action_page(-1.0)] * 60]
    return [await _frame(app, move) for move in moves]


async def _frame(app: TuiEvalApp, act: Callable[[], Any]) -> float:
    """CPU milliseconds of everything from one repeat of the key to the next.

    That is what stands in the frame, and what keeps the loop from the next one: laying out and
    highlighting what comes later, the clock's tick, collecting garbage.
    """
    began, before = time.perf_counter(), time.thread_time()
    await _drawn(app, act)
    await asyncio.sleep(began + REPEATED_EVERY_S - time.perf_counter())
    return (time.thread_time() - before) * 1000


async def _focusing(app: TuiEvalApp, pilot: Pilot[Any]) -> list[float]:
    kinds = (textual_events.AppBlur, textual_events.AppFocus)
    return [
        await _cpu_ms(pilot, partial(app.post_message, kind())) for _ in range(5) for kind in kinds
    ]


async def _cpu_ms(pilot: Pilot[Any], act: Callable[[], Any]) -> float:
    before = time.thread_time()
    act()
    await pilot.pause()
    return (time.thread_time() - before) * 1000


async def _turning(app: TuiEvalApp, pilot: Pilot[Any], row: int) -> float:
    """Wall milliseconds from the key until the first lines of the next rollout are drawn."""
    before = time.perf_counter()
    await _drawn(
        app, lambda: app.live_screen.navigation.action_rollout(1), lambda: _shows(app, row)
    )
    passed = (time.perf_counter() - before) * 1000
    await _until(lambda: app.live_screen.trajectory.has_layout)
    await pilot.pause(0.2)
    return passed


async def _drawn(
    app: TuiEvalApp, act: Callable[[], Any], condition: Callable[[], bool] = lambda: True
) -> None:
    """Acts, and waits until a frame has the lines of the trajectory, once the condition holds."""
    trajectory = app.live_screen.trajectory
    before = trajectory.requested
    act()
    await _until(lambda: condition() and trajectory.requested > before)
