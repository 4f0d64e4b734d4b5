"""The list of runs on the home screen, one line each, with the filter in its title."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import events
from textual.binding import BindingType
from textual.content import Content

from tui_eval.printable import one_line
from tui_eval.text.figures import (
    count_text,
    half_text,
    interval_text,
    plural,
    reward_text,
    when_text,
)
from tui_eval.text.stages import TOOL_FAILED
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.lines.line_list import LineList
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut, left, letter_ink, line_width, right
from tui_eval.tui.home.found_runs import (
    SORTS,
    FoundRuns,
    errors_text,
    look_of,
    state_text,
    status_text,
)

if TYPE_CHECKING:
    from tui_eval.runs.discovery import FoundRun

NAME_MOST = 60
WORDS = 31
"""Cells of a filter in the title, its caret among them."""
LEAST_ENV, LEAST_MODEL = len("environment"), len("model")
NUMBERS_LEAVE = 28
"""Cells of the names that interval and n give way to; the rest gives way to whole names."""
REWARD, HALF, INTERVAL, N = 7, 7, 15, 6
SHORT_DATE, LONG_DATE = 10, 14
SHORT_STATE = 19
UNSAVED = "  unsaved"


class Columns(NamedTuple):
    """The widths of names, and which of the columns that some lists do without are there."""

    env: int
    model: int
    interval: bool
    n: bool
    long_date: bool
    long_state: bool
    unsaved: bool

    @property
    def gap(self) -> str:
        """What stands before the date: the half of an interval has a space behind itself."""
        return "  " if self.interval else " "


_OWNER = re.compile(r"^[\w.-]+/(?=\w)")


def _named(name: str, room: int) -> str:
    """A name, without its owner where there is no room for both."""
    whole = one_line(name, NAME_MOST)
    return whole if len(whole) <= room else _OWNER.sub("", whole)


def _widest(names: Iterable[str]) -> tuple[int, int]:
    """Cells of the longest of some names, and of the longest without its owner."""
    whole = [one_line(name, NAME_MOST) for name in names]
    return max(map(len, whole), default=0), max((len(_named(name, 0)) for name in whole), default=0)


def _asides(one: FoundRun) -> Iterator[tuple[tuple[str, ...], str]]:
    """What else went wrong with a run, in forms of which the first one that fits is shown."""
    if one.failed_tools:
        count = count_text(one.failed_tools)
        yield (f"  {TOOL_FAILED} {count}", f" {TOOL_FAILED}{count}"), "warn"
    if (zeros := one.reward_with_errors) is not None:
        yield (f"  {reward_text(zeros)} with ✗ as 0",), "muted"


def _fit(runs: Sequence[FoundRun], width: int) -> Columns:
    """Gives to the numbers what the names leave, then the names what is left."""
    env, bare_env = (max(cells, LEAST_ENV) for cells in _widest(one.env_id for one in runs))
    model, bare_model = (max(cells, LEAST_MODEL) for cells in _widest(one.model for one in runs))
    room = width - 4 - 2 - REWARD - HALF - (SHORT_DATE - 1) - 2 - SHORT_STATE
    states = [(len(state_text(one)), one.saved) for one in runs]
    state = max([SHORT_STATE, *(cells for cells, _ in states)])
    unsaved = max([state, *(cells + len(UNSAVED) for cells, saved in states if not saved)])
    extras = {"interval": INTERVAL - HALF + 1, "n": N, "long_state": state - SHORT_STATE}
    extras |= {"unsaved": unsaved - state, "long_date": LONG_DATE - SHORT_DATE}
    there = {}
    for name, cells in extras.items():
        least = NUMBERS_LEAVE if name in ("interval", "n") else bare_env + bare_model
        there[name] = room - cells >= max(min(env + model, least), 13 + 5)
        there[name] &= name != "n" or there["interval"]
        room -= cells if there[name] else 0
    if env + model > room:
        env, model = bare_env, bare_model
    least = min(env, room // 2)
    model = max(min(model, room - least), LEAST_MODEL)
    return Columns(env=max(min(env, room - model), LEAST_ENV), model=model, **there)


class RunList(LineList):
    """Columns fit the width; `empty` stands there while there is no run.

    Args:
        now: Unix seconds.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("runs")
    heads = 1

    def __init__(self, runs: FoundRuns, now: Callable[[], float], *, id: str) -> None:
        super().__init__(id=id)
        self.runs = runs
        self.now = now
        self.empty: tuple[Line, ...] = ()
        self.typing = False
        self._typed = TextLine()
        self._fitted: tuple[Sequence[FoundRun], int, Columns] | None = None
        """What is listed, in how many cells, and the columns for that."""

    def count(self) -> int:
        return len(self.runs.shown) or len(self._instead)

    @property
    def _instead(self) -> tuple[Line, ...]:
        runs = self.runs
        if not runs.is_loaded or not (runs.all or runs.words or self.typing):
            return self.empty
        nothing = "There are no runs to filter."
        if runs.all:
            nothing = f"None of the {plural(len(runs.all), 'run')} has these words."
        clears = (f"  {key_for('home.back')}", "key"), (" clears", "faint")
        return (EMPTY, ((f"  {nothing}", ""), *clears))

    def marked(self, index: int) -> bool:
        return index == self.runs.line and bool(self.runs.shown)

    def key(self, index: int) -> Hashable:
        if not self.runs.shown:
            return self.line(index)
        one = self.runs.shown[index]
        facts = (one.env_id, one.model, one.reward, one.low, one.high, one.n, one.done, one.total)
        day = int(self.now() // 3600)  # a date is told otherwise the next day
        stands = (one.errored, one.failed_tools, one.running, one.saved, one.stopped_early)
        return (*facts, one.date, *stands, self.runs.letter(one), day, self._columns)

    @property
    def _columns(self) -> Columns:
        runs, width, fitted = self.runs.shown, self.line_width, self._fitted
        if fitted is None or fitted[0] is not runs or fitted[1] != width:
            fitted = self._fitted = runs, width, _fit(runs, width)
        return fitted[2]

    def head(self, index: int) -> Line:
        """Names of the columns, over their columns."""
        if not self.runs.shown:
            return EMPTY
        columns = self._columns
        text = "    " + left("environment", columns.env) + "  " + left("model", columns.model)
        text += right("reward", REWARD)
        text += "  " + left("95 % interval", INTERVAL - 2) if columns.interval else " ±95%  "
        text += right("n", N) if columns.n else ""
        text += columns.gap + left("date", (LONG_DATE if columns.long_date else SHORT_DATE) - 2)
        return ((text + "  state", "faint"),)

    def title(self, *, named: bool = True) -> Content:
        """How the runs are sorted, and the filter; what they are first, where it is `named`."""
        runs = self.runs
        heads = [f"{key_for('home.runs')} Runs"] if named else []
        if runs.all:
            heads.append(f"by {runs.sorting}{', reversed' if runs.reversed else ''}")
        parts: list[str | tuple[str, str]] = [f" {' · '.join(heads)}" if heads else ""]
        if self.typing or runs.words:
            parts.append(f" · {len(runs.shown):,} of {len(runs.all):,} · / ")
            words: Line = ((cut(one_line(runs.words, 200), WORDS), ""),)
            for text, ink in self._typed.spans(WORDS) if self.typing else words:
                parts.append((text, f"$foreground not bold{' reverse' * (ink == 'caret')}"))
        return Content.assemble(*parts, " " if any(parts) else "")

    def line(self, index: int) -> Line:
        """The run's cells, or what is said instead."""
        if not self.runs.shown:
            return self._instead[index]
        one, columns = self.runs.shown[index], self._columns
        look = look_of(one)
        mark = self.runs.letter(one)
        spans: list[Span] = [
            (f"{mark or ' '} ", letter_ink(mark or "A")),
            (f"{look.glyph} ", look.ink),
            (left(_named(one.env_id, columns.env), columns.env), ""),
            (f"  {left(_named(one.model, columns.model), columns.model)}", "muted"),
            *self._numbers(one, columns),
        ]
        width = LONG_DATE if columns.long_date else SHORT_DATE
        when = when_text(one.date, self.now(), columns.long_date)
        spans.append((f"{columns.gap}{left(when, width - 2)}", "muted"))
        state, errors, gap = status_text(one), errors_text(one), "  "
        ink, unsaved = look.ink, not (one.saved or one.running or columns.unsaved)
        # The sign tells the word that gives way.
        if unsaved:
            state, ink = state.replace(look.word, UNSAVED.strip()), "warn"
        if not columns.long_state and len(state + gap + errors) > SHORT_STATE:
            if unsaved:
                errors = ""
            elif len(state + errors) <= SHORT_STATE:
                gap, errors = " ", errors.replace(" ", "")
            else:
                state = state.removeprefix(f"{look.word} ")
        spans += [(f"  {state}", ink), (f"{gap}{errors}" if errors else "", "bad")]
        if columns.unsaved and not one.saved:
            spans.append((UNSAVED, "warn"))
        for forms, its_ink in _asides(one):
            room = self.line_width - line_width(spans)
            spans += [(form, its_ink) for form in forms if len(form) <= room][:1]
        return tuple(spans)

    def _numbers(self, one: FoundRun, columns: Columns) -> list[Span]:
        spans: list[Span] = [(right(reward_text(one.reward), REWARD), "strong")]
        half = half_text(one.reward, one.low, one.high)
        if columns.interval:
            tried = (*(interval_text(one.low, one.high, places) for places in (2, 1)), half)
            fitting = (text for text in tried if len(text) <= INTERVAL - 2)
            spans.append((f"  {left(next(fitting, ''), INTERVAL - 2)}", "muted"))
        else:
            spans.append((left(f" {half}", HALF), "muted"))
        if columns.n:
            spans.append((right("" if one.n is None else count_text(one.n), N), "muted"))
        return spans

    def select(self, line: int) -> None:
        self.runs.select(line)
        self._moved()

    def _moved(self) -> None:
        self.show_line(self.runs.line, margin=1)
        self.update()
        self.post_message(self.Retitled())

    def refill(self, change: Callable[[], None]) -> None:
        """Lets other runs be listed; the selected one stays where it is on the screen."""
        before = self.runs.line
        change()
        self.update()
        moved = self.runs.line - before
        if moved and self.scroll_offset.y:
            self.jump(self.scroll_offset.y + moved)
        self.post_message(self.Retitled())

    def _rearrange(self, change: Callable[[], None]) -> None:
        self.refill(change)
        self._moved()

    def action_move(self, by: int) -> None:
        self.select(self.runs.line + by)

    def action_open(self) -> None:
        """Opens the selected run."""
        self.call_later(self.screen.run_action, "open")

    def action_mark(self) -> None:
        """Marks the selected run, and goes on to the next."""
        self.runs.mark()
        self.action_move(1)

    def action_sort(self) -> None:
        """Sorts by the next column."""
        self._rearrange(self.runs.sort_by_next)

    def action_reverse(self) -> None:
        """Sorts the other way round."""
        self.runs.reversed = not self.runs.reversed
        self._rearrange(self.runs.arrange)

    def action_filter(self) -> None:
        """Lets a filter be typed."""
        self.typing = True
        self._typed.put(self.runs.words)
        self._moved()

    def filter_by(self, words: str) -> None:
        """Lists the runs that have these words."""
        self.runs.words = words
        self.runs.arrange()
        self._moved()

    def on_key(self, event: events.Key) -> None:
        """Takes what is typed while a filter is; escape takes the filter away."""
        words = self.runs.words
        if event.key == "escape" and (self.typing or words):
            self.typing = False
            self.filter_by("")
        elif not self.typing:
            return
        elif event.key in ("enter", "down", "up"):
            self.typing = False
            self._moved()
        elif not type_into(self._typed, event):
            return
        else:
            self.filter_by(self._typed.text)
        event.stop()
        event.prevent_default()

    def on_blur(self) -> None:
        """Whoever goes elsewhere has typed the filter."""
        if self.typing:
            self.typing = False
            self._moved()

    def head_clicked(self, x: int, index: int) -> None:
        """Sorts by the column under the mouse, or the other way round."""
        text = "".join(text for text, _ in self.head(index))
        begins = {name: text.find(name) for name in SORTS}
        begins["reward"] -= REWARD - len("reward")  # it stands at the right of its column
        before = [name for name, at in begins.items() if 0 <= at <= x]
        if before:
            name = max(before, key=begins.__getitem__)
            self._rearrange(lambda: self.runs.sort_by_name(name))

    def clicked_at(self, x: int, index: int) -> None:
        """Selects a run; a click on the selected one opens it. Without runs keys are told."""
        if not self.runs.shown:
            self.press_key_at(self.line(index), x)
        elif index == self.runs.line:
            self.action_open()
        else:
            self.select(index)
