"""The home screen on a scripted backend: what is seen, found and marked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from home_staging import at_home
from scripted_home import UNREACHABLE, FormBackend, found_run, running_run, several_runs
from scripted_run import NOW

from tui_eval.tui.home import polling, run_list
from tui_eval.tui.home.backend import EndpointInfo, EndpointInfos


async def test_an_unsaved_run_says_so_in_80_columns() -> None:
    async with at_home(size=(80, 24)) as stage:
        lines = stage.list.splitlines()
        assert [line.rstrip().endswith("unsaved") for line in lines].count(True) == 1
        assert lines[4].rstrip().endswith("unsaved")


async def test_every_run_is_a_line_the_running_first_then_by_date() -> None:
    async with at_home() as stage:
        lines = stage.list.splitlines()
        assert lines[1].rstrip().endswith("running 30/48  ✗ 2") and "▶" in lines[1]
        assert "incomplete 41/60  ✗ 1" in lines[3]
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
        ((120, 40), "sv-env-network-logs", "qwen3-235b-a22b-instruct-2507"),
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


async def test_going_through_the_runs_measures_none_of_them_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with at_home() as stage:
        await stage.press("j")
        measured: list[int] = []
        monkeypatch.setattr(run_list, "_widest", lambda names: measured.append(1) or (1, 1))
        await stage.press("j", "k")
        assert measured == []
        await stage.press("s")
        assert measured


async def test_a_run_tells_its_errors() -> None:
    backend = FormBackend(
        [found_run("11aa22bb", n=10, done=16, total=16, errored=6), found_run("22bb33cc")]
    )
    async with at_home(backend) as stage:
        errored, good = (line.partition("errored")[2] for line in stage.list.splitlines()[1:3])
        assert errored.startswith("  ✗ 6") and not good
        assert "! calculator" in stage.list
        await stage.select("11aa22bb")
        as_0 = "0.38 with errors as 0  ·  ✗ 6 errored"
        assert stage.about.startswith(f" 10 with a reward  ·  {as_0}  ·  outputs/")
        await stage.select("22bb33cc")
        assert "errored" not in stage.about


async def test_a_file_without_a_rollout_is_not_called_complete() -> None:
    nothing = {"n": 0, "total": None, "reward": None, "low": None, "high": None}
    backend = FormBackend([found_run("11aa22bb", format="verifiers", done=0, **nothing)])
    async with at_home(backend) as stage:
        assert stage.list.splitlines()[1].endswith("no rollouts")
        assert "✓" not in stage.list


async def test_what_a_run_was_asked_tells_it_from_others_and_finds_it_without_its_secrets() -> None:
    backend = FormBackend(several_runs())
    backend.found[0] = replace(
        backend.found[0], given={"prompt": "short", "api_key": "sk-12345678"}
    )
    async with at_home(backend) as stage:
        await stage.press("slash", *"prompt=short", "enter")
        assert [one.run.path.name for one in stage.home.runs.shown] == ["11aa22bb"]
        told = " 48 with a reward  ·  prompt=short, api_key=***  ·  outputs/evals/calculator"
        assert stage.about.startswith(told)


async def test_environments_and_endpoints_say_how_they_are_and_never_a_key() -> None:
    async with at_home() as stage:
        await stage.until(lambda: "✗ not reachable" in stage.text(stage.home.endpoints))
        environments = stage.text(stage.home.environments)
        assert environments.index("triage-tickets") < environments.index("calculator")
        gpt, claude, house, demo, local = stage.text(stage.home.endpoints).splitlines()[:5]
        assert "✓ key is set" in gpt and "✓ reachable" in gpt
        assert "✗ key not set" in claude and "not checked" in claude
        assert "no key needed" in house and "✗ not reachable" in house
        assert "built in" in demo and "✓ reachable" in local


async def test_a_password_in_the_url_of_an_endpoint_is_not_shown() -> None:
    urls = ("http://user:hunter2@localhost/v1", "http://user:hunter2@[no.url")
    backend = FormBackend(endpoints=[EndpointInfo("one", "m", url) for url in urls])
    async with at_home(backend) as stage:
        await stage.until(lambda: len(stage.backend.asked) == 2)
        await stage.press("3")
        assert "m at ***@localhost" in stage.about
        await stage.press("enter", "j")
        assert "m at ***" in stage.about
        assert "hunter2" not in stage.about + stage.text(stage.home)


async def test_only_endpoints_that_could_be_used_are_asked_by_themselves() -> None:
    async with at_home() as stage:
        await stage.until(lambda: len(stage.backend.asked) == 2)
        asked = {url for _, url in stage.backend.asked}
        assert asked == {"https://api.openai.com/v1", UNREACHABLE}
        await stage.press("3", "j", "enter")
        await stage.until(lambda: ("reach", "https://api.anthropic.com") in stage.backend.asked)
        assert "export ANTHROPIC_API_KEY=" in stage.about


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
        assert "None of the 7 runs has these words." in stage.list
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
    monkeypatch.setattr(polling, "LOOKS_EVERY_S", 0.05)
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


async def test_endpoints_that_change_are_shown_and_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "LOOKS_EVERY_S", 0.05)
    async with at_home() as stage:
        new = EndpointInfo("brand-new", "m", "http://127.0.0.1:7/v1")
        stage.backend.served = EndpointInfos([new], [])
        await stage.until(lambda: "brand-new" in stage.text(stage.home.endpoints))
        assert "gpt-4.1-mini" not in stage.text(stage.home.endpoints)
        await stage.until(lambda: "✓ reachable" in stage.text(stage.home.endpoints))


async def test_a_line_that_comes_above_does_not_move_what_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(polling, "LOOKS_EVERY_S", 0.05)
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
        assert ("demo", "") in stage.backend.asked


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
        assert not stage.backend.feeds


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (-1.34, -0.44, "[-1.3, -0.4]"),
        (11.28, 13.85, "[11.3, 13.8]"),
        (-0.5, 0.25, "[-0.50, 0.25]"),
        (0.0, 0.0004, "[0.00, 4e-04]"),
        (0.001, 0.0018, "±4e-04"),
    ],
)
async def test_an_interval_has_as_many_decimals_as_there_is_room_for(
    low: float, high: float, text: str
) -> None:
    backend = FormBackend([found_run("11aa22bb", reward=(low + high) / 2, low=low, high=high)])
    async with at_home(backend, (120, 40)) as stage:
        assert f" {text} " in stage.list.splitlines()[1]


@pytest.mark.parametrize(("low", "told"), [(0.71, "~0.22"), (0.865, "±0.07"), (0.87, "±0.06")])
async def test_the_longer_side_of_an_uneven_interval_is_told_as_such(low: float, told: str) -> None:
    backend = FormBackend([found_run("11aa22bb", reward=0.93, low=low, high=0.99)])
    async with at_home(backend, (80, 24)) as stage:
        head, line = stage.list.splitlines()[:2]
        assert "±95%" in head and f"0.93 {told} " in line
        assert (f", 95 % [{low:.2f}, 0.99]" in stage.about) == told.startswith("~")


async def test_errors_of_a_run_that_has_not_ended_are_told_as_well() -> None:
    broken = found_run("9e8d7c6b", done=9, total=60, n=7, errored=2)
    async with at_home(FormBackend([running_run(errored=2), broken]), (80, 24)) as stage:
        told = [line.rstrip() for line in stage.list.splitlines()[1:3]]
        assert told[0].endswith("running 30/48  ✗ 2") and told[1].endswith("incomplete 9/60  ✗ 2")
        await stage.until(lambda: "0.54 with errors as 0" in stage.about)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_run_that_stopped_early_has_ended_well(size: tuple[int, int]) -> None:
    why = "width(reward) = 0.39 < 0.4"
    early = found_run("9e8d7c6b", done=48, total=120, n=48, stopped_early=why)
    async with at_home(FormBackend([early]), size) as stage:
        line = stage.list.splitlines()[1]
        assert line.rstrip().endswith("early 48/120") and "✓" in line
        assert (f"stopped early: {why}" in stage.about) == (size[0] == 120)
        assert "r resumes what is missing" in stage.about


async def test_a_narrow_list_leaves_spaces_out_before_the_word_of_a_run() -> None:
    async with at_home(size=(80, 24)) as stage:
        lines = [line.rstrip() for line in stage.list.splitlines()]
        assert lines[3].endswith("08 Oct    incomplete 41/60 ✗1")
        assert lines[7].endswith("Dec 2024  incomplete 0/12.0k")


async def test_the_heading_over_short_names_costs_the_states_nothing() -> None:
    short = {"env_id": "odd", "model": "demo-scripted-policy"}
    runs = [running_run(**short), found_run("11aa22bb", errored=3, **short)]
    async with at_home(FormBackend(runs), (80, 24)) as stage:
        told = [line.rstrip() for line in stage.list.splitlines()[1:3]]
        assert told[0].endswith("running 30/48  ✗ 2") and told[1].endswith("complete  ✗ 3")


async def test_what_goes_on_is_told_before_how_to_sort_and_mark() -> None:
    async with at_home(size=(80, 24)) as stage:
        assert "r resume" not in stage.keys
        await stage.press("j", "j")
        assert "r resume" in stage.keys


async def test_errors_take_the_place_of_a_word_that_the_sign_tells() -> None:
    far = {"n": 3000, "total": 4800, "errored": 19}
    broken = found_run("9e8d7c6b", done=3190, **far)
    unsaved = found_run("77aa01ff", done=3190, saved=False, date=0.0, **far)
    async with at_home(FormBackend([broken, unsaved]), (80, 24)) as stage:
        told = [line.rstrip() for line in stage.list.splitlines()[1:3]]
        assert told[0].endswith("  3190/4800  ✗ 19") and "■" in told[0]
        assert told[1].endswith("  unsaved 3190/4800")


async def test_facts_of_a_run_stand_whole_beside_the_end_of_its_path() -> None:
    backend = FormBackend([running_run(given={"prompt": "short"})])
    async with at_home(backend, (80, 24)) as stage:
        told = stage.about.splitlines()[0].split("  ·  ")
        assert told[:2] == [" 28 with a reward", "0.54 with errors as 0"]
        assert told[2].startswith("…") and told[2].rstrip().endswith("3f9a2c10")
        assert len(told) == 3
    async with at_home(backend, (200, 60)) as stage:
        told = stage.about.splitlines()[0].split("  ·  ")
        assert told[2:4] == ["✗ 2 errored", "prompt=short"]
        assert stage.about.splitlines()[0].rstrip().endswith("/3f9a2c10  ·  process 4242")


async def test_letters_of_marked_runs_have_the_inks_of_a_comparison() -> None:
    async with at_home() as stage:
        await stage.press("m", "m")
        lines = [stage.home.list.line(at) for at in (0, 1)]
        assert [line[0] for line in lines] == [("A ", "key"), ("B ", "second")]


async def test_the_footer_tells_how_all_runs_come_back() -> None:
    async with at_home(size=(80, 24)) as stage:
        assert "esc clear" not in stage.keys
        await stage.press("slash", *"gpx", "enter")
        assert "esc clear" in stage.keys
        await stage.press("escape")
        assert "esc clear" not in stage.keys


async def test_what_marks_are_for_and_what_takes_them_away_is_told_while_there_are_any() -> None:
    async with at_home(size=(120, 40)) as stage:
        await stage.press("m", "m")
        told = ("m mark", "d compare", "esc unmark", "r resume")  # the third is incomplete
        assert [one for one in told if one not in stage.keys] == []
        assert "2 runs marked: d compares them, esc unmarks" in stage.about
        await stage.press("slash", *"calc", "enter")
        assert "esc clear" in stage.keys
        await stage.press("escape", "escape")
        assert not stage.app.home.runs.marked and "unmark" not in stage.keys


async def test_what_there_is_nothing_to_check_of_is_not_told_to_be_checked() -> None:
    async with at_home() as stage:
        await stage.press("3")
        assert "enter check" in stage.keys
        await stage.press("j", "j", "j")
        assert "demo" in stage.about and "enter" not in stage.keys


async def test_what_is_told_of_an_endpoint_ends_before_the_edge() -> None:
    one = EndpointInfo("long", "m" * 60, "https://long.example/v1", source="in configs/long.toml:9")
    async with at_home(FormBackend(endpoints=[one]), (80, 24)) as stage:
        await stage.press("3")
        first = stage.about.splitlines()[0]
        assert first.endswith("…") and len(first) < 80
