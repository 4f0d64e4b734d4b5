"""The records of a journal: made of what is in flight, read, and made into that again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from tui_eval.fold.saved_values import mapping, tokens_of
from tui_eval.messages import to_messages
from tui_eval.runs.layout import RunDir
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.runs.rescue import find_rescued
from tui_eval.runs.row_places import RowPlaces
from tui_eval.runs.scan import decode_row
from tui_eval.state import State
from tui_eval.token_kinds import Tokens, from_names, named, plus
from tui_eval.types import Response

VERSION = 1
"""Version of records. A file of another version begins with a record `{"journal": VERSION}`; none
of this one does."""
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
_Kinds: TypeAlias = Mapping[str, type | tuple[type, ...]]
_ROLLOUT: _Kinds = {"row": int, "number": int, "attempt": int, "input": dict}
_GENERATED: _Kinds = {
    **_ROLLOUT,
    **{"prompt": (list, str), "completion": list, "trajectory": list, "state": dict},
    **{"scores": list, "steps": list, "tool_log": list},
}
_JUDGED: _Kinds = {**_ROLLOUT, "ms": (int, float), "response": dict, "judge": str}
_ANSWER: _Kinds = {**_ROLLOUT, "ms": (int, float), "response": dict, "request": dict}
_RESULT: _Kinds = {**_ROLLOUT, "name": str}
_USAGE_NAMES = (
    "cached_prompt_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "audio_prompt_tokens",
    "audio_completion_tokens",
)
"""Names that `Usage` has for the kinds of tokens, in the order of `token_kinds.KINDS`."""


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


class InFlight(msgspec.Struct):
    """Records of a journal, by row."""

    generated: dict[int, dict[str, Any]] = msgspec.field(default_factory=dict)
    """Records of rollouts that lack only their score."""
    answers: dict[int, list[dict[str, Any]]] = msgspec.field(default_factory=dict)
    """Records of the last attempt of each of the others, in their order; among them are results
    that the environment kept, which have a name, and verdicts of its judges. Of those that are
    generated, the records after that."""
    unreadable: list[tuple[int, bytes]] = msgspec.field(default_factory=list)
    """Lines that are no JSON, with their numbers: at the end of the file one that was cut off."""
    version: Any = VERSION
    """Version of its records; of another version nothing is taken."""

    def add(self, record: Mapping[str, Any]) -> None:
        """Takes in the next record; a foreign one is passed over."""
        if "journal" in record:
            self.version = record["journal"]
        if "closed" in record:
            for one in (one for answers in self.answers.values() for one in answers):
                one["replays"] = 0
        row = record.get("row")
        if not isinstance(row, int):
            return
        if "forgotten" in record or _has(record, _GENERATED):
            self.generated.pop(row, None)
            self.answers.pop(row, None)
        if _has(record, _GENERATED):
            self.generated[row] = dict(record)
        elif _is_answer(record):
            self._add_answer(row, record)

    def _add_answer(self, row: int, record: Mapping[str, Any]) -> None:
        """Takes in an answer; one that came late, to an attempt that is over, is passed over."""
        generated, known = self.generated.get(row), self.answers.get(row)
        attempt = record["attempt"]
        if generated is not None and attempt != generated["attempt"]:
            return
        if not known or attempt > known[0]["attempt"]:
            self.answers[row] = [dict(record)]
        elif attempt == known[0]["attempt"]:
            known.append(dict(record))


def read_journal(run: RunDir) -> InFlight:
    """Records of a journal, and those that its disk had refused; of another version nothing."""
    found = _read(run)
    return found if found.version == VERSION else InFlight(version=found.version)


def other_version(found: InFlight) -> str:
    """A sentence on a journal of another version; empty where it is of this one."""
    if found.version == VERSION:
        return ""
    which = f"journal.jsonl is of version {found.version!r}, and this tui-eval reads {VERSION}"
    return f"{which}: what was in flight begins again"


def _read(run: RunDir) -> InFlight:
    found = InFlight()
    if run.journal.exists():
        with open(run.journal, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    found.add(decode_row(line))
                except (ValueError, RecursionError):
                    found.unreadable.append((number, line))
    for line in (line for one in find_rescued(run) for line in one.records):
        with contextlib.suppress(ValueError, RecursionError):
            found.add(decode_row(line))
    return found


def _is_answer(record: Mapping[str, Any]) -> bool:
    is_result = _has(record, _RESULT) and "value" in record
    return is_result or _has(record, _ANSWER) or _has(record, _JUDGED)


def _has(record: Mapping[str, Any], kinds: _Kinds) -> bool:
    return all(isinstance(record.get(key), kind) for key, kind in kinds.items())


def tokens_in_journal(record: Mapping[str, Any]) -> Tokens:
    """The tokens that the row of a record will have."""
    usage = mapping(record["state"].get("usage"))
    tokens = tokens_of(usage.get("input_tokens")), tokens_of(usage.get("output_tokens"))
    return *tokens, *from_names(record.get("token_kinds"))


def tokens_of_answer(record: Mapping[str, Any]) -> Tokens:
    """The tokens of an answer; a kept result has none."""
    usage = mapping(mapping(record.get("response")).get("usage"))
    tokens = (tokens_of(usage.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    kinds = (tokens_of(usage.get(name)) for name in _USAGE_NAMES)
    return *tokens, *(found if any(found := tuple(kinds)) else ())


def tokens_of_trajectory(answers: Iterable[Mapping[str, Any]]) -> Tokens:
    """The tokens of answers that a rollout's row counts: a judge's are with its verdict."""
    tokens: Tokens = ()
    for one in answers:
        if "judge" not in one:
            tokens = plus(tokens, tokens_of_answer(one))
    return tokens


def split_given_up(
    records: Sequence[Mapping[str, Any]],
) -> tuple[dict[int, Mapping[str, Any]], list[Mapping[str, Any]]]:
    """The records of an attempt by their places, and those that a later one of them gives up.

    Of a rollout that is generated none is given up.
    """
    if records and "state" in records[0]:
        return dict(enumerate(records)), []
    given_up = {place for one in records for place in one.get("given_up", ())}
    used = {place: one for place, one in enumerate(records) if place not in given_up}
    return used, [one for place, one in enumerate(records) if place in given_up]


def tokens_in_flight(journal: InFlight, places: RowPlaces, *, has_own: bool) -> dict[int, Tokens]:
    """The tokens that the row of each rollout in the journal will have, by its place in the run.

    Args:
        has_own: Whether a rollout's place is the one in its record, as where groups are uneven.
    """
    found: dict[int, Tokens] = {}
    for row in sorted(journal.generated.keys() | journal.answers.keys()):
        generated, answers = journal.generated.get(row), journal.answers.get(row, [])
        tokens = tokens_of_trajectory(answers)
        if generated is not None:
            tokens = plus(tokens_in_journal(generated), tokens)
        one = generated or answers[0]
        own = row if has_own else None
        place = places.place_of(one["input"].get("example_id"), one["number"], own)
        if place is not None and any(tokens):
            found[place[0]] = tokens
    return found


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
        step["response"] = restore_response(step["response"])
    return step


def restore_response(record: Mapping[str, Any]) -> Response:
    """An answer again, from what JSON kept of it; a ValueError where that is none."""
    message = {"finish_reason": None, "is_truncated": None, **mapping(record.get("message"))}
    return Response(**{**record, "message": message})
