"""The mouse as a terminal reports it: pressed at one place, released at another."""

from __future__ import annotations

from pathlib import Path

import pytest
from app_driver import seen
from run_on_disk import feed_on_disk
from staging import Stage, opened_palette, over, running, staged_app
from textual import events
from textual.widget import Widget

from tui_eval.commands import Command, Save
from tui_eval.tui.base.dialogs.question import Choices
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.copying.copyable import MenuLines
from tui_eval.tui.run.rollouts.columns_dialog import ColumnLines, SortLines


async def report(stage: Stage, kind: type[events.MouseEvent], x: int, y: int, button: int) -> None:
    stage.app.post_message(kind(None, x, y, 0, 0, button, False, False, False, x, y))
    await stage.pilot.pause()


async def drag(stage: Stage, start: tuple[int, int], end: tuple[int, int]) -> None:
    await report(stage, events.MouseDown, *start, 1)
    if end != start:
        await report(stage, events.MouseMove, *end, 1)
    await report(stage, events.MouseUp, *end, 1)


async def click_twice_at_once(stage: Stage, x: int, y: int) -> None:
    """As a slow line brings a double click; the box that it closes is the only one."""
    for kind in (events.MouseDown, events.MouseUp) * 2:
        stage.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))
    await stage.until(lambda: stage.app.screen is stage.live)
    await stage.pilot.pause()
    assert stage.app.is_running and stage.app.screen is stage.live


def place(view: Widget, line: int, x: int = 6) -> tuple[int, int]:
    return view.content_region.x + x, view.content_region.y + line


async def test_a_button_released_on_another_row_does_nothing() -> None:
    async with staged_app(over()) as stage:
        rollouts = stage.live.rollouts
        await drag(stage, place(rollouts, 4), place(rollouts, 8))
        assert rollouts.row == 0
        await drag(stage, place(rollouts, 4), place(rollouts, 4, x=30))
        assert rollouts.row == 0
        await drag(stage, place(rollouts, 4), place(rollouts, 4, x=8))
        assert rollouts.row == 3


