from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui_eval.events import Stage
from tui_eval.fold.trajectory import Entry, Rollout, ToolUse
from tui_eval.printable import printable
from tui_eval.text.blocks import bar, columns, thread
from tui_eval.text.figures import (
    clock_text,
    count_text,
    hours_text,
    interval_text,
    ms_text,
    rate_text,
    reward_text,
    signed_text,
    span_text,
    took_text,
)
from tui_eval.text.stages import LOOKS, MEANINGS, error_word
from tui_eval.tui.base.dialogs.prompts import Choice, leave_question
from tui_eval.tui.base.look.ink import Line, line_width
from tui_eval.tui.base.look.wrap import shown_lines, wrap
from tui_eval.tui.trajectory.parts import Part
from tui_eval.tui.trajectory.piece import Piece, View


def words(lines: tuple[Line, ...]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def tool(use: ToolUse, limit: int | None = None, live: bool = True) -> Piece:
    return piece_of(Entry("tool", 1, "", tool=use), None, limit, 60, live)


def piece_of(
    entry: Entry, step: dict[str, Any] | None, limit: int | None, width: int, live: bool
) -> Piece:
    return Part(None, entry.turn, entry, step, live=live).lay_out(View(limit), width)


def test_every_stage_has_a_glyph_a_word_and_a_meaning_in_the_order_of_the_events() -> None:
    assert [look.word for look in LOOKS] == [stage.name.lower() for stage in Stage]
    assert len(MEANINGS) == len(LOOKS)
    assert len({look.glyph for look in LOOKS}) == len(LOOKS)


def test_the_error_of_a_reward_function_is_called_a_scoring_error() -> None:
    assert error_word("ScoringError") == "scoring error"
    assert error_word("ScoringError -> KeyError") == "scoring error -> KeyError"
    assert error_word("ModelError -> ScoringError") == "ModelError -> ScoringError"


def test_text_breaks_at_spaces_and_keeps_its_indentation() -> None:
    assert wrap("one two three", 8, 9) == (["one two", "three"], 0)
    assert wrap("    if x:\n        go", 40, 9) == (["    if x:", "        go"], 0)
    assert wrap("abcdefghij", 4, 9) == (["abcd", "efgh", "ij"], 0)
    assert wrap("漢字漢字", 5, 9) == (["漢字", "漢字"], 0)
    assert wrap("so 🎉 good it is", 8, 9)[0] == ["so 🎉", "good it", "is"]


def test_what_is_left_out_is_counted() -> None:
    assert wrap("\n".join("abc"), 9, 2) == (["a", "b"], 1)
    lines, rest = wrap("x" * 1_000_000, 100, 200)
    assert len(lines) == 200
    assert rest == 9_800


@given(st.text(max_size=300), st.integers(4, 40), st.integers(1, 30))
def test_wrapped_lines_fit_and_lose_no_word(text: str, width: int, most: int) -> None:
    text = printable(text)
    lines, rest = wrap(text, width, most)
    assert len(lines) <= most
    assert all(cell_len(line) <= width for line in lines)
    if rest == 0:
        assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.text(alphabet="a b中\x1b\t\n", max_size=3_000), st.integers(4, 12), st.integers(1, 5))
def test_a_long_text_begins_as_the_whole_of_it_would(text: str, width: int, most: int) -> None:
    text = text.strip("\n")
    whole, left_over = wrap(printable(text), width, most)
    lines, rest = shown_lines(text, width, most)
    assert lines == whole
    assert (rest > 0) == (left_over > 0)


def test_only_what_is_shown_of_a_long_text_is_made_printable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []

    def counting(text: str) -> str:
        seen.append(len(text))
        return printable(text)

    monkeypatch.setattr("tui_eval.tui.base.look.wrap.printable", counting)
    lines, rest = shown_lines("wörd \x1b\n" * 500_000, 80, 40)
    assert lines == ["wörd ␛"] * 40
    assert rest > 30_000
    assert sum(seen) < 50_000


