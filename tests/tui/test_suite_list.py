"""The list of a suite and the lines over it, and their room."""

from __future__ import annotations

import pytest
from scripted_run import NOW, all_events
from scripted_suite import (
    CASES,
    ended_events,
    figures,
    moved,
    suite_events,
    suite_started,
)
from staging import staged_suite

from tui_eval import events as ev


async def test_the_list_shows_of_every_evaluation_what_it_is_and_how_far() -> None:
    events = [*suite_events(), moved(7, "refused", text="there is no key\nExport one")]
    async with staged_suite(events, size=(200, 60)) as stage:
        done, running, waiting, *_, refused = stage.evaluations[: len(CASES)]
        assert done.split()[:4] == ["✓", "calculator", "gpt-4.1-mini,", "temperature=0.2"]
        for fact in ("48/48", "0.65", "±0.13", "✗ 2", "124k", "$0.0627", "1:14", "finished"):
            assert fact in done
        assert done.endswith(" t, 10.89 df, 12 examples, 46 rollouts")
        assert "30/48" in running and "running" in running
        assert waiting.split()[0] == "·" and waiting.split()[-1] == "waiting"
        assert refused.split()[:4] == ["✗", "map-reading", "gpt-4.1-mini", "–"]
        assert refused.partition("refused")[2].strip() == "there is no key"


async def test_one_that_waits_to_be_resumed_shows_how_far_it_was() -> None:
    half = figures(all_events()[:25])
    events = [*suite_events(), moved(2, "waiting", path="", **half)]
    async with staged_suite(events, size=(200, 60)) as stage:
        waiting, never_begun = stage.evaluations[2:4]
        for fact in (f"{half['finished']}/48", "━", "1:14", "waiting"):
            assert fact in waiting
        assert "━" not in never_begun and "─" not in never_begun


@pytest.mark.parametrize("width", [80, 100, 120, 200])
async def test_the_names_of_the_settings_stand_over_their_values_alone(width: int) -> None:
    async with staged_suite(size=(width, 40)) as stage:
        head, *lines = stage.text(stage.live.evaluations).splitlines()
        start = lines[0].index("gpt-4.1-mini")
        bars = [line.index(glyph) for line in lines[:2] for glyph in "━" if glyph in line]
        end = min([*bars, head.index("done")])
        settings = head[start:end].strip()
        whole = "model, temperature, max_turns"
        expected = {80: "model, temp., max_turns", 200: "settings"}
        assert settings == expected.get(width, whole)
        assert head[end - 1] == " "


@pytest.mark.parametrize(
    ("width", "varies", "heads"),
    [(80, {}, []), (80, {"n": "1"}, ["n"]), (200, {}, []), (200, {"n": "1"}, ["settings"])],
)
async def test_short_names_leave_their_heads_whole(
    width: int, varies: dict[str, str], heads: list[str]
) -> None:
    start = suite_started([("one", "m", varies), ("two", "m", varies)])
    async with staged_suite([start, moved(0, "finished")], size=(width, 40)) as stage:
        head, line, *_ = stage.text(stage.live.evaluations).splitlines()
        assert head.split()[: len(heads) + 2] == ["evaluation", *heads, "done"]
        assert head.index("done") + len("done") == line.index("48/48") + len("48/48")


async def test_known_settings_have_shorter_names_before_any_name_is_cut() -> None:
    varies = {"temperature": "0.2", "max_turns": "8", "rollouts_per_example": "4"}
    start = suite_started([("word-guess", "m", varies)])
    async with staged_suite([start], size=(80, 24)) as stage:
        head = stage.text(stage.live.evaluations).splitlines()[0]
        assert head.partition("evaluation")[2].partition("done")[0].strip() == (
            "temp., max_turns, rollouts"
        )


async def test_no_count_of_rollouts_is_cut() -> None:
    start = suite_started()
    start.evaluations[0].total = 9_000
    done = moved(0, "finished", total=9_000, finished=9_000)
    async with staged_suite([start, done], size=(80, 24)) as stage:
        head, line, *_ = stage.text(stage.live.evaluations).splitlines()
        assert "9000/9000" in line
        assert "done  reward   ✗=0" in head


async def test_why_one_was_refused_is_shown_as_far_as_what_is_missing() -> None:
    async with staged_suite(size=(200, 60)) as stage:
        refused = stage.evaluations[len(CASES) - 1]
        why = refused.partition("refused")[2].strip()
        assert why.startswith("ModuleNotFoundError: No module named 'shapely'")


