"""The form: what is typed, what it amounts to, what is wrong with it, and what is run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from form_staging import staged
from scripted_form import MONDAY, SEVERAL, ScriptedBackend, draft_of, form_app, ready
from scripted_run import ScriptedFeed
from seeing import seen
from textual.widgets import TextArea

from tui_eval.config.draft import Draft
from tui_eval.errors import Fault
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.base.dialogs.question import Question
from tui_eval.tui.form import screen as configure
from tui_eval.tui.form.text_box import TextBox


@pytest.fixture(autouse=True)
def nobody_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed is looked at at once."""
    monkeypatch.setattr(configure, "CHECKS_AFTER_S", 0.01)
    monkeypatch.setattr(configure, "ASKS_AFTER_S", 0.01)


async def test_a_fault_stands_at_its_field_while_it_is_typed() -> None:
    async with staged(ready()) as stage:
        await stage.to("num_examples")
        await stage.press("1", "x")
        assert stage.below("num_examples") == "✗ '1x' is not a whole number"
        assert "1 problem" in stage.text(stage.screen.top)
        await stage.press("backspace")
        assert stage.below("num_examples").startswith("examples")


async def test_what_only_the_registry_knows_is_told_at_its_field_a_moment_later() -> None:
    async with staged(ready()) as stage:
        await stage.to("model")
        await stage.press("backspace")
        await stage.settled()
        assert stage.below("model") == "✗ no endpoint is called 'dem'. Did you mean demo?"


async def test_an_unknown_environment_is_told_at_its_field() -> None:
    async with staged(form_app(draft_of(env_id="nowhere", model="demo"))) as stage:
        assert stage.below("env_id").startswith("✗ there is no such environment. Did you mean")


async def test_a_fault_is_whole_or_says_that_it_is_not() -> None:
    class Lost(ScriptedBackend):
        words = 30

        async def describe(self, *_: object, **__: object) -> dict[str, Any]:
            what = " ".join(f"place-{n:02}" for n in range(self.words))
            return {"status": "refused", "faults": [{"where": "environment x", "what": what}]}

    async with staged(form_app(draft_of(env_id="x", model="demo"), Lost())) as stage:
        assert "place-29" in stage.text(stage.screen.fields)
    Lost.words = 300
    async with staged(form_app(draft_of(env_id="x", model="demo"), Lost())) as stage:
        lines = stage.text(stage.screen.fields).splitlines()
        assert [line for line in lines if "place-" in line][-1].endswith("…")


async def test_toml_and_command_line_follow_what_is_typed() -> None:
    async with staged(ready()) as stage:
        await stage.to("num_examples")
        await stage.press("2", "0")
        await stage.to("env_args.keep_case")
        await stage.press("space")
        await stage.settled()
        toml = stage.text(stage.screen.toml)
        assert "num_examples = 20" in toml
        assert "[eval.env_args]\n keep_case = false" in toml
        command = " ".join(stage.text(stage.screen.command).split())
        assert command.startswith(
            "tui-eval run reverse-text -m demo -t 512 -a '{\"keep_case\": false}' -n 20"
        )


async def test_what_it_will_do_is_asked_anew_when_the_form_changes() -> None:
    backend = ScriptedBackend()
    async with staged(form_app(draft_of(env_id="reverse-text", model="demo"), backend)) as stage:
        assert "50 examples × 3 = 150 rollouts" in stage.text(stage.screen.top)
        assert "$0.0433" in stage.text(stage.screen.does)
        before = len(backend.estimated)
        await stage.to("num_examples")
        await stage.press("7")
        await stage.settled()
        assert backend.estimated[before:] == [
            {"env_id": "reverse-text", "raw": {"model": "demo", "num_examples": "7"}}
        ]


async def test_nothing_is_estimated_of_a_form_with_a_fault() -> None:
    backend = ScriptedBackend()
    async with staged(form_app(draft_of(env_id="reverse-text", model="dem"), backend)) as stage:
        assert "Fix first: model" in stage.text(stage.screen.does)
    assert not backend.estimated


async def test_a_run_starts_with_exactly_the_request_of_the_form() -> None:
    async with staged(ready()) as stage:
        await stage.to("env_args.split")
        await stage.press("right", "right")
        await stage.settled()
        await stage.press("ctrl+r")
        await stage.until(lambda: stage.asked)
        raw = {
            "model": "demo", "max_tokens": "512", "timeout": "90", "env_args": '{"split": "test"}',
        }  # fmt: skip
        assert stage.asked == [{"env_id": "reverse-text", "raw": raw}]
        await stage.until(lambda: stage.app.screen is stage.app.live_screen)
        feed = stage.app.feed
        assert isinstance(feed, ScriptedFeed)
        await stage.until(lambda: feed.live)


