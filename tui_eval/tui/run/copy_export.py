"""What leaves the screen of a run: copies, exports, and what is read in other programs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui_eval.fold.rollout_columns import DONE
from tui_eval.text.stages import rollout_name
from tui_eval.tui.run.titles import STILL_LOADING

if TYPE_CHECKING:
    from tui_eval.tui.copying.copyable import Copyable
    from tui_eval.tui.copying.elsewhere import Readable
    from tui_eval.tui.copying.exporting import Part
    from tui_eval.tui.run.screen import RunScreen


class CopyExport:
    """Copies, exports and reads elsewhere what the screen of a run shows."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen

    def copyable(self) -> list[Copyable]:
        """What can be copied now: the piece under the cursor first."""
        from tui_eval.tui.copying.copyable import of_example, of_part, of_rollout, of_run

        state, row, run = self._screen.state, self._screen.reader.row, self._screen.state.run
        if run is None:
            return []
        found: list[Copyable] = []
        if 0 <= row < state.total:
            part = self._screen.trajectory.selected_part
            found += of_part(part) if part is not None else ()
            found.append(
                of_rollout(
                    state, row, self._screen.reader.rollout, self._screen.annotations.notebook.notes
                )
            )
            found += of_example(state, row)
        return [*found, *of_run(run.path)]

    def exportable(self) -> list[Part]:
        """The rollouts that can be exported: those that are listed, the selected one, all."""
        from tui_eval.tui.copying.exporting import Part, part_of

        state, row, listing = (
            self._screen.state,
            self._screen.reader.row,
            self._screen.rollouts.listing,
        )
        mark, finished = self._screen.rollouts.lines.mark, state.finished
        found: list[Part] = []
        if listing.order is not None:
            rows = listing.order.rows.tolist()
            text = listing.text
            words = f": {text}" if text else f", by {listing.sorting.field}"
            part = part_of(state, rows, "", text, "listed")
            count = len(part.offsets or ())
            found.append(part._replace(label=f"the {count:,} listed{words}"))
        found.append(Part(f"all {finished:,} that have finished"))
        for one, what in ((row, "selected"), (mark, "marked")):
            if 0 <= one < state.total and state.stage[one] >= DONE:
                name = rollout_name(state, one)
                file = name.replace("#", "")
                found.append(part_of(state, [one], f"the {what} one: {name}", name, file))
        return [part for part in found if part.offsets != []]

    def action_export(self) -> None:
        """Asks what to export, and where to."""
        from tui_eval.tui.copying.export_form import offer_export

        run = self._screen.state.run
        if run is None or not self._screen.state.finished:
            nothing = "Nothing has finished yet that could be exported."
            self._screen.say(STILL_LOADING if self._screen.state.is_loading else nothing)
        else:
            name = f"{run.env_id} with {run.model}"
            offer_export(self._screen, run.path, name, self.exportable(), self._screen.say)

    def action_read_elsewhere(self, editor: bool) -> None:
        """Opens the selected piece, rollout or log in the pager or the editor."""
        from tui_eval.tui.copying.elsewhere import NoProgramError, program

        try:
            words = program(editor)
        except NoProgramError as error:
            self._screen.say(f"{error}.")
            return
        self._screen.run_worker(
            self._read_elsewhere(words, editor), group="elsewhere", exclusive=True
        )

    async def _read_elsewhere(self, words: list[str], editor: bool) -> None:
        from tui_eval.errors import RefusedError
        from tui_eval.tui.copying.elsewhere import read_elsewhere

        try:
            found = await self._readable(editor)
        except (RefusedError, OSError, ValueError) as error:
            self._screen.say(f"It cannot be opened: {error}")
            return
        if found is None:
            self._screen.say("There is nothing to read here yet.")
        elif fault := read_elsewhere(self._screen.app, words, found.data, found.suffix):
            self._screen.say(f"{fault}.")

    async def _readable(self, editor: bool) -> Readable | None:
        """The log or the piece that has the focus, else the rollout."""
        from tui_eval.tui.copying.elsewhere import log_text, piece_text, rollout_text

        screen, state = self._screen, self._screen.state
        row, rollout, part = (
            screen.reader.row,
            screen.reader.rollout,
            screen.trajectory.selected_part,
        )
        if screen.focused is screen.log_pane:
            return await asyncio.to_thread(log_text, screen.feed)
        if not 0 <= row < state.total:
            return None
        if screen.focused is screen.trajectory and part is not None:
            return await asyncio.to_thread(piece_text, part, editor)
        notes = screen.annotations.notebook.notes
        return await asyncio.to_thread(rollout_text, state, row, rollout, notes, editor)

    def action_copy(self) -> None:
        """Asks what to copy."""
        from tui_eval.tui.copying.copyable import offer_copies

        offer_copies(self._screen, self.copyable(), self._screen.say, "run.copy")
