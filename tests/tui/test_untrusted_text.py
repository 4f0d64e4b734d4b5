from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from scenes import settle
from scripted_rows import saved_row
from scripted_run import NOW, ScriptedFeed, failed, finished, run_started, staged
from textual.pilot import Pilot

from tui_eval import events as ev
from tui_eval.fold.columns import Note
from tui_eval.fold.query.fields import METRIC
from tui_eval.tui.app import TuiEvalApp
from tui_eval.tui.base.dialogs.prompts import Choice, Prompt
from tui_eval.tui.base.dialogs.question import NoteDialog, Question
from tui_eval.tui.base.lines.line_view import LineView

EVIL = (
    "\x1b]52;c;c3RvbGVu\x07\x1b[2J\x9b31m[/foo][@click=app.quit]x[/]\u202eabc\u200b\ud800"
    "\r\x08\x00\u2028 end"
)


def is_harmful(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char != "\n"


def harm(text: str) -> list[str]:
    return sorted({hex(ord(char)) for char in text if is_harmful(char)})


def evil_row() -> dict[str, Any]:
    row = saved_row(0)
    call = {"id": EVIL, "name": EVIL, "arguments": json.dumps({EVIL: EVIL})}
    broken = {"id": "b", "name": "b", "arguments": EVIL}
    row["prompt"] = [{"role": "system", "content": EVIL}, {"role": EVIL, "content": EVIL}]
    row["completion"] = [
        {"role": "assistant", "content": EVIL, "reasoning_content": EVIL, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": EVIL, "content": EVIL},
        {"role": "assistant", "content": None, "tool_calls": [broken]},
        {"role": "tool", "tool_call_id": "unknown", "content": EVIL},
        {"role": "assistant", "content": "x" * 1_000_000},
        {"role": "assistant", "content": "漢" * 300_000},
    ]
    row["answer"] = EVIL
    row["stop_condition"] = EVIL
    row["metrics"] = {EVIL: 1.0}
    row["tui_eval"] |= {
        "traceback": EVIL,
        "scores": [{"name": EVIL, "raw": None, "weight": 1.0, "error": f"{EVIL}\n{EVIL}"}],
        "judge": [EVIL],
        "tool_calls": [{"id": EVIL, "ms": 1.0, "error": EVIL}],
    }
    return row


def evil_feed(*, live: bool) -> ScriptedFeed:
    start = run_started(env_id=EVIL, model=EVIL, path=EVIL, base_url=EVIL)
    first = finished(0, example_id=EVIL, metrics={EVIL: 1.0}, stop_condition=EVIL)
    asleep = staged(2, ev.Stage.SLEEPING, note=EVIL)
    events = [start, first, failed(1, EVIL), asleep, ev.Noticed(0, NOW, "warning", EVIL)]
    if not live:
        events.append(ev.RunFinished(0, NOW, EVIL, 1, EVIL))
    rows = {0: evil_row(), 1: evil_row() | {"error": EVIL}}
    feed = ScriptedFeed(events, rows, live=live)
    feed.logged = f"{EVIL}\n2026-10-09 10:53:49,020 ERROR a.b: {EVIL}\n".encode("utf-8", "replace")
    return feed


def look(pilot: Pilot[Any], *, whole: bool = False) -> None:
    for view in pilot.app.screen.query(LineView):
        for y in range(view.size.height):
            assert harm(view.render_line(y).text) == []
    if whole:
        assert harm(pilot.app.export_screenshot(simplify=True)) == []


@pytest.mark.parametrize(("live", "size"), [(True, (80, 24)), (False, (200, 60))])
async def test_no_control_character_reaches_the_terminal(live: bool, size: tuple[int, int]) -> None:
    app = TuiEvalApp(evil_feed(live=live), now=lambda: NOW)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        look(pilot, whole=True)
        await pilot.press("g", "2", "t")
        look(pilot, whole=True)
        for _ in range(12):
            await pilot.press("j", "l")
            look(pilot)
        for key in ("g", "3", "e", "4", "slash", "\x1b", "enter", "5"):
            await pilot.press(key)
            await pilot.pause()
            look(pilot, whole=True)
        assert "␛" in app.export_screenshot()


async def test_texts_of_a_suite_reach_no_terminal_either() -> None:
    listed = [ev.ListedEvaluation(EVIL, EVIL, f"{EVIL}{n}", {EVIL: EVIL}, 4) for n in range(3)]
    events = [
        ev.SuiteStarted(1, NOW, f"/{EVIL}", listed, 2),
        ev.EvaluationMoved(2, NOW, 0, "refused", text=EVIL),
        ev.EvaluationMoved(3, NOW, 1, EVIL),
        ev.Noticed(4, NOW, "warning", EVIL),
    ]
    for end in ([], [ev.RunFinished(5, NOW, "failed", 1, EVIL)]):
        app = TuiEvalApp(ScriptedFeed([*events, *end], live=not end), now=lambda: NOW)
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot)
            for key in ("j", "j", "z"):
                look(pilot, whole=True)
                await pilot.press(key)
                await pilot.pause()
            assert "␛" in app.export_screenshot()


async def test_modals_and_messages_show_what_they_get_and_no_more() -> None:
    app = TuiEvalApp(evil_feed(live=True), now=lambda: NOW)
    async with app.run_test() as pilot:
        app.live_screen.keys.say(EVIL, NOW)
        await settle(pilot)
        look(pilot, whole=True)
        requested = Prompt(EVIL, [EVIL], [Choice("s", EVIL, EVIL, None)])
        app.push_screen(Question(lambda: requested))
        await settle(pilot)
        look(pilot, whole=True)
        assert "[/foo]" in app.export_screenshot()


@pytest.mark.slow
async def test_filters_notes_and_names_of_metrics_are_drawn_as_harmless_text() -> None:
    app = TuiEvalApp(evil_feed(live=False), now=lambda: NOW)
    async with app.run_test(size=(200, 60)) as pilot:
        await settle(pilot)
        rollouts = app.live_screen.rollouts
        rollouts.put_notes({(EVIL, 0): Note(EVIL, (EVIL,))})
        rollouts.sort(METRIC + EVIL)
        rollouts.filter_by(f"{EVIL}<")
        await settle(pilot)
        assert rollouts.listing.faults
        look(pilot, whole=True)
        for key in ("slash", "enter", "s", "escape", "c", "escape", "z"):
            await pilot.press(key)
            await settle(pilot)
            look(pilot, whole=True)
        app.push_screen(NoteDialog(EVIL, Note(EVIL, (EVIL,))))
        await settle(pilot)
        look(pilot, whole=True)


async def test_a_message_of_a_megabyte_is_cut_and_shown_further_on_demand() -> None:
    app = TuiEvalApp(evil_feed(live=False), now=lambda: NOW)
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        trajectory = app.live_screen.trajectory
        assert trajectory.count() < 1_000
        before = trajectory.count()
        await pilot.press("2", "g")
        layout = trajectory._layout
        long = [at for at in range(len(layout.parts)) if layout.piece(at).hidden > 10_000]
        while trajectory.cursor < long[0]:
            await pilot.press("j")
        await pilot.press("enter")
        await settle(pilot)
        assert before + 1_500 < trajectory.count() < before + 2_500
