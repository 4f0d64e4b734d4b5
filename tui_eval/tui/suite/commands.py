"""What the screen of several evaluations has beside the commands of a run."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import ABOVE, HELP, LEAVE, MOVE, PANES, PASS, READ, RUN, Command
from tui_eval.tui.run.commands import LIST, PANE_SCOPES

SUITE = "Several evaluations"
GROUPS = (RUN, MOVE, READ, LIST, PASS, PANES, SUITE, HELP, LEAVE)
TOGETHER = tuple(
    frozenset((pane, "view", "run", "suite")) for pane in (*PANE_SCOPES, "evaluations")
)

COMMANDS = (
    Command(
        "0", "pane(0)", "suite", SUITE, "The list of evaluations", palette=True, name="evaluations",
    ),
    Command(
        "greater_than_sign", "evaluation(1)", "suite", SUITE, "Next, previous evaluation",
        name="next-evaluation",
    ),
    Command(
        "less_than_sign", "evaluation(-1)", "suite", ABOVE, "Previous evaluation",
        name="previous-evaluation",
    ),
    Command(
        "v", "switch_list", "suite", SUITE, "Hide the list, or show it", "list", 14, palette=True,
    ),
    Command(
        "enter", "enter", "evaluations", SUITE, "In the evaluations: go to its rollouts",
        footer="rollouts", rank=9, name="rollouts",
    ),
)  # fmt: skip
