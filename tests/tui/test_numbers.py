from __future__ import annotations

import re

import pytest
from scripted_run import (
    EACH,
    ERRORS,
    ScriptedFeed,
    all_events,
    failed,
    finished,
    run_started,
    saved_rows,
    throttled_events,
)
from staging import Stage, over, staged_app

from tui_eval import events as ev
from tui_eval.fold.run_state import RunState
from tui_eval.tui.base.lines.line_view import MARK
from tui_eval.tui.run.numbers.lines import numbers
from tui_eval.tui.run.numbers.number_line import NumberLine


def shown(stage: Stage) -> str:
    return stage.text(stage.live.numbers)


def selected(stage: Stage) -> str:
    return next((line for line in shown(stage).splitlines() if line.startswith(MARK)), "")


async def test_tools_percentiles_and_stops_are_counted() -> None:
    async with staged_app(over(), size=(200, 66)) as stage:
        rows = [line.split() for line in shown(stage).splitlines()]
        assert ["multiply", "136", "0"] in rows
        assert ["divide", "43", "✗", "12"] in rows
        rollouts = stage.app.state.rollout_s.result()
        found = next(row for row in rows if row[:2] == ["a", "rollout"])
        assert found[2:] == [
            f"{value:.1f}s" for value in (rollouts.p50, rollouts.p90, rollouts.p99)
        ]
        assert ["tool", "calls", "failed"] in rows and "no_tools_called" in shown(stage)


def test_a_long_name_of_a_metric_or_tool_is_cut_only_where_there_is_no_room() -> None:
    name, state = "judge_rates_the_final_answer_for_truth", RunState()
    for event in (run_started(), finished(0, metrics={name: 0.5}, tools={name: (2, 0)})):
        state.apply(event)
    texts = ["".join(text for text, _ in one.line) for one in numbers(state, 78)]
    assert sum(name in text for text in texts) == 2


@pytest.mark.parametrize("width", [36, 52, 78, 120])
def test_a_notice_is_read_whole(width: int) -> None:
    text = (
        "Files cannot be locked here (Function not implemented): a lock file names this process "
        "instead."
    )
    state = RunState()
    for event in (run_started(), ev.Noticed(0, 0.0, "warning", text)):
        state.apply(event)
    lines = ["".join(part for part, _ in one.line) for one in numbers(state, width)]
    assert text in " ".join(" ".join(lines[lines.index("notices") :]).split())


@pytest.mark.parametrize("width", [36, 46, 52, 60, 78, 120])
def test_what_is_told_of_a_metric_is_whole_or_not_there(width: int) -> None:
    name, state = "look_up_constant_calls", RunState()
    rows = [finished(row, metrics={name: 1.0 if row % 2 else 0.0}) for row in range(6)]
    odd = finished(6, metrics={name: float("nan")})
    for event in (run_started(), *rows, odd):
        state.apply(event)
    texts = ["".join(text for text, _ in one.line) for one in numbers(state, width)]
    at = next(at for at, text in enumerate(texts) if "look_up" in text)
    both = f"{texts[at]} {texts[at + 1]}"
    assert "1 no number" in both and max(map(len, (texts[at], texts[at + 1]))) <= width
    assert ("Wilson" in both) == (width >= 52)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_reward_that_is_no_number_is_a_dash_that_warns_and_is_counted(
    size: tuple[int, int],
) -> None:
    start = run_started(total=2, num_examples=1, rollouts_per_example=2)
    rows = [finished(0, reward=1.0), finished(1, reward=float("nan"))]
    async with staged_app(ScriptedFeed([start, *rows], saved_rows()), size=size) as stage:
        await stage.press("3")
        assert "1 scored · 1 no number" in shown(stage)
        assert "! 1 no number" in stage.text(stage.live.header)
        line = stage.live.rollouts.lines.line(1, "╰")
        assert ("–", "warn") in [(text.strip(), ink) for text, ink in line]


@pytest.mark.parametrize("total_ms", [4000.0, 0.0])
def test_tokens_are_told_as_those_of_a_rollout(total_ms: float) -> None:
    state = RunState()
    for event in (run_started(), finished(0, total_ms=total_ms)):
        state.apply(event)
    lines = ["".join(text for text, _ in one.line).rstrip() for one in numbers(state, 80)]
    at = next(at for at, line in enumerate(lines) if line.startswith("percentile"))
    assert [re.sub(" +[0-9].*", "", line) for line in lines[at + 1 : at + 5]] == [
        *("a rollout", "  tokens in", "  tokens out", "a model call")
    ]
    assert ("4.0s" in lines[at + 1]) == bool(total_ms)


