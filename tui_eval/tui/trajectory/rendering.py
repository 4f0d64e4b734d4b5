"""One rollout's trajectory as lines: pure functions of its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui_eval.fold.outcome_words import ENDED
from tui_eval.printable import one_line
from tui_eval.text.figures import reward_text
from tui_eval.text.json_text import arguments_shown, inline_arguments, pretty_json
from tui_eval.text.stages import TRUNCATED
from tui_eval.text.step_words import CUTS, error_text, timing_note, tool_note
from tui_eval.tui.base.look.ink import EMPTY, Line, Span, cut, line_width, spread
from tui_eval.tui.base.look.wrap import Shown, about_lines, shown_lines
from tui_eval.tui.trajectory.piece import Block, Piece, Placed, View, lay_out, lines_at_most

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Entry, Rollout, RunningText, ToolUse

MEASURE = 110
"""The most cells of prose, and of heads with notes: longer lines are hard to read."""
TEXT_LINES = 200
SYSTEM_LINES = 4
THOUGHT_LINES = 4
TOOL_LINES = 40
PRINTED_LINES = 6
COMING_LINES = 60
"""Lines that are shown of the end of a text being generated."""

LAST_TURN = 1 << 30
_HAS_ERROR = "has_error"


def about_message(entry: Entry, view: View, width: int) -> int:
    """An estimate of the lines of a message, from its raw texts."""
    width = min(width, MEASURE) - 2
    usual = SYSTEM_LINES if entry.role in ("system", "developer") else TEXT_LINES
    return 1 + sum(
        about_lines(text, width, lines_at_most(most, view))
        for text, most in ((entry.reasoning, THOUGHT_LINES), (entry.text, usual))
        if text
    )


def message_blocks(entry: Entry) -> list[Block]:
    """The texts of a message: reasoning and content."""
    blocks = []
    indent: Line = (("  ", ""),)
    if entry.reasoning:
        bar: Line = (("  ", ""), ("│ ", "rule"))
        blocks.append(
            Block("reasoning", entry.reasoning, bar, bar, THOUGHT_LINES, "thought", "", MEASURE)
        )
    if text := entry.text.strip("\r\n"):
        usual = SYSTEM_LINES if entry.role in ("system", "developer") else TEXT_LINES
        pretty = pretty_json(text)
        language = "markdown" if pretty is None else "json"
        blocks.append(Block("text", pretty or text, indent, indent, usual, "", language, MEASURE))
    return blocks


def coming_blocks(text: RunningText) -> list[Block]:
    """The end of each text of an answer being generated."""
    looks = {
        "reasoning": ((("  ", ""), ("│ ", "rule")), "thought", ""),
        "tool": ((("  ", ""), ("▸ ", "accent")), "", "json"),
    }
    blocks = []
    for kind, part in text.parts.items():
        lead, ink, language = looks.get(kind, ((("  ", ""),), "", "markdown"))
        end = part[-COMING_LINES * MEASURE :]
        cut_at = end.find("\n") + 1 if len(end) < len(part) else 0
        blocks.append(
            Block(kind, end[cut_at:], lead, lead, COMING_LINES * 2, ink, language, MEASURE)
        )
    return blocks


def role_line(role: str, turn: int, note: Line, width: int) -> Line:
    """The head of a message: its role, and a note at the right."""
    width = min(width, MEASURE)
    role = one_line(role, 24)
    glyphs = {"assistant": "●", "user": "›", "tool": "◆"}
    ink = {"assistant": "busy", "user": "strong"}.get(role, "muted")
    start: list[Span] = [
        (f"{glyphs.get(role, '▪')} ", ink),
        (role, "role" if ink == "muted" else ink),
    ]
    if turn and role == "assistant":
        start.append((f" · turn {turn}", "muted"))
    room = width - line_width(start)
    forms = [tuple((end if text in CUTS else text, ink) for text, ink in note) for end in CUTS]
    note = next((one for one in (*forms, forms[1][1:]) if line_width(one) + 1 < room), EMPTY)
    return spread(tuple(start), note, width)


def tool_blocks(use: ToolUse) -> list[Block]:
    """The texts of a tool call: its arguments and its result."""
    bar: Line = (("    │ ", "rule"),)
    blocks = [
        Block(f"arguments {at}", text, bar, bar, TOOL_LINES, "muted", language)
        for at, (text, language) in enumerate(arguments_shown(use.arguments))
    ]
    outcome = use.error if use.result is None else use.result or "(empty)"
    if outcome is not None:
        has_more = bool(use.traceback or use.output)
        first: Line = (("    ├ " if has_more else "    ╰ ", "rule"),)
        later: Line = bar if has_more else (("      ", ""),)
        pretty = None if use.error else pretty_json(outcome)
        ink, language = ("fault", "") if use.error else ("", "json" if pretty else "")
        blocks.append(Block("result", pretty or outcome, first, later, TOOL_LINES, ink, language))
    if use.traceback:
        blocks.append(Block("traceback", use.traceback, bar, bar, 1, "muted", hangs=True))
    if use.output:
        printed: Line = (("    › ", "accent"),)
        blocks.append(Block("output", use.output, printed, bar, PRINTED_LINES, "muted"))
    return blocks


def is_folded(use: ToolUse, view: View) -> bool:
    """Whether a tool call is shown as one line."""
    return (not use.error) if view.limit is None else view.limit == 0


def tool_piece(use: ToolUse, view: View, width: int, live: bool) -> Piece:
    """The lines of a tool call; a missing result is on its way while the rollout is live."""
    note, edge = tool_note(use, live, is_folded(use, view)), min(width, MEASURE)
    name = one_line(use.name, 40)
    lead = (("  ", ""), ("▸ " if is_folded(use, view) else "▾ ", "accent"))
    named = Placed(Block("name", name, lead, lead, 1, "accent"), 0, Shown([name], 0, name), 0, 2)
    if not is_folded(use, view):
        head = spread((*lead, (name, "accent")), note, edge)
        piece = lay_out(head, tool_blocks(use), view, width)
        return piece._replace(folds=True, placed=(named, *piece.placed))
    room = max(edge - line_width(note) - 6, 8)
    call = cut(one_line(f"{name}({inline_arguments(use.arguments)})", room), room)
    spans: list[Span] = [*lead, (call[: len(name)], "accent"), (call[len(name) :], "")]
    left_over = room - cell_len(call) - 4
    if use.result and not use.error and left_over >= 6:
        spans.append((f" → {cut(one_line(use.result, left_over), left_over)}", "muted"))
    return Piece((spread(tuple(spans), note, edge),), 0, True, (named,))


def ending_blocks(rollout: Rollout) -> list[Block]:
    """The texts at the end of a finished rollout: the expected answer, the error."""
    later, indent = ((" " * 12, ""),), (("  ", ""),)
    named = [
        Block(name, text, ((f"  {name:<10}", "faint"),), later, TOOL_LINES, ink)
        for name, text, ink in (
            ("expected", rollout.answer, ""),
            ("error", error_text(rollout.error or ""), "fault"),
        )
        if text
    ]
    if text := rollout.traceback:
        named.append(Block("traceback", text, indent, indent, TOOL_LINES, "muted", hangs=True))
    printed = [("printed", rollout.output), *((one.name, one.output) for one in rollout.scores)]
    for name, text in printed:
        if text:
            first: Line = ((f"  {cut(one_line(name, 40), 24)} › ", "accent"),)
            named.append(Block(f"output {name}", text, first, later, PRINTED_LINES, "muted"))
    return named


def ending_line(rollout: Rollout, width: int) -> Line:
    """The head of the end of a finished rollout: how it ended, and why."""
    glyph, ink = ("✗", "bad") if rollout.error else ("✓", "good")
    word = f"{rollout.error_class or ''} error".lstrip() if rollout.error else "done"
    start: list[Span] = [(f"{glyph} ", ink), (word, ink)]
    if rollout.reward is not None:
        start += [(" · reward ", "muted"), (reward_text(rollout.reward), "strong")]
    ended = ENDED.get(rollout.finish_reason or "", "")
    for ending in (TRUNCATED if rollout.is_truncated else "", ended):
        start += [(" · ", "muted"), (ending, "warn")] if ending else []
    edge = min(width, MEASURE)
    if rollout.stop_condition and rollout.stop_condition != _HAS_ERROR:
        stop = one_line(str(rollout.stop_condition), 40)
        room = max(edge - line_width(start) - 3, 8)
        words = f"stopped by {stop}" if cell_len(stop) + 11 <= room else cut(f"stop: {stop}", room)
        start.append((f" · {words}", "muted"))
    return spread(tuple(start), timing_note(rollout.timing), edge)


def note_piece(note: str, width: int, glyph: str) -> Piece:
    """A note: why a running rollout waits and how long, or a fault of a saved one's line."""
    words, _ = shown_lines(note, width - 2, 4)
    return Piece(
        tuple(((glyph if at == 0 else "  ", "warn"), (w, "")) for at, w in enumerate(words))
    )
