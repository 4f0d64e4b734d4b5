"""Recognises which program wrote a file of rollouts, by its content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from tui_eval.runs.formats import chat, episodes, osmosis, prime
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


def recognise(path: Path, *, at_once: bool = False) -> Format | None:
    """What wrote a file; None where nothing in it is known. An empty file may become anything.

    Args:
        at_once: Only a file that begins with an object is read on.

    Raises:
        OSError: The file cannot be read.
    """
    now = path.stat()
    return _recognised(path, at_once, now.st_dev, now.st_ino, now.st_mtime_ns, now.st_size)


@lru_cache(REMEMBERED)
def _recognised(path: Path, at_once: bool, *state: int) -> Format | None:
    """What a file in such a state is."""
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
    """What wrote a record; None where it is no rollout of a known program."""
    if "tui_eval" in record:
        return Format.OURS
    if osmosis.is_osmosis(record) or osmosis.is_run(record):
        return Format.OSMOSIS
    if prime.is_prime(record):
        return Format.PRIME
    if episodes.is_episode(record):
        return Format.EPISODES
    if chat.is_chat(record):
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
            return chat.row_of(record)
        case Format.OSMOSIS:
            return osmosis.row_of(record)
    return record
