"""The tables of commands hold together."""

from __future__ import annotations

import re

from tui_eval.tui.base.keys.keymap import COMMANDS, USUAL


def test_no_two_commands_of_one_scope_share_a_key() -> None:
    for scope in {command.scope for command in COMMANDS}:
        keys = [k for c in COMMANDS if c.scope == scope for k in c.keys.split(",")]
        assert len(keys) == len(set(keys))


def test_every_command_has_a_name_of_its_own_that_a_settings_file_can_hold() -> None:
    ids = [command.id for command in COMMANDS]
    assert len(ids) == len(set(ids))
    assert [one for one in ids if not re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", one)] == []


def test_keys_are_shown_as_people_read_them() -> None:
    shown = {command.id: USUAL.shown(command) for command in COMMANDS}
    assert shown["view.down"] == "j k ↓ ↑"
    assert shown["view.half-page-down"] == "^d ^u"
    assert shown["list.filter"] == "/"
    assert shown["run.next-pane"] == "tab ⇧tab"
    assert shown["form.help"] == "F1"
