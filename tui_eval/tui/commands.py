"""Every command in one table: bindings, palette, footer and help are read from it."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from textual.binding import Binding, BindingType

Scope: TypeAlias = Literal["app", "screen", "view", "list", "story"]


class Command(NamedTuple):
    """Something that people can ask for.

    Args:
        keys: As Textual names them, separated by commas.
        shown: The keys as people read them; empty where another command's line names them.
        scope: Where it works: everywhere, on the live screen, in every pane, or in one.
        help: A sentence without a full stop.
        footer: A word for the footer; empty keeps it out.
        palette: Whether it can be found in the palette.
    """

    keys: str
    shown: str
    action: str
    scope: Scope
    group: str
    help: str
    footer: str = ""
    palette: bool = False


RUN, MOVE, READ, PANES, LEAVE = "Run", "Moving", "Reading", "Panes", "Leaving"

COMMANDS = (
    Command("question_mark", "?", "help", "screen", PANES, "Show the keys", "help", True),
    Command(
        "space", "space", "pause", "screen", RUN,
        "Pause the engine, or resume it", "pause", True,
    ),
    Command(
        "f", "f", "follow", "screen", RUN,
        "Follow the newest rollout, or freeze", "follow", True,
    ),
    Command("e", "e E", "error(1)", "screen", RUN, "Next, previous error", "errors", True),
    Command("E", "", "error(-1)", "screen", RUN, "Previous error"),
    Command("right_square_bracket", "] [", "rollout(1)", "screen", MOVE, "Next, previous rollout"),
    Command("left_square_bracket", "", "rollout(-1)", "screen", MOVE, "Previous rollout"),
    Command("j,down", "j k ↓ ↑", "move(1)", "view", MOVE, "Down, up"),
    Command("k,up", "", "move(-1)", "view", MOVE, "Up"),
    Command("ctrl+d", "^d ^u", "page(0.5)", "view", MOVE, "Half a page down, up"),
    Command("ctrl+u", "", "page(-0.5)", "view", MOVE, "Half a page up"),
    Command("pagedown", "pgdn pgup", "page(1.0)", "view", MOVE, "A page down, up"),
    Command("pageup", "", "page(-1.0)", "view", MOVE, "A page up"),
    Command("g,home", "g home", "top", "view", MOVE, "To the top"),
    Command("G,end", "G end", "bottom", "view", MOVE, "To the newest, and follow it again"),
    Command("enter", "enter", "open", "list", READ, "In the list: read the rollout", "open"),
    Command(
        "enter", "enter", "switch_fold", "story", READ,
        "In the trajectory: unfold, fold", "unfold",
    ),
    Command("l,right", "l →", "unfold", "story", READ, "Unfold or show more"),
    Command("h,left", "h ←", "fold", "story", READ, "Fold"),
    Command("t", "t", "fold_tools", "story", READ, "Unfold or fold every tool call", "tools"),
    Command("right_curly_bracket", "} {", "turn(1)", "story", MOVE, "Next, previous turn"),
    Command("left_curly_bracket", "", "turn(-1)", "story", MOVE, "Previous turn"),
    Command("1", "1", "pane(1)", "screen", PANES, "Rollouts", palette=True),
    Command("2", "2", "pane(2)", "screen", PANES, "Trajectory", palette=True),
    Command("3", "3", "pane(3)", "screen", PANES, "Numbers and reward", palette=True),
    Command("tab", "tab ⇧tab", "next_pane(1)", "screen", PANES, "Next, previous pane", "pane"),
    Command("shift+tab", "", "next_pane(-1)", "screen", PANES, "Previous pane"),
    Command("z", "z", "zoom", "screen", PANES, "Zoom the pane, and back", "zoom", True),
    Command("escape", "esc", "back", "screen", PANES, "Back to the rollouts"),
    Command("colon", ":", "app.command_palette", "screen", PANES, "Find a command or a theme"),
    Command("q", "q", "leave", "screen", LEAVE, "Stop (resumable), detach, or quit", "quit", True),
    Command("ctrl+c", "^c", "interrupt", "app", LEAVE, "Ask; a second time: stop"),
    Command("ctrl+q", "^q", "quit", "app", LEAVE, "Stop and quit at once"),
    Command("ctrl+z", "^z", "suspend_process", "app", LEAVE, "To the shell; fg comes back"),
)  # fmt: skip

GROUPS = (RUN, MOVE, READ, PANES, LEAVE)


def bindings(scope: Scope) -> list[BindingType]:
    """The bindings of one scope."""
    return [
        Binding(
            command.keys,
            command.action,
            command.help,
            show=False,
            priority=scope == "app",
            id=f"{scope}.{command.action}",
        )
        for command in COMMANDS
        if command.scope == scope
    ]
