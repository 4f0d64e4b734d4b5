"""A rollout on one line, and the heads of the columns over it."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

from rich.cells import cell_len

from tui_eval.fold.columns import Note, note_key, number_of_row
from tui_eval.fold.query.fields import METRIC
from tui_eval.fold.rollout_columns import DONE, ERROR, WAITING
from tui_eval.fold.row_details import TOOLS_APART
from tui_eval.printable import one_line
from tui_eval.stats.examples import ExampleFigures
from tui_eval.text.blocks import thread
from tui_eval.text.figures import clock_text, hours_text, reward_text, span_text
from tui_eval.text.stages import RETRY, TOOL_FAILED, endings_of, error_word, look_of
from tui_eval.text.waits import is_long, long_wait
from tui_eval.tui.base.look.ink import (
    EMPTY,
    Line,
    Span,
    cut,
    left,
    letter_ink,
    line_width,
    right,
)
from tui_eval.tui.run.rollouts.columns import (
    BAR,
    BAR_COLUMN,
    GROUP_COLUMN,
    METRIC_MOST,
    TIME_COLUMN,
    Column,
    fitting_columns,
    group_head,
    group_spans,
    known_columns,
)
from tui_eval.tui.run.rollouts.listing import Listing

ID_LEAST, ID_MOST = 3, 14
REWARD = 7
NOTE_GLYPH = "✎"
MARK_GLYPH = "A"
HOUR_S = 3600
NOTE_LEAST = 6
"""The fewest cells for a note beside its sign, with the gap before it."""


class RolloutLines:
    """Lines of rollouts, with columns for the width. `mark` is the marked row, -1 for none."""

    def __init__(self, listing: Listing, now: Callable[[], float]) -> None:
        self.listing = listing
        self.now = now
        self.chosen: tuple[str, ...] | None = None
        self.mark = -1
        self.show_run()

    def show_run(self) -> None:
        """Turns to another run."""
        self.state = self.listing.state
        self.mark = -1
        self._id_width, self._signs = ID_LEAST, 0
        self._columns: tuple[Column, ...] = ()
        self._room = 1
        self._fitted: tuple[object, ...] = ()

    def choose(self, columns: tuple[str, ...] | None) -> None:
        """Chooses columns; metrics that this run does not have stay chosen for others."""
        known = known_columns(self.state)
        unseen = [name for name in self.chosen or () if name not in known]
        self.chosen = None if columns is None else (*columns, *unseen)

    def fit(self, width: int, rows: Sequence[int]) -> None:
        """Fits the columns to a width, and the width of the ids to the visible rows."""
        for row in rows:
            self._id_width = max(self._id_width, min(len(self._example(row)), ID_MOST))
        state, grouped = self.state, self.listing.sorting.grouped
        has_signs = self.mark >= 0 or bool(self.listing.notes)
        self._signs = 3 if has_signs else 0
        # Before the reward: brace, glyph, example, number, signs.
        start = self._id_width + self._signs + (7 if state.per_example > 1 else 2)
        room = width - start - REWARD - 2
        self._columns = fitting_columns(state, self.chosen, room, grouped, has_signs)
        widths = [column.width for column in self._columns]
        self._room = max(room - sum(widths), 1)
        self._fitted = (self.shown, *widths, self._id_width, self._signs, self._room)

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the shown columns that can be left out."""
        return tuple(column.name for column in self._columns)

    def left_out(self) -> list[str]:
        """Names of the chosen columns that have no room."""
        missing = known_columns(self.state).keys() - set(self.shown)
        if not self.listing.sorting.grouped:
            missing.discard(GROUP_COLUMN.name)
        names = [name for name in self.chosen or () if name in missing]
        return [one_line(name.removeprefix(METRIC), METRIC_MOST) for name in names]

    def _example(self, row: int) -> str:
        return one_line(str(self.state.example_id(row)), ID_MOST)

    def _note(self, row: int) -> Note:
        notes = self.listing.notes
        return notes.get(note_key(self.state, row), Note()) if notes else Note()

    def _waits(self, row: int) -> str:
        return self.state.notes.get(row) or long_wait(self.state, row, self.now())

    def _seconds(self, row: int) -> float:
        """Seconds that a rollout took or, whole ones, has taken so far."""
        state = self.state
        if state.stage[row] >= DONE:
            return state.total_ms[row] / 1000
        passed = state.passed_s(row, self.now())
        return passed if math.isnan(passed) else float(int(passed))

    def _heads(self) -> list[tuple[str, int, str]]:
        """Field, width and name of every column, from the left."""
        groups = self.state.per_example > 1
        found = [("example", (4 if groups else 2) + self._id_width, "ex")]
        if groups:
            found.append(("number", 3, "#"))
        found += [("", self._signs, ""), ("reward", REWARD, "reward")]
        for column in self._columns:
            is_group = column.name == GROUP_COLUMN.name
            head = group_head(self.state, column.width) if is_group else column.head
            found.append((column.name, column.width, head))
        return [*found, ("stage", self._room + 2, "state")]

    def head(self) -> Line:
        """The heads; that of the sorting column has an arrow."""
        if not self.state.total:
            return EMPTY
        texts = {column.name for column in self._columns if column.is_text} | {"stage"}
        sorting = self.listing.sorting
        arrow = "▼" if sorting.descending else "▲"
        spans: list[Span] = []
        after = ""
        for field, width, name in self._heads():
            if not width:
                continue
            sorts = bool(field) and field == sorting.field
            if field in texts:
                text = "  " + left(f"{name} {arrow}" if sorts else name, width - 2)
            else:
                before = arrow if sorts and len(name) + 2 <= width else ""
                text = right(before + name, width)
            spans += [(after, "key"), (text[len(after) :], "key" if sorts else "faint")]
            after = arrow if sorts and arrow not in text else ""  # in the gap before the next
        return tuple(spans)

    def field_at(self, x: int) -> str:
        """The field at a cell of the heads; empty where there is none."""
        for field, width, _ in self._heads():
            if x < width:
                return {BAR_COLUMN.name: "reward", GROUP_COLUMN.name: ""}.get(field, field)
            x -= width
        return ""

    def key(self, row: int, brace: str) -> Hashable:
        """A value that determines the line of a row."""
        state = self.state
        numbers = (state.reward[row], self._seconds(row))
        waits = self._waits(row)
        how = (look_of(state, row), endings_of(state, row), state.errors.get(row), waits)
        tried = (state.attempt[row], state.details.failed_tools.get(row))
        marks = (row == self.mark, self._note(row))
        group = self._group(row, brace)
        return (
            (self._fitted, row, brace, self._example(row), *marks, *how, *tried, *group),
            *(None if math.isnan(number) else number for number in numbers),
            (state.threshold, state.reward_most),
            *(column.value(state, row) for column in self._columns),
        )

    def line(self, row: int, brace: str) -> Line:
        """The line of a row; `brace` is empty where rollouts are not grouped."""
        state, stage = self.state, self.state.stage[row]
        look = look_of(state, row)
        groups = state.per_example > 1
        dull = "faint" if stage == WAITING else ""
        repeats = brace in ("│", "╰")
        spans: list[Span] = [(f"{brace or ' '} ", "brace")] if groups else []
        spans += [
            (f"{look.glyph} ", look.ink),
            (right(self._example(row), self._id_width), "faint" if repeats else dull),
        ]
        if groups:
            spans.append((right(str(number_of_row(state, row)), 3), dull or "muted"))
        if self._signs:
            note = NOTE_GLYPH if self._note(row) != Note() else " "
            mark = MARK_GLYPH if row == self.mark else " "
            spans += [(f" {mark}", letter_ink(MARK_GLYPH)), (note, "accent")]
        spans += self._reward(row)
        for column in self._columns:
            spans += self._cell(column, row, brace)
        spans += [("  ", ""), *self._state(row)]
        return tuple(spans)

    def _cell(self, column: Column, row: int, brace: str) -> list[Span]:
        if column is BAR_COLUMN:
            return self._bar(row)
        if column.name == GROUP_COLUMN.name:
            return group_spans(self.state, *self._group(row, brace), column.width)
        if column is TIME_COLUMN:
            return [(column.fit(self._time(row)), "muted")]
        return [(column.cell(column.value(self.state, row)), "muted")]

    def _reward(self, row: int) -> list[Span]:
        reward = self.state.reward[row]
        if math.isnan(reward):
            is_none = row in self.state.details.no_number
            dash = "–" if is_none or self.state.stage[row] == ERROR else ""
            return [(right(dash, REWARD), "warn" if is_none else "faint")]
        return [(right(reward_text(reward), REWARD), "strong")]

    def _bar(self, row: int) -> list[Span]:
        reward = self.state.reward[row]
        if math.isnan(reward):
            return [(" " * (BAR + 1), "")]
        ink = "good" if self.state.passes(reward) else "muted"
        drawn, rest = thread(reward / self.state.reward_most, BAR)
        return [(" ", ""), (drawn, ink), (rest, "rule")]

    def _group(self, row: int, brace: str) -> tuple[ExampleFigures | None, bool]:
        """The figures of an example on its first line; whether some rollouts are not listed."""
        if brace not in ("╭", "") or GROUP_COLUMN.name not in self.shown:
            return None, False
        place = row // self.state.per_example
        return self.state.examples.result(place), self.listing.is_part(row)

    def _time(self, row: int) -> str:
        seconds = self._seconds(row)
        if math.isnan(seconds):
            return ""
        if seconds >= HOUR_S:
            return hours_text(seconds)
        return span_text(seconds) if self.state.stage[row] >= DONE else clock_text(seconds)

    def _state(self, row: int) -> list[Span]:
        stage, attempt, room = self.state.stage[row], self.state.attempt[row], self._room
        look = look_of(self.state, row)
        spans: list[Span] = []
        if stage == ERROR:
            spans.append((_error(self.state.errors.get(row, look.word), room), "bad"))
            kind = self.state.details.error_class.get(row)
            adds_kind = kind not in spans[0][0].lower()
            if adds_kind and line_width(spans) + len(kind) + 2 <= room:
                spans.append((f"  {kind}", "muted"))
        else:
            spans.append((look.word, look.ink if stage < DONE else "muted"))
            if ending := endings_of(self.state, row):
                spans += [(" · ", "muted"), (ending, "warn")]
                spans = spans if line_width(spans) <= room else spans[2:]
            noted = line_width(_noted(self._note(row), room - line_width(spans)))
            left_over = room - line_width(spans) - noted
            spans += _failed(self.state.details.failed_tools.get(row), left_over)
            if attempt > 1:
                forms = (f"  try {attempt}", f" try {attempt}", f" {RETRY}{attempt}")
                fits = [text for text in forms if line_width(spans) + len(text) <= room]
                spans += [(text, "warn") for text in fits[:1]]
        spans += _noted(self._note(row), room - line_width(spans))
        waits = self._waits(row)
        left_over = room - line_width(spans) - 2
        if waits and len(waits) > left_over:  # of a cut one its number says most
            waits = waits.removeprefix("status ")
        if waits and left_over >= min(len(waits), 8):
            ink = "warn" if is_long(self.state, row, self.now()) else "muted"
            spans.append((f"  {cut(one_line(waits, left_over), left_over)}", ink))
        return spans


