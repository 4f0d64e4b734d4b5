"""The lines of the panel of numbers, and the selected one."""

from __future__ import annotations

from staging import Stage

from tui_eval.tui.base.lines.line_view import MARK


def shown(stage: Stage) -> str:
    return stage.text(stage.live.numbers)


def selected(stage: Stage) -> str:
    return next((line for line in shown(stage).splitlines() if line.startswith(MARK)), "")
