from __future__ import annotations

from scripted_rows import judged_row, saved_row, saved_rows, unscored_row
from scripted_run import ScriptedFeed, all_events, failed, finished, run_started
from staging import Stage, running, staged_app

from tui_eval.fold.trajectory import from_row
from tui_eval.tui.run.numbers.reward import breakdown


def scored() -> ScriptedFeed:
    rows = saved_rows() | {0: judged_row(0), 1: unscored_row(1)}
    return ScriptedFeed(all_events(), rows, live=False)


def shown(stage: Stage) -> str:
    return stage.text(stage.live.reward)


def test_parts_that_are_small_do_not_read_as_nothing() -> None:
    score = {"name": "brief", "raw": 0.0004, "weight": 0.001, "error": None}
    row = saved_row(1)
    row |= {"reward": 4e-7, "tui_eval": row["tui_eval"] | {"scores": [score]}}
    lines = ["".join(text for text, _ in line) for line in breakdown(from_row(1, row), None, 36)]
    assert lines[1].split() == ["brief", "4e-04", "×", "0.001", "=", "4e-07"]
    assert lines[3].split() == ["reward", "4e-07"] and len(lines[1]) == len(lines[2])


def test_a_long_name_of_a_metric_is_cut_only_where_there_is_no_room() -> None:
    name, row = "judge_rates_the_final_answer_for_truth", saved_row(1)
    row |= {"metrics": {name: 0.5}}
    for width, is_whole in ((78, True), (36, False)):
        lines = ["".join(t for t, _ in line) for line in breakdown(from_row(1, row), None, width)]
        assert any(f"{name}   0.50" in line for line in lines) is is_whole
        assert max(map(len, lines)) <= width


def bars(*raws: float) -> list[int]:
    """How many cells the bar of each function has, of weight 1 each."""
    scores = [{"name": f"f{raw}", "raw": raw, "weight": 1.0, "error": None} for raw in raws]
    row = saved_row(1)
    row |= {"reward": sum(raws), "tui_eval": row["tui_eval"] | {"scores": scores}}
    lines = ["".join(text for text, _ in line) for line in breakdown(from_row(1, row), None, 80)]
    return [sum(cell in "█▉▊▋▌▍▎▏" for cell in line) for line in lines[1 : 1 + len(raws)]]


def test_bars_of_parts_that_are_all_tiny_are_to_their_own_scale() -> None:
    assert bars(1e-4, 5e-5, 1e-7) == [24, 12, 1]
    assert bars(0.5, 0.25) == [6, 3], "else a full bar is all that the weights can add"
    assert bars(0.0, 0.0) == [0, 0]


async def test_a_reward_is_compared_with_its_group() -> None:
    start = run_started(total=8, num_examples=2)
    rewards = [finished(row, reward=reward) for row, reward in enumerate((1.0, 0.0, 0.5))]
    rows = {row: saved_row(row, reward=done.reward) for row, done in enumerate(rewards)}
    async with staged_app(ScriptedFeed([start, *rewards[:2]], rows), size=(120, 40)) as stage:
        await stage.press("g")
        await stage.until(lambda: "advantage" in shown(stage))
        assert "group      2 of 4 so far · mean 0.50 · std 0.50" in shown(stage)
        assert "advantage  +0.50 so far" in shown(stage)
        await stage.publish(rewards[2])
        await stage.until(lambda: "3 of 4 so far · mean 0.50 · std 0.41" in shown(stage))
        await stage.publish(failed(3))
        await stage.until(lambda: "3 of 4 rollouts · mean 0.50 · std 0.41" in shown(stage))
        await stage.press("j")
        await stage.until(lambda: "advantage  -0.50" in shown(stage))
        assert "so far" not in shown(stage)


async def test_an_advantage_that_the_row_has_is_shown_as_it_is() -> None:
    start = run_started(total=4, num_examples=1)
    rewards = [finished(row, reward=reward) for row, reward in enumerate((1.0, 0.0))]
    rows = {row: saved_row(row) | {"reward": 1.0, "advantage": 0.125} for row in (0, 1)}
    async with staged_app(ScriptedFeed([start, *rewards], rows), size=(120, 40)) as stage:
        await stage.press("g")
        await stage.until(lambda: "advantage" in shown(stage))
        assert "advantage  +0.12" in shown(stage) and "+0.12 so far" not in shown(stage)


