"""Copies, exports, and reading in other programs from the screen of a run."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from tui_eval.fold.rollout_columns import DONE
from tui_eval.text.stages import rollout_name
from tui_eval.tui.run.panes import STILL_LOADING

if TYPE_CHECKING:
    from tui_eval.runs.export.process import Part
    from tui_eval.tui.copying.copyable import Copyable
    from tui_eval.tui.copying.elsewhere import Readable
    from tui_eval.tui.run.screen import RunScreen


class CopyExport:
    """Copies, exports, and opens in other programs the contents of a run's screen."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen

    def exportable(self) -> list[Part]:
        """The rollouts that can be exported: those that are listed, the selected one, all."""
        from tui_eval.runs.export.process import Part, part_of

        state, rollouts = self._screen.state, self._screen.rollouts
        listing, finished = rollouts.listing, state.finished
        found: list[Part] = []
        if listing.order is not None:
            rows = listing.order.rows.tolist()
            text = listing.text
            words = f": {text}" if text else f", by {listing.sorting.field}"
            part = part_of(state, rows, "", text, "listed")
            count = len(part.offsets or ())
            found.append(part._replace(label=f"the {count:,} listed{words}"))
        found.append(Part(f"all {finished:,} that have finished"))
        for one, what in ((self._screen.reader.row, "selected"), (rollouts.lines.mark, "marked")):
            if 0 <= one < state.total and state.stage[one] >= DONE:
                name = rollout_name(state, one)
                label, file = f"the {what} one: {name}", name.replace("#", "")
                found.append(part_of(state, [one], label, name, file))
        return [part for part in found if part.offsets != []]

    def action_export(self) -> None:
        """Asks what to export, and where to."""
        from tui_eval.tui.copying.export_form import offer_export

        screen, state = self._screen, self._screen.state
        if state.run is None or not state.finished:
            nothing = "Nothing has finished yet that could be exported."
            screen.say(STILL_LOADING if state.is_loading else nothing)
        else:
            name = f"{state.run.env_id} with {state.run.model}"
            offer_export(screen, state.run.path, name, self.exportable())

    def action_read_elsewhere(self, editor: bool) -> None:
        """Opens the selected piece, rollout or log in the pager or the editor."""
        from tui_eval.tui.copying.elsewhere import open_elsewhere

        open_elsewhere(self._screen, editor, partial(self._readable, editor))

    async def _readable(self, editor: bool) -> Readable | None:
        """The log or the piece that has the focus, else the rollout."""
        from tui_eval.tui.copying.elsewhere import log_text, piece_text, rollout_text

        screen, state = self._screen, self._screen.state
        row, part = screen.reader.row, screen.trajectory.selected_part
        if screen.focused is screen.log_pane:
            return await asyncio.to_thread(log_text, screen.feed)
        if not 0 <= row < state.total:
            return None
        if screen.focused is screen.trajectory and part is not None:
            return await asyncio.to_thread(piece_text, part, editor)
        notes = screen.annotations.notes
        rollout = screen.reader.rollout
        return await asyncio.to_thread(rollout_text, state, row, rollout, notes, editor)

    def action_copy(self) -> None:
        """Asks what to copy: the piece under the cursor first."""
        from tui_eval.tui.copying.copyable import (
            of_example,
            of_part,
            of_rollout,
            of_run,
            offer_copies,
        )

        screen, state, row = self._screen, self._screen.state, self._screen.reader.row
        found: list[Copyable] = []
        if state.run is not None and 0 <= row < state.total:
            part, notes = screen.trajectory.selected_part, screen.annotations.notes
            found += of_part(part) if part is not None else ()
            found.append(of_rollout(state, row, screen.reader.rollout, notes))
            found += of_example(state, row)
        found += of_run(state.run.path) if state.run is not None else ()
        offer_copies(screen, found, "run.copy")
