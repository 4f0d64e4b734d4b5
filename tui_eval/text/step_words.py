"""Short words with inks for the results of model calls, tool calls and rollouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tui_eval.fold.outcome_words import ENDED
from tui_eval.printable import one_line
from tui_eval.text.figures import count_text, ms_text
from tui_eval.text.stages import CUT, TRUNCATED, UNWILLING
from tui_eval.token_kinds import from_names, in_words, named

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import ToolUse

Words: TypeAlias = tuple[tuple[str, str], ...]
"""Texts, each with the name of its ink."""
CUTS = (f"  {CUT} {TRUNCATED} at the length limit", f"  {CUT} {TRUNCATED}", f"  {CUT}")
"""Words for an answer that reached its limit, shorter where there is less room."""

MODEL_MOST = 32
_EXPECTED_REASONS = (None, "stop", "tool_calls", "end_turn", "tool_use")


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
