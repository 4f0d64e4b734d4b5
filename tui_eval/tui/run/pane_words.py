"""What footer and help have for keys that do nothing as things are, or something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.widget import Widget

from tui_eval.tui.base.keys.command import RUN
from tui_eval.tui.run.commands import COMMANDS
from tui_eval.tui.run.log.log_pane import LogPane
from tui_eval.tui.run.rollouts.rollout_list import RolloutList
from tui_eval.tui.run.trajectory_pane import TrajectoryPane

if TYPE_CHECKING:
    from tui_eval.tui.run.screen import RunScreen

NO_LOG = {"search": "", "level": ""}
ENDED = {
    "run.save-now": "",
    "view.bottom": "To the end",
    "app.quit": "Quit",
}
"""What the help says of commands where no engine is at work."""


def footer_words(screen: RunScreen) -> dict[str, str]:
    """Words by the actions of their commands, empty ones where nothing would happen."""
    state, status = screen.state, screen.status
    is_live = status.is_live and state.run is not None
    can_pause = status.at_work and (is_live or screen.root is not screen.feed)
    return {
        "pause": ("resume" if screen.steering.is_paused else "pause") if can_pause else "",
        "follow": ("stay" if screen.follower.on else "follow") if is_live else "",
        "open": "open" if state.total else "",
        "limit(1)": "concurrency" if can_pause else "",
        "failure(1)": "failed step" if screen.trajectory.has_failure else "",
        "enter": screen.numbers.enter_word,
        "compare": "compare" if screen.rollouts.lines.mark >= 0 else "",
        "error(1)": "next error" if state.errors else "",
        "zoom": screen.zoom.word,
        "rerun": screen.rerun.word,
        "leave": screen.quit_flow.word,
        "filter": "filter" if state.total else "",
        "sort": "sort" if state.total else "",
        "copy": "copy" if state.run is not None else "",
        "export": "export" if state.finished else "",
        "read_elsewhere(False)": "pager" if state.run is not None else "",
    } | _pane_words(screen.focused)


def _pane_words(pane: Widget | None) -> dict[str, str]:
    """Those of the pane with the focus."""
    marks = isinstance(pane, RolloutList) and pane.lines.mark >= 0 and not pane.listing.text
    words = {"back": "unmark" if marks else ""}
    if isinstance(pane, TrajectoryPane):
        words |= {"switch_fold": pane.fold_word, "search": "find" if pane.rollout else ""}
    elif isinstance(pane, LogPane):
        words["switch_fold"] = pane.fold_word
        words |= {"search": "find", "level": "level"} if pane.window.records else NO_LOG
    return words


def help_texts(
    words: Mapping[str, str], leaving: str, goes_on: bool, at_work: bool
) -> dict[str, str]:
    """What the help says of commands, by their ids, in place of what the tables say.

    Args:
        words: Those of the footer.
        leaving: What leaving does.
        goes_on: Whether an engine is at work on the run that is shown.
        at_work: Whether one is at work at all.
    """
    texts = {"run.leave": leaving}
    if not goes_on:
        silent = (one.id for one in COMMANDS if one.group == RUN and words.get(one.action) == "")
        texts |= {"run.cancel-rollout": "", **dict.fromkeys(silent, "")}
    return texts if at_work else texts | ENDED | {"app.interrupt": leaving}
