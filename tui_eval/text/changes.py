"""Glyph, word and ink of each outcome of an example, and the key that shows only these."""

from __future__ import annotations

from typing import NamedTuple

from tui_eval.fold.compare.comparison import Change, Comparison, PairedExample
from tui_eval.text.figures import judged_text


class ChangeLook(NamedTuple):
    """One outcome as people see it."""

    glyph: str
    word: str
    ink: str
    key: str

    @property
    def text(self) -> str:
        """Glyph and word."""
        return f"{self.glyph} {self.word}"


LOOKS = {
    Change.FIXED: ChangeLook("↑", "fixed", "good", "f"),
    Change.BROKEN: ChangeLook("↓", "broken", "bad", "b"),
    Change.BOTH_WRONG: ChangeLook("✗", "both wrong", "warn", "w"),
    Change.BOTH_RIGHT: ChangeLook("✓", "both right", "muted", "r"),
}
WIDTH = max(len(look.text) for look in LOOKS.values())


def judged_texts(found: Comparison, one: PairedExample) -> tuple[str, str]:
    """The rewards of an example in both runs, shown so that each agrees with its outcome."""
    first, second = found.thresholds
    return judged_text(one.first, first), judged_text(one.second, second)


def lettered(text: str, second: str, first: str = "A") -> str:
    """A sentence on two runs in which each is called by its letter."""
    return text.replace("the first run", first).replace("the second run", second)
