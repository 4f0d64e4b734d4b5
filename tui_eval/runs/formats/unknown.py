"""What a file is that holds no rollouts of a known program, and what makes it one that does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from tui_eval.runs.scan import decode_row, lines_of

PACKED = (
    (b"\x1f\x8b", "gzip", "gunzip -k"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"\xfd7zXZ\x00", "xz", "unxz -k"),
    (b"BZh", "bzip2", "bunzip2 -k"),
    (b"PK\x03\x04", "zip", "unzip"),
)
"""How a compressed file begins, what it is called, and what unpacks it beside itself."""
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
LINES = "A rollout is a line with completion, messages, or reward and example_id"


def what_it_is(path: Path) -> tuple[str, str]:
    """What a file is instead, as a sentence's end, and what to do.

    Raises:
        OSError: The file cannot be read.
    """
    with open(path, "rb") as file:
        head = file.read(LOOKED_AT)
    name = shlex.quote(str(path))
    for begins, kind, command in PACKED:
        if head.startswith(begins):
            return f"it is packed by {kind}", f"Unpack it first: {command} {name}"
    for begins, kind in TABLES:
        if head.startswith(begins):
            return f"it is {kind}", f"Write it as JSON, a rollout a line. {LINES}"
    for begins, coding in UTF:
        if head.startswith(begins):
            new = shlex.quote(str(path.with_suffix(".utf8.jsonl")))
            hint = f"Write it as UTF-8: iconv -f {coding} -t UTF-8 {name} > {new}"
            return f"this is text in {coding}", hint
    if b"\x00" in head:
        return "it is a binary file", f"Name a text file of JSON. {LINES}"
    if LIST.match(head):
        new = shlex.quote(str(path.with_suffix(".lines.jsonl")))
        hint = f"Write a line for each: jq -c '.[]' {name} > {new}"
        return "it is one JSON list, not a line for each rollout", hint
    return _first_line(path)


def _first_line(path: Path) -> tuple[str, str]:
    with open(path, "rb", buffering=0) as file:
        first = next((bytes(line) for _, line in lines_of(file) if bytes(line).strip()), b"")
    if not first:
        return "its lines are blank", LINES
    try:
        keys = list(decode_row(first))
    except json.JSONDecodeError:
        return "its lines are no JSON", LINES
    except (ValueError, RecursionError):
        return "its lines are no JSON objects", LINES
    if not keys:
        return "its lines are empty objects", LINES
    more = ", …" if len(keys) > KEYS_SHOWN else ""
    return f"its lines have {', '.join(keys[:KEYS_SHOWN])}{more}", LINES
