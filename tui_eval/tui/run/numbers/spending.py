"""What a run uses, and what endpoints refused it, as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tui_eval.fold.projection import projected_cost, projected_tokens
from tui_eval.fold.run_state import RunState
from tui_eval.text.figures import count_text, limit_text, money_text, plural
from tui_eval.token_kinds import in_words, named
from tui_eval.tui.base.look.blocks import columns
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut_line, line_width
from tui_eval.tui.base.look.wrap import shown_lines


def spending(state: RunState, width: int) -> Iterator[Line]:
    """Tokens and what they cost, so far and, while the run goes on, in the end."""
    if not state.tokens:
        return
    yield EMPTY
    used = f"{count_text(state.usage.tokens_in)} in  {count_text(state.usage.tokens_out)} out"
    if not state.usage.tokens_in:
        used = count_text(state.usage.tokens_out)
    tokens: Line = (("tokens  ", "faint"), (used, ""))
    whole = _for_all(state, projected_tokens(state), count_text)
    if line_width((*tokens, *whole)) <= width:
        yield (*tokens, *whole)
    else:
        yield tokens
        yield (("      ", ""), *whole)
    if state.usage.kinds:
        of_kinds = in_words(named(state.usage.kinds), count_text)
        yield cut_line((("        ", ""), (of_kinds, "muted")), width)
    if state.cost is not None:
        whole = _for_all(state, projected_cost(state), money_text)
        yield (("cost    ", "faint"), (money_text(state.cost), "strong"), *whole)
        if listed := state.prices.listed:
            said = shown_lines(f"list price {listed}", max(width - 8, 1), 4)[0]
            yield from ((("        ", ""), (part, "muted")) for part in said)


def _for_all(state: RunState, whole: float | None, text: Callable[[float], str]) -> Line:
    """What the whole run may use, while it goes on."""
    if whole is None or state.end is not None or state.finished >= state.total:
        return EMPTY
    return ((f"  about {text(whole)} for all {state.total:,}", "muted"),)


def refusals(state: RunState, width: int) -> Iterator[Line]:
    """How many requests endpoints refused, and how many rollouts were generated at a time."""
    if not state.refused_requests:
        return
    spans: list[Span] = [
        ("refused ", "faint"),
        (plural(state.refused_requests, "request"), "warn"),
    ]
    if any(state.at_a_time):
        limit, most = state.at_a_time
        now = f" {limit_text(limit)}{f' of {most:,}' if most else ''}"
        spans.append(("  limit ", "faint"))
        room = max(width - line_width(spans) - len(now), 1)
        history = columns([one for one, _ in state.limits], 1)[0][-room:]
        spans += [(history, "histogram"), (now, "")]
    yield EMPTY
    yield cut_line(spans, width)
