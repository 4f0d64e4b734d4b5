"""Typing, pasting and clicking in a form, and its drawing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from form_staging import staged
from scripted_form import SEVERAL, ScriptedBackend, draft_of, form_app, ready
from textual.widgets import TextArea

from tui_eval.config.form import Form
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.form.boxes import TextBox

pytestmark = pytest.mark.usefixtures("nobody_pauses")


async def test_json_is_typed_with_room_and_its_fault_follows() -> None:
    draft = draft_of(env_id="reverse-text", model="demo", sampling_args='{"top_p": 0.9}')
    async with staged(form_app(draft)) as stage:
        await stage.to("sampling_args")
        await stage.press("enter")
        box = stage.app.screen
        assert isinstance(box, TextBox)
        await stage.press("backspace")
        assert "is not valid JSON" in stage.text(box.fault)
        area = box.query_one(TextArea)
        area.text = '{\n  "top_p": 0.9,\n  "stop": ["x"]\n}'
        await stage.press("escape")
        await stage.settled()
        assert stage.screen.draft.form.text("sampling_args") == '{"top_p": 0.9, "stop": ["x"]}'


async def test_letters_that_are_keys_elsewhere_are_typed() -> None:
    async with staged(form_app()) as stage:
        await stage.to("name")
        await stage.press(*"qjkgG", "question_mark", "colon", "space", "1")
        assert stage.screen.draft.form.text("name") == "qjkgG?: 1"


async def test_a_pasted_text_becomes_one_line() -> None:
    from textual.events import Paste

    async with staged(form_app()) as stage:
        await stage.to("name")
        stage.screen.fields.post_message(Paste("two\nlines\n"))
        await stage.pilot.pause()
        assert stage.screen.draft.form.text("name") == "two lines"


async def test_the_mouse_goes_to_a_field_and_turns_a_flag_over() -> None:
    async with staged(ready()) as stage:
        lines = stage.text(stage.screen.fields).splitlines()
        at = next(i for i, line in enumerate(lines) if line.strip().startswith("shuffle "))
        # The border of a pane is its first line.
        await stage.pilot.click(stage.screen.fields, offset=(4, at + 1))
        await stage.pilot.pause()
        assert stage.screen.fields.name_here == "shuffle"
        assert stage.screen.draft.form.text("shuffle") == "true"


async def test_a_click_into_the_text_of_a_field_puts_the_caret_there() -> None:
    async with staged(form_app(draft_of(name="abcdef"))) as stage:
        await stage.to("name")
        lines = stage.text(stage.screen.fields).splitlines()
        at = next(i for i, line in enumerate(lines) if "abcdef" in line)
        await stage.pilot.click(stage.screen.fields, offset=(lines[at].index("abcdef") + 2, at + 1))
        await stage.press("-")
        assert stage.screen.draft.form.text("name") == "ab-cdef"


async def test_ctrl_c_leaves_from_a_list_as_well() -> None:
    async with staged(form_app()) as stage:
        await stage.press("enter")
        await stage.picker()
        await stage.press("ctrl+c")
        await stage.until(lambda: stage.app.return_value)
    assert stage.app.return_value == Leave("closed")


async def test_keys_act_in_the_order_in_which_they_are_typed() -> None:
    async with staged(ready()) as stage:
        await stage.to("temperature")
        for key in ("1", "down", "2", "down", "backspace", "down", "3"):
            stage.app.simulate_key(key)
        await stage.until(lambda: stage.screen.fields.name_here != "sampling_args")
        await stage.pilot.pause()
        form = stage.screen.draft.form
        assert (form.text("temperature"), form.text("max_tokens")) == ("1", "5122")


async def test_an_argument_that_is_none_is_shown_as_not_set() -> None:
    async with staged(ready()) as stage:
        lines = [line[1:].split() for line in stage.text(stage.screen.fields).splitlines()]
        assert ["system_prompt", "–"] in lines


async def test_every_pane_is_reached_at_80_columns_with_one_key() -> None:
    async with staged(ready(), size=(80, 24)) as stage:
        seen = []
        for _ in stage.screen.panes:
            shown = [pane for pane in stage.screen.panes if pane.region.height > 3]
            seen.append(shown)
            await stage.press("f2")
            await stage.pilot.pause()
        assert seen == [[pane] for pane in stage.screen.panes]


async def test_the_key_that_copies_a_pane_is_shown_where_that_pane_stands() -> None:
    async with staged(ready(), size=(80, 24)) as stage:
        output = []
        for _ in stage.screen.panes:
            output.append(stage.text(stage.screen.keys).rpartition("  ")[2])
            await stage.press("f2")
        assert output[2:4] == ["F4 copy TOML", "F3 copy command"]


async def test_what_people_wrote_cannot_steer_the_terminal() -> None:
    evil = "x\x1b]52;c;eA==\x07\x9b31m[/red]"
    backend = ScriptedBackend({**SEVERAL, "notices": [{"text": evil, "level": "warning"}]})

    async def describe(env_id: str, form: Form) -> Mapping[str, Any]:
        return {"status": "refused", "faults": [{"where": evil, "what": evil, "hint": evil}]}

    backend.describe = describe  # type: ignore[method-assign,assignment]
    async with staged(form_app(draft_of(env_id="evil", model=evil, name=evil), backend)) as stage:
        for _ in stage.screen.panes:
            svg = stage.app.export_screenshot()
            assert "\x1b" not in svg and "\x9b" not in svg
            await stage.press("f2")


async def test_the_caret_of_a_box_does_not_blink() -> None:
    async with staged(ready()) as stage:
        await stage.to("sampling_args")
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, TextBox))
        assert not stage.app.screen.area.cursor_blink  # type: ignore[attr-defined]


@pytest.mark.parametrize("height", [22, 24, 27, 28, 40])
async def test_a_box_covers_the_help_below_it_or_leaves_it_whole(height: int) -> None:
    async with staged(ready(), (80, height)) as stage:
        await stage.to("sampling_args")
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, TextBox))
        box, output = stage.app.screen.query_one("#text-box").region, stage.screen.about.region
        left = output.y < box.bottom < output.bottom
        assert not left, f"{output.bottom - box.bottom} lines of {output.height}"
