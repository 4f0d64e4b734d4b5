"""Runs in the list of the home screen: their lines, and what has room in them."""

from __future__ import annotations

import pytest
from home_staging import at_home
from msgspec.structs import replace
from scripted_home import FormBackend, found_run, running_run, several_runs

from tui_eval.tui.home import run_lines


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
async def test_a_name_too_long_for_its_column_is_shown_without_its_owner(
    size: tuple[int, int], env: str, model: str
) -> None:
    async with at_home(size=size) as stage:
        assert next(line for line in stage.list.splitlines() if "0.42" in line).split()[2] == model
        assert stage.list.splitlines()[7].split()[1].rpartition("/")[2] == env
        assert "Qwen/Qwen3.5-2B" in stage.list or size[0] == 80


async def test_moving_through_the_runs_measures_none_of_them_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with at_home() as stage:
        await stage.press("j")
        measured: list[int] = []
        monkeypatch.setattr(run_lines, "_widest", lambda names: measured.append(1) or (1, 1))
        await stage.press("j", "k")
        assert measured == []
        await stage.press("s")
        assert measured


async def test_a_run_shows_its_errors() -> None:
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


async def test_settings_of_a_run_distinguish_it_and_find_it_without_its_secrets() -> None:
    backend = FormBackend(several_runs())
    backend.found[0] = replace(
        backend.found[0], given={"prompt": "short", "api_key": "sk-12345678"}
    )
    async with at_home(backend) as stage:
        await stage.press("slash", *"prompt=short", "enter")
        assert [one.run.path.name for one in stage.home.runs.shown] == ["11aa22bb"]
        text = " 48 with a reward  ·  prompt=short, api_key=***  ·  outputs/evals/calculator"
        assert stage.about.startswith(text)


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


@pytest.mark.parametrize(("low", "text"), [(0.71, "~0.22"), (0.865, "±0.07"), (0.87, "±0.06")])
async def test_the_longer_side_of_an_uneven_interval_is_shown_as_such(
    low: float, text: str
) -> None:
    backend = FormBackend([found_run("11aa22bb", reward=0.93, low=low, high=0.99)])
    async with at_home(backend, (80, 24)) as stage:
        head, line = stage.list.splitlines()[:2]
        assert "±95%" in head and f"0.93 {text} " in line
        assert (f", 95 % [{low:.2f}, 0.99]" in stage.about) == text.startswith("~")


async def test_errors_of_a_run_that_has_not_ended_are_shown_as_well() -> None:
    broken = found_run("9e8d7c6b", done=9, total=60, n=7, errored=2)
    async with at_home(FormBackend([running_run(errored=2), broken]), (80, 24)) as stage:
        text = [line.rstrip() for line in stage.list.splitlines()[1:3]]
        assert text[0].endswith("running 30/48  ✗ 2") and text[1].endswith("incomplete 9/60  ✗ 2")
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
        text = [line.rstrip() for line in stage.list.splitlines()[1:3]]
        assert text[0].endswith("running 30/48  ✗ 2") and text[1].endswith("complete  ✗ 3")


async def test_what_is_running_is_shown_before_how_to_sort_and_mark() -> None:
    async with at_home(size=(80, 24)) as stage:
        assert "r resume" not in stage.keys
        await stage.press("j", "j")
        assert "r resume" in stage.keys


async def test_errors_take_the_place_of_a_word_that_the_sign_shows() -> None:
    far = {"n": 3000, "total": 4800, "errored": 19}
    broken = found_run("9e8d7c6b", done=3190, **far)
    unsaved = found_run("77aa01ff", done=3190, saved=False, date=0.0, **far)
    async with at_home(FormBackend([broken, unsaved]), (80, 24)) as stage:
        text = [line.rstrip() for line in stage.list.splitlines()[1:3]]
        assert text[0].endswith("  3190/4800  ✗ 19") and "■" in text[0]
        assert text[1].endswith("  unsaved 3190/4800")


async def test_facts_of_a_run_stand_whole_beside_the_end_of_its_path() -> None:
    backend = FormBackend([running_run(given={"prompt": "short"})])
    async with at_home(backend, (80, 24)) as stage:
        text = stage.about.splitlines()[0].split("  ·  ")
        assert text[:2] == [" 28 with a reward", "0.54 with errors as 0"]
        assert text[2].startswith("…") and text[2].rstrip().endswith("3f9a2c10")
        assert len(text) == 3
    async with at_home(backend, (200, 60)) as stage:
        text = stage.about.splitlines()[0].split("  ·  ")
        assert text[2:4] == ["✗ 2 errored", "prompt=short"]
        assert stage.about.splitlines()[0].rstrip().endswith("/3f9a2c10  ·  process 4242")


async def test_letters_of_marked_runs_have_the_inks_of_a_comparison() -> None:
    async with at_home() as stage:
        await stage.press("m", "m")
        lines = [stage.home.runs.line(at) for at in (0, 1)]
        assert [line[0] for line in lines] == [("A ", "key"), ("B ", "second")]