def _failed(tools: str, room: int) -> list[Span]:
    """The tools of which a call went wrong, by name where there is room."""
    if not tools:
        return []
    names = f"{one_line(tools.replace(TOOLS_APART, ', '), 60)} failed"
    words: Line = ((f" {TOOL_FAILED}", "warn"), (f" {names}", "muted"))
    fits = [form for form in (((" ·", "muted"), *words), words[:1]) if line_width(form) <= room]
    return list(fits[0]) if fits else []


def _noted(note: Note, room: int) -> list[Span]:
    """As many whole tags as fit, the first one cut; then the note where all of them fit."""
    tags = [f" #{one_line(tag, room + 1)}" for tag in note.tags]
    gap = "" if cell_len("".join(tags)) == room else " "
    words, shown = "", 0
    for tag in tags:
        more = f"{words or gap}{tag}"
        if cell_len(more) > room:
            break
        words, shown = more, shown + 1
    if note.tags and not shown and room >= NOTE_LEAST:
        words = cut(more, room)
    elif shown < len(note.tags) and cell_len(words) + 2 <= room:
        words += " …"
    spans: list[Span] = [(words, "accent")] if words else []
    text, room = f"  {one_line(note.text, room + 1)}", room - cell_len(words)
    if note.text and shown == len(note.tags) and room >= min(cell_len(text), NOTE_LEAST):
        spans.append((cut(text, room), "muted"))
    return spans


def _error(error: str, room: int) -> str:
    """An error's name in so many cells, with its causes where they fit.

    A name that does not fit loses its last word first: a red one is an error anyway.
    """
    first = one_line(error_word(error.split(" -> ")[0]), 60)
    forms = (one_line(error_word(error), 60), first, first.removesuffix("Error"))
    fits = (form for form in forms if form and cell_len(form) <= room)
    return next(fits, "") or cut(forms[-1] or first, room)