async def test_the_header_sums_up_all_evaluations() -> None:
    async with staged_suite() as stage:
        title, progress = stage.text(stage.live.top).splitlines()
        assert "benchmark.toml · 1/8 evaluations done · 1 refused" in title
        assert "▶ running 2:28" in title
        at_work = ("~ 1 sleeping", "▶ 4 running")
        for fact in ("78/336 rollouts", *at_work, "✗ 4 errors", "198k tokens", "$0.1004"):
            assert fact in progress


async def test_a_small_header_has_signs_rather_than_a_bar_that_shows_nothing() -> None:
    async with staged_suite(size=(80, 24)) as stage:
        _, progress = stage.text(stage.live.top).splitlines()
        assert "78/336 rollouts  ~1  ▶4  ✗4  198k tokens  $0.1004" in progress
        assert sum(map(progress.count, "━╍─")) >= 20


async def test_the_open_evaluation_has_its_name_where_it_has_one_line() -> None:
    async with staged_suite(size=(80, 24)) as stage:
        await stage.until(lambda: "30/48" in stage.text(stage.live.header))
        line = stage.text(stage.live.header)
        assert line.split()[0] == "calculator" and "━" in line
        await stage.press("1", "v")
        await stage.until(lambda: len(stage.text(stage.live.header).splitlines()) == 2)
        assert "calculator · gpt-4.1-mini" in stage.text(stage.live.header)


async def test_a_small_title_shortens_its_words_before_the_name_of_the_file() -> None:
    async with staged_suite(ended_events(), live=False, size=(80, 24)) as stage:
        title = stage.text(stage.live.top).splitlines()[0]
        assert "benchmark.toml · 6/8 done · 1 failed · 1 refused" in title
        assert "! ended after 7:46" in title
        await stage.pilot.resize_terminal(120, 40)
        await stage.until(lambda: stage.live.top.size.width == 120)
        title = stage.text(stage.live.top).splitlines()[0]
        assert "benchmark.toml · 6/8 evaluations done · 1 failed · 1 refused" in title
        assert ("1 failed", "bad") in stage.live.top.line(0)


@pytest.mark.parametrize(("size", "rows"), [((80, 24), 8), ((120, 40), 8), ((80, 12), 2)])
async def test_the_list_has_the_room_that_nothing_else_needs(
    size: tuple[int, int], rows: int
) -> None:
    async with staged_suite(size=size) as stage:
        await stage.press("j")
        await stage.until(lambda: stage.live.evaluations.view_height == rows)
        assert "Waiting for its turn" in stage.text(stage.live.blank)


async def test_what_stands_below_the_list_keeps_no_more_lines_than_it_fills() -> None:
    events = [*suite_events(), ev.RunFinished(0, NOW, "failed", 1, "the engine was killed")]
    async with staged_suite(events, live=False, size=(80, 24)) as stage:
        await stage.press("j")
        await stage.until(lambda: "Not begun" in stage.text(stage.live.blank))
        await stage.until(lambda: stage.live.evaluations.view_height == len(CASES))
        assert stage.text(stage.live.blank).splitlines()[-1].strip().endswith("before its turn.")
        assert stage.live.keys.region.bottom == 24


async def test_eight_evaluations_are_seen_above_the_panes_of_one() -> None:
    async with staged_suite(size=(120, 40)) as stage:
        await stage.until(lambda: stage.live.grid.region)
        await stage.until(lambda: stage.live.evaluations.view_height == len(CASES))


async def test_a_cost_that_is_not_known_for_all_is_a_least_one() -> None:
    async with staged_suite([*suite_events(), moved(0, "finished", cost=None)]) as stage:
        assert "≥ $0.0377" in stage.text(stage.live.top)


async def test_a_very_small_cost_stands_apart_from_the_tokens() -> None:
    small = moved(0, "finished", cost=0.0000581234)
    async with staged_suite([suite_started(), small], size=(200, 60)) as stage:
        assert "124k $0.00005" in stage.evaluations[0]


async def test_what_was_begun_before_and_waits_when_all_end_was_stopped() -> None:
    events = [suite_started(), moved(0, "waiting", **figures(all_events()[:25]))]
    events.append(ev.RunFinished(0, NOW, "interrupted", 130))
    async with staged_suite(events, live=False, size=(120, 40)) as stage:
        assert stage.evaluations[0].endswith("stopped")
        assert stage.evaluations[1].endswith("not begun")


async def test_an_uneven_interval_is_no_plus_or_minus() -> None:
    uneven = moved(0, "finished", reward=1.0, low=0.61, high=1.0)
    async with staged_suite([suite_started(), uneven], size=(120, 40)) as stage:
        assert "1.00 ~0.39" in stage.evaluations[0]