async def test_what_a_group_came_to_so_far_fits_beside_a_wide_list() -> None:
    async with staged_app(running(), size=(200, 60)) as stage:
        await stage.until(lambda: "group" in shown(stage))
        assert "group      2 of 4 so far · mean 0.95 · std 0.05" in shown(stage)


async def test_a_group_of_equal_rewards_has_no_advantage() -> None:
    start = run_started(total=4, num_examples=1)
    rewards = [finished(row, reward=1.0) for row in range(4)]
    async with staged_app(ScriptedFeed([start, *rewards], saved_rows())) as stage:
        await stage.press("g")
        await stage.until(lambda: "= none: all rewards are equal" in shown(stage))


async def test_what_rounding_made_an_advantage_of_is_none() -> None:
    start = run_started(total=2, num_examples=1, rollouts_per_example=2)
    rewards = [finished(row, reward=0.1) for row in range(2)]
    rows = {row: saved_row(row) | {"reward": 0.1, "advantage": -1.4e-17} for row in (0, 1)}
    async with staged_app(ScriptedFeed([start, *rewards], rows)) as stage:
        await stage.press("g")
        await stage.until(lambda: "= none: all rewards are equal" in shown(stage))


def test_metrics_of_what_errored_are_not_weighted() -> None:
    row = unscored_row(1)
    row["tui_eval"]["scores"] = []
    lines = ["".join(text for text, _ in line) for line in breakdown(from_row(1, row), None, 60)]
    assert any(line.endswith("   not weighted: it errored") for line in lines)


async def test_what_the_judge_said_can_be_read_to_its_end_in_a_pane_of_its_own() -> None:
    async with staged_app(scored(), size=(120, 40)) as stage:
        await stage.press("5")
        assert stage.live.focused is stage.live.reward
        assert "Grade: 9 of 10" not in shown(stage)
        await stage.press("G")
        assert "Grade: 9 of 10" in shown(stage)
        await stage.press("right_square_bracket")
        await stage.until(lambda: "style" in shown(stage))
        assert "function" in shown(stage).splitlines()[0]


async def test_a_function_that_failed_has_its_traceback_below() -> None:
    async with staged_app(scored(), size=(80, 24)) as stage:
        await stage.press("j", "5")
        await stage.until(lambda: "✗ JudgeError: Judge 'gpt-4.1'" in shown(stage))
        assert "none: it errored" in shown(stage)
        await stage.press("G")
        assert "style failed at" in shown(stage)
        assert "verdict = await judge(prompt, completion, answer, state)" in shown(stage)
        assert "caused by APITimeoutError: Request timed out." in shown(stage)


SPOKEN = """\
ValueError: two things are wrong:
- the first is small
- the second is not
  File "sums.py", line 7, in picky
    raise ValueError(what)
caused by KeyError: 'x'"""


def output(error: str, width: int = 60) -> list[str]:
    row = unscored_row(1)
    row["tui_eval"]["scores"][-1]["error"] = error
    lines = breakdown(from_row(1, row), None, width)
    return ["".join(span[0] for span in line).rstrip() for line in lines]


def test_all_that_an_error_says_stands_before_where_it_came_from() -> None:
    lines = output(SPOKEN)
    at = lines.index("✗ ValueError: two things are wrong:")
    assert lines[at + 1 : at + 3] == ["  - the first is small", "  - the second is not"]
    below = lines.index("style failed at")
    assert lines[below + 1 :] == [
        '    File "sums.py", line 7, in picky',
        "      raise ValueError(what)",
        "  caused by KeyError: 'x'",
    ]


def test_a_long_error_is_whole_below_its_table() -> None:
    lines = output("ValueError: " + "\n".join(f"line {n}" for n in range(20)))
    assert lines.count("  line 1") == 2
    assert lines.count("  line 19") == 1
    assert "style failed with" in lines
    assert "style failed at" not in lines
