"""What `tui-eval compare` says that a difference carries, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_here import command_here
from program import Program

ALL_PASS = [1.0] * 12


def saved(folder: Path, name: str, rewards: Sequence[float], **meta: Any) -> str:
    """A run of one rollout an example that another program saved."""
    path = folder / name
    path.mkdir()
    rows = [
        {
            "example_id": place,
            "prompt": [{"role": "user", "content": f"question {place}"}],
            "completion": [{"role": "assistant", "content": "answer"}],
            "reward": reward,
        }
        for place, reward in enumerate(rewards)
    ]
    (path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    metadata = {"env_id": "e", "model": "m", "num_examples": len(rewards), **meta}
    (path / "metadata.json").write_text(json.dumps({"rollouts_per_example": 1, **metadata}))
    return str(path)


def found(program: Program, *runs: str) -> dict[str, Any]:
    """What `compare --json` prints."""
    reported: dict[str, Any] = json.loads(command_here(program, "compare", *runs, "--json").out)
    return reported


def test_a_difference_that_the_numbers_carry_is_one(program: Program) -> None:
    worse = saved(program.folder, "worse", [*[0.0] * 8, *ALL_PASS[8:]])
    better = saved(program.folder, "better", ALL_PASS, model="another")
    text = command_here(program, "compare", worse, better, "-d").out
    # Newcombe and McNemar of a table of 4 in both, 8 in the second only
    assert "reward  0.333  1.000  +0.667  [0.299, 0.862]  better" in text
    assert "  reward better (Newcombe; p = 0.00781, McNemar's exact test)\n" in text
    reward = found(program, worse, better)["comparisons"][0]["numbers"]["reward"]
    assert (reward["verdict"], reward["why"]) == ("higher", None)
    assert (reward["method"], reward["test"]) == ("newcombe", "mcnemar")
    assert reward["p"] == reward["holm_p"] == 2 / 2**8
    assert reward["low"] == pytest.approx(0.29923, abs=5e-5)
    assert "reward worse (" in command_here(program, "compare", better, worse, "-d").out


def test_a_difference_that_may_be_chance_says_what_it_would_take(program: Program) -> None:
    first = saved(program.folder, "first", [1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1])
    second = saved(program.folder, "second", [1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1], model="another")
    text = command_here(program, "compare", second, first, "-d").out
    reported = "12 examples can show 0.402 or more; about 28 needed"
    assert (
        f"  reward inconclusive: within chance; {reported} (Newcombe; p = 0.25, McNemar's" in text
    )
    reward = found(program, second, first)["comparisons"][0]["numbers"]["reward"]
    assert (reward["verdict"], reward["why"]) == ("inconclusive", "within chance")
    assert (reward["difference"], reward["p"]) == (0.25, 0.25)
    assert reward["se"] == pytest.approx(0.130558241967)
    assert reward["detectable"] == pytest.approx(0.40166, abs=5e-5)
    assert reward["needed"] == 28


def test_a_few_examples_carry_no_verdict(program: Program) -> None:
    none, every = (saved(program.folder, str(of), [of] * 5, model=str(of)) for of in (0.0, 1.0))
    text = command_here(program, "compare", none, every, "-d").out
    assert "reward inconclusive: fewer than 6 shared examples; at least 6 needed" in text


def test_a_rerun_is_a_noise_floor(program: Program) -> None:
    first = saved(program.folder, "first", [0.5] * 12)
    again = saved(program.folder, "again", [0.4, 0.6] * 6)
    other = saved(program.folder, "other", [0.53, 0.57] * 6, model="another")
    text = command_here(program, "compare", first, again, other, "-d").out
    # t(11) at 97.5 % times 0.1 sqrt(12 / 11) / sqrt(12)
    assert "; noise floor of A and B: ±0.066 (t, 11 df; " in text
    assert "  reward better: inside the noise floor of A and B: ±0.066 (t, 11 df; " in text
    rerun, beside = found(program, first, again, other)["comparisons"]
    assert rerun["is_rerun"] and not beside["is_rerun"]
    reward = beside["numbers"]["reward"]
    assert reward["noise_floor"] == pytest.approx(0.0664, abs=5e-4)
    assert (reward["noise_floor_run"], reward["inside_noise_floor"]) == (1, True)


def test_compare_and_report_agree_on_the_mean_of_a_run(program: Program) -> None:
    runs = [saved(program.folder, name, [0.2, 0.9, 1.0, 0.4]) for name in ("first", "second")]
    report = json.loads(command_here(program, "report", runs[0], "--json").out)
    assert found(program, *runs)["rewards"][0] == report["reward"]
