from __future__ import annotations

import re
import tracemalloc

import pytest
from msgspec.structs import replace
from scripted_rows import saved_rows
from scripted_run import (
    NOW,
    TOTAL,
    ScriptedFeed,
    all_events,
    failed,
    finished,
    run_started,
    running_events,
    staged,
    throttled_events,
)
from staging import over, running, staged_app
from textual.geometry import Region
from textual.scrollbar import ScrollBar
from tiers import first_always

from tui_eval import events as ev
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.run.header import bar_spans, progress


@pytest.mark.usefixtures("every_frame")
async def test_a_tick_with_nothing_new_draws_nothing() -> None:
    async with staged_app(over()) as stage:
        views = list(stage.app.screen.query(LineView))
        before = await stage.at_rest(*views)
        for _ in range(10):
            stage.app.tick()
            await stage.pilot.pause()
        assert [view.requested for view in views] == before


@pytest.mark.usefixtures("every_frame")
async def test_a_bar_that_comes_late_stands_where_the_view_is() -> None:
    async with staged_app(over()) as stage:
        await stage.press("e")
        trajectory = stage.live.trajectory
        trajectory.jump(trajectory.max_scroll_y)
        assert trajectory.scroll_y == trajectory.max_scroll_y > 3
        trajectory.show_vertical_scrollbar = False
        trajectory.jump(trajectory.max_scroll_y - 3)
        trajectory.show_vertical_scrollbar = True
        await stage.pilot.pause()
        assert (
            trajectory.vertical_scrollbar.position
            == trajectory.scroll_y
            == trajectory.max_scroll_y - 3
        )


async def test_a_bar_is_redrawn_where_it_looks_other_than_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[int] = []
    render = ScrollBar.render
    monkeypatch.setattr(ScrollBar, "render", lambda bar: drawn.append(1) or render(bar))
    async with staged_app(over()) as stage:
        trajectory, bar = stage.live.trajectory, stage.live.trajectory.vertical_scrollbar
        messages = [{"role": "user", "content": f"number {n}"} for n in range(3_000)]
        stage.live.reader.rollout = Rollout(0, messages=messages, finished=True)
        trajectory.show(stage.live.reader.rollout, reset=True)
        assert trajectory.count() > 9_000
        steps = range(0, 300, 7)
        for top in steps:
            trajectory.jump(top)
            await stage.pilot.pause(0)
            looks = [list(bar.render_line(y)) for y in range(bar.size.height)]
            before = len(drawn)
            bar.refresh()
            assert [list(bar.render_line(y)) for y in range(bar.size.height)] == looks
            drawn[before:] = []
        assert len(drawn) < len(steps) / 2


@pytest.mark.usefixtures("every_frame")
async def test_a_backlog_is_folded_by_one_timer_beside_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged_app(running()) as stage:
        monkeypatch.setattr("tui_eval.tui.app.BUDGET_S", -1.0)
        begun: list[object] = []
        monkeypatch.setattr("tui_eval.tui.app.after", lambda *args: begun.append(args))
        stage.feed.events += [staged(32, ev.Stage.MODEL)] * 3_000
        for _ in range(4):
            stage.app.tick()
        assert stage.feed.events
        assert len(begun) == 1


@pytest.mark.usefixtures("every_frame")
async def test_the_last_lines_of_a_view_are_made_once_a_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []
    async with staged_app(over()) as stage:
        trajectory = stage.live.trajectory
        foot = trajectory.foot
        monkeypatch.setattr(trajectory, "foot", lambda: made.append(1) or foot())
        trajectory.render_lines(Region(0, 0, *trajectory.size))
        assert len(made) == 1


@pytest.mark.usefixtures("every_frame")
async def test_one_changed_row_draws_one_line() -> None:
    async with staged_app(running()) as stage:
        await stage.at_rest(stage.live.rollouts)
        before = stage.live.rollouts.requested
        await stage.publish(staged(32, ev.Stage.TOOL, at=NOW - 4.2, turns=1, tool_calls=1))
        assert stage.live.rollouts.requested - before <= 2


@pytest.mark.slow
@pytest.mark.usefixtures("every_frame")
async def test_ten_thousand_rows_draw_only_what_can_be_seen() -> None:
    rows = 10_000
    start = run_started(num_examples=2_500, total=rows)
    feed = ScriptedFeed([start, *(finished(row) for row in range(rows))], saved_rows())
    async with staged_app(feed) as stage:
        assert stage.app.state.finished == rows
        assert stage.live.rollouts.count() == rows
        drawn = stage.live.rollouts.built
        assert drawn < 40 * 40
        await stage.press("G")
        assert "running" not in stage.text(stage.live.keys)
        assert stage.live.rollouts.built - drawn < 200


