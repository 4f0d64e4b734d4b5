"""The commands of the comparison of runs, and of two trajectories beside each other."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import ABOVE, HELP, LEAVE, MOVE, PANES, PASS, Command, both_ways

COMPARE, EXAMPLES, TRAJECTORIES = "Runs", "Examples", "Trajectories"
_OF_BOTH = (PASS, MOVE, PANES, HELP, LEAVE)
GROUPS = (EXAMPLES, COMPARE, *_OF_BOTH)
TRAJECTORY_GROUPS = (TRAJECTORIES, *_OF_BOTH)
TOGETHER = (
    frozenset(("pairs", "view", "compare", "compared")),
    frozenset(("beside", "view", "trajectories", "compared")),
)

COMMANDS = (
    *(
        Command(key, f"only('{name}')", "compare", EXAMPLES, text, palette=True, name=name)
        for key, name, text in (
            ("f", "fixed", "Only what was fixed"),
            ("b", "broken", "Only what was broken"),
            ("w", "both-wrong", "Only both wrong"),
            ("r", "both-right", "Only both right"),
        )
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
        palette="Next run beside the first one", name="next-run",
    ),
    Command("less_than_sign", "run(-1)", "compare", ABOVE, "Previous run", name="previous-run"),
    Command("1", "pane(1)", "compare", PANES, "Examples", palette=True, name="examples"),
    Command("2", "pane(2)", "compare", PANES, "Numbers", palette=True, name="numbers"),
    Command(
        "3", "pane(3)", "compare", PANES, "Settings that differ", palette=True, name="settings",
    ),
    *both_ways("tab", "shift+tab", "next_pane", "compare", PANES, "pane", footer="pane", rank=12),
    Command("z", "zoom", "compare", PANES, "Zoom the pane, and back", "zoom", 13, palette=True),
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
    Command("question_mark", "help", "compared", HELP, "Show the keys", "help", 2, palette=True),
    Command(
        "colon", "app.command_palette", "compared", HELP, "Find a command or a theme",
        name="palette",
    ),
    Command("escape", "back", "compared", PANES, "Back", footer="cancel", rank=3),
    Command("q", "leave", "compared", LEAVE, "Leave this screen", "back", 1, palette=True),
    *both_ways(
        "n", "N", "difference", "beside", TRAJECTORIES, "turn that differs", "difference",
        footer="difference", rank=10,
    ),
    *both_ways(
        "right_curly_bracket", "left_curly_bracket", "turn", "beside", TRAJECTORIES, "turn",
    ),
    Command("enter", "switch_fold", "beside", TRAJECTORIES, "Unfold, fold", "unfold", 9),
    Command("l,right", "unfold", "beside", TRAJECTORIES, "Unfold or show more"),
    Command("h,left", "fold", "beside", TRAJECTORIES, "Fold"),
    Command(
        "t", "fold_tools", "beside", TRAJECTORIES, "Unfold or fold every tool call", "tools", 18,
    ),
    Command(
        "v", "switch_view", "trajectories", TRAJECTORIES,
        "Beside each other, or one above the other", footer="view", rank=14, palette=True,
    ),
    Command(
        "right_square_bracket", "example(1)", "trajectories", TRAJECTORIES,
        "Next, previous example", footer="example", rank=19, palette="Next example",
        name="next-example",
    ),
    Command(
        "left_square_bracket", "example(-1)", "trajectories", ABOVE, "Previous one",
        name="previous-example",
    ),
    Command(
        "a", "rollout(0)", "trajectories", TRAJECTORIES,
        "Another rollout of the example on the first, second side", footer="rollouts", rank=27,
        name="first-rollout",
    ),
    Command(
        "b", "rollout(1)", "trajectories", ABOVE, "Another one on the second side",
        name="second-rollout",
    ),
)  # fmt: skip
