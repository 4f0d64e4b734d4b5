"""Notes and tags on rollouts, kept beside the run in `notes.jsonl`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from tui_eval.errors import Fault, RefusedError, UnwritableError
from tui_eval.fold.columns import Note
from tui_eval.fold.saved_values import listing, whole_text
from tui_eval.runs.layout import RunDir
from tui_eval.runs.scan import scan

LONGEST_TEXT = 10_000
LONGEST_TAG = 60


def read_notes(run: RunDir) -> dict[tuple[str, int], Note]:
    """The note of every rollout that has one, by (example id as text, number).

    A line that makes no sense is passed over; a note without text and tags is none.
    """
    found: dict[tuple[str, int], Note] = {}
    try:
        for line in scan(run.notes):
            row = line.row or {}
            number = row.get("number")
            if "example_id" not in row or not isinstance(number, int):
                continue
            note = Note(str(row.get("text") or ""), tuple(map(str, listing(row.get("tags")))))
            found[str(row["example_id"]), number] = note
    except OSError:
        return {}
    return {key: note for key, note in found.items() if note != Note()}


def write_note(run: RunDir, example_id: Any, number: int, note: Note) -> None:
    """Appends the note of a rollout, which replaces an earlier one; an empty one takes it away.

    Raises:
        RefusedError: The text or a tag cannot be kept.
        UnwritableError: Nothing can be written beside the run.
    """
    faults = list(_faults(note))
    if faults:
        raise RefusedError(faults)
    line = msgspec.json.encode(
        {
            "example_id": str(example_id),
            "number": number,
            "text": whole_text(note.text),
            "tags": [whole_text(tag) for tag in dict.fromkeys(note.tags)],
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
    )
    try:
        with open(run.notes, "ab+", buffering=0) as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # an earlier writer died in the middle of its line
                    line = b"\n" + line
            file.write(line + b"\n")
    except OSError as error:
        what = f"the note cannot be kept: {error.strerror}"
        hint = "Notes are kept beside the run: copy it to a folder that you may write to"
        raise UnwritableError([Fault(str(run.notes), what, hint)]) from error


def _faults(note: Note) -> Iterable[Fault]:
    if len(note.text) > LONGEST_TEXT:
        yield Fault("note", f"it has more than {LONGEST_TEXT:,} characters")
    for tag in note.tags:
        if not tag or len(tag) > LONGEST_TAG or any(sign.isspace() for sign in tag):
            what = f"a tag is one word of {LONGEST_TAG} characters at most"
            yield Fault("tag", f"{what}, not {tag[:LONGEST_TAG]!r}")
