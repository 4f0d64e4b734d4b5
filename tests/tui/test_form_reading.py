"""What is read off the form: what holds, where it comes from, what keeps it from running."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from form_staging import Stage, staged
from scripted_form import ScriptedDesk, draft_of, form_app, monday, ready, wrong
from textual.widget import Widget

from tui_eval.config.draft import Draft
from tui_eval.tui.leaving import Leave
from tui_eval.tui.screens import configure


@pytest.fixture(autouse=True)
def nobody_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed is looked at at once."""
    monkeypatch.setattr(configure, "CHECKS_AFTER_S", 0.01)
    monkeypatch.setattr(configure, "ASKS_AFTER_S", 0.01)


def row(stage: Stage, label: str) -> str:
    """What stands behind the name of a field."""
    lines = stage.text(stage.screen.fields).splitlines()
    return next(line[1:].strip().removeprefix(label) for line in lines if f" {label} " in line)


async def test_a_scope_that_cannot_be_is_not_told_as_numbers() -> None:
    async with staged(wrong()) as stage:
        assert "num_examples: 'many' is not a whole number" in stage.text(stage.screen.top)
        assert "rollouts" not in stage.text(stage.screen.top)


async def test_a_sampling_parameter_is_told_from_the_arguments_that_set_it() -> None:
    async with staged(monday()) as stage:
        assert row(stage, "temperature").strip() == "0.7  from sampling_args"
        assert row(stage, "max_tokens").strip() == "–"
        assert row(stage, "sampling_args").endswith("…the file")
        await stage.to("temperature")
        await stage.press("1")
        assert row(stage, "temperature").strip() == "1"


async def test_where_a_default_comes_from_is_told_by_its_end() -> None:
    async with staged(ready(), (120, 60)) as stage:
        assert row(stage, "num_examples").strip() == "50  …pyproject.toml:12"
    async with staged(ready(), (200, 60)) as stage:
        told = row(stage, "num_examples").strip()
        assert told == "50  from environments/pyproject.toml:12"


async def test_a_field_is_shown_with_all_that_is_wrong_with_it() -> None:
    class Long(ScriptedDesk):
        async def estimate(self, request: Mapping[str, Any]) -> dict[str, Any]:
            words = " ".join(f"place-{n:02}" for n in range(20))
            return {"faults": [{"where": "--max-tokens", "what": words}]}

    app = form_app(draft_of(env_id="reverse-text", model="demo"), Long())
    async with staged(app, (80, 24)) as stage:
        await stage.to("max_tokens")
        shown = stage.text(stage.screen.fields)
        assert "max_tokens" in shown and "place-00" in shown and "place-19" in shown


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
