"""The home screen on a scripted backend: what is seen, found and marked."""

from __future__ import annotations

import pytest
from home_staging import at_home
from msgspec.structs import replace
from scripted_home import UNREACHABLE, FormBackend, found_run, running_run, several_runs
from scripted_run import NOW

from tui_eval.tui.home import polling
from tui_eval.tui.home.backend import EndpointInfo, EndpointInfos


async def test_environments_and_endpoints_say_how_they_are_and_never_a_key() -> None:
    async with at_home() as stage:
        await stage.until(lambda: "✗ not reachable" in stage.text(stage.home.endpoints))
        environments = stage.text(stage.home.environments)
        assert environments.index("triage-tickets") < environments.index("calculator")
        gpt, claude, own, demo, local = stage.text(stage.home.endpoints).splitlines()[:5]
        assert "✓ key is set" in gpt and "✓ reachable" in gpt
        assert "✗ key not set" in claude and "not checked" in claude
        assert "no key needed" in own and "✗ not reachable" in own
        assert "built in" in demo and "✓ reachable" in local


async def test_a_password_in_the_url_of_an_endpoint_is_not_shown() -> None:
    urls = ("http://user:hunter2@localhost/v1", "http://user:hunter2@[no.url")
    backend = FormBackend(endpoints=[EndpointInfo("one", "m", url) for url in urls])
    async with at_home(backend) as stage:
        await stage.until(lambda: len(stage.backend.calls) == 2)
        await stage.press("3")
        assert "m at ***@localhost" in stage.about
        await stage.press("enter", "j")
        assert "m at ***" in stage.about
        assert "hunter2" not in stage.about + stage.text(stage.home)


async def test_only_endpoints_that_could_be_used_are_checked_by_themselves() -> None:
    async with at_home() as stage:
        await stage.until(lambda: len(stage.backend.calls) == 2)
        checked = {url for _, url in stage.backend.calls}
        assert checked == {"https://api.openai.com/v1", UNREACHABLE}
        await stage.press("3", "j", "enter")
        await stage.until(lambda: ("reach", "https://api.anthropic.com") in stage.backend.calls)
        assert "export ANTHROPIC_API_KEY=" in stage.about


async def test_the_list_is_filtered_while_typing_and_whole_again_after_escape() -> None:
    async with at_home() as stage:
        await stage.press("slash", *"INCOMP !qwq")
        assert [one.run.path.name for one in stage.home.runs.shown] == ["9e8d7c6b", "ffffffff"]
        assert "2 of 7" in str(stage.home.runs.border_title)
        assert stage.keys.split() == ["enter", "keep", "esc", "clear"]
        await stage.press("enter", "j")
        assert stage.selected == "ffffffff"
        await stage.press("escape")
        assert len(stage.home.runs.shown) == 7 and stage.selected == "ffffffff"


async def test_a_filter_that_nothing_matches_says_so() -> None:
    async with at_home() as stage:
        await stage.press("slash", *"nowhere")
        assert "None of the 7 runs has these words." in stage.list
        await stage.press("backspace", "ctrl+u")
        assert len(stage.home.runs.shown) == 7


async def test_keys_of_commands_are_letters_while_a_filter_is_typed() -> None:
    async with at_home() as stage:
        await stage.press("slash", *"qnr?")
        assert stage.home.runs.words == "qnr?" and stage.is_home


async def test_the_list_is_sorted_as_requested_and_the_selection_stays() -> None:
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
    monkeypatch.setattr(polling, "POLL_INTERVAL_S", 0.05)
    async with at_home() as stage:
        await stage.select("9e8d7c6b")
        done = replace(running_run(), pid=0, socket="", done=48)
        new = found_run("aaaa0000", date=NOW - 10, pid=7, socket="new.sock", env_id="brand-new")
        stage.backend.found = [done, new, *several_runs()[2:]]
        await stage.until(lambda: "brand-new" in stage.list)
        assert stage.list.splitlines()[1].split()[1] == "brand-new"
        assert "running 30/48" not in stage.list
        assert stage.selected == "9e8d7c6b"
        stage.backend.found = [done]
        await stage.until(lambda: len(stage.home.runs.shown) == 1)
        assert stage.selected == "3f9a2c10"


async def test_endpoints_that_change_are_shown_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "POLL_INTERVAL_S", 0.05)
    async with at_home() as stage:
        new = EndpointInfo("brand-new", "m", "http://127.0.0.1:7/v1")
        stage.backend.served = EndpointInfos([new], [])
        await stage.until(lambda: "brand-new" in stage.text(stage.home.endpoints))
        assert "gpt-4.1-mini" not in stage.text(stage.home.endpoints)
        await stage.until(lambda: "✓ reachable" in stage.text(stage.home.endpoints))


