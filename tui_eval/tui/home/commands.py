"""The commands of the home screen."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import ABOVE, LEAVE, MOVE, PASS, Command, both_ways

RUNS, AROUND = "The list of runs", "Around"
GROUPS = (RUNS, PASS, MOVE, AROUND, LEAVE)
QUIT = "Quit; what runs continues"
TOGETHER = (frozenset(("runs", "view", "home")), frozenset(("picks", "view", "home")))

COMMANDS = (
    Command("enter", "open", "runs", RUNS, "Open a run; attach to a running one", "open", 9),
    Command("slash", "filter", "runs", RUNS, "Filter by words; esc clears", "filter", 15),
    Command("s", "sort", "runs", RUNS, "Sort by the next column; reverse", footer="sort", rank=11),
    Command("S", "reverse", "runs", ABOVE, "Sort the other way round"),
    Command("m,space", "mark", "runs", RUNS, "Mark a run to compare it, or unmark", "mark", 14),
    Command(
        "d", "compare", "home", RUNS, "Compare marked runs, or one with this", footer="compare",
        rank=8, palette=True,
    ),
    Command("r", "resume", "home", RUNS, "Resume an incomplete run", "resume", 10, palette=True),
    Command("w", "keep", "home", RUNS, "Keep an unsaved run for good", "keep", 30, palette=True),
    Command("y", "copy", "home", PASS, "Copy its path or its command", "copy", 32, palette=True),
    Command("x", "export", "home", PASS, "Export the run", footer="export", rank=33, palette=True),
    Command("n", "new", "home", AROUND, "Put a new evaluation together", "new", 10, palette=True),
    Command(
        "D", "demo", "home", AROUND, "Run the demo: no key, no network", "demo", 31, palette=True,
    ),
    Command(
        "enter", "choose", "picks", AROUND, "Evaluate environment, check endpoint", "choose", 9,
    ),
    Command("1", "pane(1)", "home", AROUND, "Runs, environments, endpoints", name="runs"),
    Command("2", "pane(2)", "home", ABOVE, "Environments", name="environments"),
    Command("3", "pane(3)", "home", ABOVE, "Endpoints", name="endpoints"),
    *both_ways("tab", "shift+tab", "next_pane", "home", AROUND, "pane", footer="pane", rank=12),
    Command("f5", "look_again", "home", AROUND, "Reload", palette=True),
    Command("escape", "back", "home", AROUND, "Clear filter or marks; to the runs", "clear", 13),
    Command(
        "colon", "app.command_palette", "home", AROUND, "Find a command or a theme", name="palette",
    ),
    Command("question_mark", "help", "home", AROUND, "Show the keys", "help", 2, palette=True),
    Command("q", "app.quit", "home", LEAVE, QUIT, footer="quit", rank=1, palette=True, name="quit"),
)  # fmt: skip
