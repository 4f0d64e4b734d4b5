"""The parts of a trajectory, before they have a layout."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import msgspec

from tui_eval.text.step_words import step_note
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.trajectory.piece import USUAL, Block, Piece, View, about_height, lay_out
from tui_eval.tui.trajectory.rendering import (
    LAST_TURN,
    about_message,
    coming_blocks,
    ending_blocks,
    ending_line,
    is_folded,
    message_blocks,
    note_piece,
    role_line,
    tool_blocks,
    tool_piece,
)

if TYPE_CHECKING:
    from tui_eval.fold.trajectory import Entry, Rollout, RunningText, ToolUse

NOTHING_YET: Line = (("no messages yet", "faint"),)

NO_MESSAGES: Line = (("no messages were saved of it", "faint"),)


class Part(msgspec.Struct):
    """A piece of the trajectory that may have no layout yet.

    Its kind is by its content: an entry, the end of a rollout, text being generated, a note; with
    none of these it is the head of a turn.

    Args:
        key: A value that determines its lines, but for view and width.
        turn: The model call that it belongs to; 0 for the prompt.
        gap: Whether an empty line follows.
        failed: Whether something went wrong here.
    """

    key: Hashable
    turn: int = 0
    entry: Entry | None = None
    step: dict[str, Any] | None = None
    rollout: Rollout | None = None
    coming: RunningText | None = None
    text: Line | str = ""
    live: bool = False
    failed: bool = False
    gap: bool = True

    @property
    def tool(self) -> ToolUse | None:
        """Its tool call, if it is one."""
        return self.entry.tool if self.entry is not None else None

    @property
    def is_tool(self) -> bool:
        """Whether it is a tool call."""
        return self.tool is not None

    def blocks(self) -> list[Block]:
        """Its texts, also folded ones."""
        if self.coming is not None:
            return coming_blocks(self.coming)
        if self.rollout is not None:
            return ending_blocks(self.rollout)
        if self.tool is not None:
            return tool_blocks(self.tool)
        return message_blocks(self.entry) if self.entry is not None else []

    def lay_out(self, view: View, width: int) -> Piece:
        """Its lines, without the empty one that may follow."""
        if self.tool is not None:
            return tool_piece(self.tool, view, width, self.live)
        if self.text:
            if isinstance(self.text, str):
                return note_piece(self.text, width, "~ " if self.live else "! ")
            return Piece((self.text,))
        view = view if self.coming is None else USUAL
        piece = lay_out(self._head(width), self.blocks(), view, width)
        if self.entry is not None and not piece.placed:
            return piece._replace(lines=(*piece.lines, (("  (empty)", "faint"),)))
        return piece

    def _head(self, width: int) -> Line:
        if self.rollout is not None:
            return ending_line(self.rollout, width)
        role = "assistant" if self.entry is None else self.entry.role
        note = step_note(self.step)
        if self.coming is not None:
            note = (("writing…", "busy") if self.live else ("cut off", "warn"),)
        return role_line(role, self.turn, note, width)

    def about_height(self, view: View, width: int) -> int:
        """An estimate of its lines; it costs next to nothing."""
        if self.tool is not None and is_folded(self.tool, view):
            return 1
        if self.entry is not None and self.tool is None:
            return about_message(self.entry, view, width)
        return about_height(self.blocks(), view, width)


def parts_of(rollout: Rollout, is_over: bool) -> list[Part]:
    """The parts of all messages, tool calls and the end; a run that is over gets no more."""
    steps = dict(enumerate(rollout.steps, 1))
    live = not (rollout.finished or is_over)
    parts: list[Part] = []
    turn = 0
    if rollout.doubt:
        parts.append(Part(rollout.doubt, text=rollout.doubt))
    for entry in rollout.entries():
        step = steps.get(entry.turn) if entry.turn > turn else None
        if entry.turn > turn and entry.tool is not None:
            parts.append(Part((entry.turn, str(step)), entry.turn, step=step))
            step = None  # the model called tools without a word
        turn = max(turn, entry.turn)
        parts.append(_part(entry, step, live))
    if rollout.finished:
        if not rollout.messages:
            parts.append(Part("unsaved", text=NO_MESSAGES))
        key = (rollout.row, rollout.version, "end")
        failed = bool(rollout.error)
        parts.append(Part(key, LAST_TURN, rollout=rollout, failed=failed))
    return parts


def tail_of(rollout: Rollout, note: str, parts: list[Part], is_over: bool) -> list[Part]:
    """The parts behind a running rollout's messages: text being generated, and its wait."""
    tail: list[Part] = []
    if rollout.finished:
        return tail
    if rollout.coming is not None and rollout.coming.parts:
        turn = max((part.turn for part in parts), default=0) + 1
        key = (rollout.coming.call, rollout.coming.version, turn, is_over)
        tail.append(Part(key, turn, coming=rollout.coming, live=not is_over))
    if not parts and not tail:
        tail.append(Part("nothing", text=NOTHING_YET))
    if note and not is_over:
        turn = parts[-1].turn if parts else 0
        tail.append(Part(note, turn, text=note, live=True))
    return tail


def set_apart(parts: list[Part]) -> None:
    """Sets the empty lines between parts; none between a message and its tool calls."""
    for part, after in zip(parts, [*parts[1:], None], strict=False):
        together = after is not None and after.is_tool and after.turn == part.turn
        part.gap = not together and not (part.is_tool and after is None)


def _part(entry: Entry, step: dict[str, Any] | None, live: bool) -> Part:
    use = entry.tool
    if use is None:
        key: Hashable = (entry.role, entry.turn, entry.text, entry.reasoning, str(step))
        return Part(key, entry.turn, entry, step, live=live)
    key = (entry.turn, use.name, use.arguments, use.result, use.ms, use.error, use.output, live)
    return Part(key, entry.turn, entry, live=live, failed=bool(use.error))
