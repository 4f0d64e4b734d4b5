"""A frame is made when the last one is out, by answers of the terminal or by estimate."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from tui_eval.tui.base.terminal.line import MARKS, PATIENCE_S, ROW, Line

FRAME = "x" * 5_000


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as the only element."""
    time_now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: time_now[0])
    return time_now


@pytest.fixture
def line() -> Iterator[Line]:
    loop = asyncio.new_event_loop()
    yield Line(loop)
    loop.close()


def write_frame(line: Line) -> int | None:
    """Writes a frame that is taken at once; returns the column of its question, if it has one."""
    line.begin()
    question = line.question_after(FRAME, 120)
    line.written(len(FRAME), 0, 0.0)
    return int(question.split(";")[1].split("H")[0]) if question else None


def test_few_frames_go_into_a_buffer_whose_reader_stalls(line: Line, now: list[float]) -> None:
    first = write_frame(line)
    assert first is not None and line.answered(first - 1, ROW)
    frames, begun = 0, now[0]
    while now[0] - begun < 60:
        if line.is_free:
            write_frame(line)
            frames += 1
        now[0] += 0.08
    assert 5 <= frames <= 12


def test_late_answers_bring_the_questions_back(line: Line, now: list[float]) -> None:
    marks = [write_frame(line)]
    assert line.answered(0, ROW)
    for _ in range(5):
        marks.append(write_frame(line))
        now[0] += 5 * PATIENCE_S
        assert line.is_free
    late = [mark for mark in marks[1:] if mark is not None]
    assert len(late) == 5
    for mark in late:
        assert line.answered(mark - 1, ROW)
    mark = write_frame(line)
    assert mark is not None and not line.is_free
    assert line.answered(mark - 1, ROW) and line.is_free


def test_the_requested_columns_are_there(line: Line, now: list[float]) -> None:
    for _ in range(MARKS):
        column = int(line.question_after(FRAME, 9).split(";")[1].split("H")[0])
        assert column <= 9 and line.answered(column - 1, ROW)
