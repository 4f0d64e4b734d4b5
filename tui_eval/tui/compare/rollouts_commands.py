"""The commands of two trajectories beside each other; `compared` in `compare` has the rest."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import ABOVE, HELP, LEAVE, MOVE, PANES, PASS, Command

TRAJECTORIES = "Trajectories"
GROUPS = (TRAJECTORIES, PASS, MOVE, PANES, HELP, LEAVE)
TOGETHER = (frozenset(("beside", "view", "trajectories", "compared")),)

COMMANDS = (
    Command(
        "n", "difference(1)", "beside", TRAJECTORIES, "Next, previous turn that differs",
        footer="difference", rank=10, name="next-difference",
    ),
    Command(
        "N", "difference(-1)", "beside", ABOVE, "Previous turn that differs",
        name="previous-difference",
    ),
    Command(
        "right_curly_bracket", "turn(1)", "beside", TRAJECTORIES, "Next, previous turn",
        name="next-turn",
    ),
    Command(
        "left_curly_bracket", "turn(-1)", "beside", ABOVE, "Previous turn", name="previous-turn",
    ),
    Command(
        "enter", "switch_fold", "beside", TRAJECTORIES, "Unfold, fold", footer="unfold",
        rank=9,
    ),
    Command("l,right", "unfold", "beside", TRAJECTORIES, "Unfold or show more"),
    Command("h,left", "fold", "beside", TRAJECTORIES, "Fold"),
    Command(
        "t", "fold_tools", "beside", TRAJECTORIES, "Unfold or fold every tool call", footer="tools",
        rank=18,
    ),
    Command(
        "v", "switch_view", "trajectories", TRAJECTORIES,
        "Beside each other, or one above the other", footer="view", rank=14, palette=True,
    ),
    Command(
        "right_square_bracket", "example(1)", "trajectories", TRAJECTORIES,
        "Next, previous example",
        footer="example", rank=19, palette="Next example", name="next-example",
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
