"""What an evaluation will do, as lines: rollouts, tokens, cost, tools, rewards, first prompt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tui_eval.errors import Fault
from tui_eval.text.figures import count_text, list_price_text, money_text, plural, tokens_text
from tui_eval.tui.base.look.ink import EMPTY, Line
from tui_eval.tui.base.look.wrap import shown_lines

MOST_LINES = 400
LABEL = 10
ONCE = " for one turn each"
"""What an estimate is of: how many turns there will be is not known."""
APART = "\u00a0"
"""A space at which no line breaks."""


def wrapped(text: str, width: int, ink: str = "", most: int = MOST_LINES) -> Iterator[Line]:
    """Anybody's text in lines of one ink."""
    for line in shown_lines(text, max(width, 1), most)[0]:
        yield ((line, ink),)


def fact(label: str, text: str, width: int, ink: str = "", column: int = LABEL) -> Iterator[Line]:
    """A label in its column and its text, which hangs below itself."""
    for number, (span,) in enumerate(wrapped(text, width - column, ink)):
        yield ((f"{'' if number else label:<{column}}", "muted"), span)


def fault_lines(faults: Iterable[Fault], width: int) -> Iterator[Line]:
    """What is wrong, and what to do about it."""
    for fault in faults:
        lines = wrapped(f"{fault.where}: {fault.what}", width - 2, "fault")
        for number, (span,) in enumerate(lines):
            yield (("  " if number else "✗ ", "bad"), span)
        for span in (line[0] for line in wrapped(fault.hint, width - 2, "muted") if fault.hint):
            yield (("  ", ""), span)


def rollouts_text(found: Mapping[str, Any]) -> str:
    """`50 examples × 3 = 150 rollouts, 60 left`, or how many evaluations there are."""
    if "evaluations" in found:
        several = plural(len(found["evaluations"]), "evaluation")
        return f"{several}, {found['rollouts']:,} rollouts"
    left = f", {found['left']:,} left" if found["left"] < found["rollouts"] else ""
    return (
        f"{found['examples']:,} examples × {found['rollouts_per_example']} = "
        f"{found['rollouts']:,} rollouts{left}"
    )


def spent_text(found: Mapping[str, Any], width: int) -> str:
    """What it costs and about how many tokens, in a few words that fit, if such do."""
    put, got, usd = (found["estimate"][name] for name in ("input_tokens", "output_tokens", "usd"))
    cost = _cost_text(usd)
    if got is None:
        return f"{cost}, {count_text(put)} tokens in"
    tokens = f"{count_text(put + got)} tokens"
    whole = f"{cost}, tokens {tokens_text(put, got)}"
    tried = (whole, f"{cost}, {tokens}", f"{cost.removesuffix(ONCE)}, {tokens}")
    return next((text for text in tried if len(text) <= width), tried[-1])


def _cost_text(usd: float | None) -> str:
    return "cost unknown" if usd is None else f"about {money_text(usd)}{ONCE}"


def plan_lines(found: Mapping[str, Any], width: int) -> Iterator[Line]:
    """What a dry run tells."""
    yield ((rollouts_text(found), "strong"),)
    estimate = found["estimate"]
    got, usd = estimate["output_tokens"], estimate["usd"]
    answers = "answers unknown without max_tokens" if got is None else f"{got:,} out"
    tokens = f"about {estimate['input_tokens']:,} in, {answers}"
    yield from fact("tokens", tokens, width)
    listed = list_price_text(estimate.get("list_price") or "")
    yield from fact("cost", _cost_text(usd).removeprefix("cost ") + listed, width)
    if "evaluations" in found:
        yield from _evaluations(found["evaluations"], width)
    else:
        yield from _one(found, width)
    yield from notice_lines(found.get("notices") or (), width)
    yield EMPTY
    yield from wrapped(f"{estimate['how']}.", width, "faint")


def notice_lines(notices: Sequence[Mapping[str, Any]], width: int) -> Iterator[Line]:
    """Sentences of the engine."""
    for notice in notices:
        ink = "warn" if notice["level"] == "warning" else "muted"
        yield from fact(notice["level"], notice["text"], width, ink)


def _evaluations(plans: Sequence[Mapping[str, Any]], width: int) -> Iterator[Line]:
    yield EMPTY
    column = len(str(len(plans))) + 2
    for number, plan in enumerate(plans[:MOST_LINES], 1):
        varies = ", ".join(f"{name}={value}" for name, value in plan["varies"].items())
        text = plan["title"] + (f" ({varies})" if varies else "")
        much = rollouts_text(plan).replace(" ", APART)
        yield from fact(f"{number}", f"{text}: {much}", width, column=column)


def _one(found: Mapping[str, Any], width: int) -> Iterator[Line]:
    yield from fact("model", f"{found['model']} at {found['base_url']}", width)
    if found["goes_on"]:
        yield from fact("resumes", str(found["goes_on"]), width)
    functions = found["reward_functions"]
    rewards = ", ".join(
        f"{one['name']}{APART}×{APART}{one['weight']:g}" for one in functions if one["weight"]
    )
    metrics = ", ".join(one["name"] for one in functions if not one["weight"])
    yield from fact("rewards", rewards or "none", width)
    if metrics:
        yield from fact("metrics", metrics, width)
    yield from fact("tools", ", ".join(one["name"] for one in found["tools"]) or "none", width)
    yield EMPTY
    yield (("First prompt", "role"),)
    for message in found["first_prompt"]:
        content = message.get("content")
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        yield from fact(str(message.get("role")), text, width)