async def test_a_form_with_a_fault_does_not_run_and_shows_it() -> None:
    draft = draft_of(env_id="reverse-text", model="demo", heartbeat_url="x")
    draft.form.put("max_cost", "-1")
    async with staged(form_app(draft)) as stage:
        await stage.press("ctrl+r")
        await stage.until(lambda: "It cannot run yet" in stage.text(stage.screen.keys))
        assert stage.screen.fields.name_here == "max_cost"
        assert stage.asked == []


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_an_endpoint_that_lacks_its_key_says_so_before_anything_else(
    size: tuple[int, int],
) -> None:
    async with staged(ready(), size) as stage:
        await stage.to("model")
        await stage.press("enter")
        picker = await stage.picker()
        assert "OPENAI_API_KEY is not set" in stage.text(picker.list)


async def test_a_refused_request_comes_back_with_its_faults() -> None:
    faults = [Fault("--model demo", "nobody answers"), Fault("disk", "it is full")]
    app = form_app(draft_of(env_id="reverse-text", model="demo"))
    app.configure._refused = faults  # type: ignore[attr-defined]
    async with staged(app) as stage:
        assert stage.screen.fields.name_here == "model"
        assert stage.below("model") == "✗ nobody answers"
        assert "disk: it is full" in stage.text(stage.screen.does)


async def test_one_change_of_a_loaded_file_leaves_the_rest_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("monday.toml").write_text(MONDAY)
    async with staged(form_app(backend=ScriptedBackend(SEVERAL))) as stage:
        await stage.press("ctrl+o")
        await stage.picker()
        await stage.press("enter")
        await stage.until(lambda: stage.screen.draft.path)
        await stage.settled()
        assert "monday.toml · evaluation 1 of 2 · long sentences" in stage.text(stage.screen.top)
        await stage.to("num_examples")
        await stage.press("ctrl+u", "9")
        await stage.settled()
        assert "not saved" in stage.text(stage.screen.top)
        await stage.press("ctrl+w", "enter")
        await stage.until(lambda: "Saved monday.toml" in stage.text(stage.screen.keys))
    assert Path("monday.toml").read_text() == MONDAY.replace("num_examples = 8", "num_examples = 9")


async def test_another_table_of_a_file_is_edited() -> None:
    app = form_app(Draft(MONDAY, Path("monday.toml")), ScriptedBackend(SEVERAL))
    async with staged(app) as stage:
        await stage.press("f5")
        await stage.picker()
        await stage.press("t", "o", "p", "enter")
        await stage.until(lambda: "top of the file" in stage.text(stage.screen.top))
        await stage.to("model")
        await stage.press("2")
        await stage.settled()
        assert 'model = "demo2"            # cheap' in stage.text(stage.screen.toml)


async def test_nothing_that_was_typed_is_lost_by_way_of_another_table() -> None:
    app = form_app(Draft(MONDAY, Path("monday.toml")), ScriptedBackend(SEVERAL))
    async with staged(app) as stage:
        await stage.to("num_examples")
        await stage.press("0")
        await stage.press("f5")
        await stage.picker()
        await stage.press("t", "o", "p", "enter")
        await stage.until(lambda: "top of the file" in stage.text(stage.screen.top))
        await stage.settled()
        assert "not saved" in stage.text(stage.screen.top)
        await stage.press("escape")
        await stage.until(lambda: stage.app.screen is not stage.screen)
        assert "the TOML has not been saved" in seen(stage.app)


async def test_a_file_that_somebody_else_changed_meanwhile_is_not_replaced_unawares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("monday.toml")
    file.write_text(MONDAY)
    app = form_app(Draft.load(file), ScriptedBackend(SEVERAL))
    async with staged(app) as stage:
        await stage.to("num_examples")
        await stage.press("0", "ctrl+w")
        await stage.picker()
        assert "this file is replaced" in seen(stage.app)
        assert "changed" not in seen(stage.app)
        await stage.press("escape")
        file.write_text(MONDAY + "# by hand\n")
        await stage.press("ctrl+w")
        await stage.picker()
        assert "this file is replaced; it was changed since it was read here" in seen(stage.app)


async def test_a_changed_file_of_several_runs_as_it_is_shown() -> None:
    app = form_app(Draft(MONDAY, Path("monday.toml")), ScriptedBackend(SEVERAL))
    async with staged(app) as stage:
        await stage.to("num_examples")
        await stage.press("0")
        await stage.settled()
        assert "once the file is saved" in stage.text(stage.screen.command)
        await stage.press("ctrl+r")
        await stage.until(lambda: stage.asked)
    (request,) = stage.asked
    assert request["env_id"] == "monday.toml"
    assert request["text"] == MONDAY.replace("num_examples = 8", "num_examples = 80")


async def test_a_run_that_goes_on_requires_no_environment() -> None:
    async with staged(form_app()) as stage:
        assert "required" in stage.text(stage.screen.fields)
        stage.screen.fields.put_text("resume", "newest")
        await stage.settled()
        assert "required" not in stage.text(stage.screen.fields)


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


