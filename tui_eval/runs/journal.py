"""Rollouts that are generated but wait for their score: kept until their row is written.

A group is scored when its last rollout is generated, which may be an hour after the first. Without
the journal a stop in between would pay for all of them again. It holds only what results.jsonl has
not yet, and is written anew once most of it has got there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from tui_eval.fold.saved_values import mapping, tokens_of
from tui_eval.messages import to_messages
from tui_eval.open_files import open_surely
from tui_eval.runs.file_writing import sync_to_disk
from tui_eval.runs.layout import RunDir
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.scan import decode_row
from tui_eval.runs.writer import write_atomically, write_line
from tui_eval.state import State
from tui_eval.token_kinds import Tokens, from_names, named
from tui_eval.types import Response

_OWN_KEYS = frozenset(
    (
        "input",
        "prompt",
        "completion",
        "trajectory",
        "client",
        "tool_defs",
        "error",
        "usage",
        "usage_tracker",
    )
)
_RECORD: dict[str, type | tuple[type, ...]] = {
    "row": int,
    "number": int,
    "attempt": int,
    "input": dict,
    "prompt": (list, str),
    "completion": list,
    "trajectory": list,
    "scores": list,
    "steps": list,
    "tool_log": list,
    "state": dict,
}


class Journal:
    """Appends generated rollouts and forgets them once their rows are in results.jsonl."""

    def __init__(self, run: RunDir, redact: Redactor) -> None:
        self._path = run.journal
        self._redact = redact
        self._live: dict[int, bytes] = {}
        self._live_bytes = 0
        self._dead_bytes = 0
        self._fd: int | None = None

    def add(self, row: int, number: int, attempt: int, state: State) -> None:
        """Keeps one generated rollout.

        Raises:
            OSError: The disk refused.
        """
        line = self._redact.line(encode_state(row, number, attempt, state))
        if self._fd is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            self._fd = open_surely(self._path, flags, 0o644)
        end = os.fstat(self._fd).st_size
        torn = end > 0 and os.pread(self._fd, 1, end - 1) != b"\n"
        write_line(self._fd, b"\n" + line if torn else line, end)
        self._remember(row, line)

    def keep(self, row: int, record: Mapping[str, Any]) -> None:
        """A record of an earlier session that is in the file already."""
        self._remember(row, encode_whatever(record) + b"\n")

    def _remember(self, row: int, line: bytes) -> None:
        self._live_bytes += len(line) - len(self._live.get(row, b""))
        self._live[row] = line

    def forget(self, row: int) -> None:
        """The rollout's row is in results.jsonl now."""
        line = self._live.pop(row, None)
        if line is None:
            return
        self._live_bytes -= len(line)
        self._dead_bytes += len(line)
        if not self._live or self._dead_bytes > max(self._live_bytes, 1 << 20):
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

    def sync(self) -> None:
        """Flushes what it has to the disk.

        Raises:
            OSError: The disk refused.
        """
        if self._fd is not None:
            sync_to_disk(self._fd)

    def close(self) -> None:
        """Closes the file; what is not forgotten stays for a resume."""
        if self._fd is not None:
            sync_to_disk(self._fd)
            os.close(self._fd)
            self._fd = None


def encode_state(row: int, number: int, attempt: int, state: State) -> bytes:
    """One line of the journal: all of a state that JSON can carry."""
    kept = {key: value for key, value in state.items() if key not in _OWN_KEYS and _is_json(value)}
    if usage := state.get("usage"):
        kept["usage"] = dict(usage)
    kinds = named(state.token_kinds)
    record = {
        "row": row,
        "number": number,
        "attempt": attempt,
        "input": {k: v for k, v in dict.get(state, "input", {}).items() if _is_json(v)},
        "prompt": state.get("prompt"),
        "completion": state.get("completion"),
        "trajectory": state.get("trajectory") or [],
        "scores": state.scores,
        "steps": state.steps,
        "tool_log": state.tool_log,
        "state": kept,
        **({"token_kinds": kinds} if kinds else {}),
    }
    return encode_whatever(record) + b"\n"


def _is_json(value: Any) -> bool:
    try:
        msgspec.json.encode(value)
    except Exception:
        return False
    return True


def read_journal(run: RunDir) -> dict[int, dict[str, Any]]:
    """The records of a journal by row; a torn or foreign line is passed over."""
    found: dict[int, dict[str, Any]] = {}
    if run.journal.exists():
        with open(run.journal, "rb") as file:
            for line in file:
                try:
                    record = decode_row(line)
                except (ValueError, RecursionError):
                    continue
                if _is_record(record):
                    found[record["row"]] = record
    return found


def _is_record(record: Mapping[str, Any]) -> bool:
    return all(isinstance(record.get(key), kind) for key, kind in _RECORD.items())


def tokens_in_journal(record: Mapping[str, Any]) -> Tokens:
    """The tokens that the row of a record will have."""
    usage = mapping(record["state"].get("usage"))
    tokens = tokens_of(usage.get("input_tokens")), tokens_of(usage.get("output_tokens"))
    return *tokens, *from_names(record.get("token_kinds"))


def restore_state(record: Mapping[str, Any], fresh: State) -> State:
    """A generated rollout's state again, laid over a fresh one of the same example.

    Keys that JSON could not carry have their fresh value.
    """
    for key, value in record["state"].items():
        dict.__setitem__(fresh, key, value)
    dict.__setitem__(fresh, "input", {**dict.get(fresh, "input", {}), **record["input"]})
    fresh["prompt"] = to_messages(record["prompt"] or [])
    fresh["completion"] = to_messages(record["completion"] or [])
    fresh["trajectory"] = [_restore_step(step) for step in record["trajectory"]]
    fresh.scores = list(record["scores"])
    fresh.steps = list(record["steps"])
    fresh.tool_log = list(record["tool_log"])
    fresh.token_kinds = from_names(record.get("token_kinds"))
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
