"""The filtered and sorted rows, kept up to date while a run continues."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tui_eval.fold.row_order import RowOrder, Sorting, make_order
from tui_eval.fold.run_state import RunState

if TYPE_CHECKING:
    from tui_eval.fold.columns import Notes
    from tui_eval.fold.query.filtering import RowFilter
    from tui_eval.runs.selection import TrajectorySearch

AT_ONCE = 2_000
"""The most rows that are filtered and sorted on the loop, in about a millisecond."""
REST, REST_LEAST_S = 10, 1 / 12
"""A thread's rest as a multiple of its work, and the least rest: it takes a tenth."""
TYPING_S = 0.35
"""Seconds after the last key before trajectories are searched."""
SEARCH_TICK_S = 0.2
"""Seconds between two reports of a search's progress."""
AGAIN_S = 1.0
"""Seconds between two searches of a running run."""


class Listing:
    """A filter, an order, and the rows that result.

    While the filter has a fault the rows stay as they are; without any, the part before the fault
    is applied. `order` is None where the rows are those of the run.
    """

    def __init__(self, state: RunState) -> None:
        self.text = ""
        self.sorting = Sorting()
        self.wanted: RowFilter | None = None
        self.faults: list[tuple[int, str]] = []
        """Column from 0 and text of each fault."""
        self.search: TrajectorySearch | None = None
        self._hurry = asyncio.Event()
        self._keeps_up = False
        self.show_run(state)

    def show_run(self, state: RunState) -> None:
        """Applies the same filter and order to another run."""
        self.give_up()
        self.state = state
        self.order: RowOrder | None = None
        self.search = None
        self.notes: Notes = {}
        self._metrics: frozenset[str] = frozenset()
        self._request = 0
        self._made: tuple[int, ...] = (0,)
        self._searched_for: RowFilter | None = None
        if self.text:
            self.apply_filter(self.text)

    def apply_filter(self, text: str) -> None:
        """Applies another filter, or sets the faults of an invalid one."""
        from tui_eval.fold.query.filter_parser import FilterError
        from tui_eval.fold.query.filtering import RowFilter

        self.give_up()
        self.text = text
        self._metrics = frozenset(self.state.details.metrics)
        try:
            found = RowFilter(text, self._metrics)
        except FilterError as error:
            self.faults = [
                (column - 1, ". ".join(filter(None, (fault.what, fault.hint))))
                for column, fault in zip(error.columns, error.faults, strict=True)
            ]
            if self.is_answered and self.count():
                return
            before, _, _ = text[: error.columns[0] - 1].rpartition(" ")
            try:
                found = RowFilter(before, self._metrics)
            except FilterError:
                return
        else:
            self.faults = []
        self.wanted = found if found.node is not None else None
        self.search = None
        self.change()

    def change(self) -> None:
        """Finds the rows again at once: sorting, notes or trajectories have changed."""
        self._request += 1
        self._hurry.set()

    def count(self) -> int:
        return self.state.total if self.order is None else len(self.order.rows)

    def row(self, line: int) -> int:
        return line if self.order is None else int(self.order.rows[line])

    def line(self, row: int) -> int:
        """The line of a row; -1 where it is not listed."""
        if self.order is None:
            return row if row < self.state.total else -1
        return int(self.order.lines[row]) if row < len(self.order.lines) else -1

    def next_of(self, rows: Iterable[int], step: int, here: int) -> int | None:
        """The next or previous listed row of some, from a line on and around the end."""
        lines = sorted(line for row in rows if (line := self.line(row)) >= 0)
        at = bisect_right(lines, here) if step > 0 else bisect_left(lines, here) - 1
        return self.row(lines[at % len(lines)]) if lines else None

    def brace(self, line: int) -> str:
        """The brace before a line, which joins adjacent rollouts of an example."""
        each = self.state.per_example
        if each == 1 or not self.sorting.grouped:
            return ""
        here, last = self.row(line) // each, self.count() - 1
        above = line > 0 and self.row(line - 1) // each == here
        below = line < last and self.row(line + 1) // each == here
        return ("│" if below else "╰") if above else ("╭" if below else "")

    def is_part(self, row: int) -> bool:
        """Whether a filter leaves out others of a row's example."""
        if self.wanted is None:
            return False
        each = self.state.per_example
        first = row - row % each
        return any(self.line(one) < 0 for one in range(first, first + each))

    @property
    def _is_plain(self) -> bool:
        return self.wanted is None and not self.sorting.field and not self.state.has_gaps

    @property
    def _version(self) -> tuple[int, ...]:
        return (self._request,) if self._is_plain else (self._request, self.state.changed)

    @property
    def is_behind(self) -> bool:
        """Whether the rows may be out of date."""
        return self._made != self._version

    @property
    def is_answered(self) -> bool:
        """Whether the rows are those of the last request, if not of this moment."""
        return self._made[0] == self._request

    def catch_up(self) -> bool:
        """Finds the rows again where that is quick; returns whether `keep_up` is to begin."""
        if self.faults and self._metrics != frozenset(self.state.details.metrics):
            self.apply_filter(self.text)
        if self.order is not None and len(self.order.lines) != self.state.total:
            self.order = None  # rows of a run that became another one meanwhile are none
        if not self.is_behind or not self.state.total:
            return False
        is_slow = self.wanted is not None and self.wanted.has_pattern
        if not self._is_plain and (is_slow or self.state.total > AT_ONCE):
            begins, self._keeps_up = not self._keeps_up, True
            return begins
        self._made, self.order = self._version, self._make()
        return False

    def _make(self) -> RowOrder | None:
        if self._is_plain:
            return None
        return make_order(self.state, self.wanted, self.sorting, self.notes)

    async def keep_up(self, draw: Callable[[], None]) -> None:
        """Finds the rows in a thread while they are out of date, and draws each time."""
        try:
            while self.is_behind:
                self._hurry.clear()
                started = time.monotonic()
                await self._find_rows()
                rest = max((time.monotonic() - started) * REST, REST_LEAST_S)
                draw()
                try:
                    async with asyncio.timeout(rest):
                        await self._hurry.wait()
                except TimeoutError:
                    pass
        finally:
            self._keeps_up = False

    async def _find_rows(self) -> None:
        from tui_eval.fold.query.patterns import PatternTooSlowError

        state, version, wanted = self.state, self._version, self.wanted
        try:
            order = await asyncio.to_thread(self._make)
        except (PatternTooSlowError, OSError) as error:
            if state is self.state and wanted is self.wanted:
                self.faults = [(0, str(error))]
                self.wanted = None
                self.order, self._made = None, (self._request,)
        else:
            if state is self.state:
                self.order, self._made = order, version

    def has_new_search(self) -> bool:
        """Whether the filter needs trajectories and `search_trajectories` is to begin."""
        is_new = self.may_search and self.wanted is not self._searched_for
        self._searched_for = self.wanted
        return is_new

    async def search_trajectories(self, draw: Callable[[], None]) -> None:
        """Searches trajectories, again where there are new ones, until filter or run change."""
        from tui_eval.runs.selection import TrajectorySearch

        wanted, state = self.wanted, self.state
        await asyncio.sleep(TYPING_S)
        while wanted is not None and wanted is self.wanted and state is self.state:
            search = self.search = TrajectorySearch(state, wanted, self.notes)
            began = time.monotonic()
            work = asyncio.create_task(asyncio.to_thread(search.work))
            draw()
            while not work.done():
                await asyncio.wait([work], timeout=SEARCH_TICK_S)
                self.change()
                draw()
            await work
            if search.is_given_up:
                return
            await asyncio.sleep(AGAIN_S - (time.monotonic() - began))
            while search is self.search and search.is_up_to_date:
                await asyncio.sleep(SEARCH_TICK_S)

    @property
    def is_searching(self) -> bool:
        """Whether trajectories are being read."""
        search = self.search
        return search is not None and not search.is_over and not search.is_given_up

    @property
    def may_search(self) -> bool:
        """Whether the filter needs trajectories."""
        return self.wanted is not None and bool(self.wanted.text_conditions)

    @property
    def may_find_more(self) -> bool:
        """Whether trajectories that were not searched may match."""
        search = self.search
        is_whole = search and search.is_over and not (search.is_given_up or search.fault)
        return self.may_search and not is_whole

    def give_up(self) -> bool:
        """Ends a search; returns whether there was one."""
        if not self.is_searching or self.search is None:
            return False
        self.search.is_given_up = True
        return True
