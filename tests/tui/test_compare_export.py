"""A comparison as a file, and in other programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from compare_staging import comparing, live_run, runs_screen
from compared_runs import QUESTIONS, two_runs

from tui_eval.printable import printable
from tui_eval.tui.base.terminal.browser import DRIVER, in_browser
from tui_eval.tui.compare.rollouts_screen import CompareRollouts
from tui_eval.tui.compare.screen import CompareRuns


async def test_a_comparison_is_exported_as_markdown_a_table_or_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with comparing(CompareRuns(two_runs(tmp_path))) as stage:
        assert "x export" in stage.text("keys")
        await stage.press("x")
        typed = stage.screen.query_one("TypedLines").typed
        assert typed.text == "careful-prompt-short-prompt.md"
        await stage.press("enter")
        written = tmp_path / "careful-prompt-short-prompt.md"
        await stage.until(lambda: "careful-prompt-short-prompt.md" in stage.text("keys"))
        text = written.read_text()
        assert text.startswith("# careful-prompt and short-prompt")
        assert "| temperature | 0.7 | 0.2 |" in text
        assert (
            "| reward | 0.625 | 0.750 | +0.125 | [-0.162, 0.412] | t, 11 df | p = 0.461, " in text
        )
        assert "inconclusive: within chance; 12 examples can show 0.401 or more; about 110" in text
        assert "\n- reward gate 0.02: inconclusive (B may be at most 0.02 worse than A); " in text
        assert "\n| time (seconds) | " in text and "\n| tool calls | " in text
        assert f"| 9 | {QUESTIONS[9]} | 0.10 | 1.00 | +0.90 | fixed |" in text
        await stage.press("x", "enter")
        await stage.until(lambda: "there already" in stage.text("keys"))
        assert written.read_text() == text
        assert "\n### Examples\n" in text
        await stage.press("f", "x", *["backspace"] * 3, *"-f.md", "enter")
        some = tmp_path / "careful-prompt-short-prompt-f.md"
        await stage.until(some.exists)
        assert "\n### Examples that are fixed\n" in some.read_text(), "the others are left out"
        await stage.press("x", *["backspace"] * 3, *".csv", "enter")
        await stage.until(lambda: (tmp_path / "careful-prompt-short-prompt.csv").exists())
        rows = (tmp_path / "careful-prompt-short-prompt.csv").read_text().splitlines()
        assert rows[0] == "first,second,example_id,question,first_reward,second_reward,change"
        assert len(rows) == 4, "the fixed ones, which are listed"
        await stage.press("x", *["backspace"] * 3, *".json", "enter")
        await stage.until(lambda: (tmp_path / "careful-prompt-short-prompt.json").exists())
        shown = json.loads((tmp_path / "careful-prompt-short-prompt.json").read_text())
        assert [one["change"] for one in shown["comparisons"][0]["examples"]] == ["fixed"] * 3


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_box_shows_every_ending_whatever_the_terminal_is_wide(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with comparing(CompareRuns(two_runs(tmp_path)), size) as stage:
        await stage.press("f", "x")
        box = stage.screen.query_one("TypedLines")
        lines = [box.render_line(y).text.strip() for y in range(box.size.height)]
        shown = " ".join(lines)
        assert "The examples that are listed. The ending says how: .md to read," in shown
        assert ".csv a table, .json." in shown
        assert lines[-1] == "enter writes it · esc closes"


async def test_what_no_file_takes_as_it_is_is_exported_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = two_runs(tmp_path)
    details = json.loads((paths[1] / "metadata.json").read_text())
    details["sampling_args"] = {"stop": "\ud800", "temperature": math.nan}
    (paths[1] / "metadata.json").write_text(json.dumps(details))
    async with comparing(CompareRuns(paths)) as stage:
        for suffix in ("md", "csv", "json"):
            await stage.press("x", *["backspace"] * 2, *suffix, "enter")
            name = f"careful-prompt-short-prompt.{suffix}"
            await stage.until(lambda name=name: f"is in {name}" in stage.text("keys"))
        shown = json.loads((tmp_path / name).read_text(), parse_constant=pytest.fail)
        assert shown["settings"]["temperature"][1] is None


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment of processes that `tui-eval serve` starts."""
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
        shown = "The comparison is downloaded; also on the server in careful-prompt-short-prompt.md"
        await stage.until(lambda: shown in stage.text("keys"))
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
        name = stage.screen.query_one("TypedLines").typed.text.removesuffix(".md")
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
        shown = json.loads((tmp_path / f"{name}.json").read_text())
        assert shown == {"A": json.loads(lines[0]), "B": json.loads(lines[1])}


async def test_what_models_said_steers_no_pager(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        "tui_eval.tui.copying.elsewhere.read_elsewhere",
        lambda app, words, found: read.append(found.text) or "",
    )
    monkeypatch.setenv("PAGER", "cat")
    paths = two_runs(tmp_path)
    results = paths[1] / "results.jsonl"
    results.write_text(results.read_text().replace("3 boxes", "3 \U0001f3fd\u200d\\u001b[2J"))
    async with comparing(runs_screen(paths)) as stage:
        await stage.press("enter", "o")
        await stage.until(lambda: bool(read))
    text = read[0]
    assert "A quarter of 3 \\u{1f3fd}" in text and printable(text) == text


async def test_two_rollouts_are_read_in_the_pager_once_there_are_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PAGER", "cat")
    async with comparing(CompareRollouts(*live_run(), 29, 30), (200, 60)) as stage:
        assert "o pager" in stage.text("keys")
        await stage.press("o")
        await stage.until(lambda: "cannot be lent" in stage.text("keys"))
    async with comparing(CompareRollouts(*live_run(ended=False), 29, 30), (200, 60)) as stage:
        assert "o pager" not in stage.text("keys")
        await stage.press("o")
        assert "Nothing is compared yet that could be read." in stage.text("keys")
