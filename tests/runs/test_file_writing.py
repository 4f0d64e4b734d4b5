"""Files that people name: replaced whole, written into where they are no regular file."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_eval.config.user_settings import replace_text, save_settings
from tui_eval.errors import RefusedError
from tui_eval.runs.export.whole_text import WholeText
from tui_eval.runs.file_writing import LONGEST, cut_name, distinct_name, folded, new_file
from tui_eval.runs.writer import write_atomically


def write(path: Path, data: bytes = b"new") -> None:
    with new_file(path) as file:
        file.write(data)


@pytest.mark.parametrize("name", ["m" * 300, "模" * 85, "é" * 128, "m" * LONGEST + "é"])
def test_a_name_that_is_too_long_is_cut_and_differs_from_others(name: str) -> None:
    cut = cut_name(name)
    assert len(cut.encode()) <= LONGEST and cut != cut_name(f"{name}x")
    assert cut.startswith(name[:20]) and cut == cut_name(name)
    assert cut_name(cut) == cut and cut_name(name[:40]) == name[:40]


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    for data in (b"one", b"two"):  # it points nowhere at first
        write(link, data)
        assert link.is_symlink() and target.read_bytes() == data
    target.chmod(0o600)
    replace_text(link, "a = 1")
    save_settings(link, {("b",): 2})
    assert link.is_symlink() and target.read_text().split() == ["a", "=", "1", "b", "=", "2"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    write_atomically(link, b"three")
    assert link.is_symlink() and target.read_bytes() == b"three"
    assert [one.name for one in target.parent.iterdir()] == ["target"]


def test_who_reads_a_pipe_gets_what_is_written(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = WholeText("It", "", "it", {"": lambda: "whole"}, ("", ""))
    got: list[bytes] = []
    for put in (write, lambda path: replace_text(path, "text"), text.write):
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
        reader.start()
        put(pipe)
        reader.join(10)
        assert pipe.is_fifo()
    assert got == [b"new", b"text", b"whole"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_stays_one_and_says_that_it_is_full(tmp_path: Path) -> None:
    takes_all, full = tmp_path / "null", tmp_path / "full"
    try:
        os.mknod(takes_all, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        os.mknod(full, 0o600 | stat.S_IFCHR, os.makedev(1, 7))
        takes_all.write_bytes(b"x")
    except OSError as error:
        pytest.skip(f"no devices here: {error}")
    write(takes_all)
    assert takes_all.is_char_device()
    with pytest.raises(OSError, match="No space left"):
        write(full)
    assert full.is_char_device() and len(list(tmp_path.iterdir())) == 2


def test_what_leads_to_an_open_file_is_written_into(tmp_path: Path) -> None:
    with open(tmp_path / "out", "wb") as file:
        write(Path(f"/dev/fd/{file.fileno()}"))
        assert (tmp_path / "out").stat().st_ino == os.fstat(file.fileno()).st_ino
    assert (tmp_path / "out").read_bytes() == b"new"


def test_a_text_of_the_screen_is_written_where_a_link_points(tmp_path: Path) -> None:
    (tmp_path / "link.md").symlink_to(tmp_path / "target")
    text = WholeText("It", "", "it", {".md": lambda: "whole"}, ("", ""))
    text.write(tmp_path / "link.md")
    assert (tmp_path / "target").read_text() == "whole"
    with pytest.raises(RefusedError, match="it is there already"):
        text.write(tmp_path / "link.md")


def test_a_file_of_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write(path)
    write_atomically(path, b"newer")
    assert path.read_bytes() == b"newer" and len(list(tmp_path.iterdir())) == 1


ENDS = st.sampled_from(["--m", "--M", "--\u00e9", "--e\u0301", "--É", "--ß", "--ss", "--ﬁ", "--fi"])
NAMES = st.builds(str.__add__, st.sampled_from(["env", "Env", "x" * 199, "X" * 199]), ENDS)


@settings(max_examples=100)
@given(st.lists(NAMES, max_size=8))
def test_no_two_names_in_a_folder_are_one_where_case_and_composition_are_ignored(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("names")
    found = {}
    for name in names:
        found.setdefault(name, path := distinct_name(cut_name(name), folder))
        assert found[name] == path and len(path.encode()) <= LONGEST, "the next run goes there, too"
        (folder / path).mkdir(exist_ok=True)
    assert len({folded(one) for one in found.values()}) == len(found)


def test_names_are_as_they_are_where_none_is_alike(tmp_path: Path) -> None:
    for name in ("reverse-text--Qwen--Qwen3-8B", "reverse-text--gpt-4o"):
        assert distinct_name(name, tmp_path / "none yet") == distinct_name(name, tmp_path) == name
        (tmp_path / name).mkdir()
        assert distinct_name(name, tmp_path) == name
