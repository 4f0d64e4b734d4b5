"""Figures in a run's header, list and panes, and those that are unknown."""

from __future__ import annotations

import pytest
from app_driver import seen
from scripted_rows import saved_row, saved_rows
from scripted_run import (
    ERRORS,
    NOW,
    SELECTED,
    TOTAL,
    ScriptedFeed,
    all_events,
    failed,
    finished,
    run_started,
    staged,
)
from staging import over, running, staged_app

from tui_eval import events as ev
from tui_eval.fold.columns import SPENT
from tui_eval.tui.run.rollouts.columns import known_columns


async def test_a_narrow_header_gives_the_interval_away_before_the_reward_with_errors_as_0() -> None:
    async with staged_app(running(), size=(80, 24)) as stage:
        title = stage.text(stage.live.header).splitlines()[0]
        assert title.startswith(" calculator · gpt-4.1-mini")
        assert "reward 0.58, 0.54 with errors as 0 " in title
        await stage.pilot.resize_terminal(62, 24)
        await stage.until(lambda: stage.live.header.size.width == 62)
        title = stage.text(stage.live.header).splitlines()[0]
        assert "reward 0.58, 0.54 with ✗ as 0 " in title
        assert title.startswith(" calculator")


async def test_a_narrow_header_gives_its_names_away_before_the_interval_of_the_reward() -> None:
    good = [event for event in all_events() if getattr(event, "error", None) is None]
    async with staged_app(ScriptedFeed(good, saved_rows()), size=(80, 24)) as stage:
        assert "reward 0.65 [0.53, 0.78]" in stage.text(stage.live.header).splitlines()[0]
        await stage.pilot.resize_terminal(62, 24)
        await stage.until(lambda: stage.live.header.size.width == 62)
        assert "reward 0.65 [0.53, 0.78]" in stage.text(stage.live.header).splitlines()[0]


async def test_a_turn_of_tool_calls_alone_has_a_head_with_its_time() -> None:
    silent = saved_row(0)
    asks = [message for message in silent["completion"] if message.get("tool_calls")]
    for message in asks:
        message.update(content=None, reasoning_content=None)
    feed = ScriptedFeed(all_events(), {**saved_rows(), 0: silent}, live=False)
    async with staged_app(feed, size=(120, 60)) as stage:
        shown = stage.text(stage.live.trajectory)
        for turn in range(1, len(asks) + 1):
            assert shown.count(f"assistant · turn {turn} ") == 1
        assert "1.3s · 390 → 48 tokens" in shown
        assert "(empty)" not in shown


async def test_a_run_of_errors_alone_has_no_reward() -> None:
    feed = ScriptedFeed([run_started(), failed(0)], saved_rows())
    async with staged_app(feed) as stage:
        assert "reward –" in stage.text(stage.live.header)


async def test_reward_functions_that_failed_say_how() -> None:
    row = saved_row(0)
    row["tui_eval"]["scores"][1] |= {"raw": None, "error": "ValueError: no number in the answer"}
    feed = ScriptedFeed(all_events(), {0: row}, live=False)
    async with staged_app(feed, size=(200, 60)) as stage:
        await stage.until(lambda: "no number" in stage.text(stage.live.reward))
        shown = stage.text(stage.live.reward)
        assert "✗ ValueError: no number in the answer" in shown
        assert "num_turns" in shown


async def test_tokens_that_come_as_one_number_are_not_called_those_of_answers() -> None:
    start = run_started(total=2, num_examples=1, at=NOW, complete_at=NOW)
    done = [finished(row, input_tokens=0, output_tokens=1_234) for row in range(2)]
    feed = ScriptedFeed([start, *done, ev.RunFinished(0, NOW, "finished", 0)], {}, live=False)
    async with staged_app(feed, size=(200, 60)) as stage:
        shown = stage.text(stage.live.header) + stage.text(stage.live.numbers)
        assert "2.5k tokens" in shown and "tokens  2.5k" in shown
        assert "0 in" not in shown and "2.5k out" not in shown and "tokens in" not in shown
        known = known_columns(stage.app.state)
        cells = [known[name].cell(known[name].value(stage.app.state, 0)) for name in SPENT[:3]]
        assert [cell.strip() for cell in cells] == ["–", "–", "1.2k"]


