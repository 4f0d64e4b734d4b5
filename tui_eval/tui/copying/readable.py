"""What is read in a pager or an editor: plain texts without anything that steers a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_eval.fold.rollout_columns import DONE
from tui_eval.printable import printable
from tui_eval.tui.copying.copyable import call_json, saved_line, so_far

if TYPE_CHECKING:
    from tui_eval.feeds.feed import Feed
    from tui_eval.fold.columns import Notes
    from tui_eval.fold.run_state import RunState
    from tui_eval.fold.trajectory import Rollout, ToolUse
    from tui_eval.tui.trajectory.parts import Part

AT_ONCE = 1 << 20


class Readable(NamedTuple):
    """A text, and the ending of a file's name that says what it is."""

    text: str
    suffix: str

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return self.text.encode("utf-8", "backslashreplace")


def plain_json(value: Any) -> str:
    """JSON in lines, exactly what the value is, and harmless: what steers a terminal is escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    for sign in {sign for sign in set(text) if sign != "\n" and printable(sign) != sign}:
        text = text.replace(sign, json.dumps(sign)[1:-1])
    return text


def piece_text(part: Part, editor: bool) -> Readable | None:
    """A piece of the trajectory; None where it has no text."""
    tool = part.entry.tool if part.entry is not None else None
    if tool is not None:
        if editor:
            return Readable(plain_json(_whole_call(tool)), ".json")
        return Readable(printable("\n".join(_call_lines(tool))), ".txt")
    texts = [block.text for block in part.blocks()]
    if part.entry is not None:
        texts = list(filter(None, (part.entry.reasoning, part.entry.text)))
    text = "\n\n".join(texts)
    return Readable(printable(text) + "\n", ".md") if text else None


def _whole_call(use: ToolUse) -> dict[str, Any]:
    outcome = {"result": use.result, "error": use.error}
    call: dict[str, Any] = json.loads(call_json(use))
    return call | {name: text for name, text in outcome.items() if text is not None}


def _call_lines(use: ToolUse) -> Iterator[str]:
    yield call_json(use)
    if use.error:
        yield f"\nerror: {use.error}"
    if use.result is not None:
        yield f"\n{use.result}"


def rollout_text(
    state: RunState, row: int, rollout: Rollout | None, notes: Notes, editor: bool
) -> Readable:
    """A whole rollout: as Markdown for the pager, as JSON for the editor; for a thread.

    Raises:
        RefusedError, ValueError, OSError: See `copyable.saved_line`.
    """
    if editor:
        done = state.stage[row] >= DONE
        value = (
            json.loads(saved_line(state, row).text) if done else so_far(state, row, rollout, notes)
        )
        return Readable(plain_json(value) + "\n", ".json")
    from tui_eval.runs.export.markdown import rollout_lines
    from tui_eval.runs.export.source import ExportSource
    from tui_eval.runs.layout import RunDir

    if rollout is None:
        raise ValueError("this rollout cannot be read back from results.jsonl")
    assert state.run is not None
    source = ExportSource(RunDir(Path(state.run.path)), state, notes, [row])
    return Readable(printable("\n".join(rollout_lines(source, rollout))) + "\n", ".md")


def log_text(feed: Feed) -> Readable:
    """What the engine and people's code printed so far; for a thread.

    Raises:
        OSError: It cannot be read.
    """
    found = bytearray()
    while True:
        data, size = feed.log(len(found), AT_ONCE)
        found += data
        if not data or len(found) >= size:
            return Readable(printable(found.decode("utf-8", "replace")), ".log")
