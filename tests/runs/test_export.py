"""Exports of a run: whole, readable, and harmless whatever models and tools said."""

from __future__ import annotations

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import line, row, write_run

from tui_eval.errors import RefusedError
from tui_eval.fold.columns import Note
from tui_eval.runs.export.markdown import fenced, plain
from tui_eval.runs.export.rows import safe_cell
from tui_eval.runs.export.source import ExportSource
from tui_eval.runs.export.writer import FORMATS, default_path, format_of, write_export, writer_of
from tui_eval.runs.saved_run import read_run

HOSTILE = (
    "</pre></details><script>alert(1)</script>\n"
    '<img src="http://evil.test/x" onerror=a>\x1b]52;c;\x07'
)
SHAPED = (
    "\U0001f469\u200d\U0001f467 \u0645\u06cc\u200c\u062e\u0648 \U0001f44d\U0001f3fd \u2764\ufe0f\t."
)
FENCES = "````\n# not a heading\n```` ]( <b>"


def source(path: Path) -> ExportSource:
    call = json.dumps({"id": "c", "name": "<i>look</i>", "arguments": '{"q": "</pre><b>"}'})
    rows: list[dict[str, Any]] = [
        row(
            "=1+1",
            0,
            prompt=[{"role": "system", "content": "be good"}, {"role": "user", "content": HOSTILE}],
            completion=[
                {"role": "assistant", "tool_calls": [call], "reasoning_content": FENCES},
                {"role": "tool", "tool_call_id": "c", "content": HOSTILE},
                {"role": "assistant", "content": f"@SUM(A1) \ud83d {SHAPED} \u202e"},
            ],
            answer="-2",
            metrics={"score": -1.0, "<u>": 1.0},
        ),
        row("=1+1", 1, 0.25),
        row("b", 0, error=True),
    ]
    lines = [json.dumps(one).encode() + b"\n" for one in rows]
    given = {"n": 1, "temperature": 0.2, "extra_body": {}}
    run = write_run(path, lines, model="<script>m</script>", sampling_args=given)
    state, _ = read_run(run)
    notes = {("=1+1", 1): Note("<b>odd</b>", ("=tag",))}
    return ExportSource(run, state, notes, [2, 0, 1, 3], "a & b")


def written(path: Path, kind: str) -> bytes:
    target = path / f"out.{kind}"
    progress = list(write_export(source(path / "run"), kind, target))
    assert [one.written for one in progress] == [1, 2, 3]
    assert progress[0].total == 3
    assert sorted(one.name for one in path.iterdir()) == [target.name, "run"]
    return target.read_bytes()


def test_lines_are_those_of_the_run_in_the_requested_order(tmp_path: Path) -> None:
    lines = written(tmp_path, "jsonl").splitlines(keepends=True)
    ours = (tmp_path / "run" / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert [lines[0], lines[2]] == [ours[2], ours[1]]
    half = json.loads(ours[0])["completion"][2]["content"]
    assert json.loads(lines[1])["completion"][2]["content"] == half.replace("\ud83d", r"\ud83d")


def test_a_table_holds_no_formula(tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(written(tmp_path, "csv").decode(), newline="")))
    assert [one["example_id"] for one in rows] == ["b", "'=1+1", "'=1+1"]
    assert rows[0]["error"] == "ModelError" and rows[0]["reward"] == ""
    first = rows[1]
    assert first["response"].startswith("'@SUM(A1)")
    assert (first["answer"], first["metrics.score"]) == ("'-2", "-1.0")
    assert first["question"] == HOSTILE.replace("\x1b", "␛").replace("\x07", "␇")
    assert (rows[2]["tags"], rows[2]["note"], rows[2]["reward"]) == ("'=tag", "<b>odd</b>", "0.25")


@given(st.text(max_size=20))
def test_no_cell_begins_like_a_formula(text: str) -> None:
    assert not safe_cell(text).lstrip(" ").startswith(tuple("=+-@\t\r\n＝＋－＠"))


@pytest.mark.parametrize("sign", "=+-@＝＋－＠")
def test_a_cell_that_a_spreadsheet_may_compute_begins_with_an_apostrophe(sign: str) -> None:
    assert safe_cell(f" {sign}cmd()") == f"' {sign}cmd()"


def test_parquet_holds_the_conversations(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "out.parquet").write_bytes(written(tmp_path, "parquet"))
    rows = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert [one["reward"] for one in rows] == [None, 1.0, 0.25]
    assert json.loads(rows[1]["prompt"])[1]["content"] == HOSTILE
    assert rows[1]["metrics.score"] == -1.0 and rows[2]["tags"] == ["=tag"]


def test_a_missing_package_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(RefusedError, match=r"pyarrow is missing.*'tui-eval\[parquet\]'"):
        writer_of("parquet")