async def test_header_and_numbers_are_of_one_moment() -> None:
    async with staged_app(ScriptedFeed([run_started(), finished(0)]), size=(200, 60)) as stage:

        def told() -> tuple[bool, bool]:
            """Whether both rollouts are counted in the header, in the numbers."""
            counted = "2 scored" in shown(stage)
            return " 2/" in stage.text(stage.live.header), counted

        stage.app.state.apply(finished(1))
        assert told() == (False, False)
        await stage.until(lambda: told() == (True, True))


@pytest.mark.parametrize("truncated", [0, 2])
def test_truncated_rollouts_are_counted_beside_what_stopped_them(truncated: int) -> None:
    state = RunState()
    state.apply(run_started())
    for row in range(3):
        state.apply(finished(row, truncated=row < truncated))
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, 80)]
    at = lines.index("stopped by")
    assert lines[at + 1] == "    3  no_tools_called"
    assert (lines[at + 2] == "    2  of them truncated") == bool(truncated)


async def test_rollouts_without_a_reward_are_counted_beside_the_mean() -> None:
    start = run_started(total=8, num_examples=2)
    rows = [*(finished(row, reward=1.0) for row in range(4)), finished(4, reward=None), failed(5)]
    async with staged_app(ScriptedFeed([start, *rows], saved_rows()), size=(120, 40)) as stage:
        assert "4 scored · 1 errored · 1 missing" in shown(stage)
        await stage.publish(ev.RunFinished(0, 1_760_000_000.0, "interrupted", 130))
        assert "4 scored · 1 errored · 3 missing" in shown(stage)


async def test_the_cost_is_told_so_far_and_projected_while_the_run_goes_on() -> None:
    start = run_started(total=8, num_examples=2, input_price=2.0, output_price=0.0)
    half = [finished(row, reward=1.0, input_tokens=500_000) for row in range(4)]
    feed = ScriptedFeed([start, *half], saved_rows())
    async with staged_app(feed, size=(200, 60)) as stage:
        assert "$4.00 of ~$8.00" in stage.text(stage.live.header)
        assert "cost    $4.00  about $8.00 for all 8" in shown(stage)
        assert "about 4.0M for all 8" in shown(stage)
        await stage.publish(ev.RunFinished(0, 1_760_000_000.0, "interrupted", 130))
        assert "about" not in shown(stage)
        assert "$4.00" in stage.text(stage.live.header)
        assert "~" not in stage.text(stage.live.header)


@pytest.mark.parametrize("width", [40, 80])
def test_tokens_are_projected_where_no_price_is_known(width: int) -> None:
    state = RunState()
    state.apply(run_started(total=12_000, num_examples=3000, input_price=None))
    state.apply(finished(0, reward=1.0, input_tokens=28_200, output_tokens=12_100))
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, width)]
    at = next(at for at, line in enumerate(lines) if line.startswith("tokens  "))
    assert "cost" not in lines[at + 1]
    found = " ".join(" ".join(lines[at : at + 2]).split())
    assert found.startswith("tokens 28.2k in 12.1k out about 484M for all 12,000")
    assert all(len(line) <= width for line in lines)
    state.apply(ev.RolloutStaged(0, 1.0, 1, ev.Stage.MODEL, 1, 1, 0, 900_000_000, 0, "", 0.0))
    assert not any("about" in "".join(text for text, _ in one.line) for one in numbers(state, 80))


@pytest.mark.parametrize("is_first", [True, False])
def test_refused_requests_and_what_became_of_the_limit_are_told(is_first: bool) -> None:
    state = RunState()
    for event in throttled_events():
        if not (is_first and isinstance(event, ev.RolloutFinished)):
            state.apply(event)
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, 80)]
    assert "refused 31 requests  limit █▅▂▃▄▄▂▂▃▂▂▂ 5 of 16" in lines
    narrow = ["".join(text for text, _ in one.line) for one in numbers(state, 42)]
    assert "refused 31 requests  limit ▄▂▂▃▂▂▂ 5 of 16" in narrow, "the latest of it"
    state = RunState()
    state.apply(run_started(refused=31))
    state.apply(finished(0))
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, 80)]
    assert "refused 31 requests" in lines, "in an earlier session"


