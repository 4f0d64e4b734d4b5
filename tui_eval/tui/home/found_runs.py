"""The runs that home lists: filtered, sorted, one of them selected, some marked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.events import STOPPED_EARLY
from tui_eval.printable import one_line
from tui_eval.text.evaluation_words import LOOKS, errors_look
from tui_eval.text.figures import count_text, part_text
from tui_eval.text.stages import Look
from tui_eval.tui.base.keys.keymap import key_for

if TYPE_CHECKING:
    from tui_eval.runs.discovery import FoundRun

RUNNING, EARLY = LOOKS["running"], LOOKS[STOPPED_EARLY]
INCOMPLETE = Look("■", "incomplete", "warn")
COMPLETE = Look("✓", "complete", "good")
NOTHING = Look("·", "no rollouts", "muted")
OURS = "tui-eval"
"""The format of runs that our engine wrote."""
MOST_MARKED = 26

SORTS: dict[str, Callable[[FoundRun], Any]] = {
    "date": lambda one: -one.date,
    "environment": lambda one: (one.env_id.lower(), -one.date),
    "model": lambda one: (one.model.lower(), -one.date),
    "reward": lambda one: (one.reward is None, -(one.reward or 0.0)),
}


def look_of(one: FoundRun) -> Look:
    """Its glyph, word and ink."""
    if one.running:
        return RUNNING
    if not (one.complete or one.stopped_early):
        return INCOMPLETE
    if look := errors_look(one.errored, one.done or 0):
        return look
    if one.stopped_early:
        return EARLY
    return NOTHING if one.done == 0 else COMPLETE


def done_text(one: FoundRun) -> str:
    """How many of its rollouts are on disk; empty where nobody knows."""
    return part_text(one.done, one.total) if one.done is not None else ""


def status_text(one: FoundRun) -> str:
    """How a run stands, in words: how far one is that has not ended well."""
    look = look_of(one)
    far = f" {done_text(one)}" if look in (RUNNING, INCOMPLETE, EARLY) else ""
    return f"{look.word}{far}".rstrip()


def errors_text(one: FoundRun) -> str:
    """How many of its rollouts errored; empty for none."""
    return f"✗ {count_text(one.errored)}" if one.errored else ""


def state_text(one: FoundRun) -> str:
    """How a run stands, in words, and what errored."""
    return "  ".join(text for text in (status_text(one), errors_text(one)) if text)


def can_resume(one: FoundRun) -> str:
    """Why a run cannot go on from here; empty where it can."""
    if one.running:
        return f"It is running: {key_for('runs.open')} attaches to it."
    if one.format != OURS:
        return "Another program wrote it: only that one can resume it."
    if one.complete and (one.n is None or one.done is None or one.n >= one.done):
        return "It is complete: there is nothing to resume."
    return ""


class FoundRuns:
    """What a list shows; the selection and the marks are places on disk, so they outlive a look."""

    def __init__(self) -> None:
        self.all: list[FoundRun] = []
        self.shown: list[FoundRun] = []
        self.is_loaded = False
        self.words = ""
        self.sorting = "date"
        self.reversed = False
        self.marked: list[Path] = []
        self._selected: Path | None = None
        self._wanted: Path | None = None
        self.line = 0
        """The selected one of those that are shown."""

    def take(self, runs: Iterable[FoundRun], seen: tuple[Path, float] | None = None) -> None:
        """What was found now.

        Args:
            seen: The run that was looked at last, and when: at first it is selected, or what runs
                or was written after that.
        """
        self.all = list(runs)
        if not self.is_loaded and self._selected is None and self.all:
            newest = max(self.all, key=lambda one: (one.running, one.written_at))
            later = seen is not None and not newest.running and seen[1] >= newest.written_at
            self.want(seen[0] if seen is not None and later else newest.run.place)
        self.is_loaded = True
        there = {one.run.place for one in self.all}
        self.marked = [place for place in self.marked if place in there]
        self.arrange()

    def arrange(self) -> None:
        """Filters and sorts; the selection stays with its run, or on its line if that has gone."""
        found = [one for one in self.all if _matches(one, self.words.lower().split())]
        found.sort(key=lambda one: str(one.run.place))
        found.sort(key=SORTS[self.sorting], reverse=self.reversed)
        self.shown = sorted(found, key=lambda one: not one.running)
        places = [one.run.place for one in self.shown]
        if self._wanted is not None:
            paths = [place.absolute() for place in places]
            if self._wanted in paths:
                self.select(paths.index(self._wanted))
        if self._selected in places:
            self.line = places.index(self._selected)
        else:
            self._put(self.line)

    def sort_by_next(self) -> None:
        """Sorts by the next of `SORTS`."""
        names = list(SORTS)
        self.sorting = names[(names.index(self.sorting) + 1) % len(names)]
        self.reversed = False
        self.arrange()

    def sort_by_name(self, name: str) -> None:
        """Sorts by one of `SORTS`; asked for the same again, the other way round."""
        self.reversed = name == self.sorting and not self.reversed
        self.sorting = name
        self.arrange()

    def select(self, line: int) -> None:
        """Selects a line, or the nearest there is."""
        self._wanted = None
        self._put(line)

    def want(self, place: Path) -> None:
        """Selects a run, as soon as it is listed."""
        self._wanted = place.absolute()

    def _put(self, line: int) -> None:
        self.line = min(max(line, 0), max(len(self.shown) - 1, 0))
        self._selected = self.shown[self.line].run.place if self.shown else None

    @property
    def selected(self) -> FoundRun | None:
        """The selected run."""
        return self.shown[self.line] if self.shown else None

    def mark(self) -> None:
        """Marks the selected run, or takes its mark away."""
        place = self._selected
        if place in self.marked:
            self.marked.remove(place)
        elif place is not None and len(self.marked) < MOST_MARKED:
            self.marked.append(place)

    def letter(self, one: FoundRun) -> str:
        """The mark of a run; empty where it has none."""
        place = one.run.place
        return chr(ord("A") + self.marked.index(place)) if place in self.marked else ""


def _matches(one: FoundRun, words: list[str]) -> bool:
    saved = "saved" if one.saved else "unsaved"
    state = state_text(one)
    facts = (one.env_id, one.model, state, saved, one.format, str(one.run.place), request_text(one))
    text = " ".join(facts).lower()
    return all(
        word[1:] not in text if word.startswith("!") and word != "!" else word in text
        for word in words
    )


def request_text(one: FoundRun) -> str:
    """What was asked for beside environment and model: `prompt=short, temperature=0.2`."""
    if not one.given:
        return ""
    from tui_eval.config.secret_values import masked

    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in masked(dict(one.given)).items()
    )


def name_of(one: FoundRun) -> str:
    """What a run is called in a sentence."""
    return one_line(one.env_id, 40) or one_line(one.run.place.name, 40)
