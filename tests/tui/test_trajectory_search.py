"""Finding in a trajectory, and jumping through it."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_rows import saved_row, saved_rows
from scripted_run import NOW, SELECTED, ScriptedFeed, all_events, finished
from scripted_trajectory import long_feed, rich_feed
from staging import Stage, over, running, staged_app

from tui_eval import events as ev
from tui_eval import printable as shown_text
from tui_eval.fold.query.patterns import matches_in
from tui_eval.printable import printable, printable_slices
from tui_eval.tui.trajectory import view as trajectory_view
from tui_eval.tui.trajectory.marking import Texts
from tui_eval.tui.trajectory.piece import USUAL, Block, lay_out
from tui_eval.tui.trajectory.search import Match, expression_of


def foot(stage: Stage) -> str:
    return stage.text(stage.live.trajectory).splitlines()[-1].strip()


async def find_in(stage: Stage, typed: str) -> None:
    await stage.press("slash", *typed, "enter")
    await stage.until(lambda: not stage.live.trajectory.search.is_busy)
    await stage.pilot.pause()


async def rich(stage: Stage) -> None:
    await stage.press("j", "2", "g")
    await stage.until(lambda: "picture" in stage.text(stage.live.trajectory))


async def test_words_are_found_in_any_case_counted_and_gone_through_around_the_end() -> None:
    async with staged_app(rich_feed()) as stage:
        await rich(stage)
        await find_in(stage, "CANDLES PER")
        assert foot(stage).startswith("/CANDLES PER  1/2")
        await stage.press("N")
        assert "2/2" in foot(stage)
        await stage.press("n", "n")
        assert "2/2" in foot(stage)


async def test_what_a_running_rollout_says_later_is_found_as_well_and_the_place_stays() -> None:
    async with staged_app(running()) as stage:
        await stage.until(lambda: stage.live.trajectory.count() > 20)
        await stage.press("2")
        await find_in(stage, "zebra")
        assert "nothing found" in foot(stage)
        said = {"role": "assistant", "content": "A zebra, and another zebra."}
        await stage.publish(ev.MessagesAdded(0, NOW, SELECTED, 1, 6, 2, [said]))
        await stage.until(lambda: "/2" in foot(stage))
        await stage.press("n", "n")
        assert "2/2" in foot(stage)
        await stage.publish(ev.MessagesAdded(0, NOW, SELECTED, 1, 7, 2, [said]))
        await stage.until(lambda: "/4" in foot(stage))
        assert "2/4" in foot(stage)


async def test_the_place_in_a_search_stays_when_a_rollout_finishes_and_is_read_from_disk() -> None:
    async with staged_app(running()) as stage:
        await stage.until(lambda: stage.live.trajectory.count() > 20)
        await stage.press("2")
        await find_in(stage, "multiply")
        await stage.press("g", "n", "n")
        before = foot(stage)
        assert int(before.split()[1].partition("/")[0]) > 1
        await stage.publish(finished(SELECTED))
        await stage.until(lambda: stage.live.trajectory.rollout.finished)
        await stage.until(lambda: not stage.live.trajectory.search.is_busy)
        assert foot(stage) == before


async def test_the_keys_give_way_to_the_words_that_are_looked_for() -> None:
    async with staged_app(rich_feed(), size=(100, 30)) as stage:
        await rich(stage)
        await find_in(stage, "candles")
        assert foot(stage) == "/candles  1/19   n N next, previous"
        await find_in(stage, "candles per")
        assert foot(stage).startswith("/candles per  1/2")


async def test_the_next_search_begins_empty_and_the_one_before_it_holds_until_then() -> None:
    async with staged_app(rich_feed()) as stage:
        await rich(stage)
        await find_in(stage, "candles")
        await stage.press("slash", *"boxes")
        assert foot(stage).startswith("/boxes")
        await stage.press("escape", "n")
        assert foot(stage).startswith("/candles  2/19")
        await find_in(stage, "")
        assert foot(stage).startswith("/candles") and "/19" in foot(stage)
        await find_in(stage, "boxes of 36")
        assert foot(stage).startswith("/boxes of 36  1/")


async def test_a_match_in_a_folded_tool_call_unfolds_it() -> None:
    async with staged_app(rich_feed()) as stage:
        await rich(stage)
        assert '"title": "Boxes of 36"' not in stage.text(stage.live.trajectory)
        await find_in(stage, "boxes of 36")
        assert '"title": "Boxes of 36"' in stage.text(stage.live.trajectory)


async def test_a_folded_tool_call_is_lit_where_something_is_found_in_it() -> None:
    async with staged_app(rich_feed(), size=(200, 60)) as stage:
        await rich(stage)
        await find_in(stage, "candles")
        trajectory = stage.live.trajectory
        lines = [trajectory.line(at) for at in range(trajectory.count())]
        lit = ["".join(text for text, ink in line if ink == "match") for line in lines]
        assert any(text.startswith('(query="candles per box"') for text in lit)


async def test_a_match_below_what_is_shown_of_a_long_text_is_shown() -> None:
    text = "\n".join(f"line {n}" for n in range(90_000))
    row = saved_row(0, completion=[{"role": "assistant", "content": text}])
    feed = ScriptedFeed(all_events(), {**saved_rows(), 0: row}, live=False)
    async with staged_app(feed) as stage:
        await stage.press("2", "g")
        for n in (412, 80_123):
            await find_in(stage, f"line {n}")
            await stage.press("n") if n == 412 else None
            assert f"line {n}" in stage.text(stage.live.trajectory)
            assert stage.live.trajectory.count() < 20_000
            await stage.press("escape")
        await stage.press("enter")
        await stage.until(lambda: "line 80123" not in stage.text(stage.live.trajectory))


async def test_escape_clears_what_was_found_and_then_goes_back_to_the_list() -> None:
    async with staged_app(rich_feed()) as stage:
        await rich(stage)
        await find_in(stage, "candles")
        await stage.press("escape")
        assert "candles  " not in foot(stage)
        assert stage.live.focused is stage.live.trajectory
        await stage.press("escape")
        await stage.until(lambda: stage.live.focused is stage.live.rollouts)


async def test_keys_that_are_typed_do_nothing_else() -> None:
    async with staged_app(running()) as stage:
        await stage.press("2", "slash", *"q1zpe?")
        assert foot(stage).startswith("/q1zpe?")
        assert stage.feed.sent == [stage.feed.sent[0]]
        await stage.press("backspace", "ctrl+u", *"ab cd", "ctrl+w")
        assert foot(stage).startswith("/ab")
        await stage.press("escape")
        assert not stage.live.trajectory.search.is_on


async def test_an_expression_that_is_none_says_why() -> None:
    async with staged_app(rich_feed()) as stage:
        await rich(stage)
        await find_in(stage, "/(/")
        assert "✗ missing )" in foot(stage)
        await find_in(stage, "nowhere")
        assert "nothing found" in foot(stage)


async def test_where_no_process_can_be_started_the_search_says_so_and_the_screen_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged_app(rich_feed()) as stage:
        await rich(stage)
        with monkeypatch.context() as without:
            without.setattr(sys, "executable", str(tmp_path / "python-that-is-gone"))
            await find_in(stage, "candles")
        assert "✗ no process could be started: No such file" in foot(stage)
        await find_in(stage, "")
        assert "/candles  1/19" in foot(stage)


async def test_an_expression_that_takes_forever_is_given_up_and_the_screen_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tui_eval.fold.query.patterns.matches_in.__defaults__", (0.5,))
    row = saved_row(0, completion=[{"role": "assistant", "content": "a" * 60 + "!"}])
    feed = ScriptedFeed(all_events(), {**saved_rows(), 0: row}, live=False)
    async with staged_app(feed) as stage:
        search, turns = stage.live.trajectory.search, 0

        async def count_turns() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0.005)
                turns += search.is_busy

        counting = asyncio.create_task(count_turns())
        await stage.press("2", "g", "slash", *"/(a+)+$/", "enter")
        while search.is_busy:
            await asyncio.sleep(0.005)
        counting.cancel()
        await stage.pilot.pause()
        assert "takes too long" in foot(stage)
        assert turns > 5, "the screen's loop runs meanwhile"


async def test_jumps_go_by_tool_call_and_by_what_went_wrong() -> None:
    async with staged_app(over(), size=(120, 60)) as stage:
        await stage.press("j", "2", "g")
        trajectory = stage.live.trajectory

        def here() -> str:
            return "".join(
                text for text, _ in trajectory.line(trajectory._layout.starts[trajectory.cursor])
            )

        calls = []
        for _ in range(3):
            await stage.press("right_parenthesis")
            calls.append(here().split("(")[0].strip(" ▸▾"))
        assert calls == ["multiply", "multiply", "multiply"]
        await stage.press("left_parenthesis", "g", "w")
        assert "✗" in here() and "divide" in here()
        at = trajectory.cursor
        await stage.press("w")
        assert trajectory.cursor == at
        await stage.press("g", "right_curly_bracket")
        assert "turn 1" in here()


async def test_a_long_trajectory_is_laid_out_on_sight_and_keeps_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trajectory_view, "CALM_S", 60.0)
    async with staged_app(long_feed(1_000, 2_000_000)) as stage:
        trajectory = stage.live.trajectory
        assert not trajectory._layout.is_exact
        await stage.press("2", "g")
        await stage.press("G")
        await stage.press("ctrl+u")
        first = stage.text(trajectory).splitlines()[1]
        monkeypatch.setattr(trajectory_view, "SLICE_S", 60.0)
        trajectory._measure()
        assert not trajectory._layout.is_exact, (
            "what is not seen is laid out while somebody scrolls"
        )
        trajectory._calm_from = 0.0
        trajectory._measure()
        assert trajectory._layout.is_exact
        await stage.pilot.pause()
        assert stage.text(trajectory).splitlines()[1] == first
        starts = trajectory._layout.starts
        assert starts[-1] == sum(
            len(trajectory._layout.piece(at).lines) + part.gap
            for at, part in enumerate(trajectory._layout.parts)
        )


@given(
    st.lists(st.text(alphabet="ab \t漢é\x1b\r\n", max_size=120), max_size=4),
    st.text(alphabet="ab 漢", min_size=1, max_size=4),
    st.integers(12, 40),
)
def test_every_match_is_marked_where_it_is(texts: list[str], typed: str, width: int) -> None:
    source, _ = expression_of(typed)
    if not typed.strip():
        return
    for text in texts:
        block = Block("text", text, (("  ", ""),), (("  ", ""),), 1_000)
        piece = lay_out((("head", ""),), [block], USUAL, width)
        shown = printable(text.strip("\r\n"))
        matches = [
            Match(0, "text", found.start(), found.end())
            for found in re.finditer(source, shown, re.IGNORECASE | re.MULTILINE)
        ]
        marked = [
            "".join(part for part, ink in line if ink.startswith("match"))
            for at in range(1, len(piece.lines))
            for line, _ in [Texts(piece).line(at, matches, None, lambda: True)]
        ]
        expected = "".join(shown[one.start : one.end] for one in matches)
        assert "".join("".join(marked).split()) == "".join(expected.split())


@given(st.text(alphabet="ab\t\r\n\x1b漢🏴\U000e0067", max_size=400))
def test_a_text_in_slices_is_shown_as_the_whole_is(text: str) -> None:
    before, shown_text._SLICE = shown_text._SLICE, 16
    try:
        assert printable_slices(text) == printable(text)
    finally:
        shown_text._SLICE = before


def test_finding_gives_places_in_the_order_of_the_texts() -> None:
    source, _ = expression_of("one  two")
    texts = ["One\ntwo", "", "x one two one two"]
    assert matches_in(source, texts, 10) == [(0, 0, 7), (2, 2, 9), (2, 10, 17)]
    assert matches_in(source, texts, 2) == [(0, 0, 7), (2, 2, 9)]
    with pytest.raises(TimeoutError):
        matches_in(r"(a+)+$", ["a" * 60 + "!"], 10, patience_s=0.3)
