"""The commands of two transcripts beside each other; `compared` in `compare` has the rest."""

from __future__ import annotations

from tui_eval.tui.base.keys.command import ABOVE, HELP, LEAVE, MOVE, PANES, PASS, Command

TRANSCRIPTS = "Transcripts"
GROUPS = (TRANSCRIPTS, PASS, MOVE, PANES, HELP, LEAVE)
TOGETHER = (frozenset(("beside", "view", "transcripts", "compared")),)

COMMANDS = (
    Command(
        "n", "difference(1)", "beside", TRANSCRIPTS, "Next, previous turn that differs",
        footer="difference", rank=10, name="next-difference",
    ),
    Command(
        "N", "difference(-1)", "beside", ABOVE, "Previous turn that differs",
        name="previous-difference",
    ),
    Command(
        "right_curly_bracket", "turn(1)", "beside", TRANSCRIPTS, "Next, previous turn",
        name="next-turn",
    ),
    Command(
        "left_curly_bracket", "turn(-1)", "beside", ABOVE, "Previous turn", name="previous-turn",
    ),
    Command("enter", "switch_fold", "beside", TRANSCRIPTS, "Unfold, fold", footer="unfold", rank=9),
    Command("l,right", "unfold", "beside", TRANSCRIPTS, "Unfold or show more"),
    Command("h,left", "fold", "beside", TRANSCRIPTS, "Fold"),
    Command(
        "t", "fold_tools", "beside", TRANSCRIPTS, "Unfold or fold every tool call", footer="tools",
        rank=18,
    ),
    Command(
        "v", "switch_view", "transcripts", TRANSCRIPTS,
        "Beside each other, or one above the other", footer="view", rank=14, palette=True,
    ),
    Command(
        "right_square_bracket", "example(1)", "transcripts", TRANSCRIPTS, "Next, previous example",
        footer="example", rank=19, palette="Next example", name="next-example",
    ),
    Command(
        "left_square_bracket", "example(-1)", "transcripts", ABOVE, "Previous one",
        name="previous-example",
    ),
    Command(
        "a", "rollout(0)", "transcripts", TRANSCRIPTS,
        "Another rollout of the example on the first, second side", footer="rollouts", rank=27,
        name="first-rollout",
    ),
    Command(
        "b", "rollout(1)", "transcripts", ABOVE, "Another one on the second side",
        name="second-rollout",
    ),
)  # fmt: skip
