"""Rollouts that are generated but wait for their group's score: kept until their row is written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import BaseModel

from tui_eval.messages import to_messages
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.scan import decode_row
from tui_eval.runs.writer import write_atomically
from tui_eval.state import State
from tui_eval.types import Response

_OWN_KEYS = frozenset(
    ("input", "client", "trajectory", "tool_defs", "error", "usage_tracker", "prompt", "completion")
)


class Journal:
    """Appends generated rollouts and forgets them once their rows are in results.jsonl."""

    def __init__(self, run: RunDir, redact: Redactor) -> None:
        self._path = run.journal
        self._redact = redact
        self._live: dict[int, bytes] = {}
        self._dead_bytes = 0
        self._fd: int | None = None

    def add(self, row: int, number: int, attempt: int, state: State) -> None:
        """Keeps one generated rollout.

        Raises:
            OSError: The disk refused.
        """
        line = self._redact(encode_state(row, number, attempt, state))
        if self._fd is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self._path, flags, 0o644)
        os.write(self._fd, line)
        self._live[row] = line

    def keep(self, row: int, record: Mapping[str, Any]) -> None:
        """A record of an earlier session that is in the file already."""
        self._live[row] = msgspec.json.encode(record) + b"\n"

    def forget(self, row: int) -> None:
        """The rollout's row is in results.jsonl now."""
        line = self._live.pop(row, None)
        if line is None:
            return
        self._dead_bytes += len(line)
        live_bytes = sum(map(len, self._live.values()))
        if not self._live or self._dead_bytes > max(live_bytes, 1 << 20):
            self._rewrite()

    def _rewrite(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if self._live:
            write_atomically(self._path, b"".join(self._live.values()))
        else:
            self._path.unlink(missing_ok=True)
        self._dead_bytes = 0

    def close(self) -> None:
        """Closes the file; what is not forgotten stays for a resume."""
        if self._fd is not None:
            os.fdatasync(self._fd)
            os.close(self._fd)
            self._fd = None


def encode_state(row: int, number: int, attempt: int, state: State) -> bytes:
    """One line of the journal: all of a state that JSON can carry."""
    record = {
        "row": row,
        "number": number,
        "attempt": attempt,
        "input": {key: _plain(value) for key, value in dict.get(state, "input", {}).items()},
        "completion": _plain(state.get("completion")),
        "trajectory": [_plain(dict(step)) for step in state.get("trajectory") or []],
        "scores": state.scores,
        "steps": state.steps,
        "tool_log": state.tool_log,
        "state": {key: value for key, value in state.items() if _is_kept(key, value)},
    }
    return msgspec.json.encode(record) + b"\n"


def _is_kept(key: str, value: Any) -> bool:
    if key in _OWN_KEYS:
        return False
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    try:
        msgspec.json.encode(value)
    except (TypeError, ValueError):
        return repr(value)
    return value


def read_journal(run: RunDir) -> dict[int, dict[str, Any]]:
    """The records of a journal by row; a torn or foreign line is passed over."""
    found: dict[int, dict[str, Any]] = {}
    if run.journal.exists():
        with open(run.journal, "rb") as file:
            for line in file:
                try:
                    record = decode_row(line)
                    found[int(record["row"])] = record
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue
    return found


def restore_state(record: Mapping[str, Any], fresh: State) -> State:
    """A generated rollout's state again, laid over a fresh one of the same example.

    Keys that JSON could not carry have their fresh value.
    """
    for key, value in record["state"].items():
        dict.__setitem__(fresh, key, value)
    fresh["completion"] = to_messages(record["completion"] or [])
    fresh["trajectory"] = [_restore_step(step) for step in record["trajectory"]]
    fresh.scores = list(record["scores"])
    fresh.steps = list(record["steps"])
    fresh.tool_log = list(record["tool_log"])
    return fresh


def _restore_step(step: dict[str, Any]) -> dict[str, Any]:
    step = dict(step)
    step["prompt"] = to_messages(step.get("prompt") or [])
    step["completion"] = to_messages(step.get("completion") or [])
    if isinstance(step.get("response"), Mapping):
        response = dict(step["response"])
        message = {"finish_reason": None, "is_truncated": None, **response["message"]}
        step["response"] = Response(**{**response, "message": message})
    return step
