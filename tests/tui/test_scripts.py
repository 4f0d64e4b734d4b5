"""Scripts whose cells terminals count in different ways, and those that run from right to left."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pyte
import pytest
from program import Program, chat_answer
from rich.cells import cell_len
from servers import FaultServer, Reply
from terminal import Terminal

from tui_eval.tui.base.look.widths import count_spacing_marks, hold_columns

CHAT = "/v1/chat/completions"
SCRIPTS = """
    import tui_eval as vf

    QUESTIONS = [
        "पाँच किताबें मेज़ पर हैं और दो नीचे गिर जाती हैं। कितनी बाकी रहती हैं?",
        "টেবিলে পাঁচটি বই আছে, দুটি পড়ে যায়। কয়টি বাকি থাকে?",
        "மேசையில் ஐந்து புத்தகங்கள் உள்ளன, இரண்டு கீழே விழுகின்றன.",
        "كم كتابا يبقى على الطاولة من 5 كتب؟",
    ]

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{"question": one, "example_id": n} for n, one in enumerate(QUESTIONS)],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""
ANSWER = "तीन किताबें, तीन किताबें, तीन किताबें: 3 رسالة 27 1"


class CountingScreen(pyte.Screen):
    """A terminal that gives each spacing mark so many cells, and marks of direction none."""

    def __init__(self, columns: int, lines: int, cells: int) -> None:
        super().__init__(columns, lines)
        self._cells = cells

    def draw(self, data: str) -> None:
        for sign in data:
            is_mark = unicodedata.category(sign) == "Mc"
            if sign != "\u200e":
                super().draw(sign if not is_mark else "m" if self._cells else "\u0301")


def signs(screen: pyte.Screen) -> dict[tuple[int, int], str]:
    """Where lines and numbers are."""
    return {
        (x, y): sign.data
        for y, line in screen.buffer.items()
        for x, sign in line.items()
        if sign.data in "│─━▌╭╰0123456789"
    }


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    program = Program(tmp_path_factory.mktemp("scripts"))
    with FaultServer() as server:
        program.environment("scripts", SCRIPTS)
        server.script(CHAT, [Reply(body=chat_answer(ANSWER))])
        program.run("scripts", "-m", "m", "-b", f"{server.url}/v1", "-n", "4", "-r", "1", "-s")
    terminal = Terminal(program.folder, program.env, "open", str(program.only_run().path))
    terminal.wait_for("finished in")
    for example, words in enumerate(("বই", "ஐந்து புத்தகங்கள்", "كتابا"), 1):
        terminal.type("]")
        terminal.wait_for(f"example {example}")
        terminal.wait_for(lambda words=words: words.encode() in terminal.raw)
    yield terminal
    terminal.close()


def test_lines_and_numbers_stand_in_one_column_however_marks_are_counted(drawn: Terminal) -> None:
    screens = [CountingScreen(120, 40, cells) for cells in (0, 1)]
    for screen in screens:
        pyte.ByteStream(screen).feed(drawn.raw)
    none, one = map(signs, screens)
    assert len(none) > 300
    assert none == one


def test_what_runs_from_right_to_left_is_closed(drawn: Terminal) -> None:
    assert "رسالة\u200e\x1b[".encode() in drawn.raw


def test_a_word_is_written_in_one_piece_also_where_marks_stand_on_its_letters(
    drawn: Terminal,
) -> None:
    assert "पाँच किताबें मेज़".encode() in drawn.raw
    assert "ஐந்து புத்தகங்கள்".encode() in drawn.raw


def test_a_spacing_mark_is_a_cell_and_its_cells_are_blanked_before() -> None:
    count_spacing_marks()
    assert [cell_len(text) for text in ("किताब", "বাংলা", "e\u0301", "นี้")] == [5, 5, 1, 1]
    assert hold_columns("\x1b[3;5Hab किता cd") == "\x1b[3;5Hab     \x1b[8Gकिता\x1b[12G cd"
    assert hold_columns("plain ━ 日本") == "plain ━ 日本"


def test_a_sentence_is_one_piece_with_its_numbers_and_the_columns_beside_it_are_not() -> None:
    sentence = "من 5 كتب"
    held = hold_columns(f"\x1b[1;1H27 1 ━ {sentence}  4.1 ms")
    assert held == f"\x1b[1;1H27 1 ━ {' ' * 8}\x1b[8G{sentence}\u200e\x1b[16G  4.1 ms"
