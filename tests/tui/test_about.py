"""The two lines on what is selected at home."""

from __future__ import annotations

from home_staging import HomeStage, at_home


def key_hints(stage: HomeStage) -> list[str]:
    """The texts in the ink of keys in the second line."""
    return [text for text, ink in stage.home.about.line(1) if ink == "key"]


async def test_keys_look_like_keys_in_the_lines_of_the_selected() -> None:
    async with at_home() as stage:
        assert key_hints(stage) == ["enter", "q", "^c"]
        for name, keys in (("9e8d7c6b", ["enter", "r"]), ("77aa01ff", ["enter", "w"])):
            await stage.select(name)
            assert key_hints(stage) == keys
        await stage.press("2")
        assert key_hints(stage) == ["enter"]
        await stage.press("3")
        assert key_hints(stage) == ["enter"]


async def test_both_lines_show_something_while_a_filter_is_typed() -> None:
    async with at_home(size=(80, 24)) as stage:
        await stage.press("slash", *"word")
        first, second = stage.about.splitlines()
        assert first.endswith("5c5c5c5c") and "!word leaves out" in second
