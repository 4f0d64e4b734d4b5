"""Words for the dry run of an evaluation, or of those of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tui_eval.text.figures import count_text, money_text, plural, tokens_text

ONCE = " for one turn each"
"""Unit of an estimate: the number of turns is not known."""


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
    """Cost and approximate tokens, in as many words as fit."""
    put, got, usd = (found["estimate"][name] for name in ("input_tokens", "output_tokens", "usd"))
    cost = cost_text(usd)
    if got is None:
        return f"{cost}, {count_text(put)} tokens in"
    tokens = f"{count_text(put + got)} tokens"
    whole = f"{cost}, tokens {tokens_text(put, got)}"
    tried = (whole, f"{cost}, {tokens}", f"{cost.removesuffix(ONCE)}, {tokens}")
    return next((text for text in tried if len(text) <= width), tried[-1])


def cost_text(usd: float | None) -> str:
    """Cost of one turn of each rollout."""
    return "cost unknown" if usd is None else f"about {money_text(usd)}{ONCE}"


def title_text(plan: Mapping[str, Any]) -> str:
    """Title of an evaluation of a file, with its differences from the others."""
    varies = ", ".join(f"{name}={value}" for name, value in plan["varies"].items())
    return f"{plan['title']} ({varies})" if varies else str(plan["title"])


def prompt_text(message: Mapping[str, Any]) -> str:
    """A message of the first prompt; JSON where it is more than text."""
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