@pytest.mark.parametrize(
    ("key", "kind", "line"), [("y", MenuLines, 2), ("s", SortLines, 2), ("q", Choices, 4)]
)
async def test_what_is_clicked_twice_at_once_closes_only_its_own_box(
    key: str, kind: type[LineView], line: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TUI_EVAL_CACHE_DIR", str(tmp_path))
    async with staged_app(running()) as stage:
        await stage.press(key)
        x, y = place(stage.app.screen.query_one(kind), line)
        await click_twice_at_once(stage, x, y)


@pytest.mark.parametrize(("is_hit", "commands"), [(True, [Save()]), (False, [])])
async def test_the_palette_runs_what_is_clicked_twice_at_once_once(
    is_hit: bool, commands: list[Command]
) -> None:
    async with staged_app(running()) as stage:
        hits = await opened_palette(stage, *"write")
        assert hits.option_count == 1
        await click_twice_at_once(stage, *(place(hits, 0) if is_hit else (0, 0)))
        assert [sent for sent in stage.feed.sent if isinstance(sent, Save)] == commands


async def test_a_row_that_moves_away_while_the_button_is_down_is_the_one_that_was_pressed() -> None:
    async with staged_app(over()) as stage:
        rollouts = stage.live.rollouts
        await report(stage, events.MouseDown, *place(rollouts, 4), 1)
        rollouts.jump(5)
        await stage.pilot.pause()
        await report(stage, events.MouseUp, *place(rollouts, 4), 1)
        assert rollouts.row == 3


async def test_a_click_on_a_message_takes_it_away_and_presses_no_key_below_it() -> None:
    async with staged_app(over()) as stage:
        stage.live.keys.say("Nothing is wrong.", stage.clock)
        await stage.pilot.click(stage.live.keys, offset=(2, 0))
        await stage.pilot.pause()
        assert not stage.live.keys.message
        assert stage.app.is_running and stage.app.screen is stage.live
        assert "q quit" in seen(stage.app)


async def test_a_click_on_what_stands_before_the_keys_presses_none() -> None:
    async with staged_app(over()) as stage:
        stage.live.keys.held = "A: the first of two"
        stage.live.keys.update()
        await stage.pilot.click(stage.live.keys, offset=(4, 0))
        await stage.pilot.pause()
        assert stage.app.is_running and stage.app.screen is stage.live
        assert not stage.live.keys.message
        await stage.click_on("help")
        assert stage.app.screen is not stage.live


async def test_a_message_is_unfolded_and_folded_again_with_the_mouse() -> None:
    async with staged_app(over()) as stage:

        async def click(words: str) -> None:
            lines = stage.text(stage.live.trajectory).splitlines()
            at = next(y for y, line in enumerate(lines) if words in line)
            await drag(stage, place(stage.live.trajectory, at), place(stage.live.trajectory, at))

        await click(" more lines")
        assert "When you are done" in stage.text(stage.live.trajectory)
        await click("▪ system")
        assert " more lines" in stage.text(stage.live.trajectory)
        await click("▪ system")
        assert "When you are done" in stage.text(stage.live.trajectory)
        await click("› user")
        assert "A workshop makes" in stage.text(stage.live.trajectory)


async def test_a_click_on_a_title_goes_to_its_pane_and_the_wheel_scrolls_what_it_is_over() -> None:
    async with staged_app(over()) as stage:
        live = stage.live
        for pane in (live.trajectory, live.numbers, live.reward, live.rollouts):
            title = pane.region.x + 4, pane.region.y
            await drag(stage, title, title)
            assert stage.app.focused is pane
        await report(stage, events.MouseScrollDown, *place(live.trajectory, 3), 0)
        assert (live.trajectory.scroll_offset.y, live.rollouts.scroll_offset.y) == (3, 0)
        assert stage.app.focused is live.rollouts


@pytest.mark.parametrize(
    "keys",
    [("slash",), ("a",), ("C", "ctrl+u"), ("x", "tab", "tab", "ctrl+u")],
    ids=["filter", "note", "path", "export"],
)
async def test_a_click_puts_the_caret_where_something_is_typed(keys: tuple[str, ...]) -> None:
    async with staged_app(over()) as stage:
        await stage.press(*keys, *"row<abcd")
        lines = seen(stage.app).splitlines()
        y = next(y for y, line in enumerate(lines) if "row<abcd" in line)
        x = lines[y].index("row<abcd") + 4
        await drag(stage, (x, y), (x, y))
        await stage.press("7")
        assert "row<7abcd" in seen(stage.app)


@pytest.mark.parametrize(("size", "keys"), [((80, 24), ""), ((120, 40), "z"), ((50, 24), "")])
async def test_a_click_on_the_name_of_a_hidden_pane_in_a_title_goes_there(
    size: tuple[int, int], keys: str
) -> None:
    async with staged_app(over(), size=size) as stage:
        live = stage.live
        await stage.press(*keys)
        for key, pane in (("3", live.numbers), ("5", live.reward), ("1", live.rollouts)):

            def shown(key: str = key) -> int:
                return seen(stage.app).splitlines()[2].find(f" {key} ")

            await stage.until(lambda shown=shown: shown() > 0)
            at = shown() + 1, 2
            await drag(stage, at, at)
            await stage.until(lambda pane=pane: stage.app.focused is pane)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("question_mark",), "esc closes"), (("y",), "esc closes"), (("s",), "esc closes"),
        (("c",), "esc closes"), (("a",), "esc discards"), (("C",), "esc closes"),
        (("x",), "esc closes"),
    ],
)  # fmt: skip
async def test_a_click_on_the_words_that_say_how_a_box_is_closed_closes_it(
    keys: tuple[str, ...], words: str
) -> None:
    async with staged_app(over()) as stage:
        await stage.press(*keys)
        assert stage.app.screen is not stage.live
        await click_twice_at_once(stage, *stage.where(words))


async def test_columns_are_moved_and_kept_by_clicks_on_what_the_box_says() -> None:
    async with staged_app(over()) as stage:
        await stage.press("c")
        box = stage.app.screen.query_one(ColumnLines)
        before = list(box.names)
        swapped = [before[1], before[0], *before[2:]]
        for words, names in (("J K", swapped), ("K move", before)):
            await stage.click_on(words)
            await stage.until(lambda names=names: box.names == names)
        await stage.click_on("enter keeps")
        await stage.until(lambda: stage.app.screen is stage.live)


async def test_an_export_is_written_by_a_click_on_what_writes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    feed, _ = feed_on_disk(tmp_path / "run")
    async with staged_app(feed) as stage:
        await stage.until(lambda: stage.app.state.finished == 4)
        await stage.press("x")
        await stage.until(lambda: "enter writes" in seen(stage.app))
        await stage.click_on("writes")
        await stage.until(lambda: [one for one in tmp_path.iterdir() if one.suffix == ".html"])
