"""Examples of runs that are compared: listed, filtered, sorted, and their questions."""

from __future__ import annotations

import json
from pathlib import Path

from compare_staging import Comparing, comparing, runs_screen
from compared_runs import three_runs, two_runs, write_run
from scripted_conversation import USER

from tui_eval.tui.compare.screen import CompareRuns


def selected_id(stage: Comparing) -> str:
    """The example under the cursor, as it is seen."""
    lines = stage.text("pairs").splitlines()
    return next(line for line in lines if line.startswith("▌"))[1:].split()[0]


async def test_a_run_that_grows_is_compared_as_it_is_now(tmp_path: Path) -> None:
    older, newer = two_runs(tmp_path)
    lines = (newer / "results.jsonl").read_text().splitlines(keepends=True)
    (newer / "results.jsonl").write_text("".join(lines[:15]))
    async with comparing(CompareRuns([older, newer])) as stage:
        assert "5 examples in both" in stage.text("compared")
        await stage.press("j", "j")
        selected = stage.rows()[2]
        with (newer / "results.jsonl").open("a") as file:
            file.write("".join(lines[15:]))
        await stage.until(lambda: "12 examples in both" in stage.text("compared"))
        assert selected_id(stage) == selected[0]


async def test_examples_are_filtered_and_sorted_with_keys(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        assert [row[0] for row in stage.rows()[:3]] == ["4", "9", "3"]
        assert stage.rows()[2] == ["3", "0.70", "0.10", "-0.60", "broken"]
        await stage.press("f")
        assert [row[0] for row in stage.rows()] == ["4", "9", "1"]
        assert "fixed 3 of 12" in stage.title("pairs")
        await stage.press("w")
        assert stage.rows() == [["6", "0.10", "0.10", "0.00", "both-wrong"]]
        await stage.press("w")
        assert len(stage.rows()) == 12
        await stage.press("s")
        assert stage.rows()[0][0] == "3" and "worst first" in stage.title("pairs")
        await stage.press("s", "s")
        assert [row[0] for row in stage.rows()] == [str(n) for n in range(12)]


async def test_a_reward_below_the_threshold_is_not_shown_as_the_threshold(tmp_path: Path) -> None:
    paths = two_runs(tmp_path)
    for rewards, path in zip(((0.496, 0.49996), (0.5, 0.494)), paths, strict=True):
        rows = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
        for row in rows:
            row["reward"] = dict(enumerate(rewards)).get(row["example_id"], 1.0)
        (path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with comparing(runs_screen(paths)) as stage:
        assert sorted(row for row in stage.rows() if row[1] != "1.00") == [
            ["0", "0.496", "0.50", "+0.004", "fixed"],
            ["1", "0.4999", "0.49", "-0.01", "both-wrong"],
        ]


async def test_the_selected_example_stays_selected(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        await stage.press("j", "j", "b")
        marked = [line for line in stage.text("pairs").splitlines() if line.startswith("▌")]
        assert marked[0].split()[0] == "▌3"
        await stage.press("a")
        assert stage.screen.examples.cursor == 2


async def test_the_selected_example_is_seen_once_another_run_stands_beside_it(
    tmp_path: Path,
) -> None:
    async with comparing(runs_screen(three_runs(tmp_path)), (120, 20)) as stage:
        await stage.press("G")
        selected = selected_id(stage)
        await stage.press("greater_than_sign")
        assert "▌" in stage.text("pairs") and selected_id(stage) == selected


async def test_an_outcome_that_was_requested_is_shown_first(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path), "broken")) as stage:
        assert [row[0] for row in stage.rows()] == ["3"]
        await stage.press("escape")
        assert len(stage.rows()) == 12


async def test_the_key_that_shows_all_again_looks_like_a_key(tmp_path: Path) -> None:
    async with comparing(runs_screen(three_runs(tmp_path))) as stage:
        await stage.press("greater_than_sign", "f")
        pairs = stage.screen.examples
        assert "no example is fixed   a shows all" in stage.text("pairs")
        (key,) = [part for part in pairs.render_line(2) if part.text.strip() == "a"]
        assert key.style == pairs.ink("key")


async def test_outcomes_columns_and_runs_can_be_clicked(tmp_path: Path) -> None:
    async with comparing(runs_screen(three_runs(tmp_path))) as stage:
        chips = stage.text("pairs").splitlines()[0]
        await stage.pilot.click("#pairs", offset=(chips.index("broken"), 1))
        await stage.pilot.pause()
        assert {row[-1] for row in stage.rows()} == {"broken"}
        await stage.pilot.click("#pairs", offset=(chips.index("all"), 1))
        await stage.pilot.click("#pairs", offset=(5, 2))
        await stage.pilot.pause()
        assert "worst first" in stage.title("pairs")
        await stage.pilot.click("#compared", offset=(5, 2))
        await stage.pilot.pause()
        assert "A and C · means" in stage.title("paired-numbers")


async def test_a_question_that_its_line_has_not_whole_is_below_the_list(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (200, 60)) as stage:
        assert "whole number?" not in stage.text("pairs")
        *_, last, blank, first, _ = stage.text("pairs").splitlines()
        assert last.split()[0] == "7" and not blank and first.startswith(" ex 4  A workshop")
        while selected_id(stage) != "2":
            await stage.press("j")
        requested = "What is 17 % of 2,350, rounded to the nearest whole number?"
        assert stage.text("pairs").splitlines()[-1].strip() == f"ex 2  {requested}"
        while selected_id(stage) != "8":
            await stage.press("j")
        assert stage.text("pairs").count("A recipe for 4 takes 350 g of flour.") == 1


async def test_a_question_longer_than_a_line_takes_more_of_them(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (80, 15)) as stage:
        lines = [line.strip() for line in stage.text("pairs").splitlines()]
        assert " ".join(lines[-3:]) == f"ex 4  {USER['content']}"
        assert len(stage.rows()) == 3
        for at in range(12):
            assert stage.screen.examples.cursor == at and selected_id(stage)
            await stage.press("j")
        assert len(stage.rows()) == 5


async def test_a_click_on_the_question_selects_no_example_below_it(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (80, 14)) as stage:
        pairs = stage.screen.examples
        await stage.pilot.click("#pairs", offset=(10, pairs.size.height))
        await stage.pilot.pause()
        assert selected_id(stage) == "4"
        await stage.pilot.click("#pairs", offset=(10, pairs.size.height - 3))
        await stage.pilot.pause()
        assert selected_id(stage) != "4"


async def test_a_question_longer_than_three_lines_is_cut(tmp_path: Path) -> None:
    requested = " ".join(f"word{n}" for n in range(100))
    paths = [write_run(tmp_path, name, (1,), questions=(requested,), each=1) for name in "ab"]
    async with comparing(runs_screen(paths), (80, 24)) as stage:
        lines = stage.text("pairs").splitlines()
        assert lines[-3].startswith(" ex 0  word0 ") and lines[-1].endswith("…")


async def test_ids_of_examples_stand_in_their_column_however_wide_their_signs_are(
    tmp_path: Path,
) -> None:
    paths = two_runs(tmp_path)
    for path in paths:
        rows = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
        for row in rows:
            row["example_id"] = f"数学题{row['example_id'] % 10}"
        (path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with comparing(runs_screen(paths)) as stage:
        assert "数学题4" in stage.text("pairs")
