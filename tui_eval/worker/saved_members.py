"""Rollouts that are on disk, made into states again to compare others of their group with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui_eval.messages import to_messages
from tui_eval.state import State


def saved_member(fresh: State, row: Mapping[str, Any], columns: Sequence[str]) -> State:
    """Gives a fresh state what the row of its rollout says.

    Args:
        row: Its line of results.jsonl.
        columns: Keys of the state that are saved with each row.
    """
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
