"""The home screen on a scripted desk: what is seen, what is opened, and how one comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_home import UNREACHABLE, Desk, found_run, pin_time_zone, running_run, several_runs
from scripted_run import ERRORS, NOW, ScriptedFeed, all_events
from textual.pilot import Pilot
from textual.screen import Screen

from tui_eval import events as ev
from tui_eval.commands import Detach, Stop
from tui_eval.tui.home.near import NearEndpoint
from tui_eval.tui.home_app import HomeApp, joined_text, left_text
from tui_eval.tui.leaving import Leave
from tui_eval.tui.screens import looking
from tui_eval.tui.screens.question import Question
from tui_eval.tui.widgets.line_view import LineView


class HomeStage:
    """Home with what a test wants to press and to look at."""

    pilot: Pilot[Any]

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.compared: list[list[Path]] = []
        self.configured: list[str] = []
        self.started: list[dict[str, Any]] = []
        self.form: Screen[Any] = Screen()
        self.app = HomeApp(
            desk,
            now=lambda: NOW,
            compare=self._compare,
            configure=self._configure,
            start=self._start,
        )
        self.home = self.app.home

    def _compare(self, paths: Any) -> Screen[Any]:
        self.compared.append(paths)
        return Screen()

    def _configure(
        self, env_id: str, before: Screen[Any] | None = None, refused: Any = ()
    ) -> Screen[Any]:
        self.configured.append(env_id)
        self.refused = [str(fault) for fault in refused]
        return self.form

    def _start(self, request: dict[str, Any]) -> ScriptedFeed:
        self.started.append(request)
        return ScriptedFeed(self.desk.refusal or all_events(), live=False)

    async def until(self, condition: Callable[[], Any]) -> None:
        for _ in range(3000):
            await self.pilot.pause(0.01)
            if condition():
                return
        raise AssertionError(f"this never came about; the list says\n{self.list}")

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    def text(self, view: LineView) -> str:
        return "\n".join(view.render_line(y).text.rstrip() for y in range(view.size.height))

    @property
    def wanted(self) -> tuple[str, str]:
        """What the desk was asked for last; endpoints are asked for at any moment."""
        return [one for one in self.desk.asked if one[0] != "reach"][-1]

    @property
    def list(self) -> str:
        return self.text(self.home.list)

    @property
    def about(self) -> str:
        return self.text(self.home.about)

    @property
    def keys(self) -> str:
        return self.text(self.home.keys)

    @property
    def selected(self) -> str:
        one = self.home.runs.selected
        assert one is not None
        return one.run.path.name

    @property
    def is_home(self) -> bool:
        return self.app.screen is self.home

    async def into_run(self) -> Any:
        """Opens the selected run; returns its screen once it is told what the run is."""
        await self.press("enter")
        await self.watching()
        return self.app.live_screen

    async def watching(self) -> None:
        await self.until(lambda: self.app.watches and self.app.state.run is not None)
        await self.until(lambda: self.app.screen is self.app.live_screen)

    async def select(self, name: str) -> None:
        names = [one.run.path.name for one in self.home.runs.shown]
        self.home.list.select(names.index(name))
        await self.pilot.pause()


@asynccontextmanager
async def at_home(
    desk: Desk | None = None, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[HomeStage]:
    pin_time_zone()
    stage = HomeStage(desk or Desk(several_runs()))
    async with stage.app.run_test(size=size) as stage.pilot:
        await stage.until(lambda: stage.home.looked and stage.home.runs.told)
        yield stage


async def test_an_unsaved_run_says_so_in_80_columns() -> None:
    async with at_home(size=(80, 24)) as stage:
        lines = stage.list.splitlines()
        assert [line.rstrip().endswith("unsaved") for line in lines].count(True) == 1
        assert lines[4].rstrip().endswith("unsaved")


async def test_every_run_is_a_line_the_running_first_then_by_date() -> None:
    async with at_home() as stage:
        lines = stage.list.splitlines()
        assert "running 30/48: attach" in lines[1] and "▶" in lines[1]
        assert "incomplete 41/60" in lines[3]
        for text in ("qwen3-235b", "0.42", "[0.33, 0.51]", "40", "08 Oct"):
            assert text in lines[3]
        assert "unsaved" in lines[4]
        assert [line.split()[1] for line in lines[4:8]] == [
            "reverse-text",
            "word-guess",
            "wordle",
            "sv-env-network-logs",
        ]


@pytest.mark.parametrize(
    ("size", "env", "model"),
    [
        ((80, 24), "sv-env-netwo…", "qwen3-235b-a2…"),
        ((120, 40), "sv-env-network-logs", "qwen3-235b-a22b-instruct-2…"),
        ((200, 60), "sv-env-network-logs", "qwen/qwen3-235b-a22b-instruct-2507"),
    ],
)
async def test_a_name_too_long_for_its_column_is_told_without_its_owner(
    size: tuple[int, int], env: str, model: str
) -> None:
    async with at_home(size=size) as stage:
        assert next(line for line in stage.list.splitlines() if "0.42" in line).split()[2] == model
        assert stage.list.splitlines()[7].split()[1].rpartition("/")[2] == env
        assert "Qwen/Qwen3.5-2B" in stage.list or size[0] == 80


async def test_a_complete_run_tells_its_errors() -> None:
    desk = Desk([found_run("11aa22bb", n=10, done=16, total=16, errored=6), found_run("22bb33cc")])
    async with at_home(desk) as stage:
        assert [line.endswith("complete · 6 ✗") for line in stage.list.splitlines()[1:3]] == [
            True,
            False,
        ]
        await stage.select("11aa22bb")
        assert "n = 10  ·  6 errored" in stage.about
        await stage.select("22bb33cc")
        assert "errored" not in stage.about


async def test_a_file_without_a_rollout_is_not_called_complete() -> None:
    nothing = {"n": 0, "total": None, "reward": None, "low": None, "high": None}
    desk = Desk([found_run("11aa22bb", format="verifiers", done=0, **nothing)])
    async with at_home(desk) as stage:
        assert stage.list.splitlines()[1].endswith("no rollouts")
        assert "✓" not in stage.list


async def test_what_a_run_was_asked_tells_it_from_others_and_finds_it_without_its_secrets() -> None:
    desk = Desk(several_runs())
    desk.found[0] = replace(desk.found[0], asked={"prompt": "short", "api_key": "sk-12345678"})
    async with at_home(desk) as stage:
        await stage.press("slash", *"prompt=short", "enter")
        assert [one.run.path.name for one in stage.home.runs.shown] == ["11aa22bb"]
        assert stage.about.startswith(" prompt=short, api_key=***  ·  outputs/evals/calculator")


async def test_environments_and_endpoints_say_how_they_are_and_never_a_key() -> None:
    async with at_home() as stage:
        await stage.until(lambda: "✗ not reachable" in stage.text(stage.home.endpoints))
        environments = stage.text(stage.home.environments)
        assert environments.index("triage-tickets") < environments.index("calculator")
        gpt, claude, house, demo, local = stage.text(stage.home.endpoints).splitlines()[:5]
        assert "✓ key is set" in gpt and "✓ reachable" in gpt
        assert "✗ key not set" in claude and "not asked" in claude
        assert "no key needed" in house and "✗ not reachable" in house
        assert "in this program" in demo and "✓ reachable" in local


async def test_a_password_in_the_url_of_an_endpoint_is_not_shown() -> None:
    urls = ("http://user:hunter2@localhost/v1", "http://user:hunter2@[no.url")
    desk = Desk(endpoints=[NearEndpoint("one", "m", url) for url in urls])
    async with at_home(desk) as stage:
        await stage.until(lambda: len(stage.desk.asked) == 2)
        await stage.press("3")
        assert "m at ***@localhost" in stage.about
        await stage.press("enter", "j")
        assert "m at ***" in stage.about
        assert "hunter2" not in stage.about + stage.text(stage.home)


async def test_only_endpoints_that_could_be_used_are_asked_by_themselves() -> None:
    async with at_home() as stage:
        await stage.until(lambda: len(stage.desk.asked) == 2)
        asked = {url for _, url in stage.desk.asked}
        assert asked == {"https://api.openai.com/v1", UNREACHABLE}
        await stage.press("3", "j", "enter")
        await stage.until(lambda: ("reach", "https://api.anthropic.com") in stage.desk.asked)
        assert "export ANTHROPIC_API_KEY=" in stage.about


async def test_enter_opens_a_saved_run_and_q_comes_back_without_a_question() -> None:
    async with at_home() as stage:
        await stage.press("j")
        live = await stage.into_run()
        assert stage.wanted == ("open", "11aa22bb")
        await stage.until(lambda: "✓ finished" in stage.text(live.header))
        await stage.until(lambda: "home" in stage.text(live.keys))
        await stage.press("q")
        await stage.until(lambda: stage.is_home)
        assert stage.selected == "11aa22bb"
        await stage.until(lambda: stage.desk.feeds[0].closed)


async def test_what_becomes_of_opening_a_run_that_was_left_is_not_told_of_the_next() -> None:
    may_start = asyncio.Event()

    async def start_late() -> None:
        await may_start.wait()
        raise OSError("the disk is gone")

    async with at_home() as stage:
        slow = stage.desk.open(running_run())
        slow.start = start_late  # type: ignore[method-assign]
        stage.home.post_message(stage.home.RunWanted(slow, True))
        await stage.until(lambda: stage.app.watches)
        await stage.press("q")
        await stage.until(lambda: stage.is_home)
        live = await stage.into_run()
        await stage.until(lambda: "▶ running" in stage.text(live.header))
        may_start.set()
        await stage.until(lambda: slow.closed)
        await stage.press("j")
        assert stage.app.state.end is None
        assert "▶ running" in stage.text(live.header)


async def test_the_run_that_somebody_comes_back_from_is_selected_as_soon_as_it_is_listed() -> None:
    desk = Desk(several_runs())
    async with at_home(desk) as stage:
        await stage.press("D")
        await stage.watching()
        demo = found_run("3f9a2c10", date=NOW - 1, written_at=NOW - 1)
        desk.found = [demo, *several_runs()[1:]]
        await stage.press("j", "q", "s")
        await stage.until(lambda: stage.is_home and stage.selected == "3f9a2c10")
        await stage.until(lambda: desk.seen == (demo.run.place, NOW))


@pytest.mark.parametrize(("at", "selected"), [(NOW - 10, "0a1b2c3d"), (NOW - 4000, "11aa22bb")])
async def test_what_was_seen_last_is_selected_at_first_unless_a_run_was_written_after(
    at: float, selected: str
) -> None:
    desk = Desk([one for one in several_runs() if not one.running])
    seen = next(one for one in desk.found if one.run.path.name == "0a1b2c3d")
    desk.seen = (seen.run.place, at)
    async with at_home(desk) as stage:
        assert stage.selected == selected
        await stage.press("k" if selected == "0a1b2c3d" else "j")
        assert stage.selected != selected


async def test_escape_leads_out_of_a_run_pane_by_pane() -> None:
    async with at_home() as stage:
        await stage.press("j")
        await stage.into_run()
        await stage.press("2")
        await stage.press("escape")
        assert not stage.is_home
        await stage.press("escape")
        await stage.until(lambda: stage.is_home)


async def test_an_unsaved_run_is_looked_at_without_being_asked_whether_to_keep_it() -> None:
    async with at_home() as stage:
        await stage.select("77aa01ff")
        await stage.into_run()
        await stage.press("q")
        await stage.until(lambda: stage.is_home)


async def test_leaving_a_run_that_was_attached_to_lets_it_go_on() -> None:
    async with at_home() as stage:
        live = await stage.into_run()
        assert stage.wanted == ("join", "3f9a2c10")
        await stage.until(lambda: joined_text() in stage.text(live.keys))
        await stage.press("q")
        await stage.until(lambda: stage.desk.feeds[0].closed)
        assert stage.is_home
        assert [type(command) for command in stage.desk.feeds[0].sent][-1] is Detach
        assert left_text(Leave("detach")) in stage.keys


async def test_a_run_that_began_since_the_list_was_made_goes_on_without_a_question() -> None:
    async with at_home() as stage:
        running = stage.desk.open(running_run())
        stage.desk.open = lambda run: running  # type: ignore[method-assign]
        await stage.press("j")
        live = await stage.into_run()
        await stage.until(lambda: "▶ running" in stage.text(live.header))
        await stage.press("q")
        await stage.until(lambda: stage.is_home)
        await stage.until(lambda: running.closed)
        assert [type(command) for command in running.sent][-1] is Detach


async def test_an_attached_run_can_be_stopped_on_purpose() -> None:
    async with at_home() as stage:
        await stage.into_run()
        await stage.press("ctrl+c")
        await stage.until(lambda: isinstance(stage.app.screen, Question))
        await stage.press("s")
        await stage.until(lambda: stage.desk.feeds[0].closed)
        assert stage.is_home
        assert Stop in [type(command) for command in stage.desk.feeds[0].sent]


async def test_quitting_at_once_leaves_an_attached_run_alone() -> None:
    async with at_home() as stage:
        await stage.into_run()
        await stage.press("ctrl+q")
        await stage.until(lambda: not stage.app.is_running)
        assert Stop not in [type(command) for command in stage.desk.feeds[0].sent]
        assert Detach in [type(command) for command in stage.desk.feeds[0].sent]


async def test_an_incomplete_run_is_resumed_and_leaving_it_asks() -> None:
    async with at_home() as stage:
        await stage.select("9e8d7c6b")
        assert "r goes on with what is missing" in stage.about
        await stage.press("r")
        await stage.watching()
        assert stage.wanted == ("resume", "9e8d7c6b")
        await stage.press("q")
        await stage.until(lambda: isinstance(stage.app.screen, Question))
        await stage.press("s")
        await stage.until(lambda: ("end", "") in stage.desk.asked)
        assert stage.is_home
        assert Stop in [type(command) for command in stage.desk.feeds[0].sent]


async def test_errored_rollouts_of_a_saved_run_run_again_and_leaving_leads_home() -> None:
    async with at_home() as stage:
        await stage.select("11aa22bb")
        saved = await stage.into_run()
        await stage.until(lambda: saved.state.end is not None)
        await stage.press("R", "a")
        await stage.until(lambda: stage.app.watches and stage.app.live_screen is not saved)
        (request,) = stage.started
        assert request["raw"] == {"resume": saved.state.run.path}
        assert request["again"] == sorted(ERRORS)
        await stage.watching()
        await stage.press("q")
        await stage.until(lambda: stage.is_home)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("3f9a2c10", "It is running"),
        ("11aa22bb", "It is complete"),
        ("0a1b2c3d", "Another program wrote it"),
    ],
)
async def test_what_cannot_be_resumed_says_why(name: str, why: str) -> None:
    async with at_home() as stage:
        await stage.select(name)
        await stage.press("r")
        assert why in stage.keys
        assert "resume" not in [what for what, _ in stage.desk.asked]


async def test_a_refused_resume_comes_back_and_says_why() -> None:
    desk = Desk(several_runs())
    fault = ("model", "it was gpt-4.1-mini, now it is [red]m[/red]", "Use --accept-changes")
    desk.refusal = [ev.Refused(1, [fault])]
    async with at_home(desk) as stage:
        await stage.select("9e8d7c6b")
        await stage.press("r")
        await stage.until(lambda: isinstance(stage.app.screen, Question))
        seen = stage.app.export_screenshot(simplify=True).replace("&#160;", " ")
        assert "[red]m[/red]" in seen
        await stage.press("escape")
        assert stage.is_home


async def test_an_engine_that_does_not_answer_leads_back_with_its_reason() -> None:
    desk = Desk([running_run()])
    async with at_home(desk) as stage:
        end = ev.RunFinished(0, NOW, "failed", 1, "no engine answers at run.sock: refused")
        desk.open = lambda run: ScriptedFeed([end], live=False)  # type: ignore[method-assign]
        await stage.press("enter")
        await stage.until(lambda: isinstance(stage.app.screen, Question))
        await stage.press("escape")
        assert stage.is_home


async def test_the_list_is_filtered_while_typing_and_whole_again_after_escape() -> None:
    async with at_home() as stage:
        await stage.press("slash", *"INCOMP !qwq")
        assert [one.run.path.name for one in stage.home.runs.shown] == ["9e8d7c6b", "ffffffff"]
        assert "2 of 7" in str(stage.home.list.border_title)
        assert stage.keys.split() == ["enter", "keep", "esc", "clear"]
        await stage.press("enter", "j")
        assert stage.selected == "ffffffff"
        await stage.press("escape")
        assert len(stage.home.runs.shown) == 7 and stage.selected == "ffffffff"


async def test_a_filter_that_nothing_matches_says_so() -> None:
    async with at_home() as stage:
        await stage.press("slash", *"nowhere")
        assert "None of 7 runs has these words." in stage.list
        await stage.press("backspace", "ctrl+u")
        assert len(stage.home.runs.shown) == 7


async def test_keys_of_commands_are_letters_while_a_filter_is_typed() -> None:
    async with at_home() as stage:
        await stage.press("slash", *"qnr?")
        assert stage.home.runs.words == "qnr?" and stage.is_home


async def test_the_list_is_sorted_by_what_is_asked_for_and_the_selection_stays() -> None:
    async with at_home() as stage:
        await stage.select("5c5c5c5c")
        await stage.press("s")
        environments = [one.env_id for one in stage.home.runs.shown if not one.running]
        assert environments == sorted(environments)
        await stage.press("s", "s", "S")
        rewards = [one.reward for one in stage.home.runs.shown if not one.running]
        assert rewards == [None, 0.42, 0.61, 0.7123, 0.93, 1.83]
        assert stage.selected == "5c5c5c5c"


async def test_a_new_run_and_a_finished_one_change_the_list_and_not_the_selection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(looking, "LOOKS_EVERY_S", 0.05)
    async with at_home() as stage:
        await stage.select("9e8d7c6b")
        done = replace(running_run(), pid=0, socket="", done=48)
        new = found_run("aaaa0000", date=NOW - 10, pid=7, socket="new.sock", env_id="brand-new")
        stage.desk.found = [done, new, *several_runs()[2:]]
        await stage.until(lambda: "brand-new" in stage.list)
        assert stage.list.splitlines()[1].split()[1] == "brand-new"
        assert "running 30/48" not in stage.list
        assert stage.selected == "9e8d7c6b"
        stage.desk.found = [done]
        await stage.until(lambda: len(stage.home.runs.shown) == 1)
        assert stage.selected == "3f9a2c10"


async def test_a_line_that_comes_above_does_not_move_what_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(looking, "LOOKS_EVERY_S", 0.05)
    desk = Desk([found_run(f"{place:08}", date=NOW - place) for place in range(100)])
    async with at_home(desk, (80, 24)) as stage:
        await stage.select("00000060")
        seen = stage.list
        desk.found.append(found_run("aaaa0000", date=NOW + 1))
        await stage.until(lambda: len(stage.home.runs.shown) == 101)
        await stage.pilot.pause()
        assert stage.list == seen and stage.selected == "00000060"


async def test_marked_runs_are_compared_in_the_order_of_their_marks() -> None:
    async with at_home() as stage:
        await stage.press("d")
        assert "Mark a run with m" in stage.keys and not stage.compared
        await stage.select("9e8d7c6b")
        await stage.press("m")
        assert "A is marked" in stage.about
        await stage.select("11aa22bb")
        await stage.press("space", "d")
        (paths,) = stage.compared
        assert [path.name for path in paths] == ["9e8d7c6b", "11aa22bb"]


async def test_one_marked_run_is_compared_with_the_selected_one() -> None:
    async with at_home() as stage:
        await stage.select("9e8d7c6b")
        await stage.press("m")
        await stage.select("9e8d7c6b")
        await stage.press("d")
        assert "Mark a run with m" in stage.keys and not stage.compared
        await stage.select("11aa22bb")
        await stage.until(lambda: "d compare" in stage.keys)
        await stage.press("d")
        (paths,) = stage.compared
        assert [path.name for path in paths] == ["9e8d7c6b", "11aa22bb"]


async def test_a_form_is_opened_for_the_selected_environment_and_its_request_runs() -> None:
    async with at_home() as stage:
        await stage.press("n")
        assert stage.configured == [""]
        stage.form.dismiss(None)
        await stage.until(lambda: stage.is_home)
        stage.form = Screen()
        await stage.press("2", "j", "enter")
        assert stage.configured == ["", "triage-tickets"]
        stage.form.dismiss({"env_id": "triage-tickets", "raw": {}})
        await stage.watching()
        assert stage.started == [{"env_id": "triage-tickets", "raw": {}}]


async def test_a_refused_request_comes_back_to_its_form() -> None:
    async with at_home() as stage:
        stage.desk.refusal = [ev.Refused(1, [("model", "there is none", "")])]
        await stage.press("n")
        stage.form.dismiss({"env_id": "capitals", "raw": {}})
        stage.form = Screen()
        await stage.until(lambda: len(stage.configured) == 2)
        assert stage.refused == ["model: there is none"]
        await stage.until(lambda: stage.app.screen is stage.form)


async def test_nothing_to_see_names_the_next_thing_to_do_and_does_it() -> None:
    async with at_home(Desk()) as stage:
        assert "No runs under ./outputs yet" in stage.list
        assert "y copy" not in stage.keys
        await stage.press("D")
        await stage.watching()
        assert ("demo", "") in stage.desk.asked


async def test_an_unsaved_run_is_kept_for_good() -> None:
    async with at_home() as stage:
        await stage.select("77aa01ff")
        await stage.press("w")
        await stage.until(lambda: "is kept for good" in stage.keys)
        assert stage.wanted[0] == "save"
        await stage.until(lambda: "unsaved" not in stage.list)


async def test_a_registry_that_cannot_be_read_says_why() -> None:
    desk = Desk(endpoints=[], faults=["configs/endpoints.toml:3: unknown key 'modle'"])
    async with at_home(desk) as stage:
        assert "✗ configs/endpoints.toml:3" in stage.text(stage.home.endpoints)


async def test_names_from_disk_never_reach_the_terminal_raw() -> None:
    evil = "a\x1b]52;c;AAAA\x07\x9b1m[/b]"
    async with at_home(Desk([found_run("x" + evil, env_id=evil, model=evil)])) as stage:
        await stage.press("slash", "[", "slash")
        seen = stage.app.export_screenshot(simplify=True)
        assert "\x1b" not in seen and "\x9b" not in seen and "␛" in seen


async def test_the_mouse_does_what_the_keys_do() -> None:
    async with at_home(size=(80, 24)) as stage:
        await stage.pilot.click("#home-header", offset=(40, 1))
        await stage.until(lambda: stage.app.focused is stage.home.endpoints)
        await stage.press("1")
        await stage.pilot.click("#runs", offset=(10, 3))
        assert stage.selected == "11aa22bb"
        await stage.pilot.click("#runs", offset=(10, 3))
        await stage.watching()
        assert stage.wanted == ("open", "11aa22bb")


async def test_q_quits_and_what_runs_is_left_alone() -> None:
    async with at_home() as stage:
        await stage.press("q")
        await stage.until(lambda: not stage.app.is_running)
        assert not stage.desk.feeds
