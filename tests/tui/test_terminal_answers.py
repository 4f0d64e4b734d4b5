"""Answers of a terminal: in time, late, cut off, wrong, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from program import Program
from terminal import Terminal

from tui_eval.tui.base.terminal.keyboard import Answers

WHITE = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
BLACK = "\x1b]11;rgb:0000/0000/0000\x07"
ATTRIBUTES = "\x1b[?62;22c"
LATE = WHITE + ATTRIBUTES + "\x1b[>41;379;0c\x1bP!|00000000\x1b\\\x1b]52;c;\x07"
QUERY = b"\x1b]11;?\x1b\\\x1b[c"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Program:
    program = Program(tmp_path_factory.mktemp("saved"))
    program.run("reverse-text", "-m", "demo", "-n", "5", "-r", "1", "-s")
    return program


@pytest.fixture
def opened(saved: Program) -> Iterator[Callable[..., Terminal]]:
    terminals: list[Terminal] = []

    def open_run(typed: str = "", term: str = "xterm-256color", **env: str) -> Terminal:
        given = {**saved.env, "COLORTERM": "", "COLORFGBG": "", "TUI_EVAL_CONFIG": "none", **env}
        run = str(saved.only_run().path)
        folder = Path(saved.folder)
        terminals.append(Terminal(folder, given, "open", run, typed=typed, term=term))
        terminals[-1].wait_for("finished in")
        return terminals[-1]

    yield open_run
    for terminal in terminals:
        terminal.close()


def ground(terminal: Terminal) -> str:
    """The colour of the ground in the middle of the screen."""
    return terminal.screen.buffer[20][60].bg


def inks(terminal: Terminal) -> set[str]:
    """All colours on the screen."""
    lines = terminal.screen.buffer.values()
    return {one for line in lines for sign in line.values() for one in (sign.fg, sign.bg)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "env", "seen"),
    [
        (WHITE + ATTRIBUTES, {}, "ffffff"),
        (BLACK + ATTRIBUTES, {"COLORFGBG": "0;15"}, "121212"),
        (ATTRIBUTES, {"COLORFGBG": "0;15"}, "ffffff"),
        ("\x1b]11;rgb:beige\x07\x1b[?;;9;c", {}, "121212"),
        ("", {}, "121212"),
    ],
    ids=["white", "black goes before COLORFGBG", "COLORFGBG", "garbage", "silence"],
)
def test_light_or_dark_is_what_the_terminal_is(
    opened: Callable[..., Terminal], answer: str, env: dict[str, str], seen: str
) -> None:
    terminal = opened(answer, **env)
    assert QUERY in terminal.raw
    assert ground(terminal) == seen
    terminal.type("q")
    assert terminal.finish() == 0
    assert terminal.is_whole()


def test_in_sixteen_colours_nothing_is_coloured_where_the_ground_is_not_known(
    opened: Callable[..., Terminal],
) -> None:
    assert inks(opened(term="xterm")) == {"default"}
    assert {"blue"} < inks(opened(WHITE + ATTRIBUTES, term="xterm"))


def test_an_answer_that_comes_late_is_nothing_that_was_typed(
    opened: Callable[..., Terminal],
) -> None:
    terminal = opened()
    terminal.type("/")
    terminal.wait_for("/ ")
    terminal.type(LATE)
    terminal.wait_for(lambda: terminal.has_taken_keys)
    terminal.type("xy")
    terminal.wait_for("/ xy")
    assert ground(terminal) == "121212"
    terminal.type("\r")
    terminal.wait_for("0 of 5")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("pause", [0.0, 0.03])
def test_answers_are_taken_out_wherever_they_are_cut(pause: float) -> None:
    clock = Clock()
    answers = Answers(clock=clock)
    answers.expect()
    typed = ""
    for part in f"a{LATE}b\x1b[A{BLACK}c":
        typed += answers.take_out(part)
        clock.now += pause
        typed += answers.give_up() if pause else ""
    assert typed == "ab\x1b[Ac"


def test_what_is_no_answer_is_a_key_after_a_while_and_half_an_answer_never() -> None:
    clock = Clock()
    answers = Answers(clock=clock)
    assert answers.take_out("\x1b") == "\x1b"
    answers.expect()
    assert answers.take_out("\x1b") == answers.give_up() == ""
    clock.now += 0.4
    assert answers.give_up() == "\x1b"
    answers.expect(more=False)
    assert answers.take_out("x\x1bP") == "x"
    assert answers.give_up() == "\x1bP"
    assert answers.take_out("\x1b]11;rgb:") == answers.give_up() == ""
    clock.now += 2
    assert answers.give_up() == "" and answers.take_out("y") == "y"


def test_escape_alone_is_a_key_also_while_an_answer_is_waited_for(
    opened: Callable[..., Terminal],
) -> None:
    terminal = opened()
    terminal.type("/abc")
    terminal.wait_for("/ abc")
    terminal.type("\x1b")
    terminal.wait_for(lambda: "/ abc" not in terminal.text)


def test_screen_of_gnu_is_not_believed_that_it_has_all_colours(
    opened: Callable[..., Terminal],
) -> None:
    terminal = opened(term="screen.xterm-256color", COLORTERM="truecolor", STY="1.x", TMUX="")
    assert b"48;2;" not in terminal.raw and b"48;5;" in terminal.raw


def test_where_the_cursor_is_is_nothing_typed_also_within_a_paste() -> None:
    places: list[tuple[int, int]] = []
    answers = Answers(lambda x, y: places.append((x, y)), Clock())
    assert answers.take_out("\x1b[200~ab\x1b[2;7Rcd\x1b[2;") == "\x1b[200~abcd"
    assert answers.take_out("11Re\x1b[201~\x1b[1;2R") == "e\x1b[201~\x1b[1;2R"  # shift and F3
    assert places == [(6, 1), (10, 1)]
