"""Sentences on the difference between runs, and doubts about it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from compare_staging import comparing, runs_screen
from compared_runs import PASSES, QUESTIONS, three_runs, two_runs, write_run
from paired_rewards import paired_difference

from tui_eval.fold.compare.comparison import Change, Comparison, PairedExample
from tui_eval.fold.compare.paired_figures import PairedFigure
from tui_eval.tui.compare.pane_lines import number_lines, wrapped
from tui_eval.tui.compare.screen import CompareRuns


async def test_the_header_names_the_runs_and_shows_the_difference(tmp_path: Path) -> None:
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
        output = " ".join(stage.text("paired-numbers").split())
        assert "reward gate 0.02: inconclusive (B may be at most 0.02 worse than A)" in output
        assert "; power 3 %: the chance that 12 examples pass an unchanged B; " in output
        assert "; about 4,100 examples have 80 %" in output


@pytest.mark.parametrize(("width", "is_cut"), [(80, True), (120, False)])
async def test_a_doubt_that_is_cut_says_where_it_is_whole(
    tmp_path: Path, width: int, is_cut: bool
) -> None:
    first, second = two_runs(tmp_path)
    output = json.loads((second / "metadata.json").read_text())
    (second / "metadata.json").write_text(json.dumps(output | {"avg_reward": 0.123456}))
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


def test_a_chance_is_never_shown_as_none() -> None:
    difference = paired_difference([1.0] * 60, [0.0] * 60, single=True, scale=1.0)
    assert difference.p == pytest.approx(2**-59)
    figure = PairedFigure("reward", 0.2, 0.9, difference, holm_p=2**-58)
    example = PairedExample("1", 0.2, 0.9, Change.FIXED, [0], [0])
    found = Comparison([example], [figure], {}, [])
    output = "".join(text for line in number_lines(found, "B", 120) for text, _ in line)
    assert "Newcombe; p < 1e-12, McNemar's exact test; p < 1e-12 by Holm" in output


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
            assert runs[0].endswith("8 more runs") == (count == 12), "what is out of sight is shown"
            await stage.press("greater_than_sign")
        await stage.pilot.click("#compared", offset=(5, 3))
        await stage.pilot.pause()
        assert "reward D − A" in stage.text("compared")
