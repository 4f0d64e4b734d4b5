"""The output for a changed screen makes a terminal show it."""

from __future__ import annotations

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual._compositor import LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from tui_eval.tui.base.terminal.cells import ScreenCells

WIDTH, HEIGHT = 30, 4
SIGNS = st.text("ab 1─▌é漢", max_size=12)
STYLES = st.builds(
    Style,
    color=st.sampled_from([None, "red", "#102030", "default"]),
    bgcolor=st.sampled_from([None, "blue", "#f0f0f0"]),
    bold=st.booleans(),
    underline=st.booleans(),
    reverse=st.booleans(),
)
LINES = st.lists(st.tuples(SIGNS, STYLES).map(lambda pair: Segment(*pair)), max_size=4)
FRAMES = st.lists(st.lists(LINES, min_size=HEIGHT, max_size=HEIGHT), min_size=1, max_size=4)


def update(lines: list[list[Segment]]) -> LayoutUpdate:
    strips = [[Strip(line).adjust_cell_length(WIDTH)] for line in lines]
    return LayoutUpdate(strips, Region(0, 0, WIDTH, HEIGHT))


def terminal() -> tuple[pyte.Screen, pyte.Stream]:
    screen = pyte.Screen(WIDTH, HEIGHT)
    screen.reset_mode(pyte.modes.DECAWM)
    return screen, pyte.Stream(screen)


def shown(screen: pyte.Screen) -> list[list[object]]:
    """Every cell as it looks: of a blank one nothing but its ground is seen."""
    return [[looks(screen.buffer[y][x]) for x in range(WIDTH)] for y in range(HEIGHT)]


def looks(cell: pyte.screens.Char) -> object:
    is_blank = cell.data == " " and not (cell.reverse or cell.underscore)
    return (" ", cell.bg) if is_blank else cell


@given(FRAMES)
def test_changes_show_what_whole_frames_show(frames: list[list[list[Segment]]]) -> None:
    cells = ScreenCells(WIDTH, HEIGHT)
    by_changes, stream = terminal()
    for lines in frames:
        cells.take(update(lines), ColorSystem.TRUECOLOR)
        stream.feed(cells.changes())
        whole, whole_stream = terminal()
        every = ScreenCells(WIDTH, HEIGHT)
        every.take(update(lines), ColorSystem.TRUECOLOR)
        whole_stream.feed(every.changes())
        plain, plain_stream = terminal()
        for y, line in enumerate(lines):
            text = "".join(
                Strip.render_style(one.style, one.text, ColorSystem.TRUECOLOR)
                for one in Strip(line).adjust_cell_length(WIDTH)
                if one.style is not None
            )
            plain_stream.feed(f"\x1b[{y + 1};1H{text}")
        assert shown(by_changes) == shown(whole)
        assert shown(by_changes) == shown(plain)
        assert cells.changes() == ""


def test_a_change_is_written_with_its_word_and_nothing_else() -> None:
    cells = ScreenCells(WIDTH, HEIGHT)
    for number in (12, 13):
        lines = [[Segment(f"done {number}/50 of all", Style())]] + [[]] * (HEIGHT - 1)
        cells.take(update(lines), ColorSystem.TRUECOLOR)
        changes = cells.changes()
    assert changes == "\x1b[1;6H13/50"


def test_texts_come_before_what_only_looks_different() -> None:
    cells = ScreenCells(WIDTH, HEIGHT)
    behind = [[Segment("behind", Style(dim=dim))] for dim in (False, True)]
    for text, at in (("", 0), ("box", 1)):
        lines = [[], behind[at], [Segment(text, Style())], []]
        cells.take(update(lines), ColorSystem.TRUECOLOR)
        changes = cells.changes()
    assert changes == "\x1b[3;1Hbox\x1b[2;1H\x1b[2mbehind\x1b[0m"


def test_a_flag_is_written_in_one_piece() -> None:
    cells = ScreenCells(WIDTH, HEIGHT)
    cells.take(update([[Segment("a🇩🇪b")], [], [], []]), ColorSystem.TRUECOLOR)
    assert "🇩🇪" in cells.changes()


def test_nothing_old_stays_where_a_terminal_gives_an_emoji_one_cell() -> None:
    cells = ScreenCells(WIDTH, HEIGHT)
    screen, stream = terminal()
    for text in ("abcd", "x🫠z"):
        cells.take(update([[Segment(text)], [], [], []]), ColorSystem.TRUECOLOR)
        written = cells.changes()
        stream.feed(written.replace("🫠", "e"))  # of one cell there
    assert screen.display[0].rstrip() == "xe z"
