"""Keys as people write them."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.keys import _character_to_key

from tui_eval.text.key_names import key_of, sign_of
from tui_eval.tui.base.keys.keymap import COMMANDS

WRITTEN = {
    "?": "question_mark",
    "^d": "ctrl+d",
    "Ctrl+D": "ctrl+d",
    "esc": "escape",
    "PgDn": "pagedown",
    "⇧tab": "shift+tab",
    "shift+a": "A",
    "ctrl+shift+left": "ctrl+shift+left",
    "shift+ctrl+left": "ctrl+shift+left",
    "F5": "f5",
    "+": "plus",
    "ctrl++": "ctrl+plus",
    "^": "circumflex_accent",
    "ü": "ü",
}


@pytest.mark.parametrize(("text", "key"), WRITTEN.items())
def test_a_key_is_read_as_it_was_meant(text: str, key: str) -> None:
    assert key_of(text) == key


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no key ''"),
        ("hyper+x", "there is no key 'hyper+x'"),
        ("ctrl+", "there is no key 'ctrl+'"),
        ("escpae", "there is no key 'escpae'"),
        ("\x1b", "there is no key"),
        ("ctrl+i", "a terminal sends tab for it"),
        ("shift+1", "write the character"),
    ],
)
def test_what_is_no_key_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError) as refused:
        key_of(text)
    assert why in str(refused.value)


@given(st.sampled_from(string.digits + string.ascii_letters + string.punctuation))
def test_a_character_has_the_name_that_the_terminal_gives_it(character: str) -> None:
    assert key_of(character) == _character_to_key(character)


@given(st.sampled_from(sorted({key for one in COMMANDS for key in one.keys.split(",")})))
def test_every_key_of_the_tables_can_be_written_and_is_read_back_from_its_sign(key: str) -> None:
    assert key_of(key) == key
    assert key_of(sign_of(key)) == key


@given(
    st.text(max_size=12)
    | st.lists(st.sampled_from(["ctrl", "+", "^", "⇧", "x", "F1", "↑"])).map("".join)
)
def test_any_text_is_a_key_that_stays_itself_or_is_refused(text: str) -> None:
    try:
        key = key_of(text)
    except ValueError:
        return
    assert key_of(key) == key
    assert key_of(sign_of(key)) == key
