"""Faults of a form, its plan, and the run that it starts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from form_staging import staged
from scripted_form import ScriptedBackend, draft_of, form_app, ready
from scripted_run import ScriptedFeed

from tui_eval.errors import Fault

pytestmark = pytest.mark.usefixtures("nobody_pauses")


async def test_a_fault_stands_at_its_field_while_it_is_typed() -> None:
    async with staged(ready()) as stage:
        await stage.to("num_examples")
        await stage.press("1", "x")
        assert stage.below("num_examples") == "✗ '1x' is not a whole number"
        assert "1 problem" in stage.text(stage.screen.top)
        await stage.press("backspace")
        assert stage.below("num_examples").startswith("examples")


async def test_what_only_the_registry_knows_is_shown_at_its_field_a_moment_later() -> None:
    async with staged(ready()) as stage:
        await stage.to("model")
        await stage.press("backspace")
        await stage.settled()
        assert stage.below("model") == "✗ no endpoint is called 'dem'. Did you mean demo?"


async def test_an_unknown_environment_is_reported_at_its_field() -> None:
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


async def test_the_dry_run_is_repeated_when_the_form_changes() -> None:
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
        await stage.until(lambda: stage.requests)
        raw = {
            "model": "demo", "max_tokens": "512", "timeout": "90", "env_args": '{"split": "test"}',
        }  # fmt: skip
        assert stage.requests == [{"env_id": "reverse-text", "raw": raw}]
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
        assert stage.requests == []


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


async def test_a_resumed_run_requires_no_environment() -> None:
    async with staged(form_app()) as stage:
        assert "required" in stage.text(stage.screen.fields)
        stage.screen.fields.put_text("resume", "newest")
        await stage.settled()
        assert "required" not in stage.text(stage.screen.fields)


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
        fields, requested = stage.screen.fields, len(backend.estimated)
        backend.may_answer.clear()
        await stage.to("name")
        await stage.press("3")
        await stage.until(lambda: len(backend.estimated) > requested)
        assert fields.scroll_offset.y > 0
        fields.scroll_lines(-100)
        backend.may_answer.set()
        await stage.settled()
        await stage.pilot.pause()
        assert fields.scroll_offset.y == 0
        await stage.press("4")
        assert fields.scroll_offset.y > 0
