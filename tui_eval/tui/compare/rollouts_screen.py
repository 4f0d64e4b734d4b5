"""The screen on which two trajectories are read beside each other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from tui_eval.fold.compare.alignment import Alignment, align
from tui_eval.fold.rollout_columns import DONE
from tui_eval.runs.compared_runs import Source
from tui_eval.shipped import shipped
from tui_eval.text.changes import LOOKS
from tui_eval.text.stages import example_name
from tui_eval.tui.base.keys.command import Scope
from tui_eval.tui.base.keys.key_line import KeyLine
from tui_eval.tui.base.keys.keymap import bindings
from tui_eval.tui.base.lines.text_panel import PlainPanel
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.base.terminal.drawing import DrawnScreen
from tui_eval.tui.compare.commands import TRAJECTORY_GROUPS
from tui_eval.tui.compare.export import ExportFlow
from tui_eval.tui.compare.pairs import Pair, head_lines
from tui_eval.tui.compare.trajectories import Trajectories

if TYPE_CHECKING:
    from tui_eval.feeds.feed import Feed
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.trajectory import Rollout
    from tui_eval.runs.export.whole_text import WholeText
    from tui_eval.tui.copying.copyable import Copyable

BESIDE_LEAST = 100
"""The least width for two trajectories beside each other."""


class TrajectoriesScreen(DrawnScreen[int]):
    """Two rollouts beside each other, a pair after the other; returns the last place.

    Args:
        pairs: Returns the pair at a place.
        count: The number of pairs.
        place: The place of the first one to show.
    """

    CSS_PATH = str(shipped("styles", "compare.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("trajectories"), *bindings("compared")]
    scopes: ClassVar[tuple[Scope, ...]] = ("trajectories", "compared")

    def __init__(
        self,
        first: Source,
        second: Source,
        pairs: Callable[[int], Pair],
        count: int = 1,
        place: int = 0,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self.sides = (first, second)
        self.count = count
        self.place = place
        self._pairs = pairs
        self.pair = pairs(place)
        self.at = list(self.pair.at)
        self.now = now
        self.heads = PlainPanel(self._head_lines, id="heads")
        self.trajectories = Trajectories([first.letter, second.letter], id="trajectories")
        self.keys = KeyLine(id="keys")
        self._beside: bool | None = None
        self._shown: tuple[int, ...] | None = None

    def controllers(self) -> Iterable[object]:
        return (ExportFlow(self, self.whole_text),)

    def compose(self) -> ComposeResult:
        yield self.heads
        self.trajectories.add_class("card")
        yield self.trajectories
        yield self.keys

    def on_mount(self) -> None:
        self.set_focus(self.trajectories)
        self._open()
        self.set_interval(1, lambda: self.keys.expire(self.now()))

    @property
    def rows(self) -> tuple[int, int]:
        """The rows of the shown rollouts; -1 where there is none, or no more."""
        first, second = (
            rows[at] if at < len(rows) and rows[at] < side.state.total else -1
            for side, rows, at in zip(self.sides, self.pair.rows, self.at, strict=True)
        )
        return first, second

    @property
    def is_ready(self) -> bool:
        """Whether both have a layout, or cannot be read."""
        return self._shown == (self.place, *self.at) and self.trajectories.has_layout

    def _open(self) -> None:
        """Reads the current pair."""
        self.trajectories.show(None, ((("reading…", "faint"),),))
        self._draw()
        self.run_worker(self._read(), group="read", exclusive=True)

    async def _read(self) -> None:
        wanted, rows = (self.place, *self.at), self.rows
        found = await asyncio.to_thread(self._two, *rows)
        if wanted != (self.place, *self.at):
            return
        if isinstance(found, str):
            self.trajectories.show(None, (((found, "bad"),),))
        else:
            self.trajectories.show(found)
            read = zip(self.sides, (found.first, found.second), strict=True)
            doubts = [f"{side.letter}: {one.doubt}" for side, one in read if one.doubt]
            if doubts:
                self.say("; ".join(doubts))
        self._shown = wanted
        self._draw()

    def _two(self, *rows: int) -> Alignment | str:
        """Both rollouts, aligned, or the reason why they cannot be shown."""
        found = []
        for side, row in zip(self.sides, rows, strict=True):
            try:
                if row < 0 or side.state.stage[row] < DONE:
                    what = f"The rollout of {side.letter} is not finished"
                    return f"✗ {what}: its trajectory comes then."
                rollout = side.read(row)
            except IndexError:
                return "✗ Their file was rewritten and has fewer rollouts now."
            if rollout is None:
                return f"✗ The rollout of {side.letter} cannot be read back from results.jsonl."
            found.append(rollout)
        return align(*found)

    def _draw(self) -> None:
        beside = self.size.width >= BESIDE_LEAST if self._beside is None else self._beside
        self.trajectories.beside = beside
        self.heads.lay_out()
        self.trajectories.update()
        self.trajectories.border_title = self._title()
        two = self.trajectories.two
        several = any(len(rows) > 1 for rows in self.pair.rows)
        self.keys.words = {
            "switch_view": "one above the other" if beside else "beside",
            "example(1)": "example" if self.count > 1 else "",
            "rollout(0)": "other rollout" if several else "",
            "difference(1)": "difference" if two and two.stops else "",
            "export": "export" if two is not None else "",
            "read_elsewhere(False)": "pager" if two is not None else "",
            "back": "",
            "leave": "quit" if self.app.screen_stack[0] is self else "back",
        }
        self.keys.scopes = (*self.scopes, "view", "beside")
        self.keys.tick(self.now())

    def _head_lines(self, width: int) -> list[Line]:
        heads = list(zip(self.sides, self.rows, self.pair.rows, strict=True))
        apart = len(self.pair.example_ids) > 1
        return head_lines(heads, apart, self.trajectories.beside, width)

    def _title(self) -> Content:
        pair = self.pair
        name = f" {' and '.join(map(example_name, pair.example_ids))}"
        if self.count > 1:
            name += f" · {self.place + 1:,} of {self.count:,}"
        if pair.change is not None:
            name += f" · {LOOKS[pair.change].text}"
        if self.trajectories.two is not None:
            name += f" · {self.trajectories.two.differing}"
        return Content(name + " ")

    def on_resize(self) -> None:
        """Puts them beside each other where there is room, unless somebody chose."""
        self.call_after_refresh(self._draw)

    def action_switch_view(self) -> None:
        """Switches between beside each other and one above the other."""
        self._beside = not self.trajectories.beside
        self._draw()

    def action_example(self, by: int) -> None:
        """Goes to the next or previous example."""
        place = min(max(self.place + by, 0), self.count - 1)
        if place != self.place:
            self.place, self.pair = place, self._pairs(place)
            self.at = list(self.pair.at)
            self._open()
        else:
            self.say("There is no other example this way.")

    def action_rollout(self, side: int) -> None:
        """Goes to the example's next rollout on one side."""
        count = len(self.pair.rows[side])
        if count > 1:
            self.at[side] = (self.at[side] + 1) % count
            self._open()
        else:
            letter = self.sides[side].letter
            self.say(f"{letter} has no other finished rollout of this example.")

    def action_copy(self) -> None:
        """Asks what to copy of the two rollouts: the selected unit of each, or all."""
        from tui_eval.tui.copying.copyable import of_entry, of_example, of_rollout, offer_copies

        found: list[Copyable] = []
        for at, (side, row) in enumerate(zip(self.sides, self.rows, strict=True)):
            if self.trajectories.two is None or side.state.run is None or row < 0:
                continue
            unit = self.trajectories.selected_unit
            entry = None if unit is None else (unit.first, unit.second)[at]
            of_side = [*of_entry(entry)] if entry is not None else []
            of_side += [of_rollout(side.state, row, None, {}), *of_example(side.state, row)]
            found += (one.of(side.letter, capital=bool(at)) for one in of_side)
        offer_copies(self, found, "compared.copy")

    def whole_text(self) -> WholeText | None:
        """The text of the two shown rollouts."""
        from tui_eval.runs.export.whole_text import whole_pair

        two = self.trajectories.two
        if two is None:
            return None
        return whole_pair([*zip(self.sides, self.rows, (two.first, two.second), strict=True)])

    def action_help(self) -> None:
        from tui_eval.tui.base.keys.help import Help, Topic, without_words

        others = without_words(self.keys.words, "example(1)", "rollout(0)", "difference(1)")
        topic = Topic(TRAJECTORY_GROUPS, (*self.scopes, "view", "beside"), others=others)
        self.app.push_screen(Help(topic))

    def action_back(self) -> None:
        """Back to where the trajectories were opened."""
        if len(self.app.screen_stack) > 1:
            self.dismiss(self.place)

    def action_leave(self) -> None:
        """Leaves the screen; it was the app's only one where there is none below."""
        if len(self.app.screen_stack) > 1:
            self.dismiss(self.place)
        else:
            self.app.exit()


class CompareRollouts(TrajectoriesScreen):
    """Two rollouts of one run, `a` and `b`, which others of their examples can replace."""

    def __init__(
        self, feed: Feed, state: RunState, a: int, b: int, *, now: Callable[[], float] = time.time
    ) -> None:
        def read(row: int) -> Rollout | None:
            return feed.saved(row, state.offset[row], state.length[row])

        sides = [Source(letter, "", state, read) for letter in "AB"]
        super().__init__(sides[0], sides[1], lambda place: Pair.of_rows(state, a, b), now=now)
