"""Inks of JSON, Markdown and code in texts of a model."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_run import NOW, SELECTED
from scripted_trajectory import writing_feed
from staging import staged_app

from tui_eval import events as ev
from tui_eval.fold.trajectory import placeholder
from tui_eval.text.json_text import LONGEST_JSON, arguments_shown, pretty_json
from tui_eval.tui.trajectory.marking import overlaid
from tui_eval.tui.trajectory.syntax import CODE, LONGEST_CODE, Inked, tokens


def inks(text: str, language: str) -> list[tuple[str, str]]:
    return [(text[start:end], ink) for start, end, ink in tokens(text, language) if ink]


def test_json_has_inks_for_keys_strings_numbers_and_words() -> None:
    assert inks('{"a": [1, -2.5e3, "x\\"y"], "b": null}', "json") == [
        ('"a"', "name"), ("1", "number"), ("-2.5e3", "number"), ('"x\\"y"', "string"),
        ('"b"', "name"), ("null", "keyword"),
    ]  # fmt: skip


def test_markdown_stays_text_and_its_fences_are_code() -> None:
    text = "# Plan\n- use `x` **now**\n```py\nx = 1\n```\nplain `end`"
    assert inks(text, "markdown") == [
        ("# Plan", "strong"), ("- ", "name"), ("`x`", "code"), ("**now**", "strong"),
        ("```py", "comment"), ("1", "number"), ("```", "comment"), ("`end`", "code"),
    ]  # fmt: skip


def test_a_fence_that_is_still_open_is_code_to_the_end() -> None:
    assert ("return", "keyword") in inks("```python\nreturn 1", "markdown")
    assert inks("```brainfuck\n+++", "markdown") == [("```brainfuck", "comment")]


def test_of_long_code_only_the_beginning_is_looked_at() -> None:
    text = "x = 1\n" * LONGEST_CODE
    assert max(end for _, end, _ in tokens(text, "python")) <= LONGEST_CODE
    looked: list[int] = []
    inked = Inked(text, "python")
    assert inked.reaches(50, lambda: bool(looked.append(1)) or True)
    assert len(looked) < 60


def test_a_text_is_highlighted_no_farther_than_there_is_time() -> None:
    inked = Inked("x = 1\n" * 100, "python")
    assert not inked.reaches(300, lambda: False)
    assert inked.reaches(300, lambda: True)


@pytest.mark.parametrize(
    ("text", "language"),
    [("a ." * 200, "python"), ("//" * 200, "c"), ("words\n" * 200, "markdown")],
    ids=["names", "slashes", "prose"],
)
def test_what_has_no_ink_of_its_own_takes_no_more_than_its_time_either(
    text: str, language: str
) -> None:
    turns = iter(range(20))
    assert not Inked(text, language).reaches(len(text), lambda: next(turns, None) is not None)
    turns = iter(range(20))
    assert Inked(text, language).reaches(5, lambda: next(turns, None) is not None)


def test_every_language_that_is_named_has_its_lexer() -> None:
    for language in CODE:
        assert isinstance(inks("x = 1 # y", language), list)


@given(st.text(alphabet='{}[]":,\\ab1 \n`#*-', max_size=80), st.sampled_from(["json", "markdown"]))
def test_inks_are_in_order_and_lose_no_character(text: str, language: str) -> None:
    found = list(tokens(text, language))
    assert all(a[1] <= b[0] for a, b in pairwise(found))
    assert "".join(part for part, _ in overlaid([(text, "")], found)) == text


def test_json_is_indented_only_where_it_loses_nothing() -> None:
    assert pretty_json('{"a":[1,"é"]}') == '{\n  "a": [\n    1,\n    "é"\n  ]\n}'
    assert pretty_json('{"a": 1, "a": 2}') is None
    assert pretty_json("17") is None
    assert pretty_json('{"a": ') is None
    assert pretty_json("[" * 5_000) is None
    assert pretty_json("[" + "1," * LONGEST_JSON + "1]") is None


def test_arguments_are_a_line_each_and_code_is_highlighted_as_what_it_is() -> None:
    shown = arguments_shown(json.dumps({"n": 1, "code": "a = 1\nb = 2", "command": "ls\npwd"}))
    assert shown == [
        ("n = 1\ncode =", "json"), ("a = 1\nb = 2", "python"),
        ("command =", "json"), ("ls\npwd", "bash"),
    ]  # fmt: skip
    assert arguments_shown("not json") == [("not json", "json")]
    nested = arguments_shown(json.dumps({"q": {"a": "x" * 80}}))[0][0]
    assert nested.startswith('q = {\n  "a": "xxx')
    opts = arguments_shown('{"opts": {"deep": [1, 2, {"a": null}], "flag": true}}')[0][0]
    assert opts.startswith('opts = {\n  "deep": [\n    1,\n'), "wider than a pane beside others"
    assert arguments_shown('{"at": [1, 2, 3]}') == [("at = [1, 2, 3]", "json")]


def test_pictures_and_sounds_are_shown_by_type_and_size() -> None:
    data = "A" * 40_000
    found = {
        "[image · image/png · 30 kB]": {
            "type": "image_url",
            "image_url": {"url": f"data:image/png;base64,{data}"},
        },
        "[image · https://x.test/a.png]": {
            "type": "image_url",
            "image_url": {"url": "https://x.test/a.png"},
        },
        "[audio · wav · 3 B]": {
            "type": "input_audio",
            "input_audio": {"data": "AAAA", "format": "wav"},
        },
        "[image · image/jpeg · 1.5 MB]": {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/jpeg", "data": data * 50},
        },
        "[thing]": {"type": "thing"},
        "[part]": {},
    }
    assert {text: placeholder(part) for text, part in found.items()} == {t: t for t in found}


async def test_the_text_of_a_running_turn_grows_and_gives_way_to_its_message() -> None:
    async with staged_app(writing_feed()) as stage:
        trajectory = stage.live.trajectory
        await stage.until(lambda: "That leaves" in stage.text(trajectory))
        assert "turn 3" in stage.text(trajectory)
        assert "writing…" in stage.text(trajectory)
        first = len("".join(stage.live.reader.rollout.coming.parts["text"]))
        await stage.publish(ev.TextAdded(0, 1.0, SELECTED, 3, "text", first, "2493 candles."))
        await stage.until(lambda: "That leaves 2493 candles." in stage.text(trajectory))
        assert trajectory.at_end
        whole = {"role": "assistant", "content": "It is 2493."}
        await stage.publish(ev.MessagesAdded(0, 1.0, SELECTED, 1, 9, 2, [whole]))
        await stage.until(lambda: "It is 2493." in stage.text(trajectory))
        assert "writing…" not in stage.text(trajectory)
        assert stage.text(trajectory).count("turn 3") == 1


async def test_a_turn_whose_run_has_failed_is_cut_off_and_its_call_has_no_result() -> None:
    async with staged_app(writing_feed()) as stage:
        trajectory = stage.live.trajectory
        use = {"id": "c9", "function": {"name": "lookup", "arguments": "{}"}}
        said = {"role": "assistant", "content": "", "tool_calls": [use]}
        await stage.publish(
            ev.MessagesAdded(0, NOW, SELECTED, 1, 9, 2, [said]),
            ev.TextAdded(0, NOW, SELECTED, 4, "text", 0, "That leaves "),
        )
        await stage.until(lambda: "That leaves" in stage.text(trajectory))
        assert "writing…" in stage.text(trajectory) and "▶ running" in stage.text(trajectory)
        await stage.publish(ev.RunFinished(0, NOW, "failed", 1, "the engine was killed"))
        shown = stage.text(trajectory)
        assert "cut off" in shown and "That leaves" in shown and "– no result" in shown
        assert "writing…" not in shown and "running" not in shown
