"""States of rollouts that are not run here any more, restored from disk.

A member of a group that has its row is compared with others from that. A rollout that ended its
workers, or was cancelled while it had none, gets its row from the journal. Its environment is not
called again: the model's answers are there, the environment's messages between them are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui_eval import clock
from tui_eval.environments.multi_turn import answer_message
from tui_eval.environments.one_rollout import broken_state
from tui_eval.environments.usage import record_step, usage_tracker
from tui_eval.messages import to_messages
from tui_eval.runs.journal_records import restore_response, restore_state
from tui_eval.state import State
from tui_eval.types import Response, TrajectoryStep


def interrupted_state(
    fresh: State, records: Sequence[Mapping[str, Any]], error: BaseException, took_s: float = 0.0
) -> State:
    """The errored state of a rollout, with all that there was before the error.

    Args:
        fresh: Of the same example; it becomes part of the new one.
        records: Of the rollout's last attempt, in their order; first itself, if it is generated.
        took_s: Seconds that it took.
    """
    if records and "state" in records[0]:
        state = restore_state(records[0], fresh)
        state["error"] = error
        return state
    state = broken_state(dict.__getitem__(fresh, "input"), error, clock.now() - took_s)
    state["trajectory"] = []
    usage_tracker(state)
    for record in records:
        if "request" in record:  # others are those of judges, and kept results
            _add_answer(state, restore_response(record["response"]), record["ms"])
    return state


def _add_answer(state: State, response: Response, model_ms: float) -> None:
    record_step(state, response, clock.now(), model_ms)
    step = TrajectoryStep(
        prompt=[*to_messages(state["prompt"]), *state["completion"]],
        completion=[answer_message(response)],
        response=response,
        tokens=None,
        reward=None,
        advantage=None,
        is_truncated=bool(response.message.is_truncated),
        trajectory_id="",
        extras={},
    )
    state["trajectory"].append(step)
    state["completion"] = [*state["completion"], *step["completion"]]


def saved_member(fresh: State, row: Mapping[str, Any], columns: Sequence[str]) -> State:
    """Fills a fresh state with the row of its rollout, state columns included."""
    completion = to_messages(row.get("completion") or [])
    fresh["completion"] = completion
    for key in ("metrics", "timing", "is_completed", "is_truncated", "stop_condition"):
        fresh[key] = row.get(key)
    fresh["trajectory"] = [
        {
            "prompt": [*fresh["prompt"], *completion[:place]],
            "completion": [message],
            "response": None,
            "tokens": None,
            "reward": None,
            "advantage": None,
            "is_truncated": False,
            "trajectory_id": (row.get("tui_eval") or {}).get("trajectory_id"),
            "extras": {},
        }
        for place, message in enumerate(completion)
        if message.get("role") == "assistant"
    ]
    for column in columns:
        if column in row:
            fresh[column] = row[column]
    if row.get("error"):
        fresh["error"] = RuntimeError("errored in an earlier session")
    return fresh
