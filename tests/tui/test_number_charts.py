"""Charts, metrics and examples of a run in the panel of numbers."""

from __future__ import annotations

import pytest
from numbers_staging import selected, shown
from scripted_rows import saved_rows
from scripted_run import EACH, ERRORS, ScriptedFeed, failed, finished, run_started
from staging import over, staged_app

from tui_eval import events as ev
from tui_eval.fold.run_state import RunState
from tui_eval.tui.run.numbers.lines import numbers


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
def test_what_is_shown_of_a_metric_is_whole_or_not_there(width: int) -> None:
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


@pytest.mark.slow
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
def test_the_pass_threshold_is_shown_at_any_width(width: int) -> None:
    state = RunState()
    for event in (run_started(), *(finished(row, reward=1.0) for row in range(6))):
        state.apply(event)
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, width)]
    assert "passes from 0.5" in "\n".join(lines)
    assert all(len(line) <= width for line in lines[: lines.index("rollouts by reward")])


@pytest.mark.parametrize("width", [40, 80])
def test_the_cause_of_an_error_is_shown_in_a_narrow_pane_too(width: int) -> None:
    state = RunState()
    error = "ScoringError -> JudgeError -> APITimeoutError"
    for event in (run_started(total=4, num_examples=1), failed(0, error), finished(1, reward=1.0)):
        state.apply(event)
    lines = ["".join(text for text, _ in one.line) for one in numbers(state, width)]
    assert "rollouts by reward" in lines
    whole = "    1  ✗ scoring error -> JudgeError -> APITimeoutError"
    short = "    1  ✗ scoring err… -> APITimeoutError"
    assert next(line for line in lines if "✗" in line) == (whole if width > 60 else short)


@pytest.mark.usefixtures("every_frame")
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
