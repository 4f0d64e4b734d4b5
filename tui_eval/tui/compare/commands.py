"""The commands of the comparison of runs."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import ABOVE, HELP, LEAVE, MOVE, PANES, PASS, Command

COMPARE, EXAMPLES = "Runs", "Examples"
GROUPS = (EXAMPLES, COMPARE, PASS, MOVE, PANES, HELP, LEAVE)
TOGETHER = (frozenset(("pairs", "view", "compare", "compared")),)

COMMANDS = (
    Command(
        "f", "only('fixed')", "compare", EXAMPLES, "Only what was fixed", palette=True,
        name="fixed",
    ),
    Command(
        "b", "only('broken')", "compare", EXAMPLES, "Only what was broken", palette=True,
        name="broken",
    ),
    Command(
        "w", "only('both-wrong')", "compare", EXAMPLES, "Only both wrong", palette=True,
        name="both-wrong",
    ),
    Command(
        "r", "only('both-right')", "compare", EXAMPLES, "Only both right", palette=True,
        name="both-right",
    ),
    Command("a", "only('')", "compare", EXAMPLES, "All of them", palette=True, name="all"),
    Command(
        "s", "sort", "compare", EXAMPLES, "Sort by the difference, or not", footer="sort", rank=11,
        palette=True,
    ),
    Command(
        "enter", "open", "pairs", EXAMPLES, "Read the two trajectories side by side",
        footer="trajectories", rank=9,
    ),
    Command(
        "greater_than_sign", "run(1)", "compare", COMPARE,
        "Next, previous run beside the first one", footer="next run", rank=20,
        palette="Next run beside the first one",
        name="next-run",
    ),
    Command("less_than_sign", "run(-1)", "compare", ABOVE, "Previous run", name="previous-run"),
    Command("1", "pane(1)", "compare", PANES, "Examples", palette=True, name="examples"),
    Command("2", "pane(2)", "compare", PANES, "Numbers", palette=True, name="numbers"),
    Command(
        "3", "pane(3)", "compare", PANES, "Settings that differ", palette=True, name="settings",
    ),
    Command(
        "tab", "next_pane(1)", "compare", PANES, "Next, previous pane", footer="pane", rank=12,
        name="next-pane",
    ),
    Command("shift+tab", "next_pane(-1)", "compare", ABOVE, "Previous pane", name="previous-pane"),
    Command(
        "z", "zoom", "compare", PANES, "Zoom the pane, and back", footer="zoom", rank=13,
        palette=True,
    ),
    Command(
        "y", "copy", "compared", PASS, "Copy paths and commands, or rollouts", footer="copy",
        rank=26, palette=True,
    ),
    Command(
        "x", "export", "compared", PASS, "Export as Markdown, JSON and more", footer="export",
        rank=27, palette=True,
    ),
    Command(
        "o", "read_elsewhere(False)", "compared", PASS, "Read it in $PAGER; O: in $EDITOR",
        footer="pager", rank=28, palette="Read it in $PAGER", name="pager",
    ),
    Command("O", "read_elsewhere(True)", "compared", ABOVE, "Read it in $EDITOR", name="editor"),
    Command(
        "question_mark", "help", "compared", HELP, "Show the keys", footer="help", rank=2,
        palette=True,
    ),
    Command(
        "colon", "app.command_palette", "compared", HELP, "Find a command or a theme",
        name="palette",
    ),
    Command("escape", "back", "compared", PANES, "Back", footer="cancel", rank=3),
    Command(
        "q", "leave", "compared", LEAVE, "Leave this screen", footer="back", rank=1, palette=True,
    ),
)  # fmt: skip
