"""The help of a run."""

from __future__ import annotations

from staging import over, staged_app


async def test_help_that_is_longer_than_the_screen_says_how_to_scroll() -> None:
    async with staged_app(over(), size=(80, 24)) as stage:
        await stage.press("question_mark")
        box = stage.app.screen.query_one("HelpLines")
        assert str(box.border_subtitle) == "j k scroll"
        await stage.press("G")
        assert "Stages" in stage.text(box)
