"""The help of a run."""

from __future__ import annotations

from form_staging import staged
from home_staging import at_home
from scripted_form import ready
from staging import over, staged_app


async def test_help_that_is_longer_than_the_screen_says_how_to_scroll() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("question_mark")
        box = stage.app.screen.query_one("HelpLines")
        assert str(box.border_subtitle) == "j k scroll"
        await stage.press("G")
        assert "Stages" in stage.text(box)


async def test_help_of_home_and_form_stands_in_two_columns_at_120() -> None:
    async with at_home() as stage:
        await stage.press("question_mark")
        first = stage.text(stage.app.screen.query_one("HelpLines")).splitlines()[0]
        assert first.split("  ")[0].strip() == "In this pane" and first.endswith("Around")
    async with staged(ready(), (120, 40)) as form:
        await form.press("f1")
        first = form.text(form.app.screen.query_one("HelpLines")).splitlines()[0]
        assert first.split() == ["This", "evaluation", "Fields"]