async def test_a_line_that_comes_above_does_not_move_what_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(polling, "POLL_INTERVAL_S", 0.05)
    backend = FormBackend([found_run(f"{place:08}", date=NOW - place) for place in range(100)])
    async with at_home(backend, (80, 24)) as stage:
        await stage.select("00000060")
        seen = stage.list
        backend.found.append(found_run("aaaa0000", date=NOW + 1))
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


async def test_nothing_to_see_names_the_next_thing_to_do_and_does_it() -> None:
    async with at_home(FormBackend()) as stage:
        assert "No runs under ./outputs yet" in stage.list
        assert "tui-eval new-env NAME" in stage.list
        assert "y copy" not in stage.keys
        assert not stage.home.about.display
        await stage.press("D")
        await stage.watching()
        assert ("demo", "") in stage.backend.calls


async def test_a_filter_of_no_runs_says_that_there_is_nothing_to_filter() -> None:
    async with at_home(FormBackend(), (80, 24)) as stage:
        await stage.until(lambda: stage.home.runs.is_loaded)
        await stage.press("slash")
        assert " ".join(stage.list.split()) == "There are no runs to filter. esc clears"
        await stage.press("x", "enter")
        assert "There are no runs to filter." in stage.list
        await stage.press("escape")
        assert "No runs under ./outputs yet" in stage.list


async def test_an_unsaved_run_is_kept_for_good() -> None:
    async with at_home() as stage:
        await stage.select("77aa01ff")
        await stage.press("w")
        await stage.until(lambda: "is kept for good" in stage.keys)
        assert stage.wanted[0] == "save"
        await stage.until(lambda: "unsaved" not in stage.list)


async def test_a_registry_that_cannot_be_read_says_why() -> None:
    backend = FormBackend(endpoints=[], faults=["configs/endpoints.toml:3: unknown key 'modle'"])
    async with at_home(backend) as stage:
        assert "✗ configs/endpoints.toml:3" in stage.text(stage.home.endpoints)


async def test_names_from_disk_never_reach_the_terminal_raw() -> None:
    evil = "a\x1b]52;c;AAAA\x07\x9b1m[/b]"
    async with at_home(FormBackend([found_run("x" + evil, env_id=evil, model=evil)])) as stage:
        await stage.press("slash", "[", "slash")
        seen = stage.app.export_screenshot(simplify=True)
        assert "\x1b" not in seen and "\x9b" not in seen and "␛" in seen


async def test_the_mouse_does_what_the_keys_do() -> None:
    async with at_home(size=(80, 24)) as stage:
        await stage.pilot.click("#pane-tabs", offset=(40, 0))
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
        assert not stage.backend.feeds


async def test_the_footer_shows_how_all_runs_come_back() -> None:
    async with at_home(size=(80, 24)) as stage:
        assert "esc clear" not in stage.keys
        await stage.press("slash", *"gpx", "enter")
        assert "esc clear" in stage.keys
        await stage.press("escape")
        assert "esc clear" not in stage.keys


async def test_what_marks_are_for_and_what_takes_them_away_is_shown_while_there_are_any() -> None:
    async with at_home(size=(120, 40)) as stage:
        await stage.press("m", "m")
        output = ("m mark", "d compare", "esc unmark", "r resume")  # the third is incomplete
        assert [one for one in output if one not in stage.keys] == []
        assert "2 runs marked: d compares them, esc unmarks" in stage.about
        await stage.press("slash", *"calc", "enter")
        assert "esc clear" in stage.keys
        await stage.press("escape", "escape")
        assert not stage.app.home.runs.marks and "unmark" not in stage.keys


async def test_what_there_is_nothing_to_check_of_is_not_shown_as_checked() -> None:
    async with at_home() as stage:
        await stage.press("3")
        assert "enter check" in stage.keys
        await stage.press("j", "j", "j")
        assert "demo" in stage.about and "enter" not in stage.keys


async def test_the_line_of_an_endpoint_ends_before_the_edge() -> None:
    one = EndpointInfo("long", "m" * 60, "https://long.example/v1", source="in configs/long.toml:9")
    async with at_home(FormBackend(endpoints=[one]), (80, 24)) as stage:
        await stage.press("3")
        first = stage.about.splitlines()[0]
        assert first.endswith("…") and len(first) < 80