def test_what_became_of_the_limit_is_told_of_a_saved_run_too() -> None:
    live, saved = RunState(), RunState()
    end = ev.RunFinished(0, 1_760_000_000.0, "finished", 0)
    for event in (*throttled_events(), end):
        live.apply(event)
    for event in (run_started(refused=31, limits=list(live.limits)), finished(0), end):
        saved.apply(event)
    live_line, saved_line = (
        next("".join(text for text, _ in one.line) for one in numbers(state, 80) if is_refusal(one))
        for state in (live, saved)
    )
    assert saved_line == live_line == "refused 31 requests  limit █▅▂▃▄▄▂▂▃▂▂▂ 5 of 16"


def is_refusal(one: NumberLine) -> bool:
    return bool(one.line) and one.line[0][0].startswith("refused")


def test_nothing_is_told_of_refusals_where_there_were_none() -> None:
    state = RunState()
    for event in (run_started(refused=0), finished(0)):
        state.apply(event)
    assert not any(map(is_refusal, numbers(state, 80)))


@pytest.mark.parametrize("width", [40, 80])
def test_the_greatest_count_of_the_chart_is_whole(width: int) -> None:
    state = RunState()
    state.apply(run_started(total=12_348, num_examples=12_348 // EACH))
    for row in range(12_347):
        state.apply(finished(row, reward=1.0))
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, width)]
    at = next(at for at, line in enumerate(lines) if "█" in line)
    top, axis = lines[at], lines[at + 3]
    assert top.split()[0] == "12.3k"
    assert top.rindex("█") + 1 == len(axis) <= width, "the last bar ends where the axis does"


async def test_reward_over_time_is_in_the_order_of_finishing() -> None:
    start = run_started(total=8, num_examples=2)
    order = [7, 6, 5, 4, 3, 2, 1, 0]
    rewards = [finished(row, reward=float(place > 3)) for place, row in enumerate(order)]
    async with staged_app(ScriptedFeed([start, *rewards], saved_rows()), size=(200, 60)) as stage:
        lines = shown(stage).splitlines()
        at = next(at for at, line in enumerate(lines) if "reward over time" in line)
        assert "each one rollout" in lines[at]
        assert lines[at + 1] == " 1.00 " + " " * 12 + "█" * 12


@pytest.mark.parametrize(("most", "top"), [(0.0004, "4e-04"), (0.2, "1.00"), (0.0, "1.00")])
def test_reward_over_time_of_small_rewards_has_an_axis_of_their_size(most: float, top: str) -> None:
    state = RunState()
    state.apply(run_started(total=4, num_examples=1))
    for row in range(4):
        state.apply(finished(row, reward=most * (row + 1) / 4))
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, 80)]
    at = next(at for at, line in enumerate(lines) if "reward over time" in line)
    assert lines[at + 1].split()[0] == top
    assert ("█" in lines[at + 1]) == (most == 0.0004), "the greatest one reaches the top"


async def test_negative_rewards_stand_over_the_least_of_them() -> None:
    start = run_started(total=4, num_examples=1)
    rewards = [finished(row, reward=-3.0 if row < 2 else 1.0) for row in range(4)]
    async with staged_app(ScriptedFeed([start, *rewards], saved_rows()), size=(200, 60)) as stage:
        lines = shown(stage).splitlines()
        at = next(at for at, line in enumerate(lines) if "reward over time" in line)
        assert lines[at + 1] == "  1.00 " + " " * 6 + "█" * 6
        assert lines[at + 3].startswith(" -3.00 ──")


async def test_every_example_has_its_numbers_and_equal_rewards_are_marked() -> None:
    start = run_started(total=12, num_examples=3)
    rewards = [*(finished(row, reward=1.0) for row in range(4)), failed(4)]
    rewards += [finished(5, reward=0.0, example_id=1), finished(6, reward=1.0, example_id=1)]
    async with staged_app(ScriptedFeed([start, *rewards], saved_rows()), size=(200, 60)) as stage:
        await stage.press("3", "G")
        rows = [line.split() for line in shown(stage).splitlines()]
        at = rows.index(["example", "mean", "std", "passed", "pass@4", "errors"])
        assert rows[at + 1] == ["0", "1.00", "0.00", "4/4", "1.00", "="]
        assert rows[at + 2] == ["1", "0.50", "0.50", "1/2", "–", "✗", "1"]
        assert rows[at + 3] == ["2", "–"]
        assert "= 1 of 2 examples have equal rewards" in shown(stage)


