from __future__ import annotations

import pytest

from tui_eval.fold import log_records
from tui_eval.fold.log_records import LogWindow


class Log:
    """A log in memory that counts what is read of it."""

    def __init__(self, text: str = "") -> None:
        self.data = text.encode()
        self.bytes_read = 0

    def read(self, at: int, most: int) -> tuple[bytes, int]:
        found = self.data[at : at + most]
        self.bytes_read += len(found)
        return found, len(self.data)


def lines(first: int, last: int) -> str:
    return "".join(f"line {number:06}\n" for number in range(first, last))


def read_on(window: LogWindow, *, sticks: bool = True, final: bool = False) -> None:
    while (piece := window.newer(final=final, skips=sticks)) is not None:
        window.take(piece, drops=sticks)


def shown(window: LogWindow) -> list[str]:
    return [record.lines[0] for record in window.records]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_records, "PIECE", 120)
    monkeypatch.setattr(log_records, "MOST_BYTES", 1200)
    monkeypatch.setattr(log_records, "MOST_RECORDS", 1000)


def test_what_is_added_is_read_and_nothing_twice() -> None:
    log = Log(lines(0, 10))
    window = LogWindow(log.read)
    read_on(window)
    log.data += lines(10, 12).encode() + b"not yet"
    read_on(window)
    assert shown(window) == lines(0, 12).splitlines()
    before = log.bytes_read
    assert window.newer(final=False, skips=True) is None
    assert log.bytes_read - before == len("not yet")
    read_on(window, final=True)
    assert shown(window)[-1] == "not yet"


def test_of_a_long_log_the_end_is_read_and_the_rest_on_demand() -> None:
    log = Log(lines(0, 10_000))
    window = LogWindow(log.read)
    read_on(window)
    assert shown(window) == lines(10_000 - len(window.records), 10_000).splitlines()
    assert log.bytes_read < 2 * log_records.MOST_BYTES
    first = window.records[0].offset
    assert window.begin == first == (10_000 - len(window.records)) * 12
    piece = window.older()
    assert piece is not None
    window.take_older(piece)
    assert window.begin == first - 108
    assert shown(window) == lines(window.begin // 12, 10_000).splitlines()


def test_a_window_stays_bounded_whichever_way_it_grows() -> None:
    log = Log(lines(0, 200))
    window = LogWindow(log.read)
    read_on(window)
    for first in range(200, 1000, 5):
        log.data += lines(first, first + 5).encode()
        read_on(window)
        assert len(window.records) <= 102
        assert shown(window)[-1] == f"line {first + 4:06}"
    while (piece := window.older()) is not None:
        window.take_older(piece)
        assert len(window.records) <= 102
    assert shown(window) == lines(0, len(window.records)).splitlines()
    assert window.end == len(window.records) * 12
    read_on(window)
    assert shown(window)[-1] == "line 000999"


def test_a_log_that_was_begun_again_is_read_again() -> None:
    log = Log(lines(0, 10))
    window = LogWindow(log.read)
    read_on(window)
    log.data = b"other\n"
    read_on(window)
    assert shown(window) == ["other"]
