"""The commands of the screen of a run, and of its panes."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import (
    ABOVE,
    HELP,
    HIDDEN,
    LEAVE,
    MOVE,
    PANES,
    PASS,
    READ,
    RUN,
    Command,
    both_ways,
)

LIST = "The list of rollouts"
GROUPS = (RUN, MOVE, READ, LIST, PASS, PANES, HELP, LEAVE)
PANE_SCOPES = ("list", "trajectory", "numbers", "log")
TOGETHER = tuple(frozenset((pane, "view", "run")) for pane in PANE_SCOPES)

COMMANDS = (
    Command("question_mark", "help", "run", HELP, "Show the keys", "help", 2, palette=True),
    Command(
        "space,p", "pause", "run", RUN, "Pause the run, or resume it", "pause", 3, palette=True,
    ),
    Command(
        "f", "follow", "run", RUN, "Follow the newest rollout, or stay", "follow", 4, palette=True,
    ),
    *both_ways("e", "E", "error", "run", RUN, "error", footer="next error", rank=17, palette=True),
    Command("K", "cancel_rollout", "run", RUN, "Cancel the selected rollout", palette=True),
    Command(
        "R", "rerun", "run", RUN, "Run errored or missing ones again", "rerun", 19, palette=True,
    ),
    Command(
        "plus", "limit(1)", "run", RUN, "Raise, lower the concurrency", "concurrency", 20,
        palette="Raise the concurrency", name="more-in-flight",
    ),
    Command(
        "minus", "limit(-1)", "run", ABOVE, "Lower the concurrency", palette=True,
        name="fewer-in-flight",
    ),
    Command("ctrl+s", "save_now", "run", RUN, "Write all of it to disk now", palette=True),
    Command("C", "save_as", "run", RUN, "Save the run as: copy it to a path", palette=True),
    *both_ways("right_square_bracket", "left_square_bracket", "rollout", "run", MOVE, "rollout"),
    Command("j,down", "move(1)", "view", MOVE, "Down, up", name="down"),
    Command("k,up", "move(-1)", "view", ABOVE, "Up", name="up"),
    Command("ctrl+d", "page(0.5)", "view", MOVE, "Half a page down, up", name="half-page-down"),
    Command("ctrl+u", "page(-0.5)", "view", ABOVE, "Half a page up", name="half-page-up"),
    Command("pagedown", "page(1.0)", "view", MOVE, "A page down, up", name="page-down"),
    Command("pageup", "page(-1.0)", "view", ABOVE, "A page up", name="page-up"),
    Command("g,home", "top", "view", MOVE, "To the top"),
    Command("G,end", "bottom", "view", MOVE, "To the newest, and follow it again"),
    Command("enter", "open", "list", READ, "In the list: read the rollout", "open", 9),
    Command(
        "enter", "switch_fold", "trajectory", READ, "In the trajectory: unfold, fold", "unfold", 9,
    ),
    Command("l,right", "unfold", "trajectory", READ, "Unfold or show more"),
    Command("h,left", "fold", "trajectory", READ, "Fold"),
    Command("t", "fold_tools", "trajectory", READ, "Unfold or fold every tool call", "tools", 18),
    Command("slash", "search", "trajectory", READ, "Find words, or /an expression/", "find", 15),
    *both_ways("n", "N", "match", "trajectory", READ, "match", more="; esc clears"),
    Command("escape", "clear_search", "trajectory", HIDDEN, "Clear what was found"),
    *both_ways("right_curly_bracket", "left_curly_bracket", "turn", "trajectory", MOVE, "turn"),
    *both_ways(
        "right_parenthesis", "left_parenthesis", "tool_call", "trajectory", MOVE, "tool call",
    ),
    *both_ways(
        "w", "W", "failure", "trajectory", MOVE, "thing that went wrong", "failure",
        footer="failed step", rank=17,
    ),
    Command(
        "enter", "enter", "numbers", READ, "In the numbers: list its rollouts", "its rollouts", 9,
        name="rollouts",
    ),
    Command(
        "enter", "switch_fold", "log", READ, "In the log: its rollout, or unfold, fold",
        "unfold", 9,
    ),
    Command("l,right", "unfold", "log", HIDDEN, "Unfold"),
    Command("h,left", "fold", "log", HIDDEN, "Fold"),
    Command("L", "level", "log", READ, "In the log: show other levels", "level", 16),
    Command("slash", "search", "log", READ, "In the log: search; esc ends it", "find", 15),
    *both_ways("n", "N", "found", "log", READ, "of what was found", "match"),
    Command("e", "log_error(1)", "log", HIDDEN, "Next error in the log", name="next-error"),
    Command(
        "E", "log_error(-1)", "log", HIDDEN, "Previous error in the log", name="previous-error",
    ),
    Command(
        "slash", "filter", "list", LIST, "Filter; esc takes it away", "filter", 10,
        palette="Filter the rollouts",
    ),
    Command("enter", "keep", "typing", LIST, "While you type a filter: keep it", "keep", 9),
    Command("escape", "clear", "typing", LIST, "All rollouts again", "clear", 24),
    Command("exclamation_mark", "errors_only", "list", LIST, "Errors only, and back", palette=True),
    Command(
        "s", "sort", "list", LIST, "Sort by a column, or the other way", "sort", 11,
        palette="Sort by a column",
    ),
    Command("S", "reverse", "list", ABOVE, "Sort the other way round", palette=True),
    Command("b", "switch_groups", "list", LIST, "Keep examples together, or flat", palette=True),
    Command("c", "columns", "list", LIST, "Choose the columns", palette=True),
    Command("a", "annotate", "run", LIST, "Note and tags on a rollout", palette=True),
    Command("m", "mark", "run", LIST, "Mark a rollout to compare with", palette=True),
    Command(
        "d", "compare", "run", LIST, "Compare with the marked rollout", "compare", 8, palette=True,
    ),
    Command(
        "y", "copy", "run", PASS, "Copy a text, a rollout, the command", "copy", 19, palette=True,
    ),
    Command(
        "x", "export", "run", PASS, "Export as JSONL, CSV, HTML and more", "export", 27,
        palette=True,
    ),
    Command(
        "o", "read_elsewhere(False)", "run", PASS, "Read it in $PAGER; O: in $EDITOR", "pager", 28,
        palette="Read it in $PAGER", name="pager",
    ),
    Command(
        "O", "read_elsewhere(True)", "run", ABOVE, "Read it in $EDITOR", palette=True,
        name="editor",
    ),
    Command("1", "pane(1)", "run", PANES, "Rollouts", palette=True, name="rollouts"),
    Command("2", "pane(2)", "run", PANES, "Trajectory", palette=True, name="trajectory"),
    Command("3", "pane(3)", "run", PANES, "Numbers", palette=True, name="numbers"),
    Command("4", "pane(4)", "run", PANES, "Log", palette=True, name="log"),
    Command("5", "pane(5)", "run", PANES, "Reward", palette=True, name="reward"),
    *both_ways("tab", "shift+tab", "next_pane", "run", PANES, "pane", footer="pane", rank=12),
    Command("z", "zoom", "run", PANES, "Zoom the pane, and back", "zoom", 13, palette=True),
    Command("escape", "back", "run", PANES, "Back to the rollouts; unmark", "unmark", 8),
    Command(
        "colon", "app.command_palette", "run", HELP, "Find a command or a theme", name="palette",
    ),
    Command(
        "q", "leave", "run", LEAVE, "Stop (resumable), detach, or quit", "quit", 1, palette=True,
    ),
)  # fmt: skip
"""Each with keys, action, scope, group, help, footer word and rank."""
