"""The screen on which runs are compared: settings, numbers, and examples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from tui_eval.fold.compare.comparison import Change
from tui_eval.shipped import shipped
from tui_eval.text.changes import LOOKS
from tui_eval.text.figures import letter_of
from tui_eval.tui.base.keys.command import Scope
from tui_eval.tui.base.keys.key_line import KeyLine
from tui_eval.tui.base.keys.keymap import bindings, key_for
from tui_eval.tui.base.layout import HEIGHTS, WIDTHS, PaneFocus, PaneTabs, Tab, Zoom
from tui_eval.tui.base.lines.text_panel import TextPanel
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.base.preferences import drawn_every
from tui_eval.tui.base.terminal.drawing import DrawnScreen
from tui_eval.tui.compare.commands import GROUPS
from tui_eval.tui.compare.comparing import Reading
from tui_eval.tui.compare.export import ExportFlow
from tui_eval.tui.compare.header import ComparedHeader
from tui_eval.tui.compare.paired_examples import SORTS, PairedExamples, why_empty
from tui_eval.tui.compare.pane_lines import number_lines, setting_lines

if TYPE_CHECKING:
    from tui_eval.fold.compare.comparison import Comparison
    from tui_eval.runs.compared_runs import ComparedRun
    from tui_eval.runs.export.whole_text import WholeText

TICK_S = 1 / 12
POLL_INTERVAL_S = 3.0
FOLLOWS_EVERY_S = 1.0
"""Seconds between two ticks once all was read."""
RESTS = 10
"""The pause between two readings, in durations of the last one."""
SETTINGS = "Settings that differ"


class CompareRuns(DrawnScreen[None]):
    """Reads runs in a thread and shows each beside the first; esc and q leave it.

    Args:
        paths: Two runs or more, as people name them on the command line.
        only: The outcome whose examples are shown first; all for the empty text.
    """

    CSS_PATH = str(shipped("styles", "compare.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("compare"), *bindings("compared")]
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    scopes: ClassVar[tuple[Scope, ...]] = ("compare", "compared")

    def __init__(
        self, paths: Sequence[Path], *, only: str = "", now: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self.now = now
        self.reading = Reading(paths)
        self.again: Reading | None = None
        self.look_at = 0.0
        self.runs: Sequence[ComparedRun] = ()
        self.is_ready = False
        self.place = 1
        self.header = ComparedHeader(self.reading, now, id="compared")
        self.examples = PairedExamples(id="pairs")
        self.examples.only = only
        self.numbers = TextPanel(self._number_lines, id="paired-numbers")
        self.settings = TextPanel(self._setting_lines, id="settings")
        self.tabs = PaneTabs(id="pane-tabs")
        self.keys = KeyLine(id="keys")
        self.panes: list[Widget] = [self.examples, self.numbers, self.settings]
        self.grid = Container(id="compare", classes="-in-1")
        self.zoom = Zoom(self, self.grid, self._update_keys)

    def controllers(self) -> Iterable[object]:
        pane_focus = PaneFocus(self, self.panes, self._enter)
        return self.zoom, pane_focus, ExportFlow(self, self.whole_text)

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.tabs
        with self.grid:
            for pane in self.panes:
                pane.add_class("card")
                yield pane
        yield self.keys

    def on_mount(self) -> None:
        self.set_focus(self.examples)
        self.reading.start()
        self._timer = self.set_interval(drawn_every(self.app, TICK_S), self._tick)
        self._tick()

    def on_unmount(self) -> None:
        """Cancels the reading."""
        self.reading.cancel()
        if self.again is not None:
            self.again.cancel()

    def _tick(self) -> None:
        """Shows the progress of the reading, then its result."""
        if self.is_ready:
            self.keys.expire(self.now())
            self._follow()
            return
        self.is_ready = self.reading.over
        if self.is_ready:
            self._timer.stop()
            self._timer = self.set_interval(FOLLOWS_EVERY_S, self._tick)
        self._take(self.reading)

    def _follow(self) -> None:
        """Reads grown runs again now and then; shows them once that is over."""
        if self.again is None:
            if self.now() >= self.look_at:
                self.look_at = self.now() + POLL_INTERVAL_S
                self.again = self.reading.again
                if self.again is not None:
                    self.again.start()
        elif self.again.over:
            again, self.again = self.again, None
            self.look_at = self.now() + max(POLL_INTERVAL_S, again.took_s * RESTS)
            if again.runs:
                self._take(again)

    def _take(self, reading: Reading) -> None:
        """Shows the reading so far; once it is over, a run beside the first one."""
        self.reading = self.header.reading = reading
        self.runs = self.header.runs = reading.runs
        if self.runs:
            self.examples.question = self.runs[0].question
            self._show(self.place)
        else:
            self._draw()

    @property
    def comparison(self) -> Comparison | None:
        """The comparison of the shown run with the first one."""
        return self.runs[self.place].beside if self.runs else None

    @property
    def _letter(self) -> str:
        return letter_of(self.place)

    def _number_lines(self, width: int) -> Iterable[Line]:
        found = self.comparison
        return () if found is None else number_lines(found, self._letter, width)

    def _setting_lines(self, width: int) -> Iterable[Line]:
        letters = [one.letter for one in self.runs]
        return setting_lines(letters, self.reading.settings, width) if letters else ()

    def _show(self, place: int) -> None:
        """Puts another run beside the first one."""
        self.place = self.header.place = place
        self.examples.show(self.runs[place].beside, self._letter)
        self._draw()

    def _draw(self) -> None:
        view, comparison = self.examples, self.comparison
        about = (self.reading, comparison, self._letter)
        view.empty = tuple(why_empty(*about, view.only, view.line_width))
        view.update()
        for panel in (self.header, self.numbers, self.settings):
            panel.lay_out()
        self._entitle(view, "Examples", *self._examples_details())
        holds = (-1, -1, -1)
        between: list[str] = []
        differing: list[str] = []
        if comparison is not None:
            count = len(self.reading.settings)
            holds = (len(comparison.examples), len(comparison.figures), count)
            between = [f"A and {self._letter}", "means, 95 % intervals"]
            differing = [] if self.has_class("-narrow") else [str(count)]
        self._entitle(self.numbers, "Numbers", *between)
        self._entitle(self.settings, SETTINGS, *differing)
        few = comparison is not None and len(comparison.examples) + 5 <= self.grid.size.height // 2
        self.set_class(few, "-few")
        self.tabs.tabs = [*map(Tab, ("Examples", "Numbers", SETTINGS), holds)]
        self.tabs.update()
        self._update_keys()

    def _entitle(self, pane: Widget, name: str, *details: str) -> None:
        """Puts a title over a pane; it is not named again below the tabs."""
        number = key_for(f"compare.{name.partition(' ')[0].lower()}")
        parts = details if self.has_class("-narrow") else (f"{number} {name}", *details)
        if 0 < pane.size.width < len(" · ".join(parts)) + 6:
            parts = parts[:-1]
        pane.border_title = Content(f" {' · '.join(parts)} " if parts else "")

    def _examples_details(self) -> list[str]:
        view = self.examples
        if view.comparison is None or not view.comparison.comparable:
            return []
        all_of_them = len(view.comparison.examples)
        what = LOOKS[Change(view.only)].word if view.only else "all"
        count = f"{len(view.shown):,} of {all_of_them:,}" if view.only else f"{all_of_them:,}"
        passes = {run.state.threshold for run in self.runs}
        details = [f"passes from {min(passes):g}"] if len(passes) == 1 else []
        return [f"{what} {count}", view.sort, *details]

    def _update_keys(self) -> None:
        several = len(self.runs) > 2
        has_one_pane = self.has_class("-narrow") or self.grid.has_class("-zoomed")
        has_list = not has_one_pane or self.grid.has_class("-in-1")
        self.keys.words = {
            "run(1)": "next run" if several else "",
            "open": "trajectories" if self.examples.shown else "",
            "sort": "sort" if self.examples.shown and has_list else "",
            "next_pane(1)": "pane" if self.runs else "",
            "zoom": self.zoom.word if self.runs else "",
            "copy": "copy" if self.runs else "",
            "export": "export" if self.runs else "",
            "read_elsewhere(False)": "pager" if self.runs else "",
            "back": "" if self.reading.over else "cancel",
            "leave": "quit" if self.app.screen_stack[0] is self else "back",
        }
        self.keys.scopes = (*self.scopes, "view", "pairs" if self.focused is self.examples else "")
        self.keys.tick(self.now())

    def on_resize(self) -> None:
        """Makes the layout of the parts that depend on the width."""
        self.call_after_refresh(self._draw)

    def on_screen_resume(self) -> None:
        """Makes a new layout where the width changed while it was covered."""
        self.call_after_refresh(self._draw)

    def on_descendant_focus(self) -> None:
        """Shows the pane that has the focus where there is room for one only."""
        if self.focused in self.panes:
            self._enter(self.panes.index(self.focused) + 1)
        self._update_keys()

    def _enter(self, number: int) -> None:
        zoomed = ["-zoomed"] if self.grid.has_class("-zoomed") else []
        self.grid.set_classes([f"-in-{number}", *zoomed])
        self.tabs.show(number)

    def action_only(self, only: str) -> None:
        """Shows the examples of one outcome; the second time all of them."""
        view = self.examples
        view.only = "" if only == view.only else only
        self._put_in_order()

    def _put_in_order(self) -> None:
        """Lists the examples again, and goes to them where they are hidden."""
        self.examples.put_in_order()
        if self.examples.region:
            self._draw()
        else:
            self.action_pane(1)
            self.call_after_refresh(self._draw)

    def action_sort(self) -> None:
        """Sorts by the next order."""
        names = list(SORTS)
        self.examples.sort = names[(names.index(self.examples.sort) + 1) % len(names)]
        self._put_in_order()

    def action_run(self, by: int) -> None:
        """Puts the next or previous run beside the first one."""
        if self.runs:
            self._show((self.place - 1 + by) % (len(self.runs) - 1) + 1)

    def action_open(self) -> None:
        """Opens the trajectories of the selected example, and those of the others after it."""
        if self.comparison is None:
            if not self.reading.over:
                self.say("Not yet: the runs are still being read.")
            return
        from tui_eval.tui.compare.pairs import Pair
        from tui_eval.tui.compare.rollouts_screen import TrajectoriesScreen

        first, second = self.runs[0].source, self.runs[self.place].source
        examples, shown = self.comparison.examples, list(self.examples.shown)

        def pair(place: int) -> Pair:
            return Pair.of(examples[shown[place]], first.state, second.state)

        screen = TrajectoriesScreen(
            first, second, pair, len(shown), self.examples.cursor, now=self.now
        )
        self.app.push_screen(screen, self._came_back)

    def _came_back(self, place: int | None) -> None:
        if place is not None:
            self.examples.select(place)

    def action_copy(self) -> None:
        """Asks what to copy of the two compared runs."""
        from tui_eval.tui.copying.copyable import of_run, offer_copies

        runs = [self.runs[0], self.runs[self.place]] if self.runs else []
        of_runs = (
            of_run(run.state.run.path, run.letter, keys)
            for run, keys in zip(runs, ("pr", "PR"), strict=False)
            if run.state.run is not None
        )
        offer_copies(self, [*chain(*of_runs)], "compared.copy")

    def whole_text(self) -> WholeText | None:
        """The text of the comparison, with the listed examples."""
        from tui_eval.runs.export.whole_text import whole_comparison

        return whole_comparison(self.runs, self.examples.only) if self.runs else None

    def action_help(self) -> None:
        from tui_eval.tui.base.keys.help import Help, Topic, without_words

        others = without_words(self.keys.words, "run(1)")
        self.app.push_screen(Help(Topic(GROUPS, (*self.scopes, "view", "pairs"), others=others)))

    def action_back(self) -> None:
        """Cancels the reading; out of the zoom, to all examples, to the examples, then away."""
        if not self.reading.over:
            self.reading.cancel()
        elif self.zoom.is_zoomed:
            self.zoom.action_zoom()
        elif self.focused is not self.examples:
            self.action_pane(1)
        elif self.examples.only:
            self.action_only("")
        elif len(self.app.screen_stack) > 1:
            self.dismiss()

    def action_leave(self) -> None:
        """Leaves the screen; it was the app's only one where there is none below."""
        if len(self.app.screen_stack) > 1:
            self.dismiss()
        else:
            self.app.exit()
