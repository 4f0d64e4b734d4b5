from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from compared_runs import PASSES, QUESTIONS, strangers, three_runs, two_runs, write_run
from scripted_run import ERRORS, NOW, ScriptedFeed, all_events, running_events, saved_rows
from staging import over, staged_app
from textual.pilot import Pilot
from textual.screen import Screen

from tui_eval.fold.comparison import Change, Comparison, PairedExample, PairedFigure
from tui_eval.fold.feed import Feed
from tui_eval.fold.run_state import RunState
from tui_eval.stats.paired import paired_difference
from tui_eval.tui.screen_app import ScreenApp
from tui_eval.tui.screens.compare import CompareRuns
from tui_eval.tui.screens.compare_rollouts import CompareRollouts
from tui_eval.tui.terminal.browser import DRIVER, in_browser
from tui_eval.tui.watched import Watched
from tui_eval.tui.widgets.line_view import LineView
from tui_eval.tui.widgets.paired_numbers import number_lines


class Comparing:
    """A running app with a comparison, and what a test wants to look at."""

    pilot: Pilot[Any]

    def __init__(self, first: Screen[Any]) -> None:
        self.app = ScreenApp(first)

    @property
    def screen(self) -> Any:
        return self.app.screen

    async def until(self, condition: Callable[[], Any]) -> None:
        for _ in range(3000):
            await self.pilot.pause(0.01)
            if condition():
                return
        raise AssertionError("this never came about")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        await self.until(lambda: getattr(self.screen, "is_ready", True))
        await self.pilot.pause()

    def text(self, view: str) -> str:
        found = self.screen.query_one(f"#{view}", LineView)
        lines = (found.render_line(y).text.rstrip() for y in range(found.size.height))
        return "\n".join(lines).rstrip()

    def rows(self) -> list[list[str]]:
        """The cells of the visible examples: id, A, B, difference, outcome."""
        lines = self.text("pairs").splitlines()[2:]
        cells = [line[1:].replace("both ", "both-").split() for line in lines]
        return [[one[0], *one[-5:-2], one[-1]] for one in cells if one]

    def title(self, view: str) -> str:
        return str(self.screen.query_one(f"#{view}").border_title)


@asynccontextmanager
async def comparing(
    first: Screen[Any], size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Comparing]:
    stage = Comparing(first)
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: stage.screen.is_ready)
        await stage.pilot.pause()
        yield stage


def runs_screen(paths: list[Path], only: str = "") -> CompareRuns:
    return CompareRuns(paths, only=only, now=lambda: NOW)


async def test_the_header_names_the_runs_and_tells_the_difference(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        first, second, verdict = stage.text("compared").splitlines()
        assert first.split()[:2] == ["A", "careful-prompt"] and "reward 0.62 [0.42, 0.83]" in first
        assert "calculator · gpt-4.1-mini · 12 × 3 · 1 day ago" in first
        assert second.split()[:2] == ["B", "short-prompt"] and "2 hours ago" in second
        assert "≈ unclear  reward B − A  +0.12 [-0.13, 0.38]  p = 0.338" in verdict


async def test_a_run_is_called_as_it_was_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "second" / "evals" / "calculator--m", "4f2be235", PASSES["A"])
    async with comparing(runs_screen([tmp_path / "second", run / "results.jsonl"])) as stage:
        names = [line.split()[1] for line in stage.text("compared").splitlines()[:2]]
        assert names == ["second", "4f2be235"]


async def test_numbers_stand_beside_each_other_with_paired_intervals(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (200, 60)) as stage:
        lines = {line.split()[0]: line for line in stage.text("paired-numbers").splitlines()[1:8]}
        assert lines["reward"].split()[1:4] == ["0.62", "0.75", "+0.12"]
        assert "seconds" in lines["time,"]
        assert "[-3.32, -1.62]" in lines["time,"] and "▼ lower" in lines["time,"]
        assert "= equal" in lines["calls"]
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
        assert "A and C" in stage.title("paired-numbers")


def test_a_chance_is_never_told_as_none() -> None:
    first = [0.2 + step / 1000 for step in range(9)]
    difference = paired_difference([0.9] * 9, first)
    assert difference.p == 0.0  # as far as floats go
    figure = PairedFigure("reward", 0.2, 0.9, difference)
    example = PairedExample("1", 0.2, 0.9, Change.FIXED, [0], [0])
    found = Comparison([example], [figure], {}, [], holm_p=1e-30)
    told = "".join(text for line in number_lines(found, "B", 120) for text, _ in line)
    assert "p < 1e-12, normal approximation; p < 1e-12 for all runs" in told