async def test_the_command_line_and_the_toml_are_copied() -> None:
    async with staged(ready()) as stage:
        await stage.press("f3")
        assert stage.app.clipboard == "tui-eval run reverse-text -m demo -t 512 --timeout 90"
        await stage.press("f4")
        assert stage.app.clipboard == stage.screen.draft.toml()


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


class HeldBackend(ScriptedBackend):
    """Whose engine answers when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def estimate(self, request: Mapping[str, Any]) -> dict[str, Any]:
        found = await super().estimate(request)
        await self.may_answer.wait()
        return found


async def test_who_scrolled_away_is_left_there_when_the_engine_answers() -> None:
    backend = HeldBackend()
    draft = draft_of(env_id="reverse-text", model="demo")
    async with staged(form_app(draft, backend), size=(120, 24)) as stage:
        fields, asked = stage.screen.fields, len(backend.estimated)
        backend.may_answer.clear()
        await stage.to("name")
        await stage.press("3")
        await stage.until(lambda: len(backend.estimated) > asked)
        assert fields.scroll_offset.y > 0
        fields.scroll_lines(-100)
        backend.may_answer.set()
        await stage.settled()
        await stage.pilot.pause()
        assert fields.scroll_offset.y == 0
        await stage.press("4")
        assert fields.scroll_offset.y > 0


async def test_leaving_asks_also_what_was_typed_just_now(monkeypatch: pytest.MonkeyPatch) -> None:
    async with staged(form_app()) as stage:
        monkeypatch.setattr(configure, "CHECKS_AFTER_S", 60)
        await stage.to("name")
        await stage.pilot.press("x")
        await stage.pilot.press("escape")
        await stage.until_question()


async def test_loading_asks_where_something_would_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("monday.toml").write_text(MONDAY)
    async with staged(ready()) as stage:
        for answer, loaded in (("escape", False), ("l", True)):
            await stage.press("ctrl+o")
            await stage.picker()
            await stage.press("enter")
            await stage.until_question()
            await stage.press(answer)
            await stage.settled()
            assert (stage.screen.draft.path is not None) is loaded


async def test_leaving_asks_where_something_would_be_lost() -> None:
    async with staged(ready()) as stage:
        for stays in ("escape", "enter"):
            await stage.press("escape")
            assert isinstance(stage.app.screen, Question)
            await stage.press(stays)
            assert stage.app.screen is stage.screen
        await stage.press("escape", "l")
    assert stage.app.return_value == Leave("closed")
    assert stage.asked == []


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


async def test_leaving_an_empty_form_asks_nothing() -> None:
    async with staged(form_app()) as stage:
        await stage.press("escape")
    assert stage.app.return_value == Leave("closed")


async def test_every_pane_is_reached_at_80_columns_with_one_key() -> None:
    async with staged(ready(), size=(80, 24)) as stage:
        seen = []
        for _ in stage.screen.panes:
            shown = [pane for pane in stage.screen.panes if pane.region.height > 3]
            seen.append(shown)
            await stage.press("f2")
            await stage.pilot.pause()
        assert seen == [[pane] for pane in stage.screen.panes]


async def test_the_key_that_copies_a_pane_is_told_where_that_pane_stands() -> None:
    async with staged(ready(), size=(80, 24)) as stage:
        told = []
        for _ in stage.screen.panes:
            told.append(stage.text(stage.screen.keys).rpartition("  ")[2])
            await stage.press("f2")
        assert told[2:4] == ["F4 copy TOML", "F3 copy command"]


async def test_what_people_wrote_cannot_steer_the_terminal() -> None:
    evil = "x\x1b]52;c;eA==\x07\x9b31m[/red]"
    backend = ScriptedBackend({**SEVERAL, "notices": [{"text": evil, "level": "warning"}]})

    async def describe(env_id: str, folder: str, *, no_alias: bool) -> Mapping[str, Any]:
        return {"status": "refused", "faults": [{"where": evil, "what": evil, "hint": evil}]}

    backend.describe = describe  # type: ignore[method-assign,assignment]
    async with staged(form_app(draft_of(env_id="evil", model=evil, name=evil), backend)) as stage:
        for _ in stage.screen.panes:
            svg = stage.app.export_screenshot()
            assert "\x1b" not in svg and "\x9b" not in svg
            await stage.press("f2")


def test_a_file_that_is_gone_says_so() -> None:
    assert not os.path.exists("gone.toml")
    with pytest.raises(ValueError, match=r"gone\.toml cannot be read"):
        Draft.load(Path("gone.toml"))


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
        box, told = stage.app.screen.query_one("#text-box").region, stage.screen.about.region
        left = told.y < box.bottom < told.bottom
        assert not left, f"{told.bottom - box.bottom} lines of {told.height}"
