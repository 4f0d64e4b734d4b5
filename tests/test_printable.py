"""Text that somebody else wrote cannot steer the terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tui_eval.printable import harmless, left_to_right, one_line, printable

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=200)
STEERING = "\x1b]52;c;aGk=\x07\x9b31m\u202e\u200b\u2066\ufeff\ud800\x00\x7f\r\n\t\u2028"


@given(ANY_TEXT)
@example(STEERING)
def test_nothing_is_left_that_moves_a_cursor_or_hides(text: str) -> None:
    for sign in printable(text):
        if sign == "\n":
            continue
        assert unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(sign) not in (
            "RLE", "LRE", "RLO", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI", "BN", "B",
        )  # fmt: skip
        assert sign not in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\u061c"


@given(ANY_TEXT)
@example(STEERING)
def test_a_file_that_is_read_elsewhere_holds_nothing_that_steers(text: str) -> None:
    assert printable(harmless(text)) == printable(text)
    for sign in harmless(text):
        assert sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp")
        assert sign not in "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200e\u200f\ufeff"


@given(ANY_TEXT)
@example(STEERING)
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    once = printable(text)
    assert printable(once) == once
    once.encode()


@pytest.mark.parametrize("text", ["[/foo]", "[bold]x[/]", "plain", "日本語 🎉 é", "a\nb", ""])
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("\x9b31m", "\\u{9b}31m"),
        ("a\r\nb\rc", "a\nb␍c"),
        ("a\tb", "a       b"),
        ("name\tscore\nsomebody\t1\n\tx", "name    score\nsomebody        1\n        x"),
        ("日本\t1\ne\u0301\t2", "日本    1\ne\u0301       2"),
        ("\x1b\tb", "␛       b"),
        ("👨\u200d👩\u200d👧\u200d👦", "👨👩👧👦"),
        ("🏴\U000e0067\U000e0062\U000e007f!", "🏴!"),
        ("hidden\U000e0068\U000e0069", "hidden\\u{e0068}\\u{e0069}"),
        ("evil\u202etxt.exe", "evil\\u{202e}txt.exe"),
        ("half\ud83d", "half\\u{d83d}"),
        ("\x7f", "␡"),
        ("👍🏽", "👍\\u{1f3fd}"),
    ],
)
def test_what_steers_is_made_visible(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["❤\ufe0f", "1\ufe0f\u20e3", "✔\ufe0e"])
def test_signs_lose_what_makes_their_width_a_matter_of_taste(text: str) -> None:
    assert printable(f"{text}!") == f"{text[0]}{text[2:]}!"


def test_a_line_of_a_megabyte_goes_through_whole() -> None:
    text = "x\x1b" * 500_000
    assert printable(text) == "x␛" * 500_000


@given(ANY_TEXT, st.integers(1, 40))
def test_one_line_is_one_line_and_not_too_long(text: str, width: int) -> None:
    line = one_line(text, width)
    assert "\n" not in line
    assert len(line) <= width


def test_one_line_shows_where_it_was_cut() -> None:
    assert one_line("a long sentence", 8) == "a long …"
    assert one_line("short\ntext", 20) == "short text"


@pytest.mark.parametrize(
    ("line", "closed"),
    [
        ("שלום     8   1.00", "שלום|     8   1.00"),
        ("✓ مرحبا_שלום 0.68–1.00", "✓ مرحبا_שלום| 0.68–1.00"),
        ("مرحبا demo 8", "مرحبا demo 8"),  # what follows shows the direction itself
        ("'/a/مرحبا--demo/8f'", "'/a/مرحبا--demo/8f'"),  # a path to be copied
        ("كم 27 عدد", "كم 27 عدد"),  # a sentence
        ("sums     8   1.00", "sums     8   1.00"),
    ],
)
def test_numbers_beside_what_runs_from_right_to_left_stay_where_they_are(
    line: str, closed: str
) -> None:
    assert left_to_right(line) == closed.replace("|", "\u200e")
