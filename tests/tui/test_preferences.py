"""Settings apply to the screen, and choices on it are saved."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from app_driver import until
from scripted_form import form_app
from staging import over, running, staged_app
from textual.command import CommandPalette
from textual.widgets import Input

from tui_eval import events as ev
from tui_eval.fold.row_order import Sorting
from tui_eval.tui.base.keys.help import Help
from tui_eval.tui.base.keys.keymap import BY_ID
from tui_eval.tui.base.preferences import Preferences, drawn_every
from tui_eval.tui.form.boxes import TextBox
from tui_eval.tui.run.header import progress


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def having(file: Path, text: str) -> Preferences:
    file.write_text(text)
    preferences = Preferences.read(file)
    assert preferences.faults == []
    return preferences


async def kept(file: Path, stage: Any, condition: Any) -> dict[str, Any]:
    """The contents of the file as soon as they meet a condition."""
    found: dict[str, Any] = {}

    def holds() -> bool:
        found.clear()
        found.update(tomllib.loads(file.read_text()) if file.exists() else {})
        return bool(condition(found))

    await stage.until(holds)
    return found


async def test_another_key_works_and_the_old_one_does_not(file: Path) -> None:
    preferences = having(file, '[keys]\nrun.follow = ["F8", "ctrl+f"]\nlist.errors-only = "X"\n')
    async with staged_app(running(), preferences=preferences) as stage:
        assert stage.live.follower.on
        await stage.press("f")
        assert stage.live.follower.on
        await stage.press("f8")
        assert not stage.live.follower.on
        await stage.press("ctrl+f")
        assert stage.live.follower.on
        await stage.press("exclamation_mark")
        assert stage.live.rollouts.listing.text == ""
        await stage.press("X")
        assert stage.live.rollouts.listing.text == "state:error"


async def test_footer_help_and_palette_show_the_keys_that_there_are(file: Path) -> None:
    preferences = having(file, '[keys]\nrun.follow = "F8"\nview.down = ["down", "ctrl+j"]\n')
    async with staged_app(running(), preferences=preferences) as stage:
        footer = stage.text(stage.live.keys)
        assert "F8 stay" in footer
        assert "f stay" not in footer
        await stage.pilot.click(stage.live.keys, offset=(footer.index("F8") + 1, 0))
        await stage.until(lambda: not stage.live.follower.on)
        await stage.press("question_mark")
        assert isinstance(stage.app.screen, Help)
        text = stage.text(stage.app.screen.query_one("HelpLines"))
        assert re.search("F8 +Follow the newest", text)
        assert re.search("↓ k \\^j ↑ +Down, up", text)
        await stage.press("escape")
        output = {one.title: one.help for one in stage.app.get_system_commands(stage.live)}
        assert output[BY_ID["run.follow"].help] == "key F8"


async def test_titles_texts_and_boxes_name_the_keys_that_there_are(file: Path) -> None:
    keys = {"numbers": "F9", "rerun": "F7", "copy": "Y", "export": "X"}
    written = "".join(f'run.{name} = "{key}"\n' for name, key in keys.items())
    written += 'trajectory.switch-fold = "F8"\nnumbers.rollouts = "F6"\n'
    written += 'trajectory.search = "F2"\nlog.search = "F3"\n'
    async with staged_app(running(), preferences=having(file, f"[keys]\n{written}")) as stage:
        assert str(stage.live.numbers.border_title).startswith(" F9 Numbers")
        await stage.press("2", "g")
        assert "F8 to show" in stage.text(stage.live.trajectory)
        for keys, begins in (("n", "F2"), ("4n", "F3")):
            await stage.press(*keys)
            assert f"Nothing is searched for: {begins} begins." in stage.text(stage.live.keys)
        await stage.pilot.click(stage.live.keys)  # takes the message away
        await stage.press("f9", "z")
        assert "F6 choose a row" in stage.text(stage.live.keys)
        await stage.press("z", "1", "K")
        assert "F7 runs it again later" in stage.text(stage.app.screen.query_one("Choices"))
        await stage.press("escape", "Y")
        box = stage.app.screen.query_one("MenuLines")
        assert "enter or Y" in str(box.border_subtitle)
        await stage.press("Y")
        assert stage.app.screen is stage.live
        bad = ev.LineUnreadable(0, 0.0, "results.jsonl", 3, 10, 5, "junk")
        for event in (bad, ev.ReadingMoved(0, 0.0, 9, 9, 1)):
            stage.app.state.apply(event)
        assert "1 line unreadable, see pane F9" in "".join(
            text for text, _ in progress(stage.app.state, 0.0, 200)
        )
    async with staged_app(running()) as stage:
        assert str(stage.live.numbers.border_title).startswith(" 3 Numbers")


async def test_two_keys_can_be_exchanged(file: Path) -> None:
    preferences = having(file, '[keys]\nrun.zoom = "f"\nrun.follow = "z"\n')
    async with staged_app(running(), preferences=preferences) as stage:
        await stage.press("f")
        assert stage.live.grid.has_class("-zoomed")
        assert stage.live.follower.on
        await stage.press("z")
        assert not stage.live.follower.on


async def test_the_fields_of_a_form_have_the_keys_that_were_set(file: Path) -> None:
    preferences = having(file, '[keys]\nfields.next = "ctrl+n"\n')
    app = form_app(preferences=preferences)
    async with app.run_test(size=(120, 40)) as pilot:
        fields: Any = app.screen.query_one("FormView")
        first = fields.name_here
        await pilot.press("down")
        assert fields.name_here == first
        await pilot.press("ctrl+n")
        assert fields.name_here != first


async def test_a_broken_file_is_shown_in_one_line_and_all_is_as_usual(file: Path) -> None:
    file.write_text('theme = "lihgt"\n[keys]\nrun.follow = "q"\n')
    async with staged_app(running(), preferences=Preferences.read(file), size=(160, 40)) as stage:
        await stage.until(lambda: "lihgt" in stage.live.keys.message)
        assert "2 faults in the settings" in stage.live.keys.message
        assert stage.app.theme == "tui-eval-dark"
        await stage.press("f")
        assert not stage.live.follower.on
        await stage.press("s")
        await stage.press("down", "down", "enter")
        assert file.read_text().startswith('theme = "lihgt"\n[keys]')


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ('[keys]\nrun.follow = "F99x"\n', "config.toml:2: keys.run.follow: there is no key 'F99x'"),
        ('theme = "drak"\n', "config.toml:1: theme: 'drak' is none of dark, light, terminal"),
        ('theme = "drak"\nmotion = "x"\n', "2 faults in the settings, see tui-eval config keys · "),
    ],
)
async def test_what_is_wrong_with_the_settings_is_shown_in_80_columns(
    file: Path, text: str, output: str
) -> None:
    file.write_text(text)
    async with staged_app(over(), preferences=Preferences.read(file), size=(80, 24)) as stage:
        await stage.until(lambda: output in stage.text(stage.live.keys))


async def test_the_order_of_the_list_is_there_the_next_time(file: Path) -> None:
    async with staged_app(over(), preferences=Preferences.read(file)) as stage:
        stage.live.rollouts.sort("reward")
        await stage.press("b")
        found = await kept(file, stage, lambda found: "grouped" in found.get("rollouts", {}))
        assert found == {"rollouts": {"sort": "-reward", "grouped": False}}
    async with staged_app(over(), preferences=Preferences.read(file)) as stage:
        sorting = stage.live.rollouts.listing.sorting
        assert sorting == Sorting("reward", descending=True, grouped=False)
        lines = stage.text(stage.live.rollouts).splitlines()
        assert "reward▼" in lines[0]
        assert "╭" not in "".join(lines)
        await stage.press("b")
        stage.live.rollouts.sort("")
        await kept(file, stage, lambda found: found.get("rollouts") == {})


async def test_chosen_columns_are_there_the_next_time(file: Path) -> None:
    async with staged_app(over(), preferences=Preferences.read(file)) as stage:
        await stage.press("c")
        await stage.press("space", "enter")
        found = await kept(file, stage, lambda found: "rollouts" in found)
        columns = tuple(found["rollouts"]["columns"])
    async with staged_app(over(), preferences=Preferences.read(file)) as stage:
        assert stage.live.rollouts.lines.chosen == columns
        assert stage.live.rollouts.lines.shown == columns


async def test_metrics_of_other_runs_stay_chosen(file: Path) -> None:
    preferences = having(file, '[rollouts]\ncolumns = ["time", "metrics.of-another-run"]\n')
    async with staged_app(over(), preferences=preferences) as stage:
        assert stage.live.rollouts.lines.shown == ("time",)
        await stage.press("c", "J", "enter")
        found = await kept(file, stage, lambda found: len(found["rollouts"]["columns"]) == 2)
        assert found["rollouts"]["columns"] == ["time", "metrics.of-another-run"]


async def test_a_theme_that_was_chosen_is_there_the_next_time(file: Path) -> None:
    async with staged_app(over(), preferences=Preferences.read(file)) as stage:
        (act,) = (
            one.callback
            for one in stage.app.get_system_commands(stage.live)
            if one.title == "Theme: light"
        )
        act()
        assert stage.app.theme == "tui-eval-light"
        await kept(file, stage, lambda found: found == {"theme": "light"})
    async with staged_app(over(), preferences=Preferences.read(file)) as stage:
        assert stage.app.theme == "tui-eval-light"


async def test_the_terminals_own_colours_follow_its_ground(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preferences = having(file, 'theme = "terminal"\n')
    async with staged_app(over(), preferences=preferences) as stage:
        assert stage.app.theme == "ansi-either"
    monkeypatch.setenv("COLORFGBG", "15;0")
    async with staged_app(over(), preferences=preferences) as stage:
        assert stage.app.theme == "ansi-dark"
    monkeypatch.setenv("COLORFGBG", "0;15")
    async with staged_app(over(), preferences=preferences) as stage:
        assert stage.app.theme == "ansi-light"


@pytest.mark.parametrize(
    "named, theme",
    [("light", "tui-eval-light"), ("terminal", "ansi-either"), ("pink", "tui-eval-dark")],
)
async def test_the_environment_may_name_a_theme_as_the_file_does(
    file: Path, monkeypatch: pytest.MonkeyPatch, named: str, theme: str
) -> None:
    monkeypatch.setenv("TEXTUAL_THEME", named)
    async with staged_app(over(), preferences=having(file, 'theme = "dark"\n')) as stage:
        assert stage.app.theme == theme


@pytest.mark.parametrize("theme", ["terminal", "dark", "light"])
async def test_where_no_colour_is_requested_there_is_none(
    file: Path, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with staged_app(over(), preferences=having(file, f'theme = "{theme}"\n')) as stage:
        rollouts = stage.live.rollouts
        strips = rollouts.render_lines(rollouts.size.region)
        styles = {one.style for strip in strips for one in strip if one.style is not None}
        inks = {ink for style in styles for ink in (style.color, style.bgcolor)}
        assert any(style.bold for style in styles) and any(style.dim for style in styles)
        assert {ink.name for ink in inks if ink is not None} == {"default"}


async def test_the_environments_theme_goes_before_the_files(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEXTUAL_THEME", "nord")
    async with staged_app(over(), preferences=having(file, 'theme = "light"\n')) as stage:
        assert stage.app.theme == "nord"


async def test_with_reduced_motion_nothing_moves_that_need_not(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "full")
    async with staged_app(over()) as stage:
        assert stage.app.animation_level == "full"
        assert stage.app.preferences.draws_every(1 / 12) == 1 / 12
    async with staged_app(over(), preferences=having(file, 'motion = "reduced"\n')) as stage:
        assert stage.app.animation_level == "none"
        assert stage.app.preferences.draws_every(1 / 12) == 0.5
        await stage.press("colon")
        assert isinstance(stage.app.screen, CommandPalette)
        await stage.until(lambda: isinstance(stage.app.screen.focused, Input))
        assert not stage.app.screen.query_one(Input).cursor_blink
        assert drawn_every(stage.app, 1 / 12) == 0.5
    app = form_app(preferences=having(file, 'motion = "reduced"\n'))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, TextBox) and app.screen.area.has_focus)
        assert isinstance(app.screen, TextBox)
        assert not app.screen.area.cursor_blink


async def test_what_cannot_be_kept_is_shown(file: Path) -> None:
    preferences = Preferences.read(file)
    file.write_text("this is no TOML")
    async with staged_app(over(), preferences=preferences) as stage:
        await stage.press("b")
        await stage.until(lambda: "Not kept in your settings" in stage.live.keys.message)
        assert file.read_text() == "this is no TOML"


def test_what_could_not_be_kept_is_kept_with_the_next_choice(tmp_path: Path) -> None:
    folder = tmp_path / "in-the-way"
    folder.write_text("")
    preferences = Preferences(path=folder / "config.toml")
    preferences.choose({("theme",): "light"})
    with pytest.raises(OSError):
        preferences.write()
    folder.unlink()
    preferences.choose({("motion",): "reduced"})
    preferences.write()
    assert tomllib.loads(preferences.path.read_text()) == {"theme": "light", "motion": "reduced"}


async def test_the_key_that_opens_the_help_closes_it_wherever_people_put_it(file: Path) -> None:
    preferences = having(file, '[keys]\nrun.help = "F12"\n')
    async with staged_app(over(), preferences=preferences) as stage:
        await stage.press("f12")
        assert stage.app.screen is not stage.live
        await stage.press("f12")
        assert stage.app.screen is stage.live
