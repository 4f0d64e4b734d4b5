"""The list of runs on the home screen, one line each, with the filter in its title."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content

from tui_eval.printable import one_line
from tui_eval.text.figures import plural
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.lines.line_list import LineList
from tui_eval.tui.base.lines.text_line import TextLine, type_into
from tui_eval.tui.base.look.ink import EMPTY, Line, cut
from tui_eval.tui.home.run_lines import (
    REWARD,
    SORTS,
    Columns,
    fit,
    head_line,
    matches,
    no_runs,
    run_line,
)

if TYPE_CHECKING:
    from tui_eval.runs.discovery import FoundRun

WORDS = 31
"""Cells of a filter in the title, its caret among them."""
MOST_MARKED = 26
LOOKING: tuple[Line, ...] = (EMPTY, (("  looking for runs…", "faint"),))


class RunList(LineList):
    """Found runs: filtered, sorted, one of them selected, some marked.

    The selection and the marks are places on disk, so they outlive a poll.

    Args:
        now: Unix seconds.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("runs")
    heads = 1

    def __init__(self, now: Callable[[], float], *, id: str) -> None:
        super().__init__(id=id)
        self.now = now
        self.all: list[FoundRun] = []
        self.shown: list[FoundRun] = []
        self.is_loaded = False
        self.words = ""
        self.typing = False
        self._typed = TextLine()
        self.sorting = "date"
        self.reversed = False
        self.marks: list[Path] = []
        self._selected: Path | None = None
        self._wanted: Path | None = None
        self._fitted: tuple[Sequence[FoundRun], int, Columns] | None = None
        """The listed runs, the width, and the columns for these."""

    def take(self, runs: Iterable[FoundRun], seen: tuple[Path, float] | None) -> None:
        """Takes in the found runs.

        Args:
            seen: The run that was viewed last, and when: at first it is selected, or a run that
                runs or was written later.
        """
        self.all = list(runs)
        if not self.is_loaded and self.all:
            newest = max(self.all, key=lambda one: (one.running, one.written_at))
            later = seen is not None and not newest.running and seen[1] >= newest.written_at
            self.want(seen[0] if seen is not None and later else newest.run.place)
        self.is_loaded = True
        there = {one.run.place for one in self.all}
        self.marks = [place for place in self.marks if place in there]
        self.rearrange()

    def want(self, place: Path) -> None:
        """Selects a run, as soon as it is listed."""
        self._wanted = place.absolute()

    def rearrange(self) -> None:
        """Filters and sorts; the selected run stays where it is on the screen."""
        before = self.cursor
        self._filter_and_sort()
        self.update()
        moved = self.cursor - before
        if moved and self.scroll_offset.y:
            self.jump(self.scroll_offset.y + moved)
        self.post_message(self.Retitled())

    def _filter_and_sort(self) -> None:
        """Filters and sorts; keeps the selection on its run, or on its line if that has gone."""
        found = [one for one in self.all if matches(one, self.words.lower().split())]
        found.sort(key=lambda one: str(one.run.place))
        found.sort(key=SORTS[self.sorting], reverse=self.reversed)
        self.shown = sorted(found, key=lambda one: not one.running)
        places = [one.run.place for one in self.shown]
        for place in places if self._wanted is not None else ():
            if place.absolute() == self._wanted:
                self._selected, self._wanted = place, None
        self._put(places.index(self._selected) if self._selected in places else self.cursor)

    def _put(self, line: int) -> None:
        self.cursor = min(max(line, 0), max(len(self.shown) - 1, 0))
        self._selected = self.shown[self.cursor].run.place if self.shown else None

    @property
    def selected(self) -> FoundRun | None:
        """The selected run."""
        return self.shown[self.cursor] if self.shown else None

    def _letter(self, one: FoundRun) -> str:
        """The mark of a run; empty where it has none."""
        place = one.run.place
        return chr(ord("A") + self.marks.index(place)) if place in self.marks else ""

    def count(self) -> int:
        return len(self.shown) or len(self._instead)

    @property
    def _instead(self) -> tuple[Line, ...]:
        if not self.is_loaded:
            return LOOKING
        if not (self.all or self.words or self.typing):
            return no_runs()
        nothing = "There are no runs to filter."
        if self.all:
            nothing = f"None of the {plural(len(self.all), 'run')} has these words."
        clears = (f"  {key_for('home.back')}", "key"), (" clears", "faint")
        return (EMPTY, ((f"  {nothing}", ""), *clears))

    def marked(self, index: int) -> bool:
        return index == self.cursor and bool(self.shown)

    def key(self, index: int) -> Hashable:
        if not self.shown:
            return self.line(index)
        one = self.shown[index]
        values = (one.env_id, one.model, one.reward, one.low, one.high, one.n, one.done, one.total)
        day = int(self.now() // 3600)  # the text of a date changes the next day
        counts = (one.errored, one.failed_tools, one.running, one.saved, one.stopped_early)
        return (*values, one.date, *counts, self._letter(one), day, self._columns)

    @property
    def _columns(self) -> Columns:
        runs, width, fitted = self.shown, self.line_width, self._fitted
        if fitted is None or fitted[0] is not runs or fitted[1] != width:
            fitted = self._fitted = runs, width, fit(runs, width)
        return fitted[2]

    def head(self, index: int) -> Line:
        return head_line(self._columns) if self.shown else EMPTY

    def title(self, *, named: bool = True) -> Content:
        """The title: the sorting and the filter; the word Runs before where `named`."""
        heads = [f"{key_for('home.runs')} Runs"] if named else []
        if self.all:
            heads.append(f"by {self.sorting}{', reversed' if self.reversed else ''}")
        parts: list[str | tuple[str, str]] = [f" {' · '.join(heads)}" if heads else ""]
        if self.typing or self.words:
            parts.append(f" · {len(self.shown):,} of {len(self.all):,} · / ")
            words: Line = ((cut(one_line(self.words, 200), WORDS), ""),)
            for text, ink in self._typed.spans(WORDS) if self.typing else words:
                parts.append((text, f"$foreground not bold{' reverse' * (ink == 'caret')}"))
        return Content.assemble(*parts, " " if any(parts) else "")

    def line(self, index: int) -> Line:
        if not self.shown:
            return self._instead[index]
        one = self.shown[index]
        return run_line(one, self._letter(one), self._columns, self.now(), self.line_width)

    def select(self, index: int) -> None:
        self._wanted = None
        self._put(index)
        self._moved()

    def _moved(self) -> None:
        self.show_line(self.cursor, margin=1)
        self.update()
        self.post_message(self.Retitled())

    def action_open(self) -> None:
        self.call_later(self.screen.run_action, "open")

    def action_mark(self) -> None:
        """Marks the selected run, and selects the next."""
        if self._selected in self.marks:
            self.marks.remove(self._selected)
        elif self._selected is not None and len(self.marks) < MOST_MARKED:
            self.marks.append(self._selected)
        self.action_move(1)

    def action_sort(self) -> None:
        names = list(SORTS)
        self._sort_by(names[(names.index(self.sorting) + 1) % len(names)])

    def action_reverse(self) -> None:
        self._sort_by(self.sorting, backwards=not self.reversed)

    def _sort_by(self, name: str, *, backwards: bool = False) -> None:
        self.sorting, self.reversed = name, backwards
        self.rearrange()
        self._moved()

    def action_filter(self) -> None:
        self.typing = True
        self._typed.put(self.words)
        self._moved()

    def filter_by(self, words: str) -> None:
        """Lists the runs with these words."""
        self.words = words
        self._filter_and_sort()
        self._moved()

    def on_key(self, event: events.Key) -> None:
        """Types a filter; escape clears it."""
        if event.key == "escape" and (self.typing or self.words):
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
        """Ends typing; the filter stays."""
        if self.typing:
            self.typing = False
            self._moved()

    def head_clicked(self, x: int, index: int) -> None:
        """Sorts by the column under the mouse, or reverses it."""
        text = "".join(text for text, _ in self.head(index))
        begins = {name: text.find(name) for name in SORTS}
        begins["reward"] -= REWARD - len("reward")  # it is at the right of its column
        before = [name for name, at in begins.items() if 0 <= at <= x]
        if before:
            name = max(before, key=begins.__getitem__)
            self._sort_by(name, backwards=name == self.sorting and not self.reversed)

    def clicked_at(self, x: int, index: int) -> None:
        """Selects a run; a click on the selected one opens it. Without runs presses a shown key."""
        if not self.shown:
            self.press_key_at(self.line(index), x)
        elif index == self.cursor:
            self.action_open()
        else:
            self.select(index)
