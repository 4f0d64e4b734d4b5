"""Two trajectories that are read side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from compare_staging import comparing, live_run, runs_screen
from compared_runs import PASSES, three_runs, two_runs, write_run
from scripted_run import ERRORS
from staging import running, staged_app

from tui_eval.fold.compare.alignment import changed_words
from tui_eval.tui.base.lines.line_view import LineView
from tui_eval.tui.compare.rollouts_screen import CompareRollouts
from tui_eval.tui.compare.screen import CompareRuns
from tui_eval.tui.compare.trajectories import Trajectories


async def test_enter_opens_the_two_trajectories_where_they_part(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        await stage.press("enter")
        assert "example 4 · 1 of 12 · ↑ fixed" in stage.title("trajectories")
        names, details = stage.text("heads").splitlines()
        assert "A  careful-prompt" in names and "B  short-prompt" in names
        assert details.count("✓ done") == 2 and "0.10" in details and "1.00" in details
        lines = stage.text("trajectories").splitlines()
        (parting,) = [line for line in lines if "they part here" in line]
        assert parting.startswith("▌") and "turn 2" in parting
        (beside,) = [line for line in lines if "Three boxes fall" in line]
        assert "A quarter of 3 boxes of 36 is 27." in beside
        same = [line for line in lines if "= the same" in line]
        assert len(same) == 1 and "turn 1" in same[0]


async def test_the_sides_of_two_trajectories_are_called_as_their_runs_are(tmp_path: Path) -> None:
    paths = three_runs(tmp_path)
    rows = [json.loads(line) for line in (paths[2] / "results.jsonl").read_text().splitlines()]
    for row in rows:
        row["completion"] += [{"role": "assistant", "content": "one turn more"}]
    (paths[2] / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with comparing(runs_screen(paths), (120, 90)) as stage:
        await stage.press("greater_than_sign", "enter")
        assert "only in C" in stage.text("trajectories")
        await stage.press("v")
        assert "\n C ●" in stage.text("trajectories")


async def test_a_truncated_rollout_is_no_plain_success_beside_another_one(tmp_path: Path) -> None:
    paths = two_runs(tmp_path)
    rows = [json.loads(line) for line in (paths[0] / "results.jsonl").read_text().splitlines()]
    output = [json.dumps(row | {"is_truncated": True}) + "\n" for row in rows]
    (paths[0] / "results.jsonl").write_text("".join(output))
    async with comparing(runs_screen(paths)) as stage:
        await stage.press("enter")
        details = stage.text("heads").splitlines()[1]
        assert details.split("reward")[0].split() == ["✓", "done", "·", "truncated"]
        assert details.count("truncated") == 1 and details.count("✓ done") == 2
        assert details.count("tool calls") == 2


async def test_a_prompt_that_differs_is_shown_whole_with_its_changed_words_marked(
    tmp_path: Path,
) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (200, 60)) as stage:
        await stage.press("enter")
        shown = stage.text("trajectories")
        assert "When you are done, answer with the number alone" in shown
        assert "more lines" not in shown
        view = stage.screen.trajectories
        strips = [view.render_line(y) for y in range(view.size.height)]
        marked = {
            part.text.strip()
            for strip in strips
            for part in strip
            if part.style is not None and part.style.underline
        }
        assert {"careful", "4", "5"} <= marked
        assert not any("You are" in text or "504" in text for text in marked)


def test_words_are_marked_where_most_of_two_texts_is_the_same() -> None:
    first, second = "It has 2412 candles in all.", "It has 2493 candles left\nover in all."
    ours, theirs = changed_words(first, second)
    assert [first[start:end] for start, end in ours] == ["2412"]
    assert [second[start:end] for start, end in theirs] == ["2493", "left", "over"]
    assert changed_words("Three boxes fall down.", "A quarter of them.") == ((), ())
    long = "word " * 2000
    assert changed_words(long, f"{long}more") == ((), ())


def test_signs_between_two_changed_words_are_marked_with_them() -> None:
    first, second = "Use the tools add(a, b) to answer.", "Use the tools, then answer."
    ours, theirs = changed_words(first, second)
    assert [first[start:end] for start, end in ours] == ["add(a, b) to"]
    assert [second[start:end] for start, end in theirs] == ["then"]


def test_a_text_of_few_words_that_differs_is_marked_whole() -> None:
    assert changed_words("2016", "2520") == (((0, 4),), ((0, 4),))
    assert changed_words("add", "cannot divide 108 by 0") == (((0, 3),), ())


async def test_what_folds_no_further_says_so(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        await stage.press("enter", "g", "j", "l", "l", "l")
        assert "All of it is shown." in stage.text("keys")


async def test_what_differs_is_unfolded_and_marked_and_what_is_the_same_is_not(
    tmp_path: Path,
) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (120, 60)) as stage:
        await stage.press("enter")
        lines = stage.text("trajectories").splitlines()
        assert sum("multiply(a=14, b=36) → 504" in line and " │ " in line for line in lines) == 1
        (arguments,) = [line for line in lines if "b = 4" in line]
        assert "b = 5" in arguments and " ≠ " in arguments
        await stage.press("t")
        assert "b = 4" not in stage.text("trajectories").replace("(a=504, b=4)", "")
        assert stage.text("trajectories").count("▸ multiply(") == 4


async def test_the_same_call_stands_beside_itself_where_one_side_says_nothing_before_it(
    tmp_path: Path,
) -> None:
    paths = two_runs(tmp_path)
    rows = [json.loads(line) for line in (paths[1] / "results.jsonl").read_text().splitlines()]
    for row in rows:
        row["completion"][0]["content"] = ""
        row["prompt"] = row["prompt"][1:]
    (paths[1] / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with comparing(runs_screen(paths), (120, 60)) as stage:
        await stage.press("enter", "g")
        shown = stage.text("trajectories")
        assert shown.count("multiply(a=14, b=36) → 504") == 2
        assert "a = 14" not in shown
        (requested,) = [line for line in shown.splitlines() if "› user" in line]
        assert requested.count("› user") == 2


async def test_differences_are_gone_through_and_both_sides_scroll_together(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (120, 20)) as stage:
        await stage.press("enter")
        assert "prompt and 3 of 4 turns differ" in stage.title("trajectories")
        found = []
        for key in ("n", "n", "N", "N", "N"):
            await stage.press(key)
            (marked,) = [
                line for line in stage.text("trajectories").splitlines() if line.startswith("▌")
            ]
            found.append(marked.strip("▌─ ").partition("≠")[0].strip())
        assert found == ["turn 3", "turn 4", "turn 3", "turn 2", "prompt"]
        await stage.press("G")
        (expected,) = [ln for ln in stage.text("trajectories").splitlines() if "expected" in ln]
        assert expected.count("2493") == 2


async def test_one_above_the_other_shows_what_is_the_same_once(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (80, 60)) as stage:
        await stage.press("enter", "g")
        shown = stage.text("trajectories")
        assert shown.count("First the candles of one day.") == 1
        lines = [line[1:] for line in shown.splitlines()]
        ours = next(at for at, line in enumerate(lines) if "Three boxes fall" in line)
        theirs = next(at for at, line in enumerate(lines) if "Now those of five days" in line)
        assert lines[ours - 1].startswith("A ●") and ours < theirs
        values = [line for line in lines if line.endswith("│ a = 504")]
        assert [line[0] for line in values] == ["│", "┆"], "no colour is needed to tell A from B"
        await stage.press("v")
        assert stage.text("trajectories").count("First the candles of") == 2


@pytest.mark.parametrize("of_second", [False, True])
async def test_what_is_on_top_stays_so_where_the_sides_are_put_otherwise(
    tmp_path: Path, of_second: bool
) -> None:
    paths = two_runs(tmp_path)
    for side, path in enumerate(paths):
        rows = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
        for row in rows:
            words = " ".join(f"{'AB'[side]}{n:03}" for n in range(600))
            row["completion"] = [{"role": "assistant", "content": words}]
        (path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with comparing(runs_screen(paths), (80, 24)) as stage:
        await stage.press("enter", "l", "l")
        view, middle = stage.screen.trajectories, f"{'AB'[of_second]}200"
        (line,) = [n for n in range(view.count()) if middle in str(view.line(n))]
        view.jump(line)
        await stage.pilot.pause()
        wanted = next(word for word in stage.text("trajectories").split() if len(word) == 4)
        for width in (120, 80, 140, 101, 99, 80):
            await stage.pilot.resize_terminal(width, 24)
            await stage.until(
                lambda width=width: (
                    stage.screen.size.width == width
                    and wanted in stage.text("trajectories").splitlines()[0]
                )
            )
        assert view.scroll_offset.y == line


@pytest.mark.parametrize("size", [(80, 60), (120, 60)])
async def test_a_blank_line_follows_a_turn_and_none_parts_words_from_their_calls(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), size) as stage:
        await stage.press("enter", "g")
        lines = [line.strip(" │▌") for line in stage.text("trajectories").splitlines()]
        said = next(at for at, line in enumerate(lines) if line.startswith("First the candles"))
        assert lines[said + 1].startswith("▸ multiply(a=14") and not lines[said + 2]
        assert lines[said + 3].startswith("── turn 2")


async def test_other_examples_and_rollouts_are_read_from_there(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        await stage.press("enter", "right_square_bracket", "right_square_bracket")
        assert "example 3 · 3 of 12 · ↓ broken" in stage.title("trajectories")
        before = stage.text("heads")
        await stage.press("a", "b")
        after = stage.text("heads")
        assert before.count("#0 of 3 rollouts") == 2 and after.count("#1 of 3 rollouts") == 2
        await stage.press("escape")
        assert isinstance(stage.screen, CompareRuns)
        assert stage.screen.examples.cursor == 2


async def test_q_leaves_one_screen_after_the_other(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        await stage.press("enter", "q")
        assert isinstance(stage.screen, CompareRuns)
        await stage.pilot.press("q")
        await stage.pilot.pause()
        assert not stage.app.is_running


async def test_two_rollouts_of_one_group_are_read_the_same_way() -> None:
    errored = ERRORS[0]
    async with comparing(CompareRollouts(*live_run(), errored + 1, errored)) as stage:
        names, details = stage.text("heads").splitlines()
        assert "#2 of 4 rollouts" in names and "#1 of 4 rollouts" in names
        assert "✓ done" in details and "✗ error" in details
        assert "2 of 4 turns differ" in stage.title("trajectories")
        assert "≠ only in A" in stage.text("trajectories")
        await stage.press("b", "b")
        assert "= both are the same" in stage.title("trajectories")
        assert "#3 of 4 rollouts" in stage.text("heads")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_rollouts_of_two_examples_say_of_which(size: tuple[int, int]) -> None:
    async with comparing(CompareRollouts(*live_run(), 1, 6), size) as stage:
        assert "example 0 and example 1 ·" in stage.title("trajectories")
        heads = stage.text("heads")
        assert "A  example 0  #1 of 4" in heads and "B  example 1  #2 of 4" in heads


async def test_both_screens_stand_over_a_run_too_and_give_way_to_it(tmp_path: Path) -> None:
    async with staged_app(running()) as stage:
        first = CompareRollouts(stage.feed, stage.live.state, 0, 1)
        for screen in (first, runs_screen(two_runs(tmp_path))):
            stage.app.push_screen(screen)
            await stage.until(lambda screen=screen: getattr(screen, "is_ready", False))
            assert "q back" in stage.text(screen.query_one("#keys", LineView))
            await stage.press("question_mark")
            keys = stage.text(stage.app.screen.query_one(LineView))
            assert "Next, previous" in keys and "Pause the run" not in keys
            assert "To the end" in keys and "follow" not in keys
            await stage.press("escape", "escape")
            assert stage.app.screen is stage.live
        await stage.press("question_mark")
        keys = stage.text(stage.app.screen.query_one(LineView))
        assert "Pause the run" in keys and "Settings that differ" not in keys


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_what_has_no_room_below_a_name_stands_at_its_right(size: tuple[int, int]) -> None:
    errored = ERRORS[0]
    async with comparing(CompareRollouts(*live_run(), errored + 1, errored), size) as stage:
        assert stage.text("heads").count("k tokens") == 2


async def test_a_rollout_that_is_not_finished_says_so() -> None:
    async with comparing(CompareRollouts(*live_run(ended=False), 29, 30)) as stage:
        assert "The rollout of B is not finished" in stage.text("trajectories")


async def test_a_rollout_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    paths = two_runs(tmp_path)
    async with comparing(runs_screen(paths)) as stage:
        (paths[1] / "results.jsonl").write_text("")
        await stage.press("enter")
        assert "The rollout of B cannot be read back" in stage.text("trajectories")


async def test_long_trajectories_are_laid_out_beside_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, show = [], Trajectories.show

    def noted(view: Trajectories, *shown: Any) -> None:
        show(view, *shown)
        lines.append(view.count())

    monkeypatch.setattr(Trajectories, "show", noted)
    paths = [write_run(tmp_path, name, PASSES["A"][:1], each=1) for name in ("one", "two")]
    for path, word in zip(paths, ("first", "other"), strict=True):
        row = json.loads((path / "results.jsonl").read_text())
        row["completion"] = [
            {"role": "assistant", "content": f"turn {n} {word if n == 700 else ''} " * 40}
            for n in range(1, 1001)
        ]
        (path / "results.jsonl").write_text(json.dumps(row) + "\n")
    async with comparing(runs_screen(paths)) as stage:
        await stage.press("enter")
        assert "1 of 1,000 turns differ" in stage.title("trajectories")
        assert "turn 700  ≠ they part here" in stage.text("trajectories")
        assert 0 not in lines  # what was there stays until others are laid out
        await stage.press("G")
        assert "ending" in stage.text("trajectories")


def long_answers(tmp_path: Path, *parting: int) -> list[Path]:
    """Two runs whose answers part at these lines; the last one in what was thought."""
    paths = [write_run(tmp_path, name, PASSES["A"][:1], each=1) for name in ("one", "two")]
    for path, word in zip(paths, ("ours", "theirs"), strict=True):
        texts = [
            "\n".join(f"turn {turn} {word if n == at else 'line'} {n}" for n in range(at + 30))
            for turn, at in enumerate(parting, 1)
        ]
        row = json.loads((path / "results.jsonl").read_text())
        row["completion"] = [{"role": "assistant", "content": text} for text in texts]
        row["completion"][-1] |= {"content": "So it is.", "reasoning_content": texts[-1]}
        (path / "results.jsonl").write_text(json.dumps(row) + "\n")
    return paths


async def test_the_line_in_which_two_long_answers_part_is_shown(tmp_path: Path) -> None:
    paths = long_answers(tmp_path, 60, 3, 700, 15)
    async with comparing(runs_screen(paths)) as stage:
        await stage.press("enter")
        turns = [(1, 60), (2, 3), (3, 700), (4, 15), (3, 700), (2, 3), (1, 60)]
        for key, (turn, line) in zip("nnnNNNN", turns, strict=True):
            lines = stage.text("trajectories").splitlines()
            (parting,) = [one for one in lines if f"turn {turn} ours {line}" in one]
            assert f"turn {turn} theirs {line}" in parting.partition(" ≠ ")[2]
            assert (f"── turn {turn}" in "\n".join(lines)) == (line < 30)
            await stage.press(key)
        assert "There is no other difference this way." in stage.text("keys")
    async with comparing(runs_screen(paths), (80, 24)) as stage:
        await stage.press("enter")
        assert "\n▌≠   turn 1 ours 60" in stage.text("trajectories")


@pytest.mark.slow
@pytest.mark.parametrize("key", ["n", "l"])
async def test_what_differs_far_below_is_named_and_gone_to_from_the_head_of_its_turn(
    tmp_path: Path, key: str
) -> None:
    paths = long_answers(tmp_path, 4322, 15)
    for size in ((120, 40), (80, 24)):
        async with comparing(runs_screen(paths), size) as stage:
            await stage.press("enter")
            output = "≠ at line 4,323 of the text"
            lines = stage.text("trajectories").splitlines()
            head = next(at for at, line in enumerate(lines) if "they part here" in line)
            assert output in lines[head + 1] and "l shows it" in lines[head + 1]
            assert lines[head].startswith("▌")
            await stage.press(key)
            assert "turn 1 ours 4322" in stage.text("trajectories")
            await stage.press("l")
            assert "turn 1 ours 4322" in stage.text("trajectories")
            await stage.press("n")
            assert "turn 2 ours 15" in stage.text("trajectories")
            await stage.press("N")
            assert "turn 1 ours 4322" in stage.text("trajectories")


async def test_a_head_unfolds_and_folds_the_first_message_of_its_turn(tmp_path: Path) -> None:
    async with comparing(runs_screen(long_answers(tmp_path, 15, 15))) as stage:
        await stage.press("enter", "h")
        assert "turn 1 line 1" not in stage.text("trajectories")
        await stage.press("enter")
        assert "turn 1 line 1" in stage.text("trajectories")
        assert "▌── turn 1" in stage.text("trajectories")