@pytest.mark.parametrize("is_over", [False, True])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_pass_rates_say_of_how_many_examples_they_are(
    is_over: bool, size: tuple[int, int]
) -> None:
    start = run_started(total=8, num_examples=2)
    events = [start, *(finished(row, reward=1.0) for row in range(7 if is_over else 6))]
    events += [failed(7), ev.RunFinished(0, 1_760_000_000.0, "finished", 0)] if is_over else []
    async with staged_app(ScriptedFeed(events, saved_rows()), size=size) as stage:
        await stage.press("3")
        assert "pass@4 1.00  pass^4 1.00" in shown(stage)
        assert "@4 and ^4 over 1 of 2 examples · passes from 0.5" in shown(stage)


@pytest.mark.parametrize("width", range(30, 81, 10))
def test_where_passing_begins_is_told_however_narrow_it_is(width: int) -> None:
    state = RunState()
    for event in (run_started(), *(finished(row, reward=1.0) for row in range(6))):
        state.apply(event)
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, width)]
    assert "passes from 0.5" in "\n".join(lines)
    assert all(len(line) <= width for line in lines[: lines.index("rollouts by reward")])


@pytest.mark.parametrize("width", [40, 80])
def test_the_cause_of_an_error_is_told_in_a_narrow_pane_too(width: int) -> None:
    state = RunState()
    error = "ScoringError -> JudgeError -> APITimeoutError"
    for event in (run_started(total=4, num_examples=1), failed(0, error), finished(1, reward=1.0)):
        state.apply(event)
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, width)]
    assert "rollouts by reward" in lines
    whole = "    1  ✗ scoring error -> JudgeError -> APITimeoutError"
    short = "    1  ✗ scoring err… -> APITimeoutError"
    assert next(line for line in lines if "✗" in line) == (whole if width > 60 else short)


def often_failed() -> ScriptedFeed:
    rare, often = "ToolCallError -> KeyError", "SandboxError"
    events = all_events()
    for row, error in ((3, often), (5, rare), (20, often), (41, often)):
        events[row + 1] = failed(row, error)
    return ScriptedFeed(events, saved_rows(), live=False)


async def to_the_most_frequent_error(stage: Stage) -> None:
    await stage.press("3")
    while "SandboxError" not in selected(stage):
        await stage.press("j")
    assert "3  ✗ SandboxError" in selected(stage)


async def test_enter_on_an_error_goes_from_one_rollout_with_it_to_the_next() -> None:
    async with staged_app(often_failed()) as stage:
        await to_the_most_frequent_error(stage)
        rows = []
        for _ in range(4):
            await stage.press("enter")
            rows.append(stage.live.rollouts.row)
        assert rows == [3, 20, 41, 3]
        assert stage.live.focused is stage.live.numbers


async def test_where_the_list_is_hidden_enter_on_an_error_shows_it() -> None:
    async with staged_app(often_failed(), size=(80, 24)) as stage:
        await to_the_most_frequent_error(stage)
        await stage.press("enter")
        await stage.until(lambda: stage.live.focused is stage.live.rollouts)
        listing = stage.live.rollouts.listing
        await stage.until(lambda: not listing.is_searching and listing.count() == 3)
        assert stage.text(stage.live.rollouts).count("✗") == 3
        assert stage.live.rollouts.row == 3


async def test_the_keys_say_what_enter_does_in_the_numbers() -> None:
    async with staged_app(over()) as stage:
        await stage.press("3")
        assert "enter choose a row" in stage.text(stage.live.keys)
        await stage.press("enter")
        assert "enter its rollouts" in stage.text(stage.live.keys)
        await stage.press("G")
        await stage.until(lambda: "enter choose a row" in stage.text(stage.live.keys))


async def test_enter_leaves_alone_what_was_scrolled_out_of_sight() -> None:
    async with staged_app(over()) as stage:
        await stage.press("3", "enter", "G")
        assert not selected(stage)
        await stage.press("enter")
        assert not stage.live.rollouts.listing.text
        assert selected(stage).split()[0] == f"{MARK}0", "the first example that can be seen"