def test_a_tool_call_is_one_line_until_it_is_unfolded() -> None:
    use = ToolUse("c", "add", '{"a": 1, "b": [2]}', "3", 12.0)
    folded = words(tool(use).lines)
    assert len(folded) == 1
    assert "▸ add(a=1, b=[2]) → 3" in folded[0]
    assert folded[0].endswith("✓ 12ms")
    unfolded = words(tool(use, 10).lines)
    assert unfolded[0].startswith("  ▾ add")
    assert [line.strip(" │╰") for line in unfolded[1:]] == ["a = 1", "b = [2]", "3"]


def test_code_in_arguments_reads_as_it_was_written() -> None:
    use = ToolUse("c", "python", '{"code": "for x in y:\\n    print(x)"}')
    shown = words(tool(use, 10).lines)
    assert "    │ for x in y:" in shown
    assert "    │     print(x)" in shown


def test_arguments_nested_too_deep_to_read_are_shown_as_they_are() -> None:
    use = ToolUse("c", "add", "[" * 3_000)
    assert "add([[[" in words(tool(use).lines)[0]
    assert "[[[" in words(tool(use, 10).lines)[1]


def test_wide_characters_leave_room_for_how_a_call_ended() -> None:
    for result in ("行" * 200, "3"):
        for value in ("中" * 6, "中" * 200):
            use = ToolUse("c", "add", f'{{"a": "{value}"}}', result, 12.0)
            (line,) = tool(use).lines
            assert line_width(line) <= 60
            assert words((line,))[0].endswith("✓ 12ms")


def test_an_errored_call_is_unfolded_by_itself() -> None:
    shown = words(tool(ToolUse("c", "add", "{}", "it broke", 2.0, "ToolCallError")).lines)
    assert shown[0].endswith("✗ 2ms ToolCallError")
    assert "it broke" in shown[-1]


def test_a_call_without_result_is_running_or_lost() -> None:
    use = ToolUse("c", "add", "not json")
    assert words(tool(use).lines)[0].endswith("▶ running")
    assert words(tool(use, live=False).lines)[0].endswith("– no result")


def test_no_line_is_wider_than_the_pane() -> None:
    long = "word " * 500
    for entry in (
        Entry("user", 0, long),
        Entry("assistant", 1, long, reasoning=long),
        Entry("tool", 1, "", tool=ToolUse("c", "t" * 90, '{"x": "' + "y" * 500 + '"}', long, 1.0)),
    ):
        for limit in (None, 0, 50):
            piece = piece_of(entry, {"model_ms": 1.0}, limit, 48, True)
            assert max(map(line_width, piece.lines)) <= 48


def test_numbers_are_short() -> None:
    assert reward_text((0.35 + 0.7) / 2) == reward_text((0.7 + 0.35) / 2 - 1e-16) == "0.53"
    assert [reward_text(v) for v in (0.5, -1.2, 123.4, None, float("nan"))] == [
        "0.50", "-1.20", "123", "–", "–",
    ]  # fmt: skip
    assert [count_text(v) for v in (0, 999, 12_345, 310_000, 1_250_000)] == [
        "0", "999", "12.3k", "310k", "1.2M",
    ]  # fmt: skip
    assert [span_text(v) for v in (0.04, 59.9, 62, 3723)] == ["40ms", "59.9s", "1:02", "1:02:03"]
    assert [clock_text(v) for v in (-3, 12.9, 61)] == ["0s", "12s", "1:01"]
    assert [hours_text(v) for v in (3599.9, 3723, 359_999, 531_434)] == [
        "0h59m", "1h02m", "99h59m", "147h",
    ]  # fmt: skip
    assert [took_text(v) for v in (0.82, 9.7, 12.9, 61)] == ["0.8s", "9.7s", "12s", "1:01"]
    assert [ms_text(v) for v in (0, 3.2, 980, 1234, 62_000)] == [
        "0ms", "3ms", "980ms", "1.2s", "1:02",
    ]  # fmt: skip
    assert [rate_text(v) for v in (0, 0.2, 3, 450)] == ["–/s", "12.0/min", "3.0/s", "450/s"]


