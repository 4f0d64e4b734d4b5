"""A search of whole transcripts that goes on in a thread and can be given up."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.fold.columns import Notes
    from tui_eval.fold.filtering import RowFilter
    from tui_eval.fold.run_state import RunState
    from tui_eval.runs.text_search import SearchProgress


class TranscriptSearch:
    """Tells a filter which transcripts match.

    `finished` counts the rollouts that were there to be searched when it began.
    """

    def __init__(self, state: RunState, wanted: RowFilter, notes: Notes) -> None:
        self.wanted = wanted
        self.finished = state.finished
        self.progress: SearchProgress | None = None
        self.is_over = False
        self._state = state
        self._notes = notes
        self._given_up = threading.Event()

    @property
    def is_given_up(self) -> bool:
        """Whether somebody did not want to wait for the rest."""
        return self._given_up.is_set()

    def give_up(self) -> None:
        """Ends the thread after the rollout that it is reading."""
        self._given_up.set()

    def work(self) -> None:
        """Searches; for a thread."""
        from tui_eval.runs.layout import RunDir
        from tui_eval.runs.text_search import search_transcripts

        run = self._state.run
        try:
            if run is None:
                return
            steps = search_transcripts(
                RunDir(Path(run.path)), self._state, self.wanted, self._notes
            )
            for self.progress in steps:
                if self.is_given_up:
                    break
        except ValueError:  # whoever told of the run told of no path
            pass
        finally:
            self.is_over = True
