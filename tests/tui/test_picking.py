"""Choosing from a list by typing a part of what is in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from form_staging import staged
from scripted_form import ENVIRONMENTS, MONDAY, ScriptedBackend, draft_of, form_app, ready

from tui_eval.tui.form.backend import Offer

OFFERS = [Offer("demo2", "the newest demo"), Offer("x/demo"), Offer("demo", "another")]


class Several(ScriptedBackend):
    def endpoints(self, registry: str | None) -> list[Offer]:
        return OFFERS

    def resumable(self, environments_dir: str) -> list[Offer]:
        return OFFERS

    def files(self) -> list[Offer]:
        return [Offer("configs/monday.toml")]


@pytest.mark.parametrize("width", [80, 120])
async def test_no_single_letters_of_the_form_stand_beside_a_list(width: int) -> None:
    async with staged(form_app(backend=Several()), (width, 24)) as stage:
        await stage.to("model")
        await stage.press("enter")
        picker = await stage.picker()
        assert picker.query_one("#picker").region.width == width


@pytest.mark.parametrize("name", ["model", "resume"])
@pytest.mark.parametrize(
    ("typed", "listed"),
    [
        ("de", ["demo2", "demo", "x/demo", "de"]),
        ("demo", ["demo", "demo2", "x/demo"]),
        ("demo ", ["demo", "demo2", "x/demo"]),
        ("new", ["demo2", "new"]),
        ("mine", ["mine"]),
    ],
)
async def test_what_is_typed_stands_below_what_it_fits(
    name: str, typed: str, listed: list[str]
) -> None:
    async with staged(form_app(backend=Several())) as stage:
        await stage.to(name)
        await stage.press("enter")
        picker = await stage.picker()
        await stage.press(*("space" if one == " " else one for one in typed))
        lines = stage.text(picker.list).splitlines()[1:]
        assert [line[1:].split()[0] for line in lines if line] == listed
        await stage.press("enter")
        await stage.settled()
        assert stage.screen.draft.form.text(name) == listed[0]


async def test_enter_waits_for_what_there_is_to_choose_from() -> None:
    class Slow(ScriptedBackend):
        found = asyncio.Event()

        async def environments(self, environments_dir: str) -> list[Offer]:
            await self.found.wait()
            return ENVIRONMENTS

    async with staged(form_app(backend=Slow())) as stage:
        await stage.press("enter", *"word", "enter")
        Slow.found.set()
        await stage.until(lambda: stage.app.screen is stage.screen)
        assert stage.screen.draft.form.env_id == "word-guess"


async def test_a_file_that_is_there_is_loaded_though_another_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("monday.toml").write_text(MONDAY)
    async with staged(form_app(backend=Several())) as stage:
        await stage.press("ctrl+o")
        await stage.picker()
        await stage.press(*"monday", "full_stop", *"toml", "enter")
        await stage.until(lambda: stage.screen.draft.path)
        assert stage.screen.draft.path == Path("monday.toml")


async def test_an_environment_is_picked_by_a_part_of_its_name() -> None:
    async with staged(form_app()) as stage:
        await stage.press("enter")
        picker = await stage.picker()
        await stage.press("b", "u", "n", "space", "w", "o", "r", "d", "minus")
        await stage.until(lambda: "word-guess" in stage.text(picker.text))
        await stage.press("enter")
        await stage.settled()
        assert stage.screen.draft.form.env_id == "word-guess"


async def test_a_list_is_as_tall_as_what_there_is_to_choose_from() -> None:
    async with staged(ready()) as stage:
        for name, lines in (("provider", 9), ("resume", 1)):
            await stage.to(name)
            await stage.press("enter")
            picker = await stage.picker()
            await stage.pilot.pause()
            assert len(picker.list.offers) == lines
            assert lines <= picker.list.view_height <= lines + 1, "and a typed one"
            await stage.press("escape")


async def test_names_of_a_list_stand_in_one_column_while_their_notes_have_room() -> None:
    class Runs(ScriptedBackend):
        def resumable(self, environments_dir: str) -> list[Offer]:
            long = "outputs/evals/reverse-text--demo-scripted-policy/1f"
            return [Offer("newest", "the newest one"), Offer(long, "12 of 20")]

    async with staged(form_app(backend=Runs()), size=(80, 24)) as stage:
        await stage.to("resume")
        await stage.press("enter")
        picker = await stage.picker()
        lines = [picker.list.line(at) for at in (0, 1)]
        texts = ["".join(span[0] for span in line) for line in lines]
        assert texts[0].index("the newest") == texts[1].index("12 of 20")


async def test_picking_an_endpoint_clears_what_named_another() -> None:
    draft = draft_of(env_id="reverse-text", model="x", api_base_url="http://127.0.0.1:1/v1")
    async with staged(form_app(draft)) as stage:
        await stage.to("model")
        await stage.press("enter")
        picker = await stage.picker()
        await stage.press("d", "e", "m", "o")
        assert picker.list.here is not None
        assert picker.list.here.name == "demo"
        await stage.press("enter")
        await stage.settled()
        assert stage.screen.draft.request()["raw"] == {"model": "demo"}
