from __future__ import annotations

from tui_eval.fold.log_records import (
    DEBUG,
    ERROR,
    INFO,
    OUTPUT,
    WARNING,
    LogParser,
    LogRecord,
    whole_lines,
)

STAMP = "2026-11-20 19:59:42,296"
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "sums.py", line 3, in tool\n'
    "    1 / 0\n"
    "KeyError: 'a'\n"
    "\n"
    "During handling of the above exception, another exception occurred:\n"
    "\n"
    "Traceback (most recent call last):\n"
    '  File "sums.py", line 5, in tool\n'
    "ZeroDivisionError: division by zero\n"
)


def parsed(text: str) -> list[LogRecord]:
    late, records = LogParser().parse(text.encode(), 0)
    assert late == []
    return records


def test_lines_of_loggers_have_their_time_level_and_name() -> None:
    (record,) = parsed(f"{STAMP} DEBUG tui_eval.rollout: row 0: answered\n")
    assert record == LogRecord(0, DEBUG, "19:59:42", "rollout", ["row 0: answered"])
    other = parsed("2026-11-20 19:59:42 - my.env - WARNING - low on sand\nERROR:root:broken\n")
    assert [(one.level, one.name, one.lines) for one in other] == [
        (WARNING, "my.env", ["low on sand"]),
        (ERROR, "root", ["broken"]),
    ]


def test_the_name_of_a_logger_may_have_dashes() -> None:
    reported = f"{STAMP} INFO my-env: a\n{STAMP} - my-env/tools - WARNING - b\nERROR:my-env:c\n"
    found = [(one.level, one.name, one.lines) for one in parsed(reported)]
    assert found == [
        (INFO, "my-env", ["a"]),
        (WARNING, "my-env/tools", ["b"]),
        (ERROR, "my-env", ["c"]),
    ]


def test_what_is_printed_is_a_record_a_line_and_blank_lines_are_none() -> None:
    records = parsed(f"{STAMP} INFO a: b\nhello\n\n  world\n")
    assert [(one.level, one.lines) for one in records] == [
        (INFO, ["b"]),
        (OUTPUT, ["hello"]),
        (OUTPUT, ["  world"]),
    ]


def test_a_traceback_belongs_to_the_error_that_was_logged_with_it() -> None:
    error, after = parsed(f"{STAMP} ERROR sums: it broke\n{TRACEBACK}printed\n")
    assert error.lines[0] == "it broke"
    assert error.lines[-1] == "ZeroDivisionError: division by zero"
    assert (after.level, after.lines) == (OUTPUT, ["printed"])


def test_a_printed_traceback_is_an_error_of_its_own() -> None:
    before, error, after = parsed(f"{STAMP} DEBUG sums: adds\n{TRACEBACK}printed\n")
    assert before.lines == ["adds"]
    assert (error.level, len(error.lines)) == (ERROR, 10)
    assert after.lines == ["printed"]


def test_what_is_printed_has_its_time_where_the_log_has_it() -> None:
    records = parsed(
        f"{STAMP} PRINT hello\n{STAMP} ERROR sums: it broke\n  in two\n"
        f"{STAMP} PRINT   3 left\n{STAMP} PRINT \rMap: 1%\rMap: 2%\n"
        f"{STAMP} PRINT WARNING:root:low on sand\n"
    )
    assert [(one.level, one.time, one.lines) for one in records] == [
        (OUTPUT, "19:59:42", ["hello"]),
        (ERROR, "19:59:42", ["it broke", "  in two"]),
        (OUTPUT, "19:59:42", ["  3 left"]),
        (OUTPUT, "19:59:42", ["Map: 2%"]),
        (WARNING, "19:59:42", ["low on sand"]),
    ]


def test_a_traceback_that_is_printed_line_by_line_is_one_record() -> None:
    printed = "".join(f"{STAMP} PRINT {line}\n" if line else "\n" for line in TRACEBACK.split("\n"))
    logged, error, after = parsed(f"{STAMP} ERROR sums: it broke\n{printed}{STAMP} PRINT on\n")
    assert logged.lines == ["it broke"]
    assert (error.level, error.time) == (ERROR, "19:59:42")
    assert [line for line in error.lines if line] == [
        line for line in TRACEBACK.split("\n") if line
    ]
    assert after.lines == ["on"]


def test_a_warning_of_python_has_its_source_line() -> None:
    (record,) = parsed("sums.py:3: DeprecationWarning: old\n  old()\n")
    assert (record.level, record.lines) == (
        WARNING,
        ["sums.py:3: DeprecationWarning: old", "  old()"],
    )


def test_lines_that_come_bit_by_bit_are_the_same_records() -> None:
    text = f"{STAMP} ERROR sums: it broke\n{TRACEBACK}printed\n".encode()
    whole = LogParser().parse(text, 0)[1]
    parser, records, at = LogParser(), [], 0
    for line in text.splitlines(keepends=True):
        late, found = parser.parse(line, at)
        if late:
            records[-1].lines.extend(late)
        records += found
        at += len(line)
    assert records == whole


def test_offsets_are_those_of_the_bytes() -> None:
    text = f"é\n{STAMP} INFO a: b\n"
    assert [record.offset for record in parsed(text)] == [0, 3]


def test_a_bar_that_is_drawn_over_shows_its_last_state() -> None:
    assert parsed("Map: 0%\rMap: 50%\rMap: 100%\r\n")[0].lines == ["Map: 100%"]


def test_what_could_steer_a_terminal_is_made_visible() -> None:
    assert parsed("\x1b]52;c;x\x07\n")[0].lines == ["␛]52;c;x␇"]


def test_only_whole_lines_are_taken_unless_nothing_comes_after() -> None:
    assert whole_lines(b"a\nb", full=False) == b"a\n"
    assert whole_lines(b"ab", full=False) == b""
    assert whole_lines(b"ab", full=True) == b"ab"
    assert whole_lines(b"a\nb", full=False, final=True) == b"a\nb"
