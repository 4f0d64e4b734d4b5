"""The commands that work everywhere."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import LEAVE, Command

COMMANDS = (
    Command("ctrl+c", "interrupt", "app", LEAVE, "Ask how to leave; twice: stop it"),
    Command("ctrl+q", "quit", "app", LEAVE, "Stop and quit at once"),
    Command(
        "ctrl+z", "suspend_process", "app", LEAVE, "To the shell; fg comes back", name="suspend",
    ),
)  # fmt: skip
