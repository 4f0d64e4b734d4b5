"""Words for the results of model calls, tool calls and rollouts: short ones, and whole errors."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from tui_eval.fold.outcome_words import ENDED
from tui_eval.printable import one_line
from tui_eval.text.figures import count_text, ms_text
from tui_eval.text.stages import CUT, SCORING_ERROR, TRUNCATED, UNWILLING
from tui_eval.token_kinds import from_names, in_words, named

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import ToolUse

Words: TypeAlias = tuple[tuple[str, str], ...]
"""Texts, each with the name of its ink."""
CUTS = (f"  {CUT} {TRUNCATED} at the length limit", f"  {CUT} {TRUNCATED}", f"  {CUT}")
"""Words for an answer that reached its limit, shorter where there is less room."""

MODEL_MOST = 32
_EXPECTED_REASONS = (None, "stop", "tool_calls", "end_turn", "tool_use")
_STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LINK = rf"(?s:([\w.]+)(\((?:({_STRING})|.*?)\))?(?:\Z| -> (?=[\w.]+(?:\(| -> |\Z))))"
"""One exception of a chain as Python writes it, up to the next one."""
_ESCAPE = r"\\([\\'\"nt])"
_UNESCAPED = {"n": "\n", "t": "\t"}


def step_note(step: dict[str, Any] | None) -> Words:
    """Time and tokens of a model call, and how it ended where that is unusual."""
    if not step:
        return ()
    notes = []
    if isinstance(ms := step.get("model_ms"), (int, float)):
        notes.append(ms_text(ms))
    tokens_in, tokens_out = step.get("input_tokens"), step.get("output_tokens")
    if isinstance(tokens_in, (int, float)) and isinstance(tokens_out, (int, float)):
        notes.append(f"{count_text(tokens_in)} → {count_text(tokens_out)} tokens")
    if kinds := named(from_names(step.get("token_kinds"))):
        notes.append(in_words(kinds, count_text))
    if isinstance(model := step.get("model"), str):
        notes.append(f"by {one_line(model, MODEL_MOST)}")
    shown: list[tuple[str, str]] = [(" · ".join(notes), "faint")] if notes else []
    reason = step.get("finish_reason")
    if reason == "length" or step.get("is_truncated"):
        shown.append((CUTS[0], "warn"))
    elif reason in ENDED:
        shown.append((f"  {UNWILLING} {ENDED[reason]}", "warn"))
    elif reason not in _EXPECTED_REASONS:
        shown.append((f"  ! {one_line(str(reason), 24)}", "warn"))
    return tuple(shown)


def tool_note(use: ToolUse, live: bool, folded: bool) -> Words:
    """Result of a call; of an error the name only where the rest is below."""
    took = "" if use.ms is None else f" {ms_text(use.ms)}"
    if use.error:
        shown = use.error if folded else use.error.partition(": ")[0]
        return ((f"✗{took} {one_line(shown, 28)}", "bad"),)
    if use.result is not None:
        return (("✓", "good"), (took, "muted"))
    return (("▶ running", "busy"),) if live else (("– no result", "muted"),)


def timing_note(timing: dict[str, float]) -> Words:
    """Durations of a rollout's generating and scoring."""
    notes = [
        f"{ms_text(timing[key])} {word}"
        for key, word in (("generation_ms", "generating"), ("scoring_ms", "scoring"))
        if timing.get(key)  # 0 is an unknown time
    ]
    return ((" · ".join(notes), "faint"),) if notes else ()


def error_text(error: str) -> str:
    """An error and those causes that its own text does not have, as `type: message`.

    A scoring error has its message only: the heading has the name.

    Args:
        error: A chain such as "ToolCallError('it failed') -> KeyError('a')", or any text, which
            stays as it is.
    """
    links: list[str] = []
    at = 0
    while at < len(error):
        link = re.compile(_LINK).match(error, at)
        text, at = (error[at:], len(error)) if link is None else (_stated(link, links), link.end())
        if text:
            links.append(f"caused by {text}" if links else text)
    return "\n".join(links)


def _stated(link: re.Match[str], before: list[str]) -> str:
    """A link in words; empty where earlier text has them."""
    kind, arguments, literal = link.groups()
    if arguments and arguments != "()" and literal is None:
        return kind + arguments
    message = re.sub(_ESCAPE, lambda one: _UNESCAPED.get(one[1], one[1]), (literal or "")[1:-1])
    if kind == SCORING_ERROR and link.start() == 0:
        return message
    whole = f"{kind}: {message}" if message else kind
    ways = (whole, f"{kind}: {literal}") if message else (whole,)
    known = re.compile("|".join(rf"(?<!\w){re.escape(way)}(?!\w)" for way in ways))
    return "" if any(known.search(text) for text in before) else whole
