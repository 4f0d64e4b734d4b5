"""The examples that two runs have in common, one line each."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import BindingType

from tui_eval.fold.compare.comparison import Change
from tui_eval.printable import one_line
from tui_eval.text.changes import LOOKS, WIDTH, judged_texts, lettered
from tui_eval.text.figures import plural, signed_text
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.lines.line_list import LineList
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut, left, line_width, right
from tui_eval.tui.base.look.wrap import wrap
from tui_eval.tui.compare.pane_lines import wrapped

if TYPE_CHECKING:
    from tui_eval.fold.compare.comparison import Comparison, PairedExample
    from tui_eval.tui.compare.comparing import Reading

ID_MOST, NUMBER, DIFFERENCE = 12, 7, 8
PAIRED_BY = "Examples are paired by prompt, answer and info."
FOOT_MOST = 3
"""The most lines for the question of the selected example."""
SORTS: dict[str, Callable[[float], float]] = {
    "greatest difference first": lambda difference: -abs(difference),
    "worst first": lambda difference: difference,
    "best first": lambda difference: -difference,
    "in the order of A": lambda difference: 0.0,
}


class PairedExamples(LineList):
    """Paired examples, filtered by outcome; the selection stays with its example."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("pairs")
    heads = 2

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.comparison: Comparison | None = None
        self.letter = "B"
        self.only = ""
        self.sort = next(iter(SORTS))
        self.question: Callable[[PairedExample], str] = lambda one: ""
        self.empty: tuple[Line, ...] = ()
        self.shown: list[int] = []
        self._id_width = 2

    def show(self, comparison: Comparison, letter: str) -> None:
        """Shows the examples of a comparison; keeps the selected one if it is among them."""
        examples, place = self.comparison.examples if self.comparison else [], self.selected
        before = [examples[place].example_id] if place is not None else []
        self.comparison, self.letter = comparison, letter
        ids = [one.example_id for one in comparison.examples]
        widths = (cell_len(one_line(str(one), ID_MOST)) for one in ids)
        self._id_width = max(2, min(max(widths, default=2), ID_MOST))
        self.shown, self.cursor = [ids.index(one) for one in before if one in ids], 0
        self._strips.clear()
        self._shown.clear()
        self.put_in_order()

    def put_in_order(self) -> None:
        """Filters and sorts; the selected example stays selected if it is still there."""
        if self.comparison is None:
            return
        examples = self.comparison.examples
        selected = self.selected
        found = [at for at, one in enumerate(examples) if self.only in ("", one.change)]
        self.shown = sorted(found, key=lambda at: SORTS[self.sort](examples[at].difference))
        self.select(self.shown.index(selected) if selected in self.shown else 0)

    @property
    def selected(self) -> int | None:
        """The place of the selected example in the comparison."""
        return self.shown[self.cursor] if self.cursor < len(self.shown) else None

    def count(self) -> int:
        """One line an example, or why there is none."""
        return len(self.shown) or len(self.empty)

    def marked(self, index: int) -> bool:
        return bool(self.shown) and index == self.cursor

    def key(self, index: int) -> Hashable:
        """The place of an example: a comparison never changes."""
        return (self.letter, self.shown[index]) if self.shown else self.line(index)

    def _chips(self) -> list[tuple[str, list[Span]]]:
        """Every filter with its spans: key, sign, number of examples."""
        found = self.comparison
        if found is None or not found.comparable:
            return []
        looks = [("", "a", "all", "strong", len(found.examples))]
        looks += [
            (change.value, look.key, look.text, look.ink, found.changes[change])
            for change, look in LOOKS.items()
        ]
        chips = []
        for only, key, text, ink, count in looks:
            word = f"{text} {count:,}"
            here = only == self.only
            chips.append((only, [(f"{key} ", "key"), (word, "pill" if here else ink), ("  ", "")]))
        return chips

    def head(self, index: int) -> Line:
        if index == 0:
            return tuple(span for _, spans in self._chips() for span in spans)
        if not self.shown:
            return EMPTY
        numbers = right("A", NUMBER) + right(self.letter, NUMBER)
        numbers += right(f"{self.letter} − A", DIFFERENCE)
        text = left("ex", self._id_width) + "  " + left("question", self._question_width)
        return ((f"{text}{numbers}  outcome", "faint"),)

    def foot(self) -> tuple[Line, ...]:
        """The question of the selected example where it does not fit into its line.

        It is right below a short list, and takes a share of the room of a long one.
        """
        if self.comparison is None or (place := self.selected) is None:
            return ()
        one = self.comparison.examples[place]
        words = one_line(self.question(one), 1000)
        if cell_len(words) <= self._question_width:
            return ()
        name = f"ex {one_line(str(one.example_id), ID_MOST)}  "
        width, height = self.line_width - cell_len(name), self.size.height - self.heads
        lines, more = wrap(words, width, max(min(height // 2, FOOT_MOST), 1))
        if more:
            lines[-1] = cut(f"{lines[-1]} …", width)
        starts = (name, *[" " * cell_len(name)] * len(lines))
        below = [((start, "faint"), (line, "")) for start, line in zip(starts, lines, strict=False)]
        return (*below, *[EMPTY] * (height - len(self.shown) - 1 - len(lines)))

    @property
    def _question_width(self) -> int:
        taken = self._id_width + 2 + 2 * NUMBER + DIFFERENCE + 2 + WIDTH
        return max(self.line_width - taken, 0)

    def line(self, index: int) -> Line:
        if self.comparison is None or not self.shown:
            return self.empty[index]
        one = self.comparison.examples[self.shown[index]]
        look = LOOKS[one.change]
        quiet = one.change is Change.BOTH_RIGHT and math.isclose(one.difference, 0.0)
        room = self._question_width
        ink = "" if math.isclose(one.difference, 0.0) else "strong"
        return (
            (left(one_line(str(one.example_id), ID_MOST), self._id_width), "strong"),
            ("  " + left(one_line(self.question(one), 200), room), "faint" if quiet else "muted"),
            *((right(text, NUMBER), "") for text in judged_texts(self.comparison, one)),
            (right(signed_text(one.difference), DIFFERENCE), ink),
            (f"  {look.text}", look.ink),
        )

    def select(self, index: int) -> None:
        self.cursor = min(max(index, 0), max(len(self.shown) - 1, 0))
        self.update()
        self.show_line(self.cursor, margin=1)

    def action_open(self) -> None:
        """Requests the trajectories; the screen says so where there are none yet."""
        if self.shown or self.comparison is None:
            self.call_later(self.screen.run_action, "open")

    def clicked_at(self, x: int, index: int) -> None:
        """Selects an example; opens a selected one. Without examples presses a shown key."""
        if not self.shown and self.press_key_at(self.line(index), x):
            return
        if index == self.cursor:
            self.action_open()
        else:
            self.select(index)

    def head_clicked(self, x: int, index: int) -> None:
        """Filters by the clicked outcome, or sorts by the clicked column."""
        if index == 1:
            self.call_later(self.screen.run_action, "sort")
            return
        end = 0
        for only, spans in self._chips():
            end += line_width(spans)
            if x < end:
                self.call_later(self.screen.run_action, f"only('{only}')")
                return


def why_empty(
    reading: Reading, comparison: Comparison | None, letter: str, only: str, width: int
) -> Iterator[Line]:
    """The lines in place of examples where there are none.

    Args:
        letter: The letter of the run beside the first.
        only: The outcome that is shown; all for the empty text.
    """
    if comparison is None and not reading.over:
        cancels = (f"   {key_for('compared.back')}", "key"), (" cancels", "faint")
        yield ((reading.text, "busy"), *cancels)
    elif comparison is None:
        for fault in reading.faults:
            yield from wrapped("✗ ", fault, "fault", width)
    elif not comparison.comparable:
        for doubt in comparison.doubts[1:]:  # the first one is above
            yield from wrapped("! ", one_line(lettered(doubt, letter), 400), "warn", width)
        for why, count in comparison.unpaired.items():
            yield ((f"  {plural(count, 'example')} {lettered(why, letter)}", "muted"),)
        yield EMPTY
        yield ((f"  {PAIRED_BY}", "faint"),)
    elif only:
        shows_all = (f"   {key_for('compare.all')}", "key"), (" shows all", "faint")
        yield ((f"no example is {LOOKS[Change(only)].word}", "muted"), *shows_all)
