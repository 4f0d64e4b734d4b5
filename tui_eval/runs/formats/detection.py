"""Detects which program wrote a file of rollouts, by its content, or what it is instead."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from tui_eval.fold.saved_values import listing, mapping
from tui_eval.runs.formats import episodes, osmosis, prime
from tui_eval.runs.row_places import example_id_of
from tui_eval.runs.scan import BYTE_ORDER_MARK, decode_row, lines_of

PROBED = 20
"""Lines that are looked at: the first ones may be garbage."""
PROBED_BYTES = 1 << 26
REMEMBERED = 4096
"""Files that are not read again until they change."""


class Format(StrEnum):
    """Programs whose files are read, by the names that people know them by."""

    OURS = "tui-eval"
    VERIFIERS = "verifiers"
    EPISODES = "verifiers episodes"
    PRIME = "Prime"
    OSMOSIS = "Osmosis"
    CHAT = "OpenAI chat"


def detect(path: Path, *, at_once: bool = False) -> Format | None:
    """Format of a file; None where nothing in it is known. An empty file may become anything.

    Args:
        at_once: Only a file that begins with an object is read on.
    """
    now = path.stat()
    return _detected(path, at_once, now.st_dev, now.st_ino, now.st_mtime_ns, now.st_size)


@lru_cache(REMEMBERED)
def _detected(path: Path, at_once: bool, *state: int) -> Format | None:
    """Format of a file in such a state."""
    with open(path, "rb", buffering=0) as file:
        first = file.read(1 << 16).removeprefix(BYTE_ORDER_MARK.encode())
        if at_once and not first.lstrip().startswith(b"{"):
            return None
        if not first.strip():
            return Format.VERIFIERS
        found = (format_of(record) for record in _records(islice(lines_of(file), PROBED)))
        reported = next((one for one in found if one is not None), None)
    if reported is None and first.lstrip().startswith(b"{") and b'"eval_fns"' in first:
        return Format.OSMOSIS  # over several lines, or torn
    return reported


def _records(lines: Iterator[tuple[int, memoryview]]) -> Iterator[Mapping[str, Any]]:
    for offset, line in lines:
        if offset > PROBED_BYTES:
            return
        try:
            yield decode_row(bytes(line))
        except (ValueError, RecursionError):
            continue


def format_of(record: Mapping[str, Any]) -> Format | None:
    """Format of a record; None where it is no rollout of a known program."""
    if "tui_eval" in record:
        return Format.OURS
    if osmosis.is_osmosis(record) or osmosis.is_run(record):
        return Format.OSMOSIS
    if prime.is_prime(record):
        return Format.PRIME
    if episodes.is_episode(record):
        return Format.EPISODES
    if isinstance(record.get("messages"), list) and "completion" not in record:
        return Format.CHAT
    if "completion" in record or ("reward" in record and example_id_of(record) is not None):
        return Format.VERIFIERS
    return None


def as_row(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record of any format in the shape of results.jsonl, as ours and verifiers' are already."""
    match format_of(record):
        case Format.PRIME:
            return prime.row_of(record)
        case Format.EPISODES:
            return episodes.row_of(record)
        case Format.CHAT:
            return _conversation_row(record)
        case Format.OSMOSIS:
            return osmosis.row_of(record)
    return record


def _conversation_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """A conversation as a row: what is before the first answer is the prompt."""
    messages = listing(record.get("messages"))
    answers = (i for i, one in enumerate(messages) if mapping(one).get("role") == "assistant")
    first = next(answers, len(messages))
    named = {key: record[key] for key in ("example_id", "id", "reward") if key in record}
    return {**named, "prompt": messages[:first], "completion": messages[first:], "metrics": {}}


PACKED = (
    (b"\x1f\x8b", "gzip", "gunzip -k"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"\xfd7zXZ\x00", "xz", "unxz -k"),
    (b"BZh", "bzip2", "bunzip2 -k"),
    (b"PK\x03\x04", "zip", "unzip"),
)
"""First bytes of a compressed file, its name, and the command that unpacks it."""
TABLES = ((b"PAR1", "a Parquet table"), (b"SQLite format 3\x00", "an SQLite database"))
UTF = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*\{")
LOOKED_AT = 1 << 16
KEYS_SHOWN = 6
ROLLOUT_LINES = "A rollout is a line with completion, messages, or reward and example_id"


def what_it_is(path: Path) -> tuple[str, str]:
    """End of a sentence that says what a file is instead, and what to do."""
    with open(path, "rb") as file:
        head = file.read(LOOKED_AT)
    name = shlex.quote(str(path))
    for begins, kind, command in PACKED:
        if head.startswith(begins):
            return f"it is packed by {kind}", f"Unpack it first: {command} {name}"
    for begins, kind in TABLES:
        if head.startswith(begins):
            return f"it is {kind}", f"Write it as JSON, a rollout a line. {ROLLOUT_LINES}"
    for begins, coding in UTF:
        if head.startswith(begins):
            new = shlex.quote(str(path.with_suffix(".utf8.jsonl")))
            hint = f"Write it as UTF-8: iconv -f {coding} -t UTF-8 {name} > {new}"
            return f"this is text in {coding}", hint
    if b"\x00" in head:
        return "it is a binary file", f"Name a text file of JSON. {ROLLOUT_LINES}"
    if LIST.match(head):
        new = shlex.quote(str(path.with_suffix(".lines.jsonl")))
        hint = f"Write a line for each: jq -c '.[]' {name} > {new}"
        return "it is one JSON list, not a line for each rollout", hint
    return _first_line(path)


def _first_line(path: Path) -> tuple[str, str]:
    with open(path, "rb", buffering=0) as file:
        first = next((bytes(line) for _, line in lines_of(file) if bytes(line).strip()), b"")
    if not first:
        return "its lines are blank", ROLLOUT_LINES
    try:
        keys = list(decode_row(first))
    except json.JSONDecodeError:
        return "its lines are no JSON", ROLLOUT_LINES
    except (ValueError, RecursionError):
        return "its lines are no JSON objects", ROLLOUT_LINES
    if not keys:
        return "its lines are empty objects", ROLLOUT_LINES
    more = ", …" if len(keys) > KEYS_SHOWN else ""
    return f"its lines have {', '.join(keys[:KEYS_SHOWN])}{more}", ROLLOUT_LINES
