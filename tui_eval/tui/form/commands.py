"""The commands of the form of an evaluation."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import ABOVE, HIDDEN, PANES, Command

FORM, FIELDS = "This evaluation", "Fields"
GROUPS = (FORM, FIELDS)
TOGETHER = (frozenset(("form", "fields")), frozenset(("form", "panels", "view")))

COMMANDS = (
    Command(
        "ctrl+r", "run", "form", FORM, "Run it, or show what is wrong first", footer="run", rank=5,
        palette=True,
    ),
    Command("ctrl+w", "save", "form", FORM, "Save it as TOML", footer="save", rank=6, palette=True),
    Command(
        "ctrl+o", "load", "form", FORM, "Load a TOML file", footer="load", rank=24, palette=True,
    ),
    Command("f2", "next_pane", "form", FORM, "Next pane", footer="panes", rank=22),
    Command(
        "f3", "copy_command", "form", FORM, "Copy the command line", footer="copy command", rank=25,
        palette=True,
    ),
    Command(
        "f4", "copy_toml", "form", FORM, "Copy the TOML", footer="copy TOML", rank=26, palette=True,
    ),
    Command(
        "f5", "table", "form", FORM, "Choose an evaluation of the file", footer="evaluations",
        rank=6, palette=True,
    ),
    Command("f1", "help", "form", FORM, "Show the keys", footer="help", rank=21),
    Command(
        "escape", "leave", "form", FORM, "Back to the form, then leave", footer="leave", rank=23,
    ),
    Command("1", "pane(1)", "panels", PANES, "Settings", name="settings"),
    Command("2", "pane(2)", "panels", PANES, "What it will do", name="plan"),
    Command("3", "pane(3)", "panels", PANES, "TOML", name="toml"),
    Command("4", "pane(4)", "panels", PANES, "Command line", name="command-line"),
    Command("5", "pane(5)", "panels", PANES, "Environment", name="environment"),
    Command("down,tab", "move(1)", "fields", FIELDS, "Next, previous field", name="next"),
    Command("up,shift+tab", "move(-1)", "fields", ABOVE, "Previous field", name="previous"),
    Command("pagedown", "move(10)", "fields", FIELDS, "Ten fields down, up", name="ten-down"),
    Command("pageup", "move(-10)", "fields", ABOVE, "Ten fields up", name="ten-up"),
    Command("ctrl+home", "move(-1000)", "fields", FIELDS, "First, last field", name="first"),
    Command("ctrl+end", "move(1000)", "fields", ABOVE, "Last field", name="last"),
    Command(
        "enter", "open", "fields", FIELDS, "Choose, edit, switch, or next field", footer="choose",
        rank=9,
    ),
    Command("ctrl+u", "clear", "fields", FIELDS, "Back to the default"),
    Command(
        "left", "caret(-1)", "fields", FIELDS, "Move in the text; change a choice", name="left",
    ),
    Command("right", "caret(1)", "fields", ABOVE, "Right", name="right"),
    Command("ctrl+left", "word(-1)", "fields", FIELDS, "A word left, right", name="word-left"),
    Command("ctrl+right", "word(1)", "fields", ABOVE, "A word right", name="word-right"),
    Command("home", "caret(-100000)", "fields", FIELDS, "Start, end of the text", name="begin"),
    Command("end", "caret(100000)", "fields", ABOVE, "End of the text", name="end"),
    Command(
        "backspace", "delete(-1)", "fields", HIDDEN, "Delete before the caret",
        name="delete-before",
    ),
    Command("delete", "delete(1)", "fields", HIDDEN, "Delete after the caret", name="delete-after"),
    Command("ctrl+backspace,alt+backspace", "delete_word", "fields", HIDDEN, "Delete a word"),
)  # fmt: skip
