"""People's own settings: read strictly, and written without harm to what stands around them."""

from __future__ import annotations

import os
import threading
import tomllib
from pathlib import Path

import pytest

from tui_eval.config.user_settings import UserSettings, read_user_settings, save_settings, user_file
from tui_eval.tui.base.keys.keymap import BY_ID
from tui_eval.tui.base.preferences import Preferences
from tui_eval.tui.run.rollouts.columns import COLUMNS

WRONG = """\
theme = "lihgt"
colour = 1
[keys]
list.filtre = "x"
list.sort = "ctlr+o"
list.columns = 3
run.pause = "q"
form.run = "r"
[rollouts]
columns = ["time", "turn"]
sort = "-rewrd"
grouped = "no"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def test_the_file_is_where_the_desktop_keeps_such_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TUI_EVAL_CONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert user_file() == tmp_path / ".config" / "tui-eval" / "config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert user_file() == tmp_path / ".config" / "tui-eval" / "config.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/xdg")
    assert user_file() == Path("/etc/xdg/tui-eval/config.toml")


def test_without_a_file_all_is_as_usual(file: Path) -> None:
    preferences = Preferences.read(file)
    assert preferences.settings == UserSettings()
    assert preferences.faults == []
    assert preferences.warning == ""


def test_every_setting_is_read(file: Path) -> None:
    file.write_text(
        'theme = "light"\nmotion = "reduced"\n[keys]\nlist.sort = "F9"\n'
        '"run.follow" = ["F", "^f"]\n'
        '[rollouts]\ncolumns = ["time", "metrics.exact"]\nsort = "-reward"\ngrouped = false\n'
    )
    preferences = Preferences.read(file)
    assert preferences.faults == []
    settings = preferences.settings
    assert (settings.theme, settings.motion, settings.grouped) == ("light", "reduced", False)
    assert settings.columns == ("time", "metrics.exact")
    assert (settings.sort, settings.descending) == ("reward", True)
    assert preferences.keymap.changed == {"list.sort": ("f9",), "run.follow": ("F", "ctrl+f")}


def test_commands_that_share_a_key_may_share_another_one(file: Path) -> None:
    file.write_text('[keys]\nrun.next-error = "F7"\nlog.next-error = "F7"\n')
    preferences = Preferences.read(file)
    assert preferences.faults == []
    assert preferences.keymap.changed == {"run.next-error": ("f7",), "log.next-error": ("f7",)}


def test_all_faults_are_reported_with_their_lines_and_what_was_meant(file: Path) -> None:
    file.write_text(WRONG)
    preferences = Preferences.read(file)
    reported = [str(fault).removeprefix(f"{file}:") for fault in preferences.faults]
    assert [line.split(":")[0] for line in reported] == [
        *("1", "2", "4", "5", "6", "7", "8", "10", "11", "12")
    ]
    assert "theme: 'lihgt' is none of dark, light, terminal. Did you mean light?" in reported[0]
    assert "colour: there is no such setting" in reported[1]
    assert "Did you mean list.filter" in reported[2]
    assert "Did you mean ctrl+o?" in reported[3]
    assert "3 is no key" in reported[4]
    assert (
        "run.pause" in reported[5] and "run.leave" in reported[5] and "both have q" in reported[5]
    )
    assert "r is typed there" in reported[6]
    assert "Did you mean turns?" in reported[7]
    assert "Did you mean reward" in reported[8]
    assert "neither true nor false" in reported[9]
    assert preferences.settings.columns is None
    assert preferences.keymap.changed == {}
    assert preferences.warning.count("\n") == 0
    assert preferences.warning.startswith("10 faults in the settings, see tui-eval config keys")


@pytest.mark.parametrize("content", [b"theme = ", b"\xff\xfe", b"keys = 1\nrollouts = []"])
def test_a_broken_file_leaves_all_as_usual(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    preferences = Preferences.read(file)
    assert preferences.settings == UserSettings()
    assert preferences.faults


def test_a_folder_in_place_of_the_file_is_reported(file: Path) -> None:
    file.mkdir()
    (fault,) = Preferences.read(file).faults
    assert "cannot be read" in str(fault)


@pytest.mark.parametrize(
    "keys",
    [
        'list.sort = "j"',
        'list.sort = "z"',
        'app.quit = "e"',
        'suite.switch-list = "f"',
        'list.sort = "F9"\nlist.columns = "F9"',
    ],
)
def test_two_commands_that_would_meet_on_one_key_are_refused(file: Path, keys: str) -> None:
    file.write_text(f"[keys]\n{keys}\n")
    preferences = Preferences.read(file)
    assert preferences.faults and "both have" in str(preferences.faults[0])
    assert preferences.keymap.changed == {}


def test_keys_may_be_exchanged_and_may_be_the_same_where_they_never_meet(file: Path) -> None:
    file.write_text('[keys]\nlist.sort = "c"\nlist.columns = "s"\nstory.search = "!"\n')
    assert Preferences.read(file).faults == []


def test_keys_of_earlier_versions_are_those_of_the_commands_of_today(file: Path) -> None:
    file.write_text('[keys]\nstory.search = "!"\ntranscripts.switch-view = "F9"\n')
    preferences = Preferences.read(file)
    assert preferences.faults == []
    changed = {"trajectory.search": ("exclamation_mark",), "trajectories.switch-view": ("f9",)}
    assert preferences.keymap.changed == changed


def test_the_columns_that_a_file_may_name_are_those_of_the_list() -> None:
    from tui_eval.config.user_settings import COLUMNS as KNOWN

    assert [column.name for column in COLUMNS] == list(KNOWN)


def test_what_is_saved_leaves_comments_order_and_other_keys(file: Path) -> None:
    file.write_text('# mine\nmotion = "reduced"  # calm\n\n[keys]\nlist.sort = "o"\n')
    file.chmod(0o600)
    save_settings(file, {("theme",): "light", ("rollouts", "columns"): ("time", "turns")})
    assert file.read_text() == (
        '# mine\nmotion = "reduced"  # calm\ntheme = "light"\n\n[keys]\nlist.sort = "o"\n'
        '\n[rollouts]\ncolumns = ["time", "turns"]\n'
    )
    assert file.stat().st_mode & 0o777 == 0o600
    save_settings(file, {("rollouts", "columns"): None, ("rollouts", "sort"): None})
    assert "columns" not in file.read_text()
    assert os.listdir(file.parent) == [file.name]


def test_a_link_stays_one(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "tui-eval.toml"
    real.parent.mkdir()
    real.write_text("")
    file.symlink_to(real)
    save_settings(file, {("theme",): "dark"})
    assert file.is_symlink()
    assert real.read_text() == 'theme = "dark"\n'


@pytest.mark.parametrize("content", ["theme = ", "rollouts = 3\n"])
def test_a_broken_file_is_never_written_over(file: Path, content: str) -> None:
    file.write_text(content)
    with pytest.raises(ValueError):
        save_settings(file, {("rollouts", "sort"): "reward"})
    assert file.read_text() == content


def test_who_writes_at_the_same_time_loses_nothing(file: Path) -> None:
    names = [f"k{number}" for number in range(24)]
    writers = [
        threading.Thread(target=save_settings, args=(file, {("keys", name): "x"})) for name in names
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(tomllib.loads(file.read_text())["keys"]) == sorted(names)


def test_what_was_chosen_last_is_what_is_kept(file: Path) -> None:
    preferences = Preferences(path=file)
    for theme in ("light", "dark", "terminal"):
        preferences.choose({("theme",): theme})
    writers = [threading.Thread(target=preferences.write) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert read_user_settings(file)[0].theme == "terminal"


def test_no_command_is_without_a_key() -> None:
    assert all(one.keys for one in BY_ID.values())
