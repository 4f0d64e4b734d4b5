"""What the footer has for keys that do nothing before there is something to do it with."""

from __future__ import annotations

from textual.widget import Widget

from tui_eval.fold.run_state import RunState
from tui_eval.tui.widgets.log_pane import LogPane
from tui_eval.tui.widgets.trajectory import Trajectory

NO_LOG = {"search": "", "level": ""}


def words_for(state: RunState, pane: Widget | None) -> dict[str, str]:
    """Words by the actions of their commands, empty ones where nothing would happen.

    Args:
        pane: The one with the focus.
    """
    begun, listed = state.run is not None, state.total > 0
    words = {
        "filter": "filter" if listed else "",
        "sort": "sort" if listed else "",
        "copy": "copy" if begun else "",
        "export": "export" if state.finished else "",
        "read_elsewhere(False)": "pager" if begun else "",
    }
    if isinstance(pane, Trajectory):
        words |= {"switch_fold": pane.fold_word, "search": "find" if pane.rollout else ""}
    elif isinstance(pane, LogPane):
        words["switch_fold"] = pane.fold_word
        words |= {"search": "find", "level": "level"} if pane.window.records else NO_LOG
    return words