def test_no_number_but_zero_reads_as_zero() -> None:
    small = (0.005001, 0.004, -0.004, 0.0004, -0.0004, 4e-7, 1e-11)
    assert [reward_text(v) for v in small] == [
        "0.01", "0.004", "-0.004", "4e-04", "-4e-04", "4e-07", "1e-11",
    ]  # fmt: skip
    assert [reward_text(v, 3) for v in (0.004, 0.0004)] == ["0.004", "4e-04"]
    assert [signed_text(v) for v in (0.0004, -0.0004, 0.0)] == ["+4e-04", "-4e-04", "0.00"]
    assert interval_text(-0.0004, 0.25) == "[-4e-04, 0.25]"
    noise = 0.1 + 0.2 - 0.3
    assert [reward_text(v) for v in (0.0, -0.0, noise, -noise)] == ["0.00"] * 4
    assert (ms_text(0.3), span_text(0.0003), took_text(0.04)) == ("<1ms", "<1ms", "40ms")
    assert rate_text(0.0005) == "1.8/h"


def test_bars_are_exact_and_keep_their_width() -> None:
    assert bar(0.5, 4) == "██  "
    assert bar(1 / 32, 4) == "▏   "
    assert bar(2.0, 3) == "███"
    assert bar(float("nan"), 3) == "   "
    assert thread(0.5, 4) == ("━━", "──")
    assert thread(0.3, 5) == ("━╸", "───")


def test_histogram_columns_reach_the_top_and_never_vanish() -> None:
    assert columns([0, 1, 16], 2) == ["  █", " ▁█"]
    assert columns([0, 0], 1, cells=2) == ["    "]


def test_leaving_offers_what_can_be_decided() -> None:
    def choices(is_at_work: bool, saved: bool) -> Sequence[Choice]:
        return leave_question(is_at_work, saved, "9 rollouts are on disk.", "run").choices

    assert [c.key for c in choices(is_at_work=False, saved=True)] == ["l", "escape"]
    assert [c.key for c in choices(is_at_work=True, saved=True)] == ["s", "d", "escape"]
    assert [c.key for c in choices(is_at_work=False, saved=False)] == ["y", "n", "escape"]
    unsaved = choices(is_at_work=True, saved=False)
    assert {choice.answer.save for choice in unsaved if choice.answer} == {True, False}


def test_a_line_of_a_traceback_continues_at_its_own_indent() -> None:
    raised = '  File "sums.py", line 88, in divide\n    return Fraction(first, second)\nAnd so on'
    rollout = Rollout(0, error="ToolCallError", traceback=raised)
    piece = Part(None, rollout=rollout).lay_out(View(), 30)
    assert words(piece.lines)[2:] == [
        '    File "sums.py", line 88,',
        "    in divide",
        "      return Fraction(first,",
        "      second)",
        "  And so on",
    ]
    (traceback,) = [placed for placed in piece.placed if placed.block.name == "traceback"]
    starts = [raised[at : at + 4] for at in traceback.shown.offsets()]
    assert starts == ["  Fi", "in d", "    ", "seco", "And "]


def test_a_traceback_has_the_whole_width_and_keeps_its_indentation() -> None:
    raised = '  File "environments/calculator/calculator.py", line 88, in divide'
    rollout = Rollout(0, error="ToolCallError", traceback=f"Traceback:\n{raised}", answer="2493")
    lines = words(Part(None, rollout=rollout).lay_out(View(), 76).lines)
    assert lines[1:] == [
        "  expected  2493",
        "  error     ToolCallError",
        "  Traceback:",
        f"  {raised}",
    ]


def test_how_a_rollout_stopped_is_shown_in_the_room_that_there_is() -> None:
    rollout = Rollout(0, stop_condition="no_tools_called", is_truncated=True, reward=0.9)
    output = {
        width: words(Part(None, rollout=rollout).lay_out(View(), width).lines)[0]
        for width in (70, 56, 44)
    }
    assert output == {
        70: "✓ done · reward 0.90 · truncated · stopped by no_tools_called",
        56: "✓ done · reward 0.90 · truncated · stop: no_tools_called",
        44: "✓ done · reward 0.90 · truncated · stop: no…",
    }


