from __future__ import annotations

import pytest
from app_driver import is_opening
from scripted_rows import saved_rows
from scripted_run import LOG, ScriptedFeed, all_events, running_events
from staging import Stage, over, staged_app, staged_suite

from tui_eval.fold import log_records
from tui_eval.tui.run.log.lines import MARGIN

STAMP = "2026-10-09 10:54:00,000"


def running() -> ScriptedFeed:
    return ScriptedFeed(running_events(), saved_rows())


def shown(stage: Stage) -> str:
    return stage.text(stage.live.log_pane)


async def write(stage: Stage, text: str) -> None:
    stage.feed.logged += text.encode()
    stage.live.log_pane.poll()
    await stage.until(lambda: stage.live.log_pane.window.end == len(stage.feed.logged))
    await stage.pilot.pause()


async def open_log(stage: Stage) -> None:
    await stage.press("4")
    await stage.until(lambda: stage.live.log_pane.is_current)
    await stage.pilot.pause()


def selected(stage: Stage) -> str:
    lines = shown(stage).splitlines()
    return next(line for line in lines if line.startswith("▌"))


async def test_every_level_has_a_sign_and_a_word_and_prints_stand_among_them() -> None:
    async with staged_app(over()) as stage:
        await open_log(stage)
        for words in (
            "08:53:46 • info   run           calculator with",
            "› print  calculator: 48 problems, seed 7",
            "08:54:52 · debug  rollout       example 7",
            "08:54:53 ! warn   clients       RateLimitError",
            "08:54:57 ✗ error  environments  tool divide failed",
        ):
            assert words in shown(stage)


async def test_the_log_is_followed_until_somebody_scrolls_and_again_from_the_end() -> None:
    async with staged_app(running(), size=(120, 24)) as stage:
        await open_log(stage)
        await write(stage, "".join(f"print {n}\n" for n in range(40)))
        assert "print 39" in shown(stage)
        await stage.press("ctrl+u")
        at = shown(stage)
        await write(stage, "more\nand more\n")
        assert "▼ 2 new" in shown(stage)
        assert shown(stage).splitlines()[:-1] == at.splitlines()[:-1]
        assert stage.live.follower.on
        await stage.press("G")
        assert "and more" in shown(stage)
        assert "new" not in shown(stage)


async def test_what_is_added_to_the_last_record_is_shown_with_it() -> None:
    async with staged_app(running()) as stage:
        await open_log(stage)
        await write(stage, f"{STAMP} ERROR sums: it broke\n")
        trace = 'Traceback (most recent call last):\n  File "a.py", line 1\nKeyError: 1\n'
        await write(stage, trace)
        assert "KeyError: 1" in shown(stage)
        assert "KeyError" in shown(stage).splitlines()[-1]


async def test_levels_are_left_out_one_after_the_other() -> None:
    async with staged_app(over()) as stage:
        await open_log(stage)
        for gone, left in (("debug", "info"), ("info", "warn"), ("warn", "error")):
            await stage.press("L")
            assert gone not in shown(stage) and left in shown(stage)
        assert "errors" in str(stage.live.log_pane.border_title)
        await stage.press("L")
        assert "debug" in shown(stage)


async def test_a_long_record_is_folded_and_enter_shows_all_of_it() -> None:
    async with staged_app(running(), size=(80, 24)) as stage:
        await open_log(stage)
        await write(stage, f"{STAMP} DEBUG tui_eval.rollout: {'request ' * 60}the end\n")
        assert shown(stage).count("request") < 10
        assert selected(stage).rstrip().endswith("…")
        await stage.press("enter")
        assert "the end" in shown(stage)
        await stage.press("enter")
        assert "the end" not in shown(stage)


@pytest.mark.parametrize("width", [80, 120])
async def test_a_folded_record_fills_its_line_and_counts_its_own_lines(width: int) -> None:
    async with staged_app(running(), size=(width, 24)) as stage:
        await open_log(stage)
        words = "a-word-that-is-not-broken " * 20
        await write(stage, f"{STAMP} DEBUG sums: {words}\n  {words}\n  the end\n")
        line = shown(stage).rstrip().splitlines()[-1]
        assert line.endswith("…  +2 lines")
        assert len(line) > width - 4


async def test_a_click_selects_a_record_and_another_unfolds_it() -> None:
    async with staged_app(over()) as stage:
        await open_log(stage)
        y = next(at for at, line in enumerate(shown(stage).splitlines()) if "✗ error" in line)
        await stage.pilot.click("#log", offset=(30, y + 1))
        assert "Traceback" not in shown(stage)
        await stage.pilot.click("#log", offset=(30, y + 1))
        assert "Traceback" in shown(stage)


