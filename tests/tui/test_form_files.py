"""A form that is loaded from a file, saved, copied and left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from app_driver import seen
from form_staging import staged
from scripted_form import MONDAY, SEVERAL, ScriptedBackend, form_app, ready

from tui_eval.config.draft import Draft
from tui_eval.tui.base.dialogs.prompts import Leave
from tui_eval.tui.base.dialogs.question import Question
from tui_eval.tui.form import screen as configure

pytestmark = pytest.mark.usefixtures("nobody_pauses")


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
        await stage.until(lambda: stage.requests)
    (request,) = stage.requests
    assert request["env_id"] == "monday.toml"
    assert request["text"] == MONDAY.replace("num_examples = 8", "num_examples = 80")


async def test_the_command_line_and_the_toml_are_copied() -> None:
    async with staged(ready()) as stage:
        await stage.press("f3")
        assert stage.app.clipboard == "tui-eval run reverse-text -m demo -t 512 --timeout 90"
        await stage.press("f4")
        assert stage.app.clipboard == stage.screen.draft.toml()


async def test_leaving_prompts_also_for_unsaved_typing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with staged(form_app()) as stage:
        monkeypatch.setattr(configure, "CHECKS_AFTER_S", 60)
        await stage.to("name")
        await stage.pilot.press("x")
        await stage.pilot.press("escape")
        await stage.until_question()


async def test_loading_is_confirmed_where_something_would_be_lost(
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


async def test_leaving_is_confirmed_where_something_would_be_lost() -> None:
    async with staged(ready()) as stage:
        for stays in ("escape", "enter"):
            await stage.press("escape")
            assert isinstance(stage.app.screen, Question)
            await stage.press(stays)
            assert stage.app.screen is stage.screen
        await stage.press("escape", "l")
    assert stage.app.return_value == Leave("closed")
    assert stage.requests == []


async def test_leaving_an_empty_form_needs_no_answer() -> None:
    async with staged(form_app()) as stage:
        await stage.press("escape")
    assert stage.app.return_value == Leave("closed")


def test_a_file_that_is_gone_says_so() -> None:
    assert not os.path.exists("gone.toml")
    with pytest.raises(ValueError, match=r"gone\.toml cannot be read"):
        Draft.load(Path("gone.toml"))
