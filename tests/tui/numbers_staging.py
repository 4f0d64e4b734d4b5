"""What the panel of numbers shows, and the line that is selected there."""

from __future__ import annotations

from staging import Stage

from tui_eval.tui.base.lines.line_view import MARK


def shown(stage: Stage) -> str:
    return stage.text(stage.live.numbers)


def selected(stage: Stage) -> str:
    return next((line for line in shown(stage).splitlines() if line.startswith(MARK)), "")
