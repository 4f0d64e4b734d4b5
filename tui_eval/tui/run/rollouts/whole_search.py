"""A search of whole trajectories that goes on in a thread and can be given up."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_eval.fold.columns import Notes
    from tui_eval.fold.filtering import RowFilter
    from tui_eval.fold.run_state import RunState
    from tui_eval.runs.text_search import SearchProgress


class TrajectorySearch:
    """Tells a filter which trajectories match, of those that were there when it began."""

    def __init__(self, state: RunState, wanted: RowFilter, notes: Notes) -> None:
        self.wanted = wanted
        self._there = _trajectories(state)
        self.progress: SearchProgress | None = None
        self.fault = ""
        """Why it ended early."""
        self.is_over = False
        self._state = state
        self._notes = notes
        self._given_up = threading.Event()

    @property
    def is_up_to_date(self) -> bool:
        """Whether there are no other trajectories by now."""
        return self._there == _trajectories(self._state)

    @property
    def is_given_up(self) -> bool:
        """Whether somebody did not want to wait for the rest."""
        return self._given_up.is_set()

    def give_up(self) -> None:
        """Ends the thread after the rollout that it is reading."""
        self._given_up.set()

    def work(self) -> None:
        """Searches; for a thread."""
        from tui_eval.errors import RefusedError
        from tui_eval.runs.opening import find_run
        from tui_eval.runs.text_search import search_trajectories

        run = self._state.run
        try:
            if run is None:
                return
            files = find_run(Path(run.path))
            steps = search_trajectories(files, self._state, self.wanted, self._notes)
            for self.progress in steps:
                if self.is_given_up:
                    break
        except RefusedError as error:
            self.fault = error.faults[0].what
        except (OSError, ValueError) as error:  # no path has a NUL in it
            self.fault = getattr(error, "strerror", None) or str(error)
        finally:
            self.is_over = True


def _trajectories(state: RunState) -> tuple[int, int, int]:
    """Another value wherever there may be other trajectories."""
    reading = state.run.reading if state.run is not None else 0
    return reading, state.finished, state.taken_back
