"""A terminal that takes nothing for a while holds up nothing, and is redrawn afterwards."""

from __future__ import annotations

import os
import pty
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from compared_runs import two_runs
from program import Program, wait_until
from terminal import PATIENCE_S, Terminal

from tui_eval.tui.base.terminal.output import TerminalOutput


@contextmanager
def stalled(program: Program, then: str = "") -> Iterator[Terminal]:
    """A terminal that takes no more, and keys that come then."""
    runs = map(str, two_runs(program.folder))
    with closing(Terminal(program.folder, program.env, "compare", *runs)) as on:
        on.wait_for("greatest difference first")
        on.wait_for("12 examples × 3")

        def is_full() -> bool:
            on.type("z")
            return not on.takes_more

        wait_until(is_full, "the terminal takes no more")
        if then:
            on.type(then)
            wait_until(lambda: on.has_taken_keys, "the keys are taken")
        yield on


def test_a_signal_ends_the_program_and_leaves_the_terminal_whole(program: Program) -> None:
    with stalled(program) as on:
        on.process.send_signal(signal.SIGTERM)
        assert on.process.wait(PATIENCE_S) == 0
        on.read_all()
        assert on.is_whole()


def test_one_that_takes_more_while_the_program_ends_is_left_whole(program: Program) -> None:
    with stalled(program) as on:
        on.process.send_signal(signal.SIGTERM)
        assert on.finish() == 0
        assert on.is_whole()


def test_what_is_typed_while_it_begins_to_take_more_is_not_lost(program: Program) -> None:
    with stalled(program, "x") as on:
        for _ in range(20):
            on.read(0.01)
            on.type("@")
        on.wait_for(lambda: on.text.count("@") == 20)
        on.process.send_signal(signal.SIGTERM)
        on.finish()
        assert on.is_whole()


def test_what_it_did_not_take_is_drawn_once_it_takes_more(program: Program) -> None:
    with stalled(program, "zzs") as on:
        title = on.screen.display[0]
        on.wait_for("worst first")
        assert on.screen.display[0] == title
        on.type("q")
        assert on.finish() == 0
        assert on.is_whole()


def test_a_frame_larger_than_the_terminal_holds_waits_for_its_reader_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    reading, writing = pty.openpty()
    frame = "x" * 300_000
    taken: list[bytes] = []

    def read() -> None:
        while sum(map(len, taken)) < len(frame):
            taken.append(os.read(reading, 1 << 16))

    reader = threading.Thread(target=read)
    with os.fdopen(writing, "w") as file:
        output = TerminalOutput(file, lambda *_: None)
        reader.start()
        output.write(frame)
        reader.join(PATIENCE_S)
        output.close()
    os.close(reading)
    assert b"".join(taken) == frame.encode()
    assert slept == []