async def test_the_tool_that_errs_most_comes_first_and_enter_lists_where_it_failed() -> None:
    async with staged_app(over(), size=(120, 40)) as stage:
        await stage.press("3", "z")
        lines = shown(stage).splitlines()
        head = next(at for at, line in enumerate(lines) if line.split()[:2] == ["tool", "calls"])
        assert lines[head + 1].split()[:4] == ["divide", "43", "✗", "12"]
        while "divide" not in selected(stage):
            await stage.press("j")
        await stage.press("z", "enter")
        failing = {row for row in range(48) if row % 10 < 2} | {*ERRORS}
        listing = stage.live.rollouts.listing
        await stage.until(lambda: not listing.is_searching and listing.count() == len(failing))
        assert listing.text == 'failed_tool="divide"'
        assert stage.live.rollouts.row in failing
        first = stage.live.rollouts.row
        await stage.press("enter")
        assert stage.live.rollouts.row in failing and stage.live.rollouts.row != first


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_enter_in_the_numbers_goes_first_to_what_can_be_listed(size: tuple[int, int]) -> None:
    async with staged_app(over(), size=size) as stage:
        await stage.press("3", "enter")
        assert "ZeroDivisionError" in selected(stage)
        assert not stage.live.rollouts.listing.text


async def test_enter_in_the_numbers_waits_for_a_run_that_is_still_loading() -> None:
    async with staged_app(ScriptedFeed([], saved_rows(), live=False)) as stage:
        await stage.press("3", "enter")
        await stage.publish(*all_events())
        await stage.until(lambda: "ZeroDivisionError" in selected(stage))
        assert not stage.live.rollouts.listing.text


async def test_enter_on_an_example_and_a_click_go_to_its_rollouts() -> None:
    async with staged_app(over(), size=(120, 40)) as stage:
        await stage.press("3", "G", "k")
        assert selected(stage).split()[0] == f"{MARK}11"
        await stage.press("k", "enter")
        assert stage.live.rollouts.row == 40
        y = next(at for at, line in enumerate(shown(stage).splitlines()) if line.startswith(" 8 "))
        await stage.pilot.click("#numbers", offset=(4, y + 1))
        await stage.until(lambda: stage.live.rollouts.row == 32)


async def test_a_hundred_thousand_examples_cost_only_what_is_seen() -> None:
    total = 200_000
    start = run_started(total=total, num_examples=total // 2, rollouts_per_example=2)
    events = [start, *(finished(row, metrics={}) for row in range(4)), ev.GateMoved(0, 0, True, 0)]
    async with staged_app(ScriptedFeed(events, saved_rows())) as stage:
        await stage.press("3")
        numbers = stage.live.numbers
        assert numbers.count() > total // 2
        before = numbers.built
        await stage.press("G")
        assert "99999" in shown(stage)
        assert numbers.built - before <= 3 * numbers.size.height


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
async def test_zoomed_numbers_stand_in_two_columns_and_errors_are_still_gone_to(
    size: tuple[int, int],
) -> None:
    async with staged_app(over(), size=size) as stage:
        await stage.press("3", "z")
        lines = shown(stage).splitlines()
        assert "reward 0.65" in lines[0] and "pass@k" in lines[0]
        assert any("a model call" in line for line in lines)
        at = next(at for at, line in enumerate(lines) if line.split()[:1] == ["example"])
        assert [line.split()[0] for line in lines[at + 1 : at + 9]] == [
            str(one) for one in range(8)
        ]
        await stage.press("enter")
        assert "ZeroDivisionError" in selected(stage)
        await stage.press("enter")
        assert stage.live.rollouts.row in ERRORS


async def test_an_example_says_how_its_question_begins_where_there_is_room() -> None:
    start = run_started(total=4, num_examples=2, rollouts_per_example=2)
    rewards = [finished(row, reward=1.0, question=f"What is {row // 2}?") for row in range(4)]
    feed = ScriptedFeed([start, *rewards], saved_rows())
    async with staged_app(feed, size=(80, 24)) as stage:
        await stage.press("3", "G")
        head, first, second = shown(stage).splitlines()[-3:]
        at = head.index("question")
        assert (first[at:].strip(), second[at:].strip()) == ("What is 0?", "What is 1?")
