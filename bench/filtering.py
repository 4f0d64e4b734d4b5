"""Filtering and sorting 80,000 rollouts by what is in the index."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from bench.figure import Figure, spread
from bench.setting import Setting
from tui_eval.events import RolloutFinished, RunStarted
from tui_eval.fold.columns import ordered
from tui_eval.fold.query.filtering import RowFilter
from tui_eval.fold.run_state import RunState

ROWS, EACH = 80_000, 4
LIMIT_MS = 50
FILTERS = (
    "reward<0.5 and turns>3 and tool:search and not error:timeout",
    "exact>0.2 or time>5 or tokens>1k",
    "fox",
    "!fox and example<900",
    "/qu[a-e]rtz \\d/",
)
COLUMNS = ("reward", "tokens", "example", "error", "tool", "exact", "stage")
WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "and",
    "sphinx",
    "of",
    "black",
    "quartz",
    "judge",
    "my",
    "vow",
]


def measure(setting: Setting) -> Iterator[Figure]:
    """Every filter, a new one each time as it keeps what it found, and every column."""
    state = made_state()
    repeats = setting.repeats(9, 3)
    for text in FILTERS:

        def rows(text: str = text) -> object:
            return RowFilter(text, state.details.metrics).rows(state)

        yield _figure(f"filter {text[:42]}", repeats, rows)
    for column in COLUMNS:
        yield _figure(
            f"sort by {column}",
            repeats,
            partial(ordered, state, range(ROWS), column, descending=True),
        )


def _figure(what: str, repeats: int, work: Callable[[], object]) -> Figure:
    taken = []
    for _ in range(repeats):
        before = time.thread_time()
        work()
        taken.append((time.thread_time() - before) * 1000)
    return Figure(what, median(taken), LIMIT_MS, " ms", f"CPU, of {repeats}: {spread(taken)}")


def run_started(at: float, examples: int) -> RunStarted:
    """The first event of a run of so many examples."""
    return RunStarted(
        seq=0,
        at=at,
        path="/run",
        env_id="env",
        model="model",
        base_url="http://127.0.0.1:1",
        num_examples=examples,
        rollouts_per_example=EACH,
        total=examples * EACH,
        max_concurrent=0,
        saved=True,
        sampling_args={},
        env_args={},
    )


def made_state(rows: int = ROWS) -> RunState:
    """A finished run with texts of the length that the index has."""
    dice = random.Random(5)
    state = RunState()
    examples = rows // EACH
    state.apply(run_started(0.0, examples))
    for row in range(rows):
        state.apply(finished(dice, row))
        state.details.answers.put(row, text_of(dice))
    for place in range(examples):
        state.details.questions.put(place, text_of(dice))
    return state


def text_of(dice: random.Random) -> str:
    return f"{' '.join(dice.choices(WORDS, k=38))} {dice.random()}"[:200]


def finished(dice: random.Random, row: int) -> RolloutFinished:
    error = dice.choice(("ModelError -> timeout", "ToolCallError")) if not row % 50 else None
    turns = dice.randint(1, 9)
    reward = None if error else dice.random()
    tools = dict.fromkeys(dice.sample(("search", "read", "write"), turns % 4), (1, 0))
    return RolloutFinished(
        *(0, 0.0, row, row // EACH, row % EACH, 1, row * 9000, 9000),
        *(reward, error, "no_tools_called", False, turns, turns - 1, 400 * turns, 60 * turns),
        *(0.0, 900.0, 9.0, dice.random() * 9000, {"exact": dice.random(), "turns": 1.0}),
        tools=tools,
    )
