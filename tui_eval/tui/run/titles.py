"""The titles of the panes, styled by the theme's own names and never parsed as markup."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from textual.content import Content

from tui_eval.fold.columns import Note
from tui_eval.fold.filter_fields import METRIC
from tui_eval.fold.rollout_columns import DONE
from tui_eval.printable import one_line
from tui_eval.text.figures import clock_text, span_text
from tui_eval.text.stages import endings_of, look_of, rollout_name
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.run.rollouts.row_order import Sorting

if TYPE_CHECKING:
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.trajectory import Rollout

COLOURS = {
    "good": "$text-success",
    "bad": "$text-error bold",
    "warn": "$text-warning",
    "busy": "$text-primary",
    "accent": "$text-accent",
}

STILL_LOADING = "Not yet: the run is still loading."


def rollouts_title(following: bool, goes_on: bool, sorting: Sorting) -> Content:
    """Says whether the view moves by itself, and how it is sorted."""
    parts = [""]
    if sorting.field:
        name = one_line(sorting.field.removeprefix(METRIC), 24)
        parts.append(f"by {name} {'▼' if sorting.descending else '▲'}")
    if not sorting.grouped:
        parts.append("flat")
    start = f" {key_for('run.rollouts')} Rollouts"
    return Content.assemble(
        start, following_title(following) if goes_on else "", f"{' · '.join(parts)} "
    )


def following_title(following: bool) -> Content:
    """Whether the selection of a list goes along with what is newest."""
    if following:
        return Content(" · following")
    return Content.assemble(" · ", ("not following", f"{COLOURS['warn']} not dim"))


def trajectory_title(
    state: RunState,
    row: int,
    rollout: Rollout | None,
    now: float,
    rooms: tuple[int, int],
    note: Note,
) -> Content:
    """Which rollout it is, its stage, whether it is truncated, its attempt, time, and whether there
    is a note on it; shorter to fit the first of `rooms`, or the second."""
    number = key_for("run.trajectory")
    if row < 0 or row >= state.total:
        return Content(f" {number} Trajectory ")
    look = look_of(state, row)
    ink = f"{COLOURS.get(look.ink, '')} not dim".lstrip()
    ending = endings_of(state, row)
    parts: list[tuple[str, str] | str] = []
    attempt = max(state.attempt[row], rollout.attempt if rollout is not None else 1)
    if attempt > 1:
        parts.append(f" · attempt {attempt}")
    if state.stage[row] >= DONE:
        if state.total_ms[row]:
            parts.append(f" · {span_text(state.total_ms[row] / 1000)}")
    elif not math.isnan(passed := state.passed_s(row, now)):
        parts.append(f" · {clock_text(passed)}")
    if note != Note():
        parts += [" · ", ("✎", COLOURS["accent"])]
    name = rollout_name(state, row)
    glyph, stage = (f"{look.glyph} ", ink), (look.word, ink)
    warning = (ending, f"{COLOURS['warn']} not dim")
    whole = [glyph, stage, " · ", warning] if ending else [glyph, stage]
    short = [glyph, warning] if ending else whole
    forms = [
        Content.assemble(f" {number} {title} · ", *words, *parts, " ")
        for title, words in ((f"Trajectory · {name}", whole), (name, whole), (name, short))
    ]
    fitting = (form for room in rooms for form in forms if form.cell_length <= room)
    return next(fitting, forms[-1])


def reward_title(state: RunState, row: int) -> Content:
    """Whose reward it is."""
    number = key_for("run.reward")
    if row < 0 or row >= state.total:
        return Content(f" {number} Reward ")
    return Content(f" {number} Reward · {rollout_name(state, row)} ")