def test_a_failure_is_called_by_one_name_and_said_once() -> None:
    failed = {"error_class": "scoring", "stop_condition": "has_error"}
    rollout = Rollout(0, error="ScoringError -> KeyError", **failed)
    assert words(Part(None, rollout=rollout).lay_out(View(), 76).lines) == [
        "✗ scoring error",
        "  error     KeyError",
    ]
    alone = Rollout(0, error="ScoringError", **failed)
    assert words(Part(None, rollout=alone).lay_out(View(), 76).lines) == ["✗ scoring error"]


def test_a_cut_answer_says_so_in_the_room_that_its_figures_leave() -> None:
    step = {"model_ms": 900, "input_tokens": 790, "output_tokens": 16, "finish_reason": "length"}
    entry = Entry("assistant", 3, "It has")
    widths = (80, 60, 52, 40)
    output = [words(piece_of(entry, step, None, width, False).lines)[0] for width in widths]
    assert [line.removeprefix("● assistant · turn 3").lstrip() for line in output] == [
        "900ms · 790 → 16 tokens  ✂ truncated at the length limit",
        "900ms · 790 → 16 tokens  ✂ truncated",
        "900ms · 790 → 16 tokens  ✂",
        "✂ truncated",
    ]


def test_what_was_never_scored_has_no_time_of_scoring() -> None:
    rollout = Rollout(0, error="ToolCallError", timing={"generation_ms": 2300.0, "scoring_ms": 0.0})
    assert words(Part(None, rollout=rollout).lay_out(View(), 76).lines)[0].endswith(
        "  2.3s generating"
    )


TIMED_OUT = "Judge 'm' failed: APITimeoutError: Request timed out."
CHAIN = (
    f"ScoringError(\"Reward function 'style' failed: JudgeError: {TIMED_OUT}\") -> "
    f"JudgeError(\"{TIMED_OUT}\") -> APITimeoutError('Request timed out.')"
)


@pytest.mark.parametrize(
    ("error", "output"),
    [
        (
            CHAIN,
            f"Reward function 'style' failed: JudgeError: {TIMED_OUT}",
        ),
        (
            "ModelError('it\\'s\\ngone') -> OSError(2, 'no')",
            "ModelError: it's|gone|caused by OSError(2, 'no')",
        ),
        ("ToolError('failed') -> KeyError('a')", "ToolError: failed|caused by KeyError: a"),
        ("ToolError(\"KeyError: 'a'\") -> KeyError('a')", "ToolError: KeyError: 'a'"),
        ("MyKeyError('a') -> KeyError('a')", "MyKeyError: a|caused by KeyError: a"),
        ("TypeError('f(x) -> int is no type')", "TypeError: f(x) -> int is no type"),
        (
            'KeyError() -> ValueError("cut of... 12 more',
            'KeyError|caused by ValueError("cut of... 12 more',
        ),
        ("expected a -> b of: them", "expected a -> b of: them"),
    ],
    ids=["said before", "escapes", "not yet said", "quoted", "longer name", "arrow", "cut", "text"],
)
def test_an_error_is_said_once_and_each_cause_on_a_line_of_its_own(error: str, output: str) -> None:
    lines = words(Part(None, rollout=Rollout(0, error=error)).lay_out(View(), 200).lines)[1:]
    assert lines[0].startswith("  error     ")
    assert [line[12:] for line in lines] == output.split("|")


def test_a_folded_text_does_not_end_with_an_empty_line() -> None:
    system = Part(None, 0, Entry("system", 0, "one\ntwo\nthree\n\nfive\nsix\nseven\neight"))
    assert words(system.lay_out(View(), 60).lines)[1:] == [
        "  one",
        "  two",
        "  three",
        "  … 5 more lines  enter to show",
    ]


def test_a_folded_text_that_begins_with_empty_lines_only_shows_one_of_them() -> None:
    system = Part(None, 0, Entry("system", 0, " \n" * 20 + "last"))
    assert words(system.lay_out(View(), 60).lines)[1:] == ["", "  … 20 more lines  enter to show"]
