"""What the test of two runs' rewards says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.tui.look.figures import chance_text

if TYPE_CHECKING:
    from tui_eval.fold.comparison import Comparison

TESTS = {
    "mcnemar": "McNemar's exact test",
    "sign_flip": "exact sign-flip test",
    "sign_flip_drawn": "sign-flip test, 100,000 drawn",
}


def reward_test(found: Comparison) -> str:
    """The test of the rewards; empty where there is none."""
    reward = found.figures[0].difference
    if reward.p is None:
        agrees = reward.test == "mcnemar"
        return "reward: no discordant examples for McNemar's exact test" if agrees else ""
    text = f"reward: {chance_text(reward.p)}, {TESTS[reward.test]}"
    if found.holm_p is not None and found.holm_p != reward.p:
        text += f"; {chance_text(found.holm_p).removeprefix('p = ')} for all runs at once (Holm)"
    return text