async def test_more_than_two_runs_are_compared_with_the_first_one_by_one(tmp_path: Path) -> None:
    async with comparing(runs_screen(three_runs(tmp_path))) as stage:
        assert "nano" in stage.text("compared").splitlines()[2]
        assert "(Holm)" in stage.text("compared")
        await stage.press("greater_than_sign")
        assert "reward C − A" in stage.text("compared")
        assert "C − A" in stage.text("paired-numbers") and "C − A" in stage.text("pairs")
        await stage.press("greater_than_sign")
        assert "reward B − A" in stage.text("compared")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
async def test_runs_that_are_not_comparable_say_why(tmp_path: Path, size: tuple[int, int]) -> None:
    async with comparing(runs_screen(strangers(tmp_path)), size) as stage:
        assert "! not comparable" in stage.text("compared")
        views = ("compared", "pairs", "paired-numbers")
        everywhere = "".join(stage.text(name) for name in views)
        assert everywhere.count("not comparable") == 1
        assert "(1 more in 1)" in stage.text("compared")
        assert "is paired" in stage.text("paired-numbers") or size[0] < 100
        shown = " ".join(stage.text("pairs").split())
        assert "12 examples only in the first run" in shown
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
        await stage.press("escape")
        await stage.until(lambda: "✗ Cancelled." in stage.text("pairs"))
        assert stage.screen.found is None


async def test_one_pane_at_a_time_where_there_is_little_room(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (80, 24)) as stage:
        panes = stage.screen.panes
        for key, shown in (("2", 1), ("tab", 2), ("1", 0)):
            await stage.press(key)
            assert [bool(pane.region) for pane in panes] == [at == shown for at in range(3)]
            assert stage.screen.focused is panes[shown]


