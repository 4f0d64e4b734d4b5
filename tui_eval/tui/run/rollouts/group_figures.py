"""What the rollouts of one example came to, in a few cells: mean ± std, and pass@k if it fits."""

from __future__ import annotations

from tui_eval.fold.run_state import RunState
from tui_eval.stats.examples import ExampleFigures
from tui_eval.stats.passk import pass_at_k
from tui_eval.text.figures import NONE, reward_text
from tui_eval.tui.base.look.ink import Span, right
from tui_eval.tui.run.rollouts.columns import GROUP

MEAN, SPREAD = 6, 6


def group_head(state: RunState, width: int) -> str:
    """The name over these cells."""
    return f"mean ±std pass@{state.pass_rates.ks[-1]} " if width >= GROUP else "mean ±std "


def group_spans(
    state: RunState, one: ExampleFigures | None, width: int, is_part: bool = False
) -> list[Span]:
    """The numbers of an example; nothing before one of its rollouts has a reward.

    A spread that is none, of rewards that are all equal, stands out: such a group teaches nothing.
    One reward alone has no spread.

    Args:
        is_part: Not all of its rollouts are listed: the numbers are faint, being of all of them.
    """
    if one is None or one.mean is None:
        return [(" " * width, "")]
    spread = f"±{reward_text(one.std)}" if one.n > 1 else NONE
    spans: list[Span] = [
        (right(reward_text(one.mean), MEAN), "strong"),
        (right(spread, SPREAD), "warn" if one.all_equal else "muted"),
    ]
    if width >= GROUP:
        k = state.pass_rates.ks[-1]
        rate = reward_text(pass_at_k(one.n, one.passed, k)) if one.n >= k else NONE
        spans.append((right(rate, GROUP - MEAN - SPREAD - 1) + " ", ""))
    return [(text, "faint") for text, _ in spans] if is_part else spans
