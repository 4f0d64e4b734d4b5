"""One rollout, or one of its tool calls, as a text: to copy, to keep, to read elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tui_eval.fold.columns import Notes
from tui_eval.fold.rollout_columns import DONE
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout, ToolUse
from tui_eval.printable import printable
from tui_eval.runs.export.markdown import rollout_lines
from tui_eval.runs.export.source import ExportSource, row_object
from tui_eval.runs.layout import RunDir
from tui_eval.runs.saved_run import SavedRows, find_run


def saved_line(state: RunState, row: int) -> str:
    """The line of results.jsonl that holds a finished rollout.

    Raises:
        RefusedError: There is no such run.
        ValueError: The line is not there any more.
        OSError: The file cannot be read.
    """
    assert state.run is not None
    with SavedRows(find_run(Path(state.run.path)), state) as rows:
        line = rows.line(row).rstrip(b"\r\n")
    if not line:
        raise ValueError("the file of the run has become shorter")
    return line.decode("utf-8", "backslashreplace")


def rollout_json(state: RunState, row: int, rollout: Rollout | None, notes: Notes) -> str:
    """A rollout as JSON: its line as it was saved, or what is known while it runs.

    Raises:
        RefusedError, ValueError, OSError: See `saved_line`.
    """
    if state.stage[row] >= DONE:
        return saved_line(state, row)
    messages = rollout.messages if rollout is not None else []
    prompt_length = rollout.prompt_length if rollout is not None else 0
    conversation = {"prompt": messages[:prompt_length], "completion": messages[prompt_length:]}
    return json.dumps(row_object(state, row, notes) | conversation, ensure_ascii=False)


def rollout_markdown(state: RunState, row: int, rollout: Rollout, notes: Notes) -> str:
    """A rollout to read, with a line for each of its facts."""
    assert state.run is not None
    source = ExportSource(RunDir(Path(state.run.path)), state, notes, [row])
    return "\n".join(rollout_lines(source, rollout)) + "\n"


def call_json(use: ToolUse) -> str:
    """A tool call as JSON; arguments that are no JSON as the text that they are."""
    return json.dumps(_call(use), indent=2, ensure_ascii=False)


def _call(use: ToolUse) -> dict[str, Any]:
    try:
        arguments = json.loads(use.arguments)
    except (ValueError, RecursionError):
        arguments = use.arguments
    return {"id": use.call_id, "name": use.name, "arguments": arguments}


def whole_call_json(use: ToolUse) -> str:
    """The same with what came of it, and harmless."""
    outcome = {"result": use.result, "error": use.error}
    return plain_json(
        _call(use) | {name: text for name, text in outcome.items() if text is not None}
    )


def call_text(use: ToolUse) -> str:
    """A tool call with what came of it, to read."""
    error = f"\n\nerror: {use.error}" if use.error else ""
    return f"{call_json(use)}{error}" + ("" if use.result is None else f"\n\n{use.result}")


def plain_json(value: Any) -> str:
    """JSON in lines, exactly what the value is, and harmless: what steers a terminal is escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    for sign in {sign for sign in set(text) if sign != "\n" and printable(sign) != sign}:
        text = text.replace(sign, json.dumps(sign)[1:-1])
    return text
