"""The tables of commands hold together."""

from __future__ import annotations

import re
from itertools import combinations

from tui_eval.tui.base.keys.keymap import COMMANDS, TOGETHER, USUAL

NEARER_FIRST = {
    ("run.next-error", "log.next-error"),
    ("run.previous-error", "log.previous-error"),
    ("trajectory.clear-search", "run.back"),
}
"""Commands that share a key in one place: that of the pane with the focus has it."""


def test_no_two_commands_of_one_scope_share_a_key() -> None:
    for scope in {command.scope for command in COMMANDS}:
        keys = [k for c in COMMANDS if c.scope == scope for k in c.keys.split(",")]
        assert len(keys) == len(set(keys))


def test_commands_that_share_a_key_in_one_place_are_known() -> None:
    shared = {
        (one.id, other.id)
        for one, other in combinations(COMMANDS, 2)
        if one.scope != other.scope
        and any({one.scope, other.scope} <= together for together in TOGETHER)
        and set(one.keys.split(",")) & set(other.keys.split(","))
    }
    assert shared == NEARER_FIRST


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