@pytest.mark.parametrize(
    "size", first_always([((12, 5),), ((101, 12),), ((40, 10),), ((79, 8),), ((300, 90),)], 2)
)
async def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    async with staged_app(running(), size=size) as stage:
        for keys in ("1", "2", "3", "z", "question_mark", "escape", "q", "escape"):
            await stage.press(keys)


async def test_a_selection_that_was_seen_is_seen_in_a_smaller_terminal() -> None:
    async with staged_app(over(), size=(120, 40)) as stage:
        rollouts = stage.live.rollouts
        await stage.press("home", *["down"] * 15)
        line = next(at for at in range(rollouts.count()) if rollouts.marked(at))
        await stage.pilot.resize_terminal(120, 16)
        await stage.until(lambda: rollouts.view_height < 15 and "▌" in stage.text(rollouts))
        top, height = rollouts.scroll_offset.y, rollouts.view_height
        assert top <= line < top + height
        rollouts.jump(rollouts.count())
        await stage.until(lambda: "▌" not in stage.text(rollouts))
        await stage.pilot.pause()  # that is on the screen now
        await stage.pilot.resize_terminal(120, 14)
        await stage.until(lambda: rollouts.view_height < height)
        await stage.pilot.pause()
        assert not rollouts.scroll_offset.y <= line < rollouts.scroll_offset.y + height


async def test_a_change_of_size_redoes_the_whole_layout() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        await stage.pilot.resize_terminal(80, 24)
        await stage.until(lambda: not stage.live.trajectory.region)
        await stage.pilot.resize_terminal(120, 40)
        await stage.until(lambda: stage.live.numbers.region and stage.live.trajectory.region)
        views = (stage.live.trajectory, stage.live.numbers, stage.live.rollouts, stage.live.header)
        for view in views:
            lines = stage.text(view).splitlines()
            assert max(len(line) for line in lines) <= view.size.width
        assert "scored · 2 errored" in stage.text(stage.live.numbers)


async def test_rollouts_that_were_left_are_not_kept_by_the_trajectory() -> None:
    async with staged_app(over()) as stage:
        tracemalloc.start()
        try:
            for row in range(50):
                text = f"{row} " + "x" * 200_000
                messages = [{"role": "user", "content": text}]
                stage.live.trajectory.show(Rollout(row, messages=messages), reset=True)
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert kept < 4_000_000


async def test_a_change_of_size_keeps_the_place_in_the_trajectory() -> None:
    async with staged_app(over()) as stage:
        words = "many words to be wrapped " * 20
        messages = [{"role": "user", "content": f"number {n} {words}"} for n in range(30)]
        stage.live.reader.rollout = Rollout(0, messages=messages, finished=True)
        stage.live.trajectory.show(stage.live.reader.rollout, reset=True)
        await stage.press("2", "G", *["k"] * 10)
        assert "number 20" in stage.text(stage.live.trajectory)
        await stage.pilot.resize_terminal(80, 24)
        trajectory = stage.live.trajectory
        await stage.until(
            lambda: stage.live.size.width == 80 and "number 20" in stage.text(trajectory)
        )


async def test_a_narrow_screen_shows_the_pane_with_the_focus() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        live = stage.live
        assert [p.id for p in (live.rollouts, live.trajectory, live.numbers) if p.region] == [
            "rollouts"
        ]
        await stage.press("tab")
        await stage.until(lambda: live.trajectory.region)
        assert not live.rollouts.region
        await stage.press("3")
        await stage.until(lambda: live.numbers.region and not live.trajectory.region)
        await stage.press("5")
        await stage.until(lambda: live.reward.region and not live.numbers.region)
        await stage.press("escape")
        await stage.until(lambda: live.focused is live.rollouts)


