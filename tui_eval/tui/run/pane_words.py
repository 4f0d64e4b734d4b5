"""What footer and help have for keys that do nothing as things are, or something else."""

from __future__ import annotations

from collections.abc import Mapping

from textual.widget import Widget

from tui_eval.fold.run_state import RunState
from tui_eval.tui.base.keys.command import RUN
from tui_eval.tui.run.commands import COMMANDS
from tui_eval.tui.run.log.log_pane import LogPane
from tui_eval.tui.run.rollouts.rollout_list import RolloutList
from tui_eval.tui.run.trajectory_pane import Trajectory

NO_LOG = {"search": "", "level": ""}
ENDED = {
    "run.save-now": "",
    "view.bottom": "To the end",
    "app.quit": "Quit",
}
"""What the help says of commands where no engine is at work."""


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
    marks = isinstance(pane, RolloutList) and pane.lines.mark >= 0 and not pane.listing.text
    words["back"] = "unmark" if marks else ""
    if isinstance(pane, Trajectory):
        words |= {"switch_fold": pane.fold_word, "search": "find" if pane.rollout else ""}
    elif isinstance(pane, LogPane):
        words["switch_fold"] = pane.fold_word
        words |= {"search": "find", "level": "level"} if pane.window.records else NO_LOG
    return words


def told_otherwise(
    words: Mapping[str, str], leaving: str, goes_on: bool, at_work: bool
) -> dict[str, str]:
    """What the help says of commands, by their ids, in place of what the tables say.

    Args:
        words: Those of the footer.
        leaving: What leaving does.
        goes_on: Whether an engine is at work on the run that is shown.
        at_work: Whether one is at work at all.
    """
    told = {"run.leave": leaving}
    if not goes_on:
        silent = (one.id for one in COMMANDS if one.group == RUN and words.get(one.action) == "")
        told |= {"run.cancel-rollout": "", **dict.fromkeys(silent, "")}
    return told if at_work else told | ENDED | {"app.interrupt": leaving}
