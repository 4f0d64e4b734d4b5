"""Counts, costs, tokens and refusals of a run in the panel of numbers."""

from __future__ import annotations

import re

import pytest
from numbers_staging import shown
from scripted_rows import saved_rows
from scripted_run import ScriptedFeed, failed, finished, run_started, throttled_events
from staging import over, staged_app

from tui_eval import events as ev
from tui_eval.fold.run_state import RunState
from tui_eval.tui.run.numbers.lines import numbers
from tui_eval.tui.run.numbers.sections import NumberLine


async def test_tools_percentiles_and_stops_are_counted() -> None:
    async with staged_app(over(), size=(200, 66)) as stage:
        rows = [line.split() for line in shown(stage).splitlines()]
        assert ["multiply", "136", "0"] in rows
        assert ["divide", "43", "✗", "12"] in rows
        rollouts = stage.app.state.times.rollout_s.result()
        found = next(row for row in rows if row[:2] == ["a", "rollout"])
        assert found[2:] == [
            f"{value:.1f}s" for value in (rollouts.p50, rollouts.p90, rollouts.p99)
        ]
        assert ["tool", "calls", "failed"] in rows and "no_tools_called" in shown(stage)


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
def test_tokens_are_shown_as_those_of_a_rollout(total_ms: float) -> None:
    state = RunState()
    for event in (run_started(), finished(0, total_ms=total_ms)):
        state.apply(event)
    lines = ["".join(text for text, _ in one.line).rstrip() for one in numbers(state, 80)]
    at = next(at for at, line in enumerate(lines) if line.startswith("percentile"))
    assert [re.sub(" +[0-9].*", "", line) for line in lines[at + 1 : at + 5]] == [
        *("a rollout", "  tokens in", "  tokens out", "a model call")
    ]
    assert ("4.0s" in lines[at + 1]) == bool(total_ms)


def test_mean_generation_and_scoring_time_are_shown() -> None:
    state, took = RunState(), ((3000.0, 400.0), (5000.0, 600.0), (0.0, 0.0))
    state.apply(run_started())
    for row, (generation, scoring) in enumerate(took):  # the last one's are not known
        state.apply(finished(row, generation_ms=generation, scoring_ms=scoring))
    output = ("".join(text for text, _ in one.line) for one in numbers(state, 80))
    line = next(line for line in output if line.startswith("mean time"))
    assert line.split()[2:] == ["4.0s", "generating", "500ms", "scoring"]


async def test_header_and_numbers_are_of_one_moment() -> None:
    async with staged_app(ScriptedFeed([run_started(), finished(0)]), size=(200, 60)) as stage:

        def output() -> tuple[bool, bool]:
            """Whether both rollouts are counted in the header, in the numbers."""
            counted = "2 scored" in shown(stage)
            return " 2/" in stage.text(stage.live.header), counted

        stage.app.state.apply(finished(1))
        assert output() == (False, False)
        await stage.until(lambda: output() == (True, True))


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


async def test_the_cost_is_shown_so_far_and_projected_while_the_run_continues() -> None:
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
def test_refused_requests_and_what_became_of_the_limit_are_shown(is_first: bool) -> None:
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


def test_what_became_of_the_limit_is_shown_of_a_saved_run_too() -> None:
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


def test_nothing_is_shown_of_refusals_where_there_were_none() -> None:
    state = RunState()
    for event in (run_started(refused=0), finished(0)):
        state.apply(event)
    assert not any(map(is_refusal, numbers(state, 80)))


async def test_what_waits_for_a_disk_that_refuses_is_counted_as_in_the_header() -> None:
    async with staged_app(ScriptedFeed([run_started()])) as stage:
        for records in (1, 40):
            refused = ev.WritingMoved(0, 0.0, "it is gone", "/run", "Put it back", 2, records)
            await stage.publish(refused)
        assert "2 rows, 40 answers in memory" in stage.text(stage.live.header)
        assert "2 rows and 40 answers wait" in " ".join(shown(stage).split())