async def test_search_goes_round_and_escape_ends_it_before_it_leaves() -> None:
    async with staged_app(over()) as stage:
        await open_log(stage)
        await stage.press("slash", *"Answered q", "backspace", "backspace", "enter")
        assert "“answered” entry 1 of 2" in str(stage.live.log_pane.border_title)
        assert "390 + 48" in selected(stage)
        await stage.press("n")
        assert "550 + 57" in selected(stage)
        await stage.press("n")
        assert "390 + 48" in selected(stage)
        await stage.press("N")
        assert "550 + 57" in selected(stage)
        for done in ("escape", "enter"):
            await stage.press("slash", *("x" if done == "escape" else ""), done)
            assert "“answered” entry 2 of 2" in str(stage.live.log_pane.border_title)
        await stage.press("escape")
        assert "answered" not in str(stage.live.log_pane.border_title)
        assert stage.live.focused is stage.live.log_pane
        await stage.press("escape")
        await stage.until(lambda: stage.live.focused is stage.live.rollouts)


@pytest.mark.parametrize(
    ("size", "keys"),
    [((120, 40), " · n N next, previous · esc clears "), ((80, 24), " · n N next, previous ")],
)
async def test_a_search_says_how_to_continue_and_how_to_end_it(
    size: tuple[int, int], keys: str
) -> None:
    async with staged_app(over(), size=size) as stage:
        await open_log(stage)

        def title() -> str:
            return str(stage.live.log_pane.border_title)

        await stage.press("L", "slash", *"answered", "enter")
        assert "entry – of 0 · esc clears" in title()
        await stage.press("slash", *"seed", "enter")
        assert f"entry 1 of 1{keys}" in title()
        await stage.press("1")
        assert "next" not in title()


async def test_e_goes_to_the_next_error_of_the_log() -> None:
    async with staged_app(over()) as stage:
        await open_log(stage)
        await stage.press("e")
        assert "tool divide failed" in selected(stage)
        assert stage.live.rollouts.row == 0


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_pane_is_reached_by_its_key_at_every_size(size: tuple[int, int]) -> None:
    async with staged_app(over(), size=size) as stage:
        await open_log(stage)
        assert stage.live.focused is stage.live.log_pane
        assert "seed 7" in shown(stage)
        await stage.press("1")
        assert stage.live.log_pane.display is (size[0] >= 120)
        await stage.press("3")
        assert stage.live.numbers.size.height > 0


@pytest.mark.parametrize("reads", [False, True])
async def test_of_a_long_log_the_end_is_shown_and_more_of_it_on_demand(
    reads: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_records, "PIECE", 1000)
    monkeypatch.setattr(log_records, "MOST_BYTES", 4000)
    feed = over()
    feed.logged = "".join(f"line {n:04}\n" for n in range(1000)).encode()
    async with staged_app(feed) as stage:
        await open_log(stage)
        assert "line 0999" in shown(stage)
        await stage.press("g")
        assert "… 8,010 bytes before this  enter reads more" in selected(stage)
        assert "line 0801" in shown(stage)
        if reads:  # what was added, just then
            stage.live.log_pane.poll()
            stage.live.log_pane.action_switch_fold()
        else:
            await stage.press("enter")
        await stage.until(lambda: stage.live.log_pane.window.begin < 8010)
        await stage.pilot.pause()
        assert "line 0801" in shown(stage)
        await stage.press("k")
        assert "line 0800" in shown(stage)


async def test_who_reads_back_is_not_moved_and_the_window_grows_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_records, "MOST_BYTES", 4000)
    async with staged_app(running(), size=(120, 24)) as stage:
        stage.feed.logged = b""
        await open_log(stage)
        await write(stage, "".join(f"line {n:04}\n" for n in range(100)))
        await stage.press("g")
        before = shown(stage)
        await write(stage, "".join(f"more {n:04}\n" for n in range(900)))
        stage.feed.logged += b"unread\n"
        for _ in range(3):
            stage.live.log_pane.poll()
            await stage.pilot.pause(0.02)
        assert shown(stage).splitlines()[:-1] == before.splitlines()[:-1]
        assert "▼ 900+ new" in shown(stage)
        await stage.press("G")
        await stage.until(lambda: "unread" in shown(stage))
        assert len(stage.live.log_pane.window.records) < 500


async def test_each_evaluation_of_a_suite_shows_its_own_log() -> None:
    async with staged_suite() as stage:
        stage.feeds.feeds[0].logged = b"of the second\n"
        await stage.press("4")
        await stage.until(lambda: "of the second" in shown(stage))
        await stage.press("less_than_sign")
        await stage.until(lambda: not is_opening(stage.live))
        await stage.until(lambda: "seed 7" in shown(stage))
        assert "of the second" not in shown(stage)


