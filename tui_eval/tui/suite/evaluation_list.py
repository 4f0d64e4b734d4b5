"""The list of the evaluations of a suite, one line each."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import ClassVar, NamedTuple

from msgspec.structs import astuple
from textual.binding import BindingType
from textual.message import Message

from tui_eval.fold.outcome_words import errors_as_0
from tui_eval.fold.suite_state import EvaluationState, SuiteState
from tui_eval.printable import one_line
from tui_eval.text.evaluation_words import (
    WORD,
    done_text,
    look_of,
    names_that_vary,
    title_of,
    tokens_of,
    values_of,
    variation_of,
)
from tui_eval.text.figures import clock_text, count_text, half_text, money_text, reward_text
from tui_eval.tui.base.keys.keymap import bindings
from tui_eval.tui.base.lines.line_list import LineList
from tui_eval.tui.base.look.ink import Line, Span, left, line_width, right
from tui_eval.tui.run.header import bar_spans

TITLE, VARIES = "evaluation", "settings"
TITLE_MOST, VARIES_MOST, HEAD_MOST = 48, 64, 32
NAMES_SHARE = 0.5
"""The share of the width that title and variation keep before a column of numbers goes."""
SHORT = {
    "temperature": "temp.",
    "max_tokens": "tokens",
    "max_turns": "turns",
    "num_examples": "examples",
    "rollouts_per_example": "rollouts",
    "reasoning_effort": "effort",
}
"""Shorter names of settings."""
LEAST_LETTERS = 4
"""The fewest letters of a setting's name."""
BAR, WIDE_BAR = 8, 16
WIDTHS = {"bar": BAR + 1, "reward": 8, "±": 6, "✗=0": 6}
WIDTHS |= {"errors": 7, "tokens": 8, "cost": 10, "time": 8}
LEAST_WHY = 16
"""The fewest cells in which a reason is shown."""
OPTIONAL = ("cost", "tokens", "errors", "time", "bar", "±", "✗=0")
"""Columns that a narrow list does without, first to go first."""


class Columns(NamedTuple):
    """The widths of names and bar, 0 for none, and the columns of numbers that fit.

    `names` are those of the settings that vary, where the lines have only their values.
    """

    title: int
    varies: int
    names: str
    bar: int
    done: int
    numbers: tuple[str, ...]


