"""Values in the form, their origins, and the faults that prevent a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from app_driver import seen
from form_staging import Stage, staged
from scripted_form import (
    ScriptedBackend,
    described,
    draft_of,
    form_app,
    monday,
    parameter,
    ready,
    wrong,
)
from textual.content import Content
from textual.widget import Widget

from tui_eval.config.draft import Draft
from tui_eval.config.form import Form
from tui_eval.errors import Fault
from tui_eval.tui.base.dialogs.prompts import Leave

pytestmark = pytest.mark.usefixtures("nobody_pauses")


def row(stage: Stage, label: str) -> str:
    """The text behind the name of a field."""
    lines = stage.text(stage.screen.fields).splitlines()
    return next(line[1:].strip().removeprefix(label) for line in lines if f" {label} " in line)


async def test_what_is_wrong_first_stands_on_top_and_no_numbers() -> None:
    async with staged(wrong()) as stage:
        assert "model: no endpoint is called 'dem'" in stage.text(stage.screen.top)
        assert "rollouts" not in stage.text(stage.screen.top)
        assert "^r first problem" in stage.text(stage.screen.keys)
        stage.screen.fields.put_text("model", "demo")
        await stage.settled()
        assert "num_examples: 'many' is not a whole number" in stage.text(stage.screen.top)
        assert "rollouts" not in stage.text(stage.screen.top)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_is_wrong_at_no_field_stands_on_top_and_is_reached(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("odd.toml").write_text('env_id = "reverse-text"\nmodel = "demo"\nnum_exampels = 3\n')
    async with staged(form_app(Draft.load(Path("odd.toml"))), size) as stage:
        top = stage.text(stage.screen.top)
        assert "odd.toml:3: unknown key 'num_exampels'" in top and "rollouts" not in top
        await stage.press("ctrl+r")
        await stage.until(lambda: stage.screen.focused is stage.screen.does)
        assert "unknown key 'num_exampels'" in stage.text(stage.screen.does)
        assert _is_seen(stage.screen.does)
        assert "It cannot run yet: 1 problem." in stage.text(stage.screen.keys)
        assert stage.requests == []


async def test_what_an_engine_alone_found_is_tried_again() -> None:
    why = {"where": "http://localhost:9/v1", "what": "nothing listens on port 9 of localhost"}
    backend = ScriptedBackend({"faults": [why]})
    app = form_app(draft_of(env_id="reverse-text", model="demo"), backend)
    async with staged(app, (80, 24)) as stage:
        await stage.until(lambda: "nothing listens" in stage.text(stage.screen.top))
        assert "^r try again" in stage.text(stage.screen.keys)
        await stage.press("ctrl+r")
        await stage.until(lambda: stage.requests)


async def test_a_form_that_is_refused_for_no_field_opens_with_the_reason() -> None:
    why = "nothing listens on port 9 of localhost"
    refused = [Fault("http://localhost:9/v1", why)]
    app = form_app(draft_of(env_id="reverse-text", model="demo"), refused=refused)
    async with staged(app, (80, 24)) as stage:
        await stage.until(lambda: stage.screen.focused is stage.screen.does)
        assert why in stage.text(stage.screen.top) and why in stage.text(stage.screen.does)
        await stage.press("escape")
        assert stage.screen.focused is stage.screen.fields


@pytest.mark.parametrize(
    ("size", "output"),
    [
        ((80, 24), "about $0.0433 for one turn each, 89.1k tokens"),
        ((120, 40), "about $0.0433 for one turn each, tokens 12.3k in 76.8k out"),
    ],
)
async def test_cost_and_tokens_stand_whole_on_top(size: tuple[int, int], output: str) -> None:
    async with staged(ready(), size) as stage:
        assert stage.text(stage.screen.top).rstrip().endswith(f"150 rollouts  {output}")


async def test_a_file_of_several_evaluations_shows_how_to_reach_the_others() -> None:
    async with staged(monday(), (80, 24)) as stage:
        await stage.settled()
        keys = stage.text(stage.screen.keys)
        assert "F5 evaluations" in keys and "esc leave" in keys


async def test_where_one_pane_has_room_the_panes_stand_in_its_rule() -> None:
    async with staged(ready(), (80, 24)) as stage:
        await stage.settled()
        lines = seen(stage.app).splitlines()
        assert lines[2].startswith("─ 1 Settings  2 What it will do  3 TOML")
        assert lines[3].strip() == "Environment"


async def test_what_further_turns_add_to_is_called_no_bound() -> None:
    async with staged(ready(), (120, 40)) as stage:
        shown = " ".join(stage.text(stage.screen.does).split())
        assert "tokens about 12,345 in, 76,800 out" in shown
        assert "cost about $0.0433 for one turn each" in shown
        assert "up to" not in shown


async def test_what_is_no_value_is_shown_where_it_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    without = "without what is typed at num_examples, sampling_args"
    async with staged(wrong(), (200, 60)) as stage:
        for pane in (stage.screen.toml, stage.screen.command):
            shown = " ".join(stage.text(pane).split())
            assert shown.startswith(f"{without}: see Settings")
        for key in ("f3", "f4"):
            await stage.press(key)
            await stage.until(lambda: without in stage.text(stage.screen.keys))
            stage.screen.keys.message = ""
        await stage.press("ctrl+w", "enter")
        saved = "Saved configs/eval/reverse-text.toml"
        await stage.until(lambda: f"{saved} {without}." in stage.text(stage.screen.keys))
    async with staged(ready()) as stage:
        assert "without what" not in stage.text(stage.screen.toml)


async def test_the_footer_shows_what_enter_and_escape_do_here() -> None:
    async with staged(ready()) as stage:
        output = {"env_id": "choose", "sampling_args": "edit", "shuffle": "switch", "name": "next"}
        for name, word in output.items():
            stage.screen.fields.go_to("env_id")
            while stage.screen.fields.name_here != name:
                await stage.press("down")
            assert f"enter {word}" in stage.text(stage.screen.keys)
        assert "esc leave" in stage.text(stage.screen.keys)
        await stage.press("f2")
        assert "esc back" in stage.text(stage.screen.keys)


async def test_an_unset_flag_with_an_opposite_does_not_say_no() -> None:
    async with staged(ready()) as stage:
        assert [row(stage, name).strip() for name in ("stream", "no_stream", "shuffle")] == [
            "–", "–", "· no",
        ]  # fmt: skip
        await stage.to("no_stream")
        await stage.press("space")
        await stage.to("env_id")
        assert [row(stage, name).strip() for name in ("stream", "no_stream")] == ["–", "✓ yes"]


def titled(stage: Stage) -> str:
    return Content.from_markup(str(stage.screen.fields.border_title)).plain


async def test_panes_without_room_are_named() -> None:
    every = "1 Settings  2 What it will do  3 TOML  4 Command line  5 Environment"
    async with staged(ready(), (80, 24)) as stage:
        tabs = stage.text(stage.screen.tabs)
        assert tabs == f"─ {every}  ".ljust(80, "─")
        await stage.pilot.click("#pane-tabs", offset=(every.index("TOML") + 4, 0))
        await stage.until(lambda: stage.screen.focused is stage.screen.toml)
    async with staged(ready(), (120, 40)) as stage:
        assert titled(stage) == " Settings  Environment "
        assert " What it will do ─" in seen(stage.app)
        await stage.press("f2")
        assert titled(stage) == " 1 Settings  5 Environment "
        assert " 2 What it will do ─" in seen(stage.app)
        for _ in range(3):
            await stage.press("f2")
        assert titled(stage) == " 1 Settings  2 What it will do  3 TOML  4 Command line "
        assert not _is_seen(stage.screen.about)
    async with staged(ready(), (200, 60)) as stage:
        assert titled(stage) == " Settings "
        await stage.pilot.resize_terminal(120, 40)
        await stage.until(lambda: titled(stage) == " Settings  Environment ")


async def test_a_number_goes_to_its_pane_from_where_nothing_is_typed() -> None:
    async with staged(ready(), (80, 24)) as stage:
        screen = stage.screen
        assert screen.tabs.line(0)[1:3] == (("1 ", "faint"), ("Settings", "key"))
        await stage.press("3")
        assert screen.focused is screen.fields and stage.below("env_id").startswith("✗")
        await stage.press("backspace", "f2")
        assert screen.tabs.line(0)[1] == ("1 ", "key")
        for number, pane in ((3, screen.toml), (5, screen.about_env), (1, screen.fields)):
            await stage.press(str(number))
            await stage.until(lambda pane=pane: screen.focused is pane)
            assert _is_seen(pane)


async def test_a_sampling_parameter_names_the_arguments_that_set_it() -> None:
    async with staged(monday()) as stage:
        assert row(stage, "temperature").strip() == "0.7  from the top of the file"
        assert row(stage, "max_tokens").strip() == "512  from the top of the file"
        assert row(stage, "sampling_args").strip() == '{"te…  from the top of the file'
        stage.screen.fields.put_text("sampling_args", '{"temperature": 0.2}')
        assert row(stage, "temperature").strip() == "0.2  from sampling_args"
        await stage.to("temperature")
        await stage.press("1")
        assert row(stage, "temperature").strip() == "1"


async def test_where_a_default_comes_from_is_shown_by_its_end() -> None:
    async with staged(ready(), (120, 60)) as stage:
        assert row(stage, "num_examples").strip() == "50  …pyproject.toml:12"
    async with staged(ready(), (200, 60)) as stage:
        output = row(stage, "num_examples").strip()
        assert output == "50  from environments/pyproject.toml:12"


async def test_a_field_is_shown_with_all_that_is_wrong_with_it() -> None:
    class Long(ScriptedBackend):
        async def estimate(self, request: Mapping[str, Any]) -> dict[str, Any]:
            words = " ".join(f"place-{n:02}" for n in range(20))
            return {"faults": [{"where": "--max-tokens", "what": words}]}

    app = form_app(draft_of(env_id="reverse-text", model="demo"), Long())
    async with staged(app, (80, 24)) as stage:
        await stage.to("max_tokens")
        shown = stage.text(stage.screen.fields)
        assert "max_tokens" in shown and "place-00" in shown and "place-19" in shown


async def test_an_argument_of_another_type_is_refused_at_its_field() -> None:
    class Listing(ScriptedBackend):
        async def describe(self, env_id: str, form: Form) -> dict[str, Any]:
            return described(env_id, parameter("subsets", "json", [], shape=["list", "text"]))

    app = form_app(draft_of(env_id="reverse-text", model="demo"), Listing())
    async with staged(app, (80, 24)) as stage:
        await stage.to("env_args.subsets")
        await stage.press("7")
        await stage.settled()
        assert stage.below("subsets") == '✗ 7 is not a list of texts, such as ["a", "b"]'
        assert "^r first problem" in stage.text(stage.screen.keys)
        stage.screen.fields.put_text("env_args.subsets", '["easy"]')
        await stage.settled()
        assert "✓ ready" in stage.text(stage.screen.top)


async def test_the_help_of_a_field_leaves_other_panes_their_room() -> None:
    async with staged(ready(), (80, 24)) as stage:
        for _ in stage.screen.panes:
            in_fields = stage.screen.focused is stage.screen.fields
            assert _is_seen(stage.screen.about) is in_fields
            await stage.press("f2")
        assert _is_seen(stage.screen.about)
    async with staged(ready(), (120, 40)) as stage:
        await stage.press("f2")
        assert _is_seen(stage.screen.about)


def _is_seen(widget: Widget) -> bool:
    return widget.display and widget.region.height > 0


async def test_a_form_is_saved_on_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with staged(ready()) as stage:
        await stage.press("escape", "w")
        await stage.picker()
        await stage.press("escape")
        assert stage.app.screen is stage.screen
        await stage.press("escape", "w")
        await stage.picker()
        await stage.press("enter")
        await stage.until(lambda: stage.app.return_value)
    assert stage.app.return_value == Leave("closed")
    saved = Draft.load(Path("configs/eval/reverse-text.toml"))
    assert saved.form.text("max_tokens") == "512"