async def test_a_log_that_is_shown_just_when_another_is_about_to_be_read_is_read_once() -> None:
    async with staged_app(over()) as stage:
        await open_log(stage)
        pane = stage.live.log_pane
        await stage.until(lambda: pane.is_current)
        once = len(pane.window.records)
        pane.poll()
        pane.show_log(stage.feed)
        pane.poll()
        await stage.until(lambda: pane.is_current)
        assert len(pane.window.records) == once > 1


async def test_lines_are_laid_out_for_the_width_that_the_pane_has() -> None:
    async with staged_suite(size=(200, 60)) as stage:
        log = stage.live.log_pane
        await stage.until(lambda: log.is_current)
        for width in (80, 200):
            await stage.pilot.resize_terminal(width, 60)
            await stage.press("4")
            await stage.until(lambda width=width: stage.live.size.width == width)
            await stage.until(lambda: "attempt 2 of 10" in shown(stage))
            whole = "› print  note: per day 504, five days 2520, fallen 108"
            await stage.until(lambda whole=whole: whole in shown(stage))


async def test_long_lines_break_between_words_and_continue_at_their_own_indent() -> None:
    async with staged_app(running(), size=(80, 24)) as stage:
        await open_log(stage)
        url = "https://example.org/where/it/was/seen?page=2"
        trace = f'Traceback (most recent call last):\n  File "{"a" * 44}.py", line 1, in sum_up'
        await write(stage, f"{STAMP} ERROR sums: it broke, see {url}\n{trace}\nKeyError: 1\n")
        await stage.press("G", "enter")
        lines = [line[MARGIN + 1 :].rstrip() for line in shown(stage).splitlines()]
        at = lines.index("sums  it broke, see")
        assert lines[at + 1] == url
        assert lines[at + 3].startswith('  File "aaa') and lines[at + 4] == "  line 1, in sum_up"
        assert lines[at + 5] == "KeyError: 1"


async def test_long_messages_continue_under_their_begin_where_they_have_a_column() -> None:
    async with staged_app(running(), size=(120, 40)) as stage:
        await open_log(stage)
        words = " ".join(f"word-{at}" for at in range(20))
        begin = "Traceback (most recent call last):"
        await write(stage, f"{STAMP} ERROR sums: {words}\n{begin}\n  File 1\n")
        await stage.press("G", "enter")
        lines = [line[MARGIN + 1 :].rstrip() for line in shown(stage).splitlines()]
        at = next(at for at, line in enumerate(lines) if line.startswith("sums "))
        column = lines[at].index("word-0")
        assert [line[:column].strip() for line in lines[at : at + 4]] == ["sums", "", "", ""]
        assert lines[at + 1][column:].startswith("word-")
        assert [line[column:] for line in lines[at + 2 : at + 4]] == [begin, "  File 1"]
        output = [line[column:] for line in lines[at : at + 2]]
        assert " ".join(output) == words


@pytest.mark.parametrize("live", [True, False])
async def test_a_log_with_nothing_in_it_says_so(live: bool) -> None:
    feed = ScriptedFeed(running_events() if live else all_events(), saved_rows(), live=live)
    feed.logged = b""
    async with staged_app(feed) as stage:
        await open_log(stage)
        assert "nothing was logged" in shown(stage)
        assert ("nothing was logged yet" in shown(stage)) == live
        feed.logged = LOG.splitlines()[1].encode() + b"\n"
        stage.live.log_pane.poll()
        await stage.until(lambda: "seed 7" in shown(stage))


async def test_enter_on_a_line_opens_the_rollout_that_it_belongs_to() -> None:
    async with staged_app(over()) as stage:
        await open_log(stage)
        row = stage.live.rollouts.row
        wanted = 3 if row != 3 else 4
        lines = f"{STAMP} WARNING tui_eval.rollout[{wanted}]: example 1 #0: tool divide failed\n"
        await write(stage, f"{lines}Traceback (most recent call last):\nValueError: no\n")
        await stage.press("end")
        assert stage.live.log_pane.fold_word == "rollout"
        await stage.press("enter")
        await stage.until(lambda: stage.live.reader.row == wanted)
        assert stage.live.focused is stage.live.trajectory


async def test_what_a_rollout_printed_leads_to_it_too_and_other_lines_unfold() -> None:
    async with staged_app(over()) as stage:
        await open_log(stage)
        await write(stage, f"{STAMP} PRINT[5] looks for Ulm\n")
        await stage.press("end", "enter")
        await stage.until(lambda: stage.live.reader.row == 5)
        await open_log(stage)
        await write(stage, "".join(f"{STAMP} PRINT once\n" for _ in range(2)))
        await stage.press("end", "enter")
        await stage.pilot.pause()
        assert stage.live.reader.row == 5
        assert stage.live.focused is stage.live.log_pane