async def test_enter_opens_the_two_transcripts_where_they_part(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        await stage.press("enter")
        assert "example 4 · 1 of 12 · ↑ fixed" in stage.title("transcripts")
        names, facts = stage.text("heads").splitlines()
        assert "A  careful-prompt" in names and "B  short-prompt" in names
        assert facts.count("✓ done") == 2 and "0.10" in facts and "1.00" in facts
        lines = stage.text("transcripts").splitlines()
        (parting,) = [line for line in lines if "they part here" in line]
        assert parting.startswith("▌") and "turn 2" in parting
        (beside,) = [line for line in lines if "Three boxes fall" in line]
        assert "A quarter of 3 boxes of 36 is 27." in beside
        same = [line for line in lines if "= the same" in line]
        assert len(same) == 1 and "turn 1" in same[0]


async def test_the_sides_of_two_transcripts_are_called_as_their_runs_are(tmp_path: Path) -> None:
    paths = three_runs(tmp_path)
    rows = [json.loads(line) for line in (paths[2] / "results.jsonl").read_text().splitlines()]
    for row in rows:
        row["completion"] += [{"role": "assistant", "content": "one turn more"}]
    (paths[2] / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with comparing(runs_screen(paths), (120, 90)) as stage:
        await stage.press("greater_than_sign", "enter")
        assert "only in C" in stage.text("transcripts")
        await stage.press("v")
        assert "\n C ●" in stage.text("transcripts")


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


async def test_what_folds_no_further_says_so(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        await stage.press("enter", "g", "j", "l", "l", "l")
        assert "All of it is shown." in stage.text("keys")


async def test_what_differs_is_unfolded_and_marked_and_what_is_the_same_is_not(
    tmp_path: Path,
) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        await stage.press("enter")
        lines = stage.text("transcripts").splitlines()
        assert sum("multiply(a=14, b=36) → 504" in line and " │ " in line for line in lines) == 1
        (arguments,) = [line for line in lines if "b = 4" in line]
        assert "b = 5" in arguments and " ┃ " in arguments
        await stage.press("t")
        assert "b = 4" not in stage.text("transcripts").replace("(a=504, b=4)", "")
        assert stage.text("transcripts").count("multiply(") == 4


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
        shown = stage.text("transcripts")
        assert shown.count("multiply(a=14, b=36) → 504") == 2
        assert "a = 14" not in shown
        (asked,) = [line for line in shown.splitlines() if "› user" in line]
        assert asked.count("› user") == 2


async def test_differences_are_gone_through_and_both_sides_scroll_together(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (120, 20)) as stage:
        await stage.press("enter")
        assert "prompt and 3 of 4 turns differ" in stage.title("transcripts")
        found = []
        for key in ("n", "n", "N", "N", "N"):
            await stage.press(key)
            (marked,) = [
                line for line in stage.text("transcripts").splitlines() if line.startswith("▌")
            ]
            found.append(marked.strip("▌─ ").partition("≠")[0].strip())
        assert found == ["turn 3", "turn 4", "turn 3", "turn 2", "prompt"]
        await stage.press("G")
        (expected,) = [ln for ln in stage.text("transcripts").splitlines() if "expected" in ln]
        assert expected.count("2493") == 2


async def test_one_above_the_other_tells_what_is_the_same_once(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path)), (80, 60)) as stage:
        await stage.press("enter", "g")
        shown = stage.text("transcripts")
        assert shown.count("First the candles of one day.") == 1
        lines = [line[1:] for line in shown.splitlines()]
        ours = next(at for at, line in enumerate(lines) if "Three boxes fall" in line)
        theirs = next(at for at, line in enumerate(lines) if "Now those of five days" in line)
        assert lines[ours - 1].startswith("A ●") and ours < theirs
        await stage.press("v")
        assert stage.text("transcripts").count("First the candles of") == 2


async def test_other_examples_and_rollouts_are_read_from_there(tmp_path: Path) -> None:
    async with comparing(runs_screen(two_runs(tmp_path))) as stage:
        await stage.press("enter", "right_square_bracket", "right_square_bracket")
        assert "example 3 · 3 of 12 · ↓ broken" in stage.title("transcripts")
        before = stage.text("heads")
        await stage.press("a", "b")
        after = stage.text("heads")
        assert before.count("· 1 of 3") == 2 and after.count("· 2 of 3") == 2
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


def watched(*, ended: bool = True) -> tuple[Feed, RunState]:
    events = all_events() if ended else running_events()
    run = Watched(ScriptedFeed(events, saved_rows(), live=not ended))
    run.fold(math.inf, lambda event: None)
    return run.feed, run.state


async def test_two_rollouts_of_one_group_are_read_the_same_way() -> None:
    errored = ERRORS[0]
    async with comparing(CompareRollouts(*watched(), errored - 1, errored)) as stage:
        names, facts = stage.text("heads").splitlines()
        assert "rollout 0 · 1 of 4" in names and "rollout 1 · 2 of 4" in names
        assert "✓ done" in facts and "✗ error" in facts
        assert "2 of 4 turns differ" in stage.title("transcripts")
        assert "≠ only in A" in stage.text("transcripts")
        await stage.press("b")
        assert "= both are the same" in stage.title("transcripts")
        assert "rollout 2 · 3 of 4" in stage.text("heads")


async def test_both_screens_stand_over_a_run_too_and_give_way_to_it(tmp_path: Path) -> None:
    async with staged_app(over()) as stage:
        first = CompareRollouts(stage.feed, stage.live.state, 0, 1)
        for screen in (first, runs_screen(two_runs(tmp_path))):
            stage.app.push_screen(screen)
            await stage.until(lambda screen=screen: getattr(screen, "is_ready", False))
            assert "q back" in stage.text(screen.query_one("#keys", LineView))
            await stage.press("question_mark")
            keys = stage.text(stage.app.screen.query_one(LineView))
            assert "Next, previous" in keys and "Pause the engine" not in keys
            await stage.press("escape", "escape")
            assert stage.app.screen is stage.live
        await stage.press("question_mark")
        keys = stage.text(stage.app.screen.query_one(LineView))
        assert "Pause the engine" in keys and "Settings that differ" not in keys


async def test_a_rollout_that_is_not_finished_says_so() -> None:
    async with comparing(CompareRollouts(*watched(ended=False), 29, 30)) as stage:
        assert "The rollout of B is not finished" in stage.text("transcripts")


async def test_a_rollout_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    paths = two_runs(tmp_path)
    async with comparing(runs_screen(paths)) as stage:
        (paths[1] / "results.jsonl").write_text("")
        await stage.press("enter")
        assert "The rollout of B cannot be read back" in stage.text("transcripts")


async def test_long_transcripts_are_laid_out_beside_the_loop(tmp_path: Path) -> None:
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
        assert "1 of 1,000 turns differ" in stage.title("transcripts")
        assert "turn 700  ≠ they part here" in stage.text("transcripts")
        await stage.press("G")
        assert "ending" in stage.text("transcripts")


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


async def test_a_comparison_is_exported_as_markdown_a_table_or_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with comparing(CompareRuns(two_runs(tmp_path))) as stage:
        assert "x export" in stage.text("keys")
        await stage.press("x")
        typed = stage.screen.query_one("PathLine").typed
        assert typed.text == "careful-prompt-short-prompt.md"
        await stage.press("enter")
        written = tmp_path / "careful-prompt-short-prompt.md"
        await stage.until(lambda: "careful-prompt-short-prompt.md" in stage.text("keys"))
        text = written.read_text()
        assert text.startswith("# careful-prompt and short-prompt")
        assert "| temperature | 0.7 | 0.2 |" in text
        assert "| reward | 0.62 | 0.75 | +0.12 | [-0.13, 0.38] |" in text
        assert f"| 4 | {QUESTIONS[4]} | 0.10 | 1.00 | +0.90 | fixed |" in text
        await stage.press("x", "enter")
        await stage.until(lambda: "there already" in stage.text("keys"))
        assert written.read_text() == text
        await stage.press("f", "x", *["backspace"] * 3, *".csv", "enter")
        await stage.until(lambda: (tmp_path / "careful-prompt-short-prompt.csv").exists())
        rows = (tmp_path / "careful-prompt-short-prompt.csv").read_text().splitlines()
        assert rows[0] == "first,second,example_id,question,first_reward,second_reward,change"
        assert len(rows) == 4, "the fixed ones, which are listed"
        await stage.press("x", *["backspace"] * 3, *".json", "enter")
        await stage.until(lambda: (tmp_path / "careful-prompt-short-prompt.json").exists())
        told = json.loads((tmp_path / "careful-prompt-short-prompt.json").read_text())
        assert [one["change"] for one in told["comparisons"][0]["examples"]] == ["fixed"] * 3


async def test_what_no_file_takes_as_it_is_is_exported_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = two_runs(tmp_path)
    facts = json.loads((paths[1] / "metadata.json").read_text())
    facts["sampling_args"] = {"stop": "\ud800", "temperature": math.nan}
    (paths[1] / "metadata.json").write_text(json.dumps(facts))
    async with comparing(CompareRuns(paths)) as stage:
        for suffix in ("md", "csv", "json"):
            await stage.press("x", *["backspace"] * 2, *suffix, "enter")
            name = f"careful-prompt-short-prompt.{suffix}"
            await stage.until(lambda name=name: f"is in {name}" in stage.text("keys"))
        told = json.loads((tmp_path / name).read_text(), parse_constant=pytest.fail)
        assert told["settings"]["temperature"][1] is None


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What `tui-eval serve` tells the processes that it starts."""
    monkeypatch.setenv("TEXTUAL_DRIVER", DRIVER)
    in_browser.cache_clear()
    yield
    in_browser.cache_clear()


@pytest.mark.usefixtures("browser")
async def test_in_a_browser_an_exported_comparison_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    delivered: list[str] = []
    async with comparing(CompareRuns(two_runs(tmp_path))) as stage:
        monkeypatch.setattr(
            stage.app, "deliver_binary", lambda file, **how: delivered.append(file.read().decode())
        )
        await stage.press("x", "enter")
        told = "The comparison is downloaded; also on the server in careful-prompt-short-prompt.md"
        await stage.until(lambda: told in stage.text("keys"))
    assert delivered[0].startswith("# careful-prompt and short-prompt")


async def test_a_comparison_is_read_in_the_pager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "no-such-pager")
    async with comparing(CompareRuns(two_runs(tmp_path))) as stage:
        assert "o pager" in stage.text("keys")
        await stage.press("o")
        assert "$PAGER names no-such-pager" in stage.text("keys")
        monkeypatch.setenv("PAGER", "cat")
        await stage.press("o")
        await stage.until(lambda: "cannot be lent" in stage.text("keys"))


async def test_two_rollouts_are_exported_to_read_as_json_or_as_they_were_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = two_runs(tmp_path)
    async with comparing(runs_screen(paths)) as stage:
        await stage.press("enter", "x")
        name = stage.screen.query_one("PathLine").typed.text.removesuffix(".md")
        assert name == "A-example-4-0-B-example-4-0"
        await stage.press("enter")
        await stage.until(lambda: f"The pair is in {name}.md" in stage.text("keys"))
        text = (tmp_path / f"{name}.md").read_text()
        assert text.index("# A careful-prompt") < text.index("A quarter of 3 boxes of 36 is 27.")
        assert "# B short-prompt" in text
        for suffix in ("json", "jsonl"):
            await stage.press("x", *["backspace"] * 2, *suffix, "enter")
            await stage.until(lambda s=suffix: (tmp_path / f"{name}.{s}").exists())
        lines = (tmp_path / f"{name}.jsonl").read_text().splitlines()
        for path, line in zip(paths, lines, strict=True):
            assert line in (path / "results.jsonl").read_text().splitlines()
        told = json.loads((tmp_path / f"{name}.json").read_text())
        assert told == {"A": json.loads(lines[0]), "B": json.loads(lines[1])}


async def test_two_rollouts_are_read_in_the_pager_once_there_are_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PAGER", "cat")
    async with comparing(CompareRollouts(*watched(), 29, 30)) as stage:
        assert "o pager" in stage.text("keys")
        await stage.press("o")
        await stage.until(lambda: "cannot be lent" in stage.text("keys"))
    async with comparing(CompareRollouts(*watched(ended=False), 29, 30)) as stage:
        assert "o pager" not in stage.text("keys")
        await stage.press("o")
        assert "Nothing is compared yet that could be read." in stage.text("keys")
