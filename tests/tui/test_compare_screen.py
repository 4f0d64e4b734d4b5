"""Runs that are compared on the screen."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from compare_staging import Comparing, comparing, runs_screen
from compared_runs import PASSES, QUESTIONS, Stuck, strangers, three_runs, two_runs, write_run
from scripted_conversation import USER

from tui_eval.fold.comparison import Change, Comparison, PairedExample
from tui_eval.fold.paired_figures import PairedFigure
from tui_eval.stats.paired import paired_difference
from tui_eval.tui.compare.paired_numbers import number_lines, wrapped
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


async def test_the_header_names_the_runs_and_tells_the_difference(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        first, second, verdict, why = stage.text("compared").splitlines()
        assert (
            first.split()[:2] == ["A", "careful-prompt"] and "reward 0.625 [0.393, 0.857]" in first
        )
        assert "calculator  gpt-4.1-mini  12 examples × 3  1 day ago" in first
        assert second.split()[:2] == ["B", "short-prompt"] and "2 hours ago" in second
        assert (
            "≈ inconclusive  reward B − A +0.125 [-0.162, 0.412] t, 11 df  p = 0.461, "
            "exact sign-flip test  12 examples in both"
        ) in verdict
        assert why.strip() == (
            "within chance; 12 examples can show 0.401 or more; about 110 needed"
        )


@pytest.mark.parametrize("width", [40, 48, 60, 80, 100, 120, 200])
async def test_a_verdict_is_whole_or_not_there(tmp_path: Path, width: int) -> None:
    async with comparing(runs_screen(three_runs(tmp_path)), (width, 40)) as stage:
        *runs, verdict, why = stage.text("compared").splitlines()
        parts = " t, 11 df", ", exact sign-flip test", "  12 examples in both"
        parts += ("  gate 0.02: inconclusive",)
        rest = verdict.removeprefix(" ≈ inconclusive  reward B − A +0.125")
        for part in (" [-0.162, 0.412]", parts[0], "  p = 0.922 (Holm)", *parts[1:]):
            rest = rest.removeprefix(part)
        assert not rest and "…" not in verdict
        notes = ["within chance", "12 examples can show 0.401 or more", "about 110 needed"]
        assert why.strip() in ["; ".join(notes[:count]) for count in (1, 2, 3)]
        assert (len(why.split("; ")) == 3) == (width >= 80)
        assert all(line.endswith("≈ inconclusive") for line in runs[1:]) or width < 60


async def test_the_gate_has_the_words_of_the_command(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (200, 60)) as stage:
        assert "  gate 0.02: inconclusive" in stage.text("compared").splitlines()[2]
        await stage.press("2", "z")
        told = " ".join(stage.text("paired-numbers").split())
        assert "reward gate 0.02: inconclusive (B may be at most 0.02 worse than A)" in told
        assert "; power 3 %: the chance that 12 examples pass an unchanged B; " in told
        assert "; about 4,100 examples have 80 %" in told


@pytest.mark.parametrize(("width", "is_cut"), [(80, True), (120, False)])
async def test_a_doubt_that_is_cut_says_where_it_is_whole(
    tmp_path: Path, width: int, is_cut: bool
) -> None:
    first, second = two_runs(tmp_path)
    told = json.loads((second / "metadata.json").read_text())
    (second / "metadata.json").write_text(json.dumps(told | {"avg_reward": 0.123456}))
    async with comparing(CompareRuns([first, second]), (width, 40)) as stage:
        doubt = stage.text("compared").splitlines()[-1]
        assert doubt.startswith(" ! of B metadata.json says avg_reward 0.1235")
        assert ("…" in doubt) == doubt.rstrip().endswith("whole in pane 2") == is_cut


async def test_a_run_is_called_as_it_was_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "second" / "evals" / "calculator--m", "4f2be235", PASSES["A"])
    async with comparing(runs_screen([tmp_path / "second", run / "results.jsonl"])) as stage:
        names = [line.split()[1] for line in stage.text("compared").splitlines()[:2]]
        assert names == ["second", "4f2be235"]
    shutil.copy(run / "results.jsonl", tmp_path / "copied.jsonl")
    async with comparing(runs_screen([run, tmp_path / "copied.jsonl"])) as stage:
        assert stage.text("compared").splitlines()[1].split()[1] == "copied.jsonl"


async def test_numbers_stand_beside_each_other_with_paired_intervals(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (200, 60)) as stage:
        lines = {line.split()[0]: line for line in stage.text("paired-numbers").splitlines()[1:8]}
        assert lines["reward"].split()[1:4] == ["0.625", "0.750", "+0.125"]
        assert "(seconds)" in lines["time"]
        assert "[-3.426, -1.512]" in lines["time"] and "▼ lower" in lines["time"]
        assert "= equal" in lines["tool"] and "●" in lines["tool"]
        heads = stage.text("paired-numbers").splitlines()[0]
        assert heads.endswith("B − A, each to its own scale")
        assert "┼" in lines["reward"] and "●" in lines["reward"]


async def test_settings_that_differ_have_a_column_a_run(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (200, 60)) as stage:
        shown = stage.text("settings").splitlines()
        assert shown[0].split() == ["A", "B"]
        assert shown[1].split() == ["temperature", "0.7", "0.2"]
        assert "You are a careful" in shown[2] and "You are a calculator." in shown[2]
        assert "model" not in stage.text("settings")


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


async def test_a_reward_below_the_threshold_is_not_told_as_the_threshold(tmp_path: Path) -> None:
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


async def test_an_outcome_that_was_asked_for_is_shown_first(tmp_path: Path) -> None:
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


def test_a_chance_is_never_told_as_none() -> None:
    difference = paired_difference([1.0] * 60, [0.0] * 60, single=True, scale=1.0)
    assert difference.p == pytest.approx(2**-59)
    figure = PairedFigure("reward", 0.2, 0.9, difference, holm_p=2**-58)
    example = PairedExample("1", 0.2, 0.9, Change.FIXED, [0], [0])
    found = Comparison([example], [figure], {}, [])
    told = "".join(text for line in number_lines(found, "B", 120) for text, _ in line)
    assert "Newcombe; p < 1e-12, McNemar's exact test; p < 1e-12 by Holm" in told


@pytest.mark.parametrize("width", range(24, 60))
def test_a_chance_stays_in_one_line(width: int) -> None:
    lines = [
        "".join(text for text, _ in one)
        for one in wrapped("· ", "equal, p = 1; by " * 3, "", width)
    ]
    assert sum("p = 1" in line for line in lines) and not any(
        line.endswith(("p", "p =")) for line in lines
    )


@pytest.mark.parametrize("width", [78, 118])
def test_what_speaks_against_the_reward_stands_above_the_metrics(width: int) -> None:
    unlike = paired_difference([0.5] * 8, [0.0, 0.2] * 4, single=False, scale=1.0)
    alike = paired_difference([0.5] * 8, [0.5] * 8, single=False, scale=1.0)
    figures = [PairedFigure("reward", 0.1, 0.5, unlike, holm_p=unlike.p)]
    figures += [PairedFigure(name, 0.5, 0.5, alike) for name in ("parses", "calls")]
    example = PairedExample("1", 0.2, 0.9, Change.FIXED, [0], [0])
    found = Comparison([example], figures, {"not finished in the second run": 2}, ["take care"])
    lines = ["".join(text for text, _ in line) for line in number_lines(found, "B", width)]
    begins = ("· reward better", "· reward gate", "! take care", "· not paired", "· parses, ")
    places = [next(n for n, line in enumerate(lines) if line.startswith(one)) for one in begins]
    assert places == sorted(places)
    assert lines[-1] == "· parses, tool calls equal (bound for equal examples)"


async def test_a_question_that_its_line_has_not_whole_is_below_the_list(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (200, 60)) as stage:
        assert "whole number?" not in stage.text("pairs")
        *_, last, blank, first, _ = stage.text("pairs").splitlines()
        assert last.split()[0] == "7" and not blank and first.startswith(" ex 4  A workshop")
        while selected_id(stage) != "2":
            await stage.press("j")
        asked = "What is 17 % of 2,350, rounded to the nearest whole number?"
        assert stage.text("pairs").splitlines()[-1].strip() == f"ex 2  {asked}"
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
    asked = " ".join(f"word{n}" for n in range(100))
    paths = [write_run(tmp_path, name, (1,), questions=(asked,), each=1) for name in "ab"]
    async with comparing(runs_screen(paths), (80, 24)) as stage:
        lines = stage.text("pairs").splitlines()
        assert lines[-3].startswith(" ex 0  word0 ") and lines[-1].endswith("…")


async def test_more_than_two_runs_are_compared_with_the_first_one_by_one(tmp_path: Path) -> None:
    async with comparing(runs_screen(three_runs(tmp_path))) as stage:
        assert "nano" in stage.text("compared").splitlines()[2]
        assert "(Holm)" in stage.text("compared")
        assert "> next run" in stage.text("keys")
        assert "reward 0.625 [0.393, 0.857]" in stage.text("compared").splitlines()[0]
        await stage.press("greater_than_sign")
        assert "reward C − A" in stage.text("compared")
        assert "C − A" in stage.text("paired-numbers") and "C − A" in stage.text("pairs")
        await stage.press("greater_than_sign")
        assert "reward B − A" in stage.text("compared")


@pytest.mark.parametrize("count", [4, 12])
async def test_a_doubt_is_seen_however_many_runs_there_are(tmp_path: Path, count: int) -> None:
    paths = [write_run(tmp_path, "all", (1, 0) * 6, each=1)]
    for n in range(1, count):
        other = (*QUESTIONS[:3], *(f"{n} more than {k}?" for k in range(9)))
        paths.append(write_run(tmp_path, f"other-{n}", (0, 1) * 6, questions=other, each=1))
    async with comparing(runs_screen(paths), (80, 24)) as stage:
        for place in (*range(1, count), 1):
            *runs, verdict, why, doubt = stage.text("compared").splitlines()
            letter = chr(ord("A") + place)
            assert doubt.strip().startswith("! only 3 of 12 examples are in both runs")
            assert f"reward {letter} − A" in verdict
            assert why.strip().startswith("fewer than 6 shared examples; ")
            assert [line[1] for line in runs if line.startswith("▌")] == [letter]
            assert runs[0].split()[0] == "A" and len(runs) == 4
            assert runs[0].endswith("8 more runs") == (count == 12), "what is out of sight is told"
            await stage.press("greater_than_sign")
        await stage.pilot.click("#compared", offset=(5, 3))
        await stage.pilot.pause()
        assert "reward D − A" in stage.text("compared")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
async def test_runs_that_are_not_comparable_say_why(tmp_path: Path, size: tuple[int, int]) -> None:
    async with comparing(runs_screen(strangers(tmp_path)), size) as stage:
        assert "! not comparable: the runs have no example in common" in stage.text("compared")
        views = ("compared", "pairs", "paired-numbers")
        everywhere = "".join(stage.text(name) for name in views)
        assert everywhere.count("not comparable") == 1
        assert "1 more doubt in pane 1" in stage.text("compared")
        assert "nothing to compare" in stage.text("paired-numbers") or size[0] < 100
        shown = " ".join(stage.text("pairs").split())
        assert "12 examples only in A 12 examples only in B" in shown
        assert "the environments differ (calculator, geography): their rewards may not" in shown
        assert "paired by what they ask" in shown
        await stage.press("enter")
        assert isinstance(stage.screen, CompareRuns)


async def test_what_is_no_run_is_told_on_the_screen(tmp_path: Path) -> None:
    paths = [two_runs(tmp_path)[0], tmp_path / "nowhere"]
    async with comparing(runs_screen(paths)) as stage:
        shown = " ".join(stage.text("pairs").split())
        assert "nowhere: there is no such file or directory" in shown


async def test_reading_tells_how_far_it_is_and_can_be_cancelled(tmp_path: Path) -> None:
    many = tuple(f"{question} {n}" for n in range(400) for question in QUESTIONS)
    passes = tuple(int(n % 3 > 0) for n in range(len(many)))
    paths = [write_run(tmp_path, name, passes, questions=many, each=1) for name in ("one", "two")]
    stage = Comparing(runs_screen(paths))
    async with stage.app.run_test(size=(80, 24)) as stage.pilot:
        await stage.until(lambda: "▶ reading A" in stage.text("compared"))
        assert stage.text("keys").split() == ["q", "quit", "?", "help", "esc", "cancel"]
        await stage.press("escape")
        await stage.until(lambda: "✗ Cancelled." in stage.text("pairs"))
        assert stage.screen.found is None


async def test_enter_before_anything_is_read_says_that_it_is_too_early(tmp_path: Path) -> None:
    screen = runs_screen(two_runs(tmp_path))
    screen.reading = Stuck(screen.reading.paths)
    stage = Comparing(screen)
    async with stage.app.run_test(size=(80, 24)) as stage.pilot:
        await stage.pilot.press("enter")
        await stage.pilot.pause()
        assert stage.text("keys").strip() == "Not yet: the runs are still being read."


@pytest.mark.parametrize("size", [(120, 40), (200, 60)])
async def test_titles_tell_nothing_of_runs_that_are_still_being_read(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    screen = runs_screen(two_runs(tmp_path))
    screen.reading = Stuck(screen.reading.paths)
    stage = Comparing(screen)
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: "reading" in stage.text("pairs"))
        titles = [
            stage.title(view).split(" · ") for view in ("pairs", "paired-numbers", "settings")
        ]
        assert titles == [[" 1 Examples "], [" 2 Numbers "], [" 3 Settings that differ "]]


async def test_one_pane_at_a_time_where_there_is_little_room(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (80, 24)) as stage:
        panes = stage.screen.panes
        for key, shown in (("2", 1), ("tab", 2), ("1", 0)):
            await stage.press(key)
            assert [bool(pane.region) for pane in panes] == [at == shown for at in range(3)]
            assert stage.screen.focused is panes[shown]
            assert "1 Examples 12     2 Numbers 7     3 Settings" in stage.text("pane-tabs")
            keys = stage.text("keys")
            assert "z zoom" not in keys and ("s sort" in keys) == (shown == 0)
        await stage.pilot.click("#pane-tabs", offset=(22, 0))
        await stage.pilot.pause()
        assert stage.screen.focused is panes[1]
        await stage.press("z")
        assert not stage.screen.grid.has_class("-zoomed")


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


async def test_nothing_harmful_of_a_run_reaches_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]52;c;c3RvbGVu\x07\x9b31m[/foo]\u202eabc\ud800\r\x08 end"
    paths = two_runs(tmp_path)
    path = paths[1] / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["example_id"] = evil
        row["metrics"][evil] = 1.0
        row["prompt"][0]["content"] = evil
        row["completion"].append({"role": evil, "content": evil})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    facts = json.loads((paths[1] / "metadata.json").read_text())
    (paths[1] / "metadata.json").write_text(json.dumps(facts | {"env_id": evil, "model": evil}))
    async with comparing(runs_screen(paths), (200, 60)) as stage:
        for keys in (("2",), ("1", "enter"), ("G",), ("v",)):
            await stage.press(*keys)
            shown = stage.app.export_screenshot(simplify=True)
            assert not {"\x1b", "\x9b", "\u202e", "\x07", "\x08"} & set(shown)
