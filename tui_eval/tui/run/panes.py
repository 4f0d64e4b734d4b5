"""The panes of a run, their titles, and the words of their keys in footer and help.

Titles are styled by the theme's own names and never parsed as markup.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from tui_eval.fold.columns import Note
from tui_eval.fold.query.fields import METRIC
from tui_eval.fold.rollout_columns import DONE
from tui_eval.printable import one_line
from tui_eval.text.figures import clock_text, span_text
from tui_eval.text.stages import endings_of, look_of, rollout_name
from tui_eval.tui.base.keys.command import RUN
from tui_eval.tui.base.keys.keymap import key_for, search_keys
from tui_eval.tui.base.layout import style_of_others
from tui_eval.tui.run.commands import COMMANDS
from tui_eval.tui.run.log.log_pane import FILTERS, LogPane
from tui_eval.tui.run.rollouts.rollout_list import RolloutList
from tui_eval.tui.run.trajectory_pane import TrajectoryPane

if TYPE_CHECKING:
    from tui_eval.tui.run.screen import RunScreen

NAMES = ("Rollouts", "Trajectory", "Numbers", "Log", "Reward")
FRAME = 4
"""Cells of a border beside its title."""
COLOURS = {
    "good": "$text-success",
    "bad": "$text-error bold",
    "warn": "$text-warning",
    "busy": "$text-primary",
    "accent": "$text-accent",
}
STILL_LOADING = "Not yet: the run is still loading."
BESIDE = 17
"""Cells beside the words of the log's title: its ends, and the numbers of other panes."""
NO_LOG = {"search": "", "level": ""}
ENDED = {
    "run.save-now": "",
    "view.bottom": "To the end",
    "app.quit": "Quit",
}
"""Help texts of commands where no engine is at work."""


def _key(number: int) -> str:
    return f" {key_for(f'run.{NAMES[number - 1].lower()}')}"


def _names(numbers: Sequence[int]) -> list[str]:
    return [f"{_key(number)} {NAMES[number - 1]} " for number in numbers]


class Panes(Container):
    """Panes by number; the style sheet lays them out for the current one.

    Of panes that share a place the last visited one has it.

    Args:
        panes: In the order of their numbers, from 1.
        order: The same in the order of the layout.
        log: The one that shares the place of those next to it.
    """

    def __init__(
        self, panes: Sequence[Widget], order: Sequence[Widget], log: Widget, *, id: str
    ) -> None:
        super().__init__(id=id, classes="-in-1")
        self._panes = panes
        self._order = order
        self._log = panes.index(log) + 1
        self._titles: dict[Widget, Content] = {}

    def compose(self) -> ComposeResult:
        for pane in self._order:
            pane.add_class("pane", update=False)  # it is styled when it is mounted
            yield pane

    def enter(self, number: int) -> None:
        """Makes a pane the current one; the layout of all follows."""
        if self.has_class(f"-in-{number}"):
            return
        self.remove_class(*(f"-in-{other}" for other in range(1, len(self._panes) + 1)))
        self.add_class(f"-in-{number}")
        if abs(number - self._log) <= 1:
            self.set_class(number == self._log, "-log")

    def rooms(self, pane: Widget) -> tuple[int, int]:
        """Cells for a pane's title: with the names of hidden panes beside it, and without."""
        shown, hidden = self._shown_and_hidden()
        room = (pane.size.width or self.size.width) - FRAME
        return room - (len("".join(_names(hidden))) if pane in shown[:1] else 0), room

    def entitle_all(self, titles: Sequence[Content]) -> None:
        """Sets the titles; the first visible one names hidden panes, or has their numbers."""
        shown, hidden = self._shown_and_hidden()
        style = style_of_others(self.app)
        for pane, title in zip(self._panes, titles, strict=True):
            room = pane.size.width - FRAME - title.cell_length if pane in shown[:1] else 0
            hidden_texts = (_names(hidden), [*map(_key, hidden), " "] if hidden else [])
            others = next((texts for texts in hidden_texts if len("".join(texts)) <= room), [])
            links = [f"{style} @click=screen.pane({number})" for number in hidden]
            spans = zip(others, [*links, style], strict=False)
            self.entitle(pane, Content.assemble(title, *spans))

    def _shown_and_hidden(self) -> tuple[list[Widget], list[int]]:
        """The visible panes in layout order, and the numbers of the others."""
        shown = [pane for pane in self._order if pane.size.height]
        return shown, [at for at, pane in enumerate(self._panes, 1) if pane not in shown]

    def entitle(self, pane: Widget, title: Content) -> None:
        """Sets the title of a pane, if it is another one."""
        if self._titles.get(pane) != title:
            self._titles[pane] = title
            pane.border_title = title


