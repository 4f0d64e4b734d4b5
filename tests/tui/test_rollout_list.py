"""The list of rollouts as people see it: filtered, sorted, with the columns that they chose."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from run_on_disk import scripted_on_disk
from scripted_run import (
    ERRORS,
    NOW,
    TOTAL,
    ScriptedFeed,
    failed,
    finished,
    run_started,
    saved_rows,
    staged,
)
from seeing import seen
from staging import Stage, over, running, staged_app

from tui_eval import events as ev
from tui_eval.fold.columns import Version
from tui_eval.fold.patterns import Matcher
from tui_eval.fold.run_state import RunState
from tui_eval.tui.run.rollouts.columns import known_columns
from tui_eval.tui.run.rollouts.filter_entry import HINTS, error_condition, with_errors_only


def shown(stage: Stage) -> str:
    return stage.text(stage.live.rollouts)


def listed(stage: Stage) -> list[int]:
    rollouts = stage.live.rollouts
    return [rollouts.listing.row(line) for line in range(rollouts.count())]


async def typed(stage: Stage, text: str) -> None:
    names = {" ": "space"}
    await stage.press("slash", *(names.get(sign, sign) for sign in text))


async def test_a_filter_lists_what_matches_while_it_is_typed_and_escape_clears_it() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "reward<0.2")
        state = stage.app.state
        assert listed(stage) == [row for row in range(TOTAL) if state.reward[row] < 0.2]
        assert f"{len(listed(stage))} of 48" in shown(stage).splitlines()[0]
        await stage.press("escape")
        assert listed(stage) == list(range(TOTAL))
        assert "of 48" not in shown(stage)


async def test_keys_that_are_typed_into_a_filter_are_no_commands() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "q z2?")
        assert stage.live.rollouts.entry.text == "q z2?"
        assert stage.app.screen is stage.live
        assert "esc clear" in stage.text(stage.live.keys)
        assert "quit" not in stage.text(stage.live.keys)


async def test_enter_keeps_a_filter_and_the_next_keys_move_among_its_matches() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "state:error")
        await stage.press("enter")
        rollouts = stage.live.rollouts
        assert listed(stage) == sorted(ERRORS)
        await stage.until(lambda: rollouts.row == min(ERRORS))
        await stage.press("j")
        assert rollouts.row == max(ERRORS)
        await stage.press("j")
        assert rollouts.row == max(ERRORS)


async def test_a_fault_is_told_with_its_place_until_it_is_mended() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "turns>5")
        before = listed(stage)
        await stage.press("space", *"rewrd<1")
        told = " ".join(shown(stage).split())
        assert "✗ character 9: there is no field rewrd. Did you mean reward" in told
        assert listed(stage) == before  # and not what the word matched before it was a field
        assert f"{len(before)} of 48 · last good filter" in told
        await stage.press(*["backspace"] * 8)
        assert listed(stage) == before
        assert "character" not in shown(stage)


async def test_a_fault_leaves_what_was_listed() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "turns>5")
        before = listed(stage)
        await stage.press("x")
        assert "✗ character" in shown(stage)
        assert listed(stage) == before


async def test_a_filter_that_is_kept_says_how_it_is_cleared_while_keys_come_to_the_list() -> None:
    async with staged_app(over()) as stage:
        await typed(stage, "turns>5")
        assert "esc clears" not in shown(stage)
        await stage.press("enter")
        await stage.until(lambda: "esc clears" in shown(stage))
        await stage.press("3")
        await stage.until(lambda: "esc clears" not in shown(stage))


async def test_the_selection_stays_on_its_rollout_where_that_does_not_match() -> None:
    async with staged_app(over()) as stage:
        await stage.press("j", "j", "j", "j")
        await typed(stage, "state:error")
        assert stage.live.rollouts.row == 4
        assert stage.live.reader.row == 4
        await stage.press("escape")
        assert stage.live.rollouts.row == 4
        assert stage.live.rollouts.line_selected == 4


async def test_a_filter_of_a_running_run_takes_in_what_comes_to_match() -> None:
    async with staged_app(running()) as stage:
        await typed(stage, "stage:waiting")
        await stage.press("enter")
        before = listed(stage)
        assert 45 in before
        await stage.publish(staged(45, ev.Stage.MODEL))
        await stage.until(lambda: 45 not in listed(stage))
        assert set(before) - set(listed(stage)) == {45}


async def test_a_large_run_is_filtered_by_a_thread() -> None:
    rows = 6_000
    start = run_started(num_examples=rows // 4, total=rows)
    feed = ScriptedFeed([start, *(finished(row) for row in range(rows))], saved_rows())
    async with staged_app(feed) as stage:
        await typed(stage, "reward<0.2")
        await stage.press("enter")
        state = stage.app.state
        wanted = [row for row in range(rows) if state.reward[row] < 0.2]
        await stage.until(lambda: stage.live.rollouts.count() == len(wanted))
        assert listed(stage) == wanted


async def test_an_expression_that_takes_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Matcher.__init__.__kwdefaults__, "patience_s", 0.3)
    events = [run_started(), finished(0, example_id="a" * 60)]
    async with staged_app(ScriptedFeed(events, saved_rows(), live=False)) as stage:
        stage.live.rollouts.filter_by("/(a+)+b/")
        await stage.until(lambda: "takes too long" in " ".join(shown(stage).split()))


@pytest.mark.parametrize("text", ["/(a+)+b/", "text:/needle/"])
async def test_a_filter_for_which_no_process_can_be_started_says_so_and_the_screen_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    async with staged_app(scripted_on_disk(tmp_path)) as stage:
        with monkeypatch.context() as without:
            without.setattr(sys, "executable", str(tmp_path / "python-that-is-gone"))
            await typed(stage, text)
            await stage.press("enter")
            told = "no process could be started: No such file or directory"
            await stage.until(lambda: told in " ".join(shown(stage).split()))
        await stage.press("escape")
        await typed(stage, "text:/needle/")
        await stage.until(lambda: listed(stage) == [5])


async def test_trajectories_are_searched_in_the_background(tmp_path: Path) -> None:
    async with staged_app(scripted_on_disk(tmp_path)) as stage:
        await typed(stage, "text:needle")
        assert "searched" in shown(stage)
        await stage.press("enter")
        await stage.until(lambda: listed(stage) == [5])
        assert "1 of 48" in shown(stage)
        await stage.until(lambda: stage.live.rollouts.row == 5)


async def test_titles_have_the_numbers_that_the_list_has() -> None:
    events = [run_started(), finished(0), finished(1, number=3)]
    async with staged_app(ScriptedFeed(events, saved_rows(), live=False)) as stage:
        await stage.press("j")
        await stage.until(lambda: "0  3" in shown(stage))
        await stage.until(lambda: "example 0 #3" in str(stage.live.trajectory.border_title))


@pytest.mark.parametrize("gone", ["results.jsonl", ""], ids=["file", "folder"])
async def test_a_search_whose_file_is_gone_says_so(tmp_path: Path, gone: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    async with staged_app(scripted_on_disk(run)) as stage:
        (run / gone).rename(tmp_path / "elsewhere")
        await typed(stage, "text:needle")
        await stage.press("enter")
        await stage.until(lambda: "✗ trajectories cannot be searched" in shown(stage))
        assert "none found so far" in shown(stage)


@pytest.mark.parametrize("by_fault", [False, True])
async def test_escape_or_a_fault_ends_a_search_before_the_filter_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_fault: bool
) -> None:
    from tui_eval.runs import text_search
    from tui_eval.runs.text_search import SearchProgress

    go_on = threading.Event()

    def slow(run: object, state: RunState, wanted: Any, notes: object) -> Any:
        for searched in range(1, 41):
            version = Version(0, state.since[searched])
            wanted.received(wanted.text_conditions[0], searched, searched == 3, version)
            yield SearchProgress(searched, 40, 1, 0)
            if searched == 10:
                go_on.wait(20)

    monkeypatch.setattr(text_search, "search_trajectories", slow)
    async with staged_app(scripted_on_disk(tmp_path)) as stage:
        await typed(stage, "text:needle")
        await stage.until(lambda: "searched 10 of 40" in shown(stage))
        assert "esc cancels" in shown(stage)
        await stage.until(lambda: listed(stage) == [3])
        await stage.press(")" if by_fault else "escape")
        go_on.set()
        await stage.until(lambda: "stopped after" in shown(stage))
        assert ("character" in shown(stage)) == by_fault
        assert listed(stage) == [3]
        await stage.press("escape")
        assert listed(stage) == list(range(TOTAL))


async def test_sorting_keeps_examples_together_until_the_list_is_flat() -> None:
    async with staged_app(over()) as stage:
        reward = stage.app.state.reward
        stage.live.rollouts.sort("reward")
        await stage.pilot.pause()
        groups = [row // 4 for row in listed(stage)]
        assert all(groups[at : at + 4] == [groups[at]] * 4 for at in range(0, TOTAL, 4))
        best = [max(reward[row] for row in listed(stage)[at : at + 2]) for at in range(0, TOTAL, 4)]
        assert best == sorted(best, reverse=True)
        assert "reward▼" in shown(stage)
        await stage.press("b")
        flat = [reward[row] for row in listed(stage) if row not in ERRORS]
        assert flat == sorted(flat, reverse=True)
        assert set(listed(stage)[-2:]) == set(ERRORS)
        await stage.press("S")
        assert listed(stage)[0] == min(
            (row for row in range(TOTAL) if row not in ERRORS), key=lambda row: reward[row]
        )
        assert "reward▲" in shown(stage)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_the_arrow_of_the_order_touches_no_other_name(size: tuple[int, int]) -> None:
    async with staged_app(over(), size=size) as stage:
        before = shown(stage).splitlines()[0]
        for field, name in (("example", "ex"), ("number", "#"), ("reward", "reward")):
            stage.live.rollouts.sort(field)
            marked = f" {name}[▲▼] | [▲▼]{name} "
            await stage.until(lambda marked=marked: re.search(marked, shown(stage)))
            assert re.sub("[▲▼]", " ", shown(stage).splitlines()[0]) == before


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_what_can_be_typed_is_told_in_whole_words(size: tuple[int, int]) -> None:
    async with staged_app(over(), size=size) as stage:
        await stage.press("slash")
        told = next(line for line in shown(stage).splitlines() if "/regex/" in line)
        assert set(told.split()) <= {*HINTS, "…"}
        assert "reward<1" in told and "tag:odd" in told and "text:fox" in told


async def test_the_selected_rollout_stays_in_sight_when_the_order_changes() -> None:
    async with staged_app(over()) as stage:
        await stage.press("j", "j")
        stage.live.rollouts.sort("time")
        await stage.until(lambda: "▼time" in shown(stage))
        assert stage.live.rollouts.row == 2
        await stage.until(lambda: "▌" in shown(stage))


async def test_a_click_on_a_name_sorts_and_another_one_turns_it_round() -> None:
    async with staged_app(over()) as stage:
        x = shown(stage).splitlines()[0].index("turns") + 2
        await stage.pilot.click(stage.live.rollouts, offset=(x, 1))
        assert "turns▼" in shown(stage)
        await stage.pilot.click(stage.live.rollouts, offset=(x, 1))
        assert "turns▲" in shown(stage)


async def test_the_menu_sorts_by_columns_that_are_not_shown() -> None:
    async with staged_app(over()) as stage:
        await stage.press("s", "j", "j", "j", "j", "enter")
        assert stage.live.rollouts.listing.sorting.field == "metrics.exact_match"
        assert "by exact_match ▼" in str(stage.live.rollouts.border_title)


async def test_columns_are_chosen_and_carried_and_the_usual_ones_come_back() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        before = shown(stage).splitlines()[0].split()
        await stage.press("c", "G", "k", "k", "k", "k", "space", *"KKKKKKKKKKKKKKKK", "enter")
        assert stage.live.rollouts.lines.chosen[0] == "stop"
        assert shown(stage).splitlines()[0].split()[3] == "stop"
        assert "no_tools_called" in shown(stage)
        await stage.press("c", "r")
        assert shown(stage).splitlines()[0].split() == before


@pytest.mark.parametrize(
    ("width", "told"),
    [
        (120, "No room for bar, group, closeness, answer_format. z zooms."),
        (80, "No room for group, answer_format."),
    ],
)
async def test_what_was_chosen_comes_before_bar_and_group_and_what_has_no_room_is_told(
    width: int, told: str
) -> None:
    async with staged_app(over(), size=(width, 40)) as stage:
        await stage.press("c", *"jjjj", "space", "j", "space", "j", "space", "enter")
        assert "exact_match" in shown(stage).splitlines()[0]
        assert stage.text(stage.live.keys).strip() == told


async def test_tokens_come_before_pass_at_k_and_tools_take_what_the_state_leaves() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        head = shown(stage).splitlines()[0]
        assert "tokens" in head and "pass@4" not in head
        await stage.press("z")
        await stage.until(lambda: "pass@4" in shown(stage).splitlines()[0])
        lines = shown(stage).splitlines()
        assert "divide, multiply, note, sub" in lines[1]


@pytest.mark.parametrize("width", [80, 100, 104, 112, 120, 200])
async def test_the_name_of_an_error_has_room(width: int) -> None:
    errors = ("ScoringError", "RuntimeError", "ToolCallError", "ScoringError -> KeyError")
    events = [run_started(), *(failed(row, error) for row, error in enumerate(errors))]
    feed = ScriptedFeed([*events, ev.RunFinished(0, NOW, "interrupted", 130)], saved_rows())
    async with staged_app(feed, size=(width, 40)) as stage:
        states = [line.split("  ")[-1].strip() for line in shown(stage).splitlines()[1:5]]
        assert states[:3] == ["scoring error", "RuntimeError", "ToolCallError"]
        assert states[3].removesuffix(" -> KeyError") == "scoring error"


@pytest.mark.parametrize(("width", "told"), [(80, "done · truncated"), (100, "truncated")])
async def test_a_truncated_answer_is_no_plain_success(width: int, told: str) -> None:
    events = [run_started(), *(finished(row, truncated=row == 1) for row in range(3))]
    feed = ScriptedFeed([*events, ev.RunFinished(0, NOW, "interrupted", 130)], saved_rows())
    async with staged_app(feed, size=(width, 40)) as stage:
        states = [line.split("  ")[-1].strip() for line in shown(stage).splitlines()[1:4]]
        assert states == ["done ◆✗", f"{told} ◆✗", "done"]
        await stage.press("g", "2")
        await stage.until(lambda: "example 0 #0 · ✓ done · " in seen(stage.app))
        await stage.press("right_square_bracket")
        await stage.until(lambda: f"example 0 #1 · ✓ {told} · " in seen(stage.app))


@pytest.mark.parametrize(
    ("width", "told"),
    [(80, ["sleeping  try 2", "scoring  try 3"]), (120, ["sleeping ↻2", "scoring try 3"])],
)
async def test_a_later_try_is_told_in_the_room_that_there_is(width: int, told: list[str]) -> None:
    asleep = staged(0, ev.Stage.SLEEPING, attempt=2)
    events = [run_started(), asleep, staged(1, ev.Stage.SCORING, attempt=3)]
    async with staged_app(ScriptedFeed(events, saved_rows()), size=(width, 40)) as stage:
        lines = shown(stage).splitlines()
        at = lines[0].index("state")
        assert [line[at:].strip() for line in lines[1:3]] == told


async def test_a_rollout_of_hours_keeps_its_time_apart_from_its_turns() -> None:
    hours = [finished(row, total_ms=1e3 * took, turns=2) for row, took in enumerate((4096, 531441))]
    feed = ScriptedFeed([run_started(), *hours], saved_rows(), live=False)
    async with staged_app(feed, size=(80, 24)) as stage:
        lines = shown(stage).splitlines()[1:3]
        assert [line.rstrip(" ◆✗").split()[-3:] for line in lines] == [
            ["2", "1h08m", "done"],
            ["2", "147h", "done"],
        ]


async def test_metrics_whose_long_names_begin_alike_can_be_told_apart_in_the_menus() -> None:
    names = [f"judge_rates_the_final_answer_for_{what}" for what in ("style", "truth")]
    done = finished(0, metrics=dict.fromkeys(names, 0.5))
    async with staged_app(ScriptedFeed([run_started(), done], saved_rows())) as stage:
        for box in "cs":
            await stage.press(box)
            assert all(f"{name}  metric" in seen(stage.app) for name in names)
            await stage.press("escape")


async def test_a_wide_list_shows_metrics() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        assert "mean ±std" in shown(stage).splitlines()[0]
        await stage.press("z")
        await stage.until(lambda: "exact_match" in shown(stage).splitlines()[0])
        assert "closeness" in shown(stage).splitlines()[0]


async def test_names_of_metrics_stand_in_full_where_there_is_room() -> None:
    name = "the_answer_names_every_digit"
    rows = [finished(row, metrics={name: 0.5}) for row in range(TOTAL)]
    events = [run_started(), *rows, ev.RunFinished(0, NOW, "finished", 0)]
    async with staged_app(ScriptedFeed(events, saved_rows(), live=False)) as stage:
        await stage.press("z")
        await stage.until(lambda: f" {name[:15]}… " in shown(stage).splitlines()[0])
        assert name not in shown(stage)
    feed = ScriptedFeed(events, saved_rows(), live=False)
    async with staged_app(feed, size=(200, 60)) as stage:
        await stage.press("z")
        await stage.until(lambda: f"  {name}  " in shown(stage).splitlines()[0])
        assert f" {'0.50':>{len(name)}}" in shown(stage).splitlines()[1]


async def test_no_two_columns_have_names_that_are_alike() -> None:
    async with staged_app(over(), size=(200, 60)) as stage:
        heads = [column.head for column in known_columns(stage.live.state).values()]
        named = [head.removesuffix("s") for head in heads if head]
        assert len(named) == len(set(named))
        await stage.press("s")
        menu = seen(stage.app)
        assert "tokens of the prompts · headed in" in menu
        assert "tool calls  " in menu


async def test_metrics_that_count_for_the_reward_are_told_from_others_once_one_was_read() -> None:
    async with staged_app(over(), size=(120, 40)) as stage:
        await stage.until(lambda: stage.live.reader.rollout is not None)
        for box in "cs":
            await stage.press(box)
            told = seen(stage.app)
            assert re.search(r" exact_match +reward function ", told), told
            assert re.search(r" num_turns +metric ", told), told
            await stage.press("escape")


async def test_the_first_line_of_an_example_says_what_its_rollouts_came_to() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("g")
        lines = shown(stage).splitlines()
        assert "mean ±std pass@4" in lines[0]
        example = stage.live.state.examples.result(0)
        figures = f"{example.mean:.2f} ±{example.std:.2f}  1.00"
        assert [line.count(figures) for line in lines[1:5]] == [1, 0, 0, 0]
        await stage.press("b")
        assert "±0" not in shown(stage)


async def test_a_list_beside_a_trajectory_says_what_an_example_came_to_in_fewer_cells() -> None:
    async with staged_app(over(), size=(120, 40)) as stage:
        lines = shown(stage).splitlines()
        assert lines[0].split() == ["ex", "#", "reward", "mean", "±std", "turns", "time", "state"]
        assert "0.77 ±0.28" in lines[1]
        assert "0.77 ±0.28" not in lines[2]


async def test_errors_only_joins_the_filter_that_there_is() -> None:
    async with staged_app(over()) as stage:
        await stage.press("exclamation_mark")
        assert listed(stage) == sorted(ERRORS)
        await stage.press("exclamation_mark")
        assert listed(stage) == list(range(TOTAL))
    assert with_errors_only("a or b") == "(a or b) state:error"
    assert with_errors_only(with_errors_only("a or b")) == "a or b"


async def test_the_palette_has_what_the_list_can_do_from_every_pane() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        for pane, title in (("3", "Errors only, and back"), ("4", "Filter the rollouts")):
            await stage.press(pane)
            (act,) = (
                one.callback
                for one in stage.app.get_system_commands(stage.live)
                if one.title == title
            )
            await act()
            await stage.until(lambda: stage.live.focused is stage.live.rollouts)
            await stage.until(lambda: listed(stage) == sorted(ERRORS))
        await stage.until(lambda: stage.live.rollouts.entry.is_open)
        await stage.press("escape", "colon")
        await stage.until(lambda: "enter runs · esc closes" in seen(stage.app))


async def test_the_rollouts_of_one_error_are_listed() -> None:
    async with staged_app(over()) as stage:
        stage.live.rollouts.filter_by(error_condition("ToolCallError -> ZeroDivisionError"))
        await stage.until(lambda: listed(stage) == sorted(ERRORS))
        await stage.press("e")
        assert stage.live.rollouts.row in ERRORS


async def test_sorting_many_rows_draws_only_what_can_be_seen() -> None:
    rows = 20_000
    start = run_started(num_examples=rows // 4, total=rows)
    feed = ScriptedFeed([start, *(finished(row) for row in range(rows))], saved_rows())
    async with staged_app(feed) as stage:
        built = stage.live.rollouts.built
        stage.live.rollouts.sort("reward")
        await stage.until(lambda: stage.live.rollouts.listing.order is not None)
        assert stage.live.rollouts.built - built < 200