class Page(HTMLParser):
    """Elements and text of a page, as a browser has them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.blocks: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "pre":
            self.blocks.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["pre"]:
            self.blocks[-1] += data


def test_a_page_needs_nothing_else_and_shows_text_as_text(tmp_path: Path) -> None:
    text = written(tmp_path, "html").decode()
    page = Page(text)
    assert page.open == []
    assert set(page.tags) <= {
        *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "table"),
        *("tr", "th", "td", "a", "details", "summary", "b", "span", "div", "pre"),
    }
    names = {name for name, _ in page.attributes}
    assert names <= {"lang", "charset", "http-equiv", "content", "name", "class", "href", "id"}
    assert all(value and value.startswith("#r") for n, value in page.attributes if n == "href")
    assert "url(" not in text and "@import" not in text
    assert "\x1b" not in text and "\x07" not in text
    shown = HOSTILE.replace("\x1b", "␛").replace("\x07", "␇")
    assert page.blocks.count("\n" + shown) == 2
    assert "\n" + FENCES in page.blocks
    assert text.count("<details id=") == 3
    assert "prefers-color-scheme: dark" in text


def test_an_export_says_what_was_requested_and_nothing_empty(tmp_path: Path) -> None:
    assert "- settings: temperature=0.2\n" in written(tmp_path, "markdown").decode()


@pytest.mark.parametrize("kind", ["markdown", "html"])
def test_what_people_read_has_whole_numbers_as_they_are(tmp_path: Path, kind: str) -> None:
    lines = [line(0, 0, 0.5, metrics={"letters": 15234.0}), line(0, 1, error=True)]
    run = write_run(tmp_path / "run", lines, examples=1)
    state, _ = read_run(run)
    target = tmp_path / "out"
    list(write_export(ExportSource(run, state, {}, [0, 1]), kind, target))
    text = target.read_text()
    assert "15234" in text and "e+04" not in text
    assert "2 of 2, 1 error" in text and "1 errors" not in text


def test_a_page_shows_a_reward_that_rounding_left_below_the_threshold_as_passed(
    tmp_path: Path,
) -> None:
    rounded = 0.7 + 0.2 + 0.1
    run = write_run(tmp_path, [line("a", 0, rounded), line("a", 1, 0.9)], pass_threshold=1.0)
    target = tmp_path / "page.html"
    list(write_export(ExportSource(run, read_run(run)[0], {}, [0, 1]), "html", target))
    page = target.read_text()
    assert "<td>1 of 2</td>" in page and "✓ 1</a>" in page and "· 0.9</a>" in page


def test_markdown_keeps_text_in_its_fences(tmp_path: Path) -> None:
    text = written(tmp_path, "markdown").decode()
    assert "\x1b" not in text
    outside = re.sub(r"^(`{3,})\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert re.findall("^#+ .*", outside, re.MULTILINE)[0].startswith("# my-env with \\<script\\>")
    assert "not a heading" not in outside and "alert" not in outside
    assert not re.search(r"(?<!\\)<", outside)


def test_a_pass_rate_says_over_how_many_examples_it_is(tmp_path: Path) -> None:
    text = written(tmp_path, "markdown").decode()
    assert re.search(
        r"^- pass@2: [01][.\d]* \(95 %: .*\), over 1 of 2 examples$", text, re.MULTILINE
    )
    assert re.search(r"^- pass@1: [01][.\d]*", text, re.MULTILINE)


@pytest.mark.parametrize("kind", ["csv", "markdown", "html"])
def test_joined_signs_and_tabs_are_as_they_were_said(tmp_path: Path, kind: str) -> None:
    text = written(tmp_path, kind).decode()
    assert SHAPED in text
    assert "\u202e" not in text and "\\u{202e}" in text


@given(st.text("`\n a#", max_size=30))
def test_no_text_ends_its_fence(text: str) -> None:
    opening, *inside, closing = "\n".join(fenced(text)).split("\n")
    assert opening == closing and set(opening) == {"`"}
    assert opening not in [part.strip() for part in inside]


@given(st.text("<[]()!*_`\\&a\n", max_size=30))
def test_plain_text_is_one_line_without_markup(text: str) -> None:
    assert "\n" not in plain(text)
    assert not re.search(r"(?<!\\)(?:\\\\)*[<`*_\[&]", plain(text))


def test_an_export_that_is_left_or_fails_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out.html"
    writing = write_export(source(tmp_path / "run"), "html", target)
    next(writing)
    writing.close()
    assert [one.name for one in tmp_path.iterdir()] == ["run"]
    with pytest.raises(RefusedError, match="cannot be written"):
        list(write_export(source(tmp_path / "run"), "html", tmp_path / "no" / "out.html"))


def test_a_file_is_replaced_only_on_request(tmp_path: Path) -> None:
    target = tmp_path / "out.jsonl"
    target.write_text("mine")
    with pytest.raises(RefusedError, match="there already"):
        list(write_export(source(tmp_path / "run"), "jsonl", target))
    assert target.read_text() == "mine"
    list(write_export(source(tmp_path / "run"), "jsonl", target, overwrite=True))
    assert target.read_text() != "mine"


def test_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = source(tmp_path / "env--m" / "0af1")
    assert default_path(one.run.place, "markdown") == Path("env--m-0af1.md")
    Path("env--m-0af1.md").touch()
    assert default_path(one.run.place, "markdown") == Path("env--m-0af1-2.md")
    assert default_path(one.run.place, "csv", "odd") == Path("env--m-0af1-odd.csv")
    assert default_path(Path("deep/chat.jsonl"), "csv") == Path("deep-chat.csv")
    assert [format_of(Path(f"a.{end}")) for end in ("md", "HTML", "txt")] == [
        "markdown",
        "html",
        None,
    ]


@pytest.mark.parametrize("kind", FORMATS)
def test_nothing_is_exported_whole(tmp_path: Path, kind: str) -> None:
    empty = source(tmp_path / "run")
    target = tmp_path / "out"
    assert not list(write_export(ExportSource(empty.run, empty.state, {}, [], ""), kind, target))
    assert target.exists()