def pane_titles(screen: RunScreen) -> tuple[Content, ...]:
    """The titles of the panes, in the order of their numbers."""
    row = screen.reader.row
    of = f" · {rollout_name(screen.state, row)}" if 0 <= row < screen.state.total else ""
    return (
        _rollouts_title(screen),
        _trajectory_title(screen),
        Content(f" {key_for('run.numbers')} Numbers · 95 % intervals "),
        _log_title(screen.log_pane),
        Content(f" {key_for('run.reward')} Reward{of} "),
    )


def _rollouts_title(screen: RunScreen) -> Content:
    """The title with following and sorting."""
    sorting, parts = screen.rollouts.listing.sorting, [""]
    if sorting.field:
        name = one_line(sorting.field.removeprefix(METRIC), 24)
        parts.append(f"by {name} {'▼' if sorting.descending else '▲'}")
    if not sorting.grouped:
        parts.append("flat")
    is_at_work = screen.status.is_live and screen.state.run is not None
    following = following_title(screen.follower.on) if is_at_work else ""
    start = f" {key_for('run.rollouts')} Rollouts"
    return Content.assemble(start, following, f"{' · '.join(parts)} ")


def _log_title(log: LogPane) -> Content:
    """The title with the level and the search."""
    parts = [f" {key_for('run.log')} Log"]
    if log.filter:
        parts.append(FILTERS[log.filter][1])
    if log.typed is not None:
        text, caret = log.typed.text, log.typed.caret
        parts.append(f"/{text[:caret]}▏{text[caret:]}")
    elif log.needle:
        found = log.lines.found(log.needle)
        place = f"{found.index(log.here) + 1:,}" if log.here in found else "–"
        parts.append(f"“{log.needle}” entry {place} of {len(found):,}")
        room = log.size.width - len(" · ".join(parts)) - BESIDE
        words = search_keys("log", bool(found)) if log.has_focus else ()
        parts += [keys for keys in words if len(keys) <= room][:1]
    return Content(" · ".join(parts) + " ")


def following_title(following: bool) -> Content:
    """The part of a title that says whether a list follows the newest."""
    if following:
        return Content(" · following")
    return Content.assemble(" · ", ("not following", f"{COLOURS['warn']} not dim"))


def _trajectory_title(screen: RunScreen) -> Content:
    """Rollout, stage, truncation, attempt, time and whether it has a note; shorter to fit the
    pane, or without the names of others beside it."""
    state, row, rollout = screen.state, screen.reader.row, screen.reader.rollout
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
    elif not math.isnan(passed := state.passed_s(row, screen.now())):
        parts.append(f" · {clock_text(passed)}")
    if screen.annotations.get(row) != Note():
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
    rooms = screen.grid.rooms(screen.trajectory)
    fitting = (form for room in rooms for form in forms if form.cell_length <= room)
    return next(fitting, forms[-1])


def footer_words(screen: RunScreen) -> dict[str, str]:
    """Footer words by action; empty where a key does nothing."""
    state, status = screen.state, screen.status
    is_live = status.is_live and state.run is not None
    can_pause = status.at_work and (is_live or screen.root is not screen.feed)
    return {
        "pause": ("resume" if screen.steering.is_paused else "pause") if can_pause else "",
        "follow": ("stay" if screen.follower.on else "follow") if is_live else "",
        "open": "open" if state.total else "",
        "limit(1)": "concurrency" if can_pause else "",
        "failure(1)": "failed step" if screen.trajectory.has_failure else "",
        "enter": screen.numbers.enter_word,
        "compare": "compare" if screen.rollouts.lines.mark >= 0 else "",
        "error(1)": "next error" if state.errors else "",
        "zoom": screen.zoom.word,
        "rerun": screen.rerun.word,
        "leave": screen.quit_flow.word,
        "filter": "filter" if state.total else "",
        "sort": "sort" if state.total else "",
        "copy": "copy" if state.run is not None else "",
        "export": "export" if state.finished else "",
        "read_elsewhere(False)": "pager" if state.run is not None else "",
    } | _pane_words(screen.focused)


def _pane_words(pane: Widget | None) -> dict[str, str]:
    """Footer words of the pane with the focus."""
    marks = isinstance(pane, RolloutList) and pane.lines.mark >= 0 and not pane.listing.text
    words = {"back": "unmark" if marks else ""}
    if isinstance(pane, TrajectoryPane):
        words |= {"switch_fold": pane.fold_word, "search": "find" if pane.rollout else ""}
    elif isinstance(pane, LogPane):
        words["switch_fold"] = pane.fold_word
        words |= {"search": "find", "level": "level"} if pane.window.records else NO_LOG
    return words


def help_texts(screen: RunScreen) -> dict[str, str]:
    """Help texts by command id in place of those of the tables."""
    words, leaving = screen.keys.words, screen.quit_flow.help_text
    texts = {"run.leave": leaving}
    if not screen.status.is_live:
        silent = (one.id for one in COMMANDS if one.group == RUN and words.get(one.action) == "")
        texts |= {"run.cancel-rollout": "", **dict.fromkeys(silent, "")}
    return texts if screen.status.at_work else texts | ENDED | {"app.interrupt": leaving}
