"""Notes and tags beside a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.errors import RefusedError
from tui_eval.fold.columns import Note
from tui_eval.runs.layout import RunDir
from tui_eval.runs.notes import read_notes, write_note


def test_the_last_note_of_a_rollout_holds(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    assert read_notes(run) == {}
    write_note(run, 7, 0, Note("look", ("odd", "odd")))
    write_note(run, "7", 1, Note("", ("hard",)))
    write_note(run, 7, 0, Note("looked", ()))
    assert read_notes(run) == {("7", 0): Note("looked"), ("7", 1): Note("", ("hard",))}
    write_note(run, 7, 0, Note())
    assert read_notes(run) == {("7", 1): Note("", ("hard",))}
    assert len(run.notes.read_bytes().splitlines()) == 4


def test_every_file_of_another_program_has_notes_of_its_own(tmp_path: Path) -> None:
    names = ("results.jsonl", "one.jsonl", "one.json", "one.txt")
    assert [RunDir(tmp_path, name).notes.name for name in names] == [
        "notes.jsonl",
        "one.notes.jsonl",
        "one.json.notes.jsonl",
        "one.txt.notes.jsonl",
    ]


def test_a_torn_line_and_strange_ones_take_no_note_with_them(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    write_note(run, 1, 0, Note("one"))
    with open(run.notes, "ab") as file:
        file.write(b'[1]\n{"example_id": 3}\n{"example_id": 2, "number": 0, "te')
    write_note(run, 3, 0, Note("three"))
    assert read_notes(run) == {("1", 0): Note("one"), ("3", 0): Note("three")}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(RefusedError, match="the note cannot be kept: Permis"):
            write_note(RunDir(tmp_path), 1, 0, Note("one"))
    finally:
        tmp_path.chmod(0o700)


def test_a_place_that_is_no_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RefusedError, match="the note cannot be kept: Not a directory"):
        write_note(RunDir(tmp_path / "file"), 1, 0, Note("one"))


@pytest.mark.parametrize("tags", [("two words",), ("",), ("x" * 61,), ("a\nb",)])
def test_a_tag_is_one_word(tmp_path: Path, tags: tuple[str, ...]) -> None:
    with pytest.raises(RefusedError, match="a tag is one word"):
        write_note(RunDir(tmp_path), 1, 0, Note("", tags))
    assert not RunDir(tmp_path).notes.exists()


@given(st.text(min_size=1, max_size=50), st.integers() | st.text(max_size=9))
def test_any_text_is_kept(tmp_path_factory: pytest.TempPathFactory, text: str, key: object) -> None:
    run = RunDir(tmp_path_factory.mktemp("run"))
    write_note(run, key, 0, Note(text))
    assert read_notes(run)[str(key), 0].text == text