class EvaluationList(LineList):
    """The list of evaluations; its columns never move, as all names are known at the start."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("evaluations")
    heads = 1

    follows = True
    """Whether the selection follows the running evaluation."""

    class Chosen(Message):
        """Somebody selected another evaluation."""

    class FollowWanted(Message):
        """Somebody went to the evaluation that is running."""

    def __init__(self, suite: SuiteState, *, id: str) -> None:
        super().__init__(id=id)
        self.suite = suite
        self._columns_of = (0, 0, False)
        self._differing: list[str] = []
        self._made = Columns(0, 0, "", 0, 0, ())

    def count(self) -> int:
        return len(self.suite.evaluations)

    def key(self, index: int) -> Hashable:
        """The last status of the evaluation, and that of the suite."""
        suite = self.suite
        last = astuple(suite.evaluations[index].last)
        return (self._columns, suite.end is None, suite.gate_open, *last)

    @property
    def _columns(self) -> Columns:
        has_errors = any(one.last.errored for one in self.suite.evaluations)
        wanted = (self.line_width, self.count(), has_errors)
        if wanted != self._columns_of:
            self._columns_of, self._made = wanted, self._fit(self.line_width, has_errors)
        return self._made

    def _fit(self, width: int, has_errors: bool) -> Columns:
        self._differing = names_that_vary(self.suite)
        every = (title_of(one, TITLE_MOST) for one in self.suite.evaluations)
        titles = max(map(len, (TITLE, *every)))
        head = len(self._names(HEAD_MOST))
        varies, least = self._longest(self._settings), max(self._longest(self._values), head)
        varies = max(varies, len(VARIES)) if varies else 0
        names = titles + 2 + least
        shown = [name for name in WIDTHS if name != "✗=0" or has_errors]
        digits = max((len(str(one.total or 100)) for one in self.suite.evaluations), default=0)
        done = max(2 * min(digits, 5) + 1, len("done")) + 2
        room = width - 2 - WORD - 2 - done
        for column in OPTIONAL:
            if room - sum(WIDTHS[one] for one in shown) >= min(names, int(width * NAMES_SHARE)):
                break
            shown = [one for one in shown if one != column]
        room = max(room - sum(WIDTHS[one] for one in shown), 4)
        is_short = titles + 2 + varies > room
        varies = least if is_short else varies
        wide = WIDE_BAR - (WIDTHS["✗=0"] if has_errors else 0)
        bar = wide if room - titles - 2 - varies >= wide - BAR else BAR
        bar = bar if "bar" in shown else 0
        title = min(titles, max(room - varies - 2, room // 2))
        varies = min(varies, max(room - title - 2, 0))
        heads = self._names(varies) if is_short else ""
        return Columns(title, varies, heads, bar, done, tuple(one for one in shown if one != "bar"))

    def _settings(self, one: EvaluationState) -> str:
        return variation_of(one, self.suite, VARIES_MOST)

    def _values(self, one: EvaluationState) -> str:
        return values_of(one, self.suite, self._differing, VARIES_MOST)

    def _longest(self, text_of: Callable[[EvaluationState], str]) -> int:
        return max((len(text_of(one)) for one in self.suite.evaluations), default=0)

    def _names(self, room: int) -> str:
        """The names of the settings that vary, shortened to the room, the longest first."""
        names = list(self._differing)
        while len(", ".join(names)) > room and (known := [one for one in names if one in SHORT]):
            longest = max(known, key=len)
            names[names.index(longest)] = SHORT[longest]
        kept = [len(name) for name in names]
        while sum(kept) + 2 * len(kept) - 2 > room and max(kept) > LEAST_LETTERS:
            kept[kept.index(max(kept))] -= 1
        return one_line(", ".join(map(one_line, names, kept)), room)

    def head(self, index: int) -> Line:
        columns = self._columns
        text = left(f"  {TITLE}", 2 + columns.title)
        names = left(columns.names or VARIES, columns.varies)
        text += f"  {names}" if columns.varies else ""
        text += " " * (columns.bar + 1) if columns.bar else ""
        text += right("done", columns.done)
        for name in columns.numbers:
            text += right("±95% " if name == "±" else name, WIDTHS[name])
        return ((text + "  state", "faint"),)

    def line(self, index: int) -> Line:
        one, columns = self.suite.evaluations[index], self._columns
        look = look_of(one, self.suite)
        waits = one.last.status == "waiting"
        title = left(title_of(one, TITLE_MOST), columns.title)
        spans: list[Span] = [(f"{look.glyph} ", look.ink), (title, "faint" if waits else "")]
        if columns.varies:
            varies = self._values(one) if columns.names else self._settings(one)
            spans.append((f"  {left(varies, columns.varies)}", "faint" if waits else "muted"))
        spans += self._numbers(one, columns)
        spans.append((f"  {left(look.word, WORD)}", look.ink))
        room = self.line_width - line_width(spans) - 2
        if room >= LEAST_WHY:
            why = one.last.text.partition("\n")[0]
            for known in (f"environment {one.listed.env_id}: ", "importing it raised "):
                why = why.removeprefix(known)
            spans.append((f"  {one_line(why, room)}", "muted"))
            if not why and "±" in columns.numbers and len(one.last.interval_name) <= room:
                spans.append((one_line(one.last.interval_name, room), "faint"))
        return tuple(spans)

    def _numbers(self, one: EvaluationState, columns: Columns) -> list[Span]:
        last, begun = one.last, bool(one.last.path or one.last.finished)
        spans: list[Span] = []
        if columns.bar:
            running = last.running if self.suite.end is None else 0
            bar = bar_spans(last.finished, last.errored, running, one.total, columns.bar)
            spans += [(" ", ""), *(bar if begun else [(" " * columns.bar, "")])]
        spans.append((right(done_text(one), columns.done), "muted" if begun else "faint"))
        zeros = errors_as_0(last.reward, last.errored, last.finished) if last.errored else None
        cells = {
            "reward": (reward_text(last.reward) if last.finished else "", "strong"),
            "±": (half_text(last.reward, last.low, last.high), "muted"),
            "✗=0": ("" if zeros is None else reward_text(zeros), "muted"),
            "errors": (f"✗ {count_text(last.errored)}" if last.errored else "", "bad"),
            "tokens": (count_text(tokens_of(one)) if tokens_of(one) else "", "muted"),
            "cost": (money_text(last.cost) if last.cost is not None else "", "muted"),
            "time": (clock_text(last.elapsed_s) if begun and last.elapsed_s else "", "muted"),
        }
        return spans + [
            (right(cells[name][0], WIDTHS[name]), cells[name][1]) for name in columns.numbers
        ]

    def put(self) -> None:
        self.follows = False

    def select(self, index: int, by_hand: bool = True) -> None:
        before = self.cursor
        self.cursor = min(max(index, 0), max(self.count() - 1, 0))
        if by_hand:
            self.put()
            if self.cursor != before:
                self.post_message(self.Chosen())
        self.show_line(self.cursor, margin=1)
        self.update()

    def action_bottom(self) -> None:
        """Follows the running evaluation; selects the last one where none runs."""
        self.post_message(self.FollowWanted())

    def action_enter(self) -> None:
        """Goes to the rollouts of the selected evaluation."""
        self.call_later(self.screen.run_action, "pane(1)")

    def clicked(self, index: int) -> None:
        if index == self.cursor:
            self.action_enter()
        else:
            self.select(index)