async def test_what_an_older_file_does_not_have_is_not_made_up() -> None:
    unknown = {"input_tokens": 0, "output_tokens": 0}
    unknown |= {"generation_ms": 0.0, "scoring_ms": 0.0, "total_ms": 0.0}
    start = run_started(total=4, num_examples=1, at=NOW, complete_at=NOW)
    done = [finished(row, **unknown) for row in range(4)]
    row = {name: value for name, value in saved_row(0).items() if name != "tui_eval"}
    feed = ScriptedFeed([start, *done, ev.RunFinished(0, NOW, "finished", 0)], {0: row}, live=False)
    async with staged_app(feed, size=(200, 60)) as stage:
        await stage.until(lambda: "weights unknown" in stage.text(stage.live.reward))
        header = stage.text(stage.live.header)
        assert "✓ finished" in header and "finished in" not in header
        assert header.endswith("4/4 finished   ◆✗ 2 with failed tools")
        assert "0.0s" not in stage.text(stage.live.rollouts)
        assert "mean time" not in stage.text(stage.live.numbers)
        assert "example 0 #0 · ✓ done ─" in seen(stage.app)


async def test_the_time_of_earlier_sessions_counts() -> None:
    start = run_started(total=4, num_examples=1, at=NOW - 5, worked_ms=60_000.0)
    feed = ScriptedFeed([start, *(finished(row) for row in range(4))], saved_rows())
    async with staged_app(feed) as stage:
        assert "running 1:05" in stage.text(stage.live.header)
        await stage.publish(ev.RunFinished(0, NOW - 3, "finished", 0))
        assert "finished in 1:02" in stage.text(stage.live.header)


async def test_rewards_beyond_one_are_drawn_to_the_greatest_of_them() -> None:
    start = run_started(total=4, num_examples=1)
    feed = ScriptedFeed([start, finished(0, reward=1.0)], saved_rows())
    async with staged_app(feed) as stage:
        assert "1.00 ━━━━━" in stage.text(stage.live.rollouts)
        await stage.publish(finished(1, reward=2.0))
        shown = stage.text(stage.live.rollouts)
        assert "1.00 ━━╸──" in shown
        assert "2.00 ━━━━━" in shown


async def test_numbers_show_mean_interval_and_what_was_left_out() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        shown = stage.text(stage.live.numbers)
        mean = stage.app.state.reward_mean.result()
        assert f"reward {mean.mean:.2f} [{mean.low:.2f}, {mean.high:.2f}]" in shown
        assert f"{TOTAL - len(ERRORS)} scored · {len(ERRORS)} errored" in shown
        assert "pass@4" in shown
        assert "█" in shown
        assert "ToolCallError -> ZeroDivisionError" in shown
        assert "max_turns_reached" in shown


async def test_a_rollout_that_sleeps_says_why() -> None:
    note = "RateLimitError, again in 4s"
    async with staged_app(running(), size=(200, 60)) as stage:
        await stage.until(lambda: stage.live.trajectory.count() > 10)
        await stage.publish(staged(SELECTED, ev.Stage.SLEEPING, turns=2, note=note))
        await stage.until(lambda: f"~ {note}" in stage.text(stage.live.trajectory))
        await stage.publish(staged(SELECTED, ev.Stage.MODEL, turns=2))
        await stage.until(lambda: note not in stage.text(stage.live.trajectory))


@pytest.mark.parametrize(
    ("width", "told"),
    [(200, "~ 1 sleeping   ▶ 4 running"), (120, "~ 1 sleeping  ▶ 4 running"), (80, "~1  ▶4  ")],
)
async def test_the_header_counts_those_that_sleep_apart_from_those_that_run(
    width: int, told: str
) -> None:
    async with staged_app(running(), size=(width, 40)) as stage:
        assert (stage.live.state.sleeping, stage.live.state.running) == (1, 5)
        assert told in stage.text(stage.live.header)


async def test_the_list_says_why_a_rollout_sleeps_where_there_is_room() -> None:
    async with staged_app(running(), size=(80, 24)) as stage:
        note = "RateLimitError, again in 4s"
        await stage.publish(staged(SELECTED, ev.Stage.SLEEPING, turns=2, note=note))
        await stage.until(lambda: "sleeping  RateLi" in stage.text(stage.live.rollouts))
