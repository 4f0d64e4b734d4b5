"""Saved rollouts by their row, as many as are wanted, through one open file."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from tui_eval.fold.run_state import RunState
from tui_eval.runs.formats.recognising import as_row
from tui_eval.runs.layout import RunDir
from tui_eval.runs.scan import LineNumbers, decode_row


class SavedRows:
    """The rollouts of a run that are on disk; a context manager.

    Raises:
        OSError: On entering: the file cannot be opened.
    """

    def __init__(self, run: RunDir, state: RunState) -> None:
        self._path = run.results
        self._state = state
        self._numbers = LineNumbers(run.results)

    def __enter__(self) -> SavedRows:
        self._file = open(self._path, "rb")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def line(self, row: int) -> bytes:
        """A rollout's bytes in the file, or what is left of them."""
        self._file.seek(self._state.offset[row])
        return self._file.read(self._state.length[row])

    def values(self, row: int) -> dict[str, Any] | None:
        """A rollout as it was saved; None where it cannot be read any more."""
        return values_of(self.line(row))

    def doubt(self, row: int, line: bytes) -> str:
        """What of a rollout's bytes is shown with a replacement; empty where nothing is.

        Args:
            line: Those bytes.
        """
        return self._numbers.doubt(self._state.offset[row], line)


def values_of(line: bytes) -> dict[str, Any] | None:
    """A saved rollout; None where the bytes are none."""
    try:
        return dict(as_row(decode_row(line)))
    except (ValueError, RecursionError):
        return None
