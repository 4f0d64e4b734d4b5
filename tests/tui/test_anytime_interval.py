"""The interval of the reward on the screen, where a run may stop early."""

from __future__ import annotations

import pytest
from run_events import finished, started

from tui_eval.cli.console.summary_lines import result_lines
from tui_eval.events import STOPPED_EARLY, ReadingMoved, RunFinished
from tui_eval.fold.run_state import RunState
from tui_eval.text.run_words import status
from tui_eval.text.stages import look_of
from tui_eval.tui.base.look.ink import Line
from tui_eval.tui.run.header import progress, title
from tui_eval.tui.run.numbers.lines import numbers


def run(until: str) -> RunState:
    state = RunState()
    state.apply(started(100, 2, until=until))
    for row in range(60):
        state.apply(finished(row, float(row % 10 < 9)))
    return state


def text_of(line: Line) -> str:
    return "".join(text for text, _ in line)


def shown(state: RunState) -> tuple[str, str]:
    header = text_of(title(state, ("▶ running 1:00", "busy"), 120))
    return header, "\n".join(text_of(one.line) for one in numbers(state, 80))


@pytest.mark.parametrize(
    ("until", "named"), [("", False), ("width(reward) < 0.05", True), ("width(", False)]
)
def test_an_anytime_interval_is_named(until: str, named: bool) -> None:
    for text in shown(run(until)):
        assert "reward 0.90" in text and ("anytime 95 % [" in text) is named


def test_a_run_that_stopped_early_has_ended_well() -> None:
    state = run("width(reward) < 0.5")
    state.apply(RunFinished(0, 1060.0, STOPPED_EARLY, 0, "width(reward) = 0.4 < 0.5"))
    assert status(state, True, False, 1060.0) == ("✓ stopped early after 1:00", "good")
    first = next(iter(numbers(state, 80))).line
    assert text_of(first) == "✓ width(reward) = 0.4 < 0.5" and first[0][1] == "good"
    for text in (text_of(progress(state, 1060.0, 120)), shown(state)[1]):
        assert "140 missing" in text and "waiting" not in text


@pytest.mark.parametrize("width", [48, 64, 80, 120])
def test_what_an_anytime_interval_is_stands_whole_beside_it(width: int) -> None:
    lines = [text_of(one.line) for one in numbers(run("width(reward) < 0.05"), width)]
    assert any("anytime-valid, the first 30 examples in order" in line for line in lines)


def test_a_run_that_may_stop_early_says_when_until_it_is_over() -> None:
    state, output = run("width(reward) < 0.05"), "stops early once width(reward) < 0.05"
    assert output in shown(state)[1]
    state.apply(RunFinished(0, 1060.0, "finished", 0))
    assert output not in shown(state)[1]
    assert "stops early" not in shown(run(""))[1]


def test_the_intervals_beside_an_anytime_one_are_named_as_well() -> None:
    state, output = run("width(reward) < 0.05"), "intervals for a fixed number"
    assert output in shown(state)[1]
    assert "Other intervals: for a fixed number" in "\n".join(result_lines(state))
    state = run("")
    assert output not in shown(state)[1]
    assert "Other intervals" not in "\n".join(result_lines(state))


def test_a_rollout_whose_turn_did_not_come_is_missing() -> None:
    state = run("width(reward) < 0.5")
    assert look_of(state, 150).word == "waiting"
    state.apply(RunFinished(0, 1060.0, STOPPED_EARLY, 0, "width(reward) = 0.4 < 0.5"))
    assert look_of(state, 150).word == "missing"


def test_both_kinds_of_damage_stand_in_the_header() -> None:
    state = run("")
    state.apply(ReadingMoved(0, 1060.0, 9, 9, 2))
    state.apply(RunFinished(0, 1060.0, "finished", 0, contradictions=["one thing"]))
    text = text_of(progress(state, 1060.0, 200))
    assert "! 2 lines unreadable ! 1 contradiction, see pane 4" in text
