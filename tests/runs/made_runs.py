"""Rows, states and run directories for tests of what is on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tui_eval.errors import ModelError
from tui_eval.events import RolloutFinished
from tui_eval.fold.run_state import RunState
from tui_eval.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.row import encode_row
from tui_eval.runs.row_events import event_of
from tui_eval.runs.row_places import RowPlaces
from tui_eval.runs.saved_run import saved_events
from tui_eval.runs.scan import scan
from tui_eval.runs.writer import RunWriter
from tui_eval.state import State


def tool_state(**fields: Any) -> State:
    """A rollout that called a tool and answered."""
    call = ToolCall(id="call_9", name="add_one", arguments='{"x": 41}')
    completion = [
        AssistantMessage(content=None, tool_calls=[call]),
        ToolMessage(tool_call_id="call_9", content="42"),
        AssistantMessage(content="It is 42.", reasoning_content="easy"),
    ]
    state = State(
        input={
            "prompt": [UserMessage(content="41 + 1?")],
            "example_id": 7,
            "task": "sums",
            "answer": "42",
            "info": {"level": "easy"},
        },
        completion=completion,
        trajectory=[],
        reward=1.0,
        metrics={"correct": 1.0},
        error=None,
        timing={"generation_ms": 5.0, "scoring_ms": 1.0, "total_ms": 6.0, "start_time": 1000.0},
        is_completed=True,
        is_truncated=False,
        stop_condition="no_tools_called",
        tool_defs=[],
        usage={"input_tokens": 40.0, "output_tokens": 14.0},
        trajectory_id="t1",
    )
    state.scores = [{"name": "correct", "raw": 1.0, "weight": 1.0, "error": None}]
    state.tool_log = [{"id": "call_9", "name": "add_one", "ms": 2.0, "error": None}]
    for key, value in fields.items():
        state[key] = value
    return state


def failed_state() -> State:
    """A rollout whose first model call failed."""
    try:
        raise ModelError from ValueError("status 400")
    except ModelError as error:
        failure = error
    return tool_state(error=failure, completion=[], stop_condition="has_error", usage=None)


def row(
    example: Any, number: int | None = 0, reward: float = 1.0, error: bool = False, **fields: Any
) -> dict[str, Any]:
    """A line of results.jsonl; without a number as other programs write it."""
    found: dict[str, Any] = {
        "example_id": example,
        "prompt": [{"role": "user", "content": f"question {example}"}],
        "completion": [{"role": "assistant", "content": f"answer {number}"}],
        "reward": reward,
        "error": {"error": "ModelError", "error_chain_str": "ModelError"} if error else None,
        "timing": {"generation_ms": 5.0, "total_ms": 6.0, "start_time": 1000.0},
        "metrics": {"score": reward},
    }
    if number is not None:
        found["tui_eval"] = {"version": 1, "rollout": number, "attempt": 1}
    return {**found, **fields}


def line(*values: Any, **fields: Any) -> bytes:
    return json.dumps(row(*values, **fields)).encode() + b"\n"


def write_run(
    path: Path, lines: Sequence[bytes] = (), *, examples: int = 2, per_example: int = 2, **meta: Any
) -> RunDir:
    """A run directory of ours with these lines and no index."""
    run = RunDir(path)
    path.mkdir(parents=True, exist_ok=True)
    run.results.write_bytes(b"".join(lines))
    run.plan.write_text('env_id = "my-env"\n')
    metadata = {
        "env_id": "my-env",
        "model": "org/model",
        "num_examples": examples,
        "rollouts_per_example": per_example,
        **meta,
    }
    run.metadata.write_text(json.dumps(metadata))
    return run


def write_indexed(run: RunDir, rows: Sequence[dict[str, Any]], per_example: int = 2) -> None:
    """Writes rows as the engine does, index included."""
    writer = RunWriter(run, Redactor())
    for one in rows:
        offset, line = writer.append(encode_row(one))
        place = one["example_id"] * per_example + one["tui_eval"]["rollout"]
        found = next(scan(run.results, offset))
        event = event_of(found, place, one["tui_eval"]["rollout"])
        event.offset, event.length = offset, len(line)
        writer.remember(event)
    writer.close()


def rows_of(run: RunDir) -> list[dict[str, Any]]:
    return [json.loads(text) for text in run.results.read_bytes().splitlines()]


def places_of(run: RunDir, per_example: int = 2, examples: int = 2) -> list[RolloutFinished]:
    places = RowPlaces(per_example, examples)
    found = []
    for one in scan(run.results):
        place = places.place(one.row) if one.row is not None else None
        if place is not None:
            found.append(event_of(one, *place))
    return found


def opened(run: RunDir) -> RunState:
    """State of a saved run."""
    state = RunState()
    for event in saved_events(run):
        state.apply(event)
    return state
