"""Commands of a suite's screen beside those of a run."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import Command, both_ways
from tui_eval.tui.run.commands import GROUPS as OF_A_RUN
from tui_eval.tui.run.commands import PANE_SCOPES

SUITE = "Several evaluations"
GROUPS = (*OF_A_RUN[:-2], SUITE, *OF_A_RUN[-2:])  # before the help and leaving
TOGETHER = tuple(
    frozenset((pane, "view", "run", "suite")) for pane in (*PANE_SCOPES, "evaluations")
)

COMMANDS = (
    Command(
        "0", "pane(0)", "suite", SUITE, "The list of evaluations", palette=True, name="evaluations",
    ),
    *both_ways(
        "greater_than_sign", "less_than_sign", "evaluation", "suite", SUITE, "evaluation",
    ),
    Command(
        "v", "switch_list", "suite", SUITE, "Hide the list, or show it", "list", 14, palette=True,
    ),
    Command(
        "enter", "enter", "evaluations", SUITE, "In the evaluations: go to its rollouts",
        footer="rollouts", rank=9, name="rollouts",
    ),
)  # fmt: skip