def test_a_terminal_of_sixteen_colours_is_drawn_in_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORTERM", raising=False)
    monkeypatch.delenv("TEXTUAL_THEME", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert TuiEvalApp(over()).theme == "ansi-either"
    monkeypatch.setenv("TERM", "xterm-256color")
    assert TuiEvalApp(over()).theme == "tui-eval-dark"


async def test_a_bar_shows_how_far_a_throttled_run_is_on_a_small_screen() -> None:
    feed = ScriptedFeed(throttled_events(), saved_rows())
    async with staged_app(feed, size=(80, 24)) as stage:
        header = stage.text(stage.live.header)
        assert "30/48  ~1  ▶4  ✗2  limit 5/16 · 31 req. refused  1:07 left" in header
        assert "━━━" in header


def test_no_number_of_a_large_throttled_run_is_cut_on_a_small_screen() -> None:
    state = RunState()
    state.apply(run_started(total=5000, num_examples=1250, max_concurrent=64))
    for row in range(1224):
        state.apply(finished(row) if row < 1200 else staged(row, ev.Stage.MODEL))
    state.apply(ev.ConcurrencyMoved(0, NOW, 0, 24, 64, 140))
    line = "".join(text for text, _ in progress(state, NOW, 78))
    assert "1,200/5,000  ▶24  limit 24/64 · 140 req. refused  1:58:45 left  $1.60" in line
    assert len(line) == 78 and "━━" in line
    state.apply(staged(1224, ev.Stage.SLEEPING))
    state.apply(failed(1225))
    line = "".join(text for text, _ in progress(state, NOW, 78))
    assert "1,201/5,000  ~1  ▶24  ✗1  limit 24/64 · 140 req. refused  $1.60" in line
    assert len(line) == 78 and "━━" in line


@pytest.mark.parametrize("width", [80, 90, 100, 110, 120, 140])
async def test_how_many_were_refused_is_shown_while_they_are_at_every_width(width: int) -> None:
    feed = ScriptedFeed(throttled_events(), saved_rows())
    async with staged_app(feed, size=(width, 40)) as stage:
        progress = stage.text(stage.live.header).splitlines()[1]
        assert re.search("limit 5( of |/)16 · 31 (requests|req.) refused", progress)
        assert re.search(r"1:07 left .*\$0.0377", progress) and "━━━" in progress


@pytest.mark.parametrize("width", [80, 120])
async def test_how_many_requests_were_refused_is_known_when_a_run_is_over(width: int) -> None:
    start, *rows = all_events()
    assert isinstance(start, ev.RunStarted)
    for refused, shown in ((None, ""), (0, ""), (31, "31 requests refused")):
        feed = ScriptedFeed([replace(start, refused=refused), *rows], saved_rows())
        async with staged_app(feed, size=(width, 24)) as stage:
            header = stage.text(stage.live.header)
            assert shown in header and ("refused" in header) == bool(shown)
            assert "limit" not in header and "━━━" in header


async def test_who_met_no_refusal_sees_the_limit_that_holds_for_all() -> None:
    moved = ev.ConcurrencyMoved(0, NOW, 0, 2, 4, 0)
    async with staged_app(ScriptedFeed([*running_events(), moved])) as stage:
        header = stage.text(stage.live.header)
        assert "limit 2 of 4" in header and "refused" not in header


async def test_a_middling_header_has_words_for_the_states_and_a_bar() -> None:
    async with staged_app(running(), size=(120, 40)) as stage:
        progress = stage.text(stage.live.header).splitlines()[1]
        assert (
            "30/48  ~ 1 sleeping  ▶ 4 running  · 13 waiting  ✗ 2 errors  ◆✗8  16.0/min" in progress
        )
        assert progress.rstrip().endswith("74.1k tok  $0.0377")
        assert sum(map(progress.count, "━╍─")) >= 12


async def test_tokens_have_a_name_at_every_width() -> None:
    async with staged_app(running(), size=(200, 60)) as stage:
        assert "   tokens 67.5k in 6.7k out   " in stage.text(stage.live.header)
    async with staged_app(over(), size=(80, 24)) as stage:
        assert "   113k → 11.0k tok   " in stage.text(stage.live.header)


@pytest.mark.parametrize(
    ("width", "bar"), [(24, "━" * 14 + "╍" + "━━━" + "─" * 6), (6, "━━━╍━─")], ids=[24, 6]
)
def test_the_errored_part_of_a_bar_is_no_line_like_the_others(width: int, bar: str) -> None:
    assert "".join(text for text, _ in bar_spans(30, 2, 5, 48, width)) == bar


async def test_a_small_screen_still_says_how_the_run_is() -> None:
    async with staged_app(running(), size=(40, 12)) as stage:
        assert "calcula…  reward 0.58   ▶ running 1:14" in stage.text(stage.live.header)


async def test_one_rollout_an_example_needs_no_braces() -> None:
    start = run_started(num_examples=TOTAL, rollouts_per_example=1)
    async with staged_app(ScriptedFeed([start, finished(0)], saved_rows())) as stage:
        assert "╭" not in stage.text(stage.live.rollouts)
        assert "pass@" not in stage.text(stage.live.numbers)
