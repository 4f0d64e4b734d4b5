"""`tui-eval report`: one run as a summary, several as a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_here import command_here
from program import TWO_TURNS, Program
from run_events import finished, started
from run_here import run_here
from terminal import Terminal

from tui_eval.cli.console.table_lines import table_lines, what_varies
from tui_eval.events import RunFinished
from tui_eval.fold.run_state import RunState
from tui_eval.fold.summary import Summary, summarize


def summary(rewards: list[float | None], **fields: Any) -> Summary:
    state = RunState()
    state.apply(started(len(rewards) // 2, 2, **fields))
    for row, reward in enumerate(rewards):
        state.apply(finished(row, reward, input_tokens=1000, output_tokens=500))
    state.apply(RunFinished(0, 1065.0, "finished", 0))
    return summarize(state)


def cells(line: str) -> list[str]:
    return line.split()


def test_a_table_has_a_line_an_evaluation_and_says_what_varies() -> None:
    prices: dict[str, Any] = {"input_price": 1.0, "output_price": 2.0}
    lines = list(
        table_lines(
            [
                summary([1.0, 0.0, 1.0, 1.0], sampling_args={"temperature": 0.0, "n": 1}, **prices),
                summary(
                    [0.0, 0.0, None, 0.0], sampling_args={"temperature": 0.5, "n": 1}, **prices
                ),
            ],
            width=120,
        )
    )
    assert cells(lines[0]) == [
        *("environment", "varies", "ex", "rolls", "reward", "err=0", "pass@r", "tokens", "cost"),
        *("err", "time"),
    ]
    assert cells(lines[1]) == [
        *("my-env", "temperature=0.0", "2", "4", "0.75", "0.20–0.97", "1.00", "6.0k"),
        *("$0.0080", "0", "1:05"),
    ]
    assert cells(lines[2])[:6] == ["my-env", "temperature=0.5", "2", "4", "0.00", "0.00–0.66"]
    assert cells(lines[2])[6] == "0.00"
    assert cells(lines[2])[-2] == "1"
    assert any(line.startswith("err=0: the reward with errored rollouts") for line in lines)
    assert "reward: the mean and its 95% interval (Wilson)" in lines


def test_a_table_names_every_rule_that_gave_an_interval() -> None:
    lines = list(table_lines([summary([1.0, 0.0]), summary([0.2, 0.3, 0.4, 0.4])]))
    assert "reward: the mean and its 95% interval (t; Wilson)" in lines


@pytest.mark.parametrize(("errors", "reported"), [(1, "1:05"), (2, "errored"), (6, "errored")])
def test_one_with_many_errors_is_marked(errors: int, reported: str) -> None:
    rewards = [None] * errors + [1.0] * (6 - errors)
    assert cells(list(table_lines([summary(rewards)]))[1])[-1] == reported


def test_what_is_known_of_no_evaluation_has_no_column() -> None:
    lines = list(table_lines([summary([1.0, 0.0])] * 2))
    assert "cost" not in lines[0] and "varies" not in lines[0]
    assert lines[-1].startswith("cost: not known")
    assert list(table_lines([])) == []


def test_a_run_that_was_stopped_is_marked() -> None:
    state = RunState()
    state.apply(started(2, 2))
    state.apply(finished(0, 1.0))
    state.apply(RunFinished(0, 1001.0, "interrupted", 130))
    lines = list(table_lines([summarize(state), summary([1.0, 1.0])]))
    assert cells(lines[1])[-1] == "stopped"
    assert cells(lines[2])[-1] != "stopped"


@pytest.mark.parametrize("width", [80, 100, 200])
def test_long_names_are_cut_to_the_width(width: int) -> None:
    long = [
        summary(
            [1.0, 0.0],
            env_id=f"an-environment-with-a-long-name-{i}",
            model=f"organisation/a-model-of-many-words-{i}\x1b[31m",
            input_price=1.0,
            output_price=1.0,
        )
        for i in range(3)
    ]
    lines = list(table_lines(long, width=width))
    assert max(map(len, lines)) <= width
    assert "\x1b" not in "".join(lines)


def test_only_settings_that_differ_vary() -> None:
    runs = [
        summary([1.0, 0.0], model="a", env_args={"split": "x", "n": 1}),
        summary([1.0, 0.0], model="b", env_args={"split": "x", "n": 2}),
        summary([1.0, 0.0], model="b", env_args={"split": "x"}),
    ]
    assert what_varies(runs) == ["a, n=1", "b, n=2", "b"]
    assert what_varies(runs[:1]) == [""]


def test_saved_runs_are_reported_alone_and_together(program: Program) -> None:
    for environment in ("word-guess", "reverse-text"):
        done = run_here(program, environment, "-m", "demo", "-n", "2", "-r", "2", "-s")
        assert done.code == 0, done
    first, second = (str(run.path) for run in program.runs())
    alone = command_here(program, "report", first)
    assert alone.code == 0, alone
    assert "Results:" in alone.out and "Latency" in alone.out
    newest = command_here(program, "report")
    assert newest.code == 0, newest
    assert "Results saved to: outputs/evals/reverse-text--" in newest.out
    found = json.loads(command_here(program, "report", "--json").out)
    assert found["path"] in (first, second), "the whole path, wherever it is read"
    short = command_here(program, "report", first, "-A")
    assert "Results:" in short.out and "Latency" not in short.out
    together = command_here(program, "report", first, second)
    assert together.code == 0, together
    assert [line.split()[0] for line in together.out.splitlines()[:3]] == [
        "environment",
        "reverse-text",
        "word-guess",
    ]
    found = json.loads(command_here(program, "report", first, second, "--json").out)
    assert [one["settings"]["env_id"] for one in found["evaluations"]] == [
        "reverse-text",
        "word-guess",
    ]


def test_runs_that_are_not_there_are_refused_all_at_once(program: Program) -> None:
    nothing = command_here(program, "report")
    assert nothing.code == 2
    assert "there is no run to report on" in nothing.err
    done = command_here(program, "report", "here", "there", "--json")
    assert done.code == 2
    assert [one["where"] for one in json.loads(done.out)["faults"]] == ["here", "there"]
    assert "error: here:" in done.err and "error: there:" in done.err


def test_a_run_of_another_program_is_reported(program: Program) -> None:
    run = Path(__file__).parents[1] / "data" / "runs" / "verifiers-0.1.11"
    done = command_here(program, "report", str(run), "--json")
    assert done.code == 0, done
    found = json.loads(done.out)
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert found["counts"]["finished"] == len(rows)
    assert found["latency"]["model_call_s"] == {"n": 0, "p50": None, "p90": None, "p99": None}
    assert found["refused_requests"] is None


def test_tokens_that_a_file_has_as_one_number_are_reported_as_one(program: Program) -> None:
    results = Path(__file__).parents[1] / "data" / "others" / "osmosis.json"
    done = command_here(program, "report", str(results))
    assert done.code == 0, done
    assert "Tokens: 150 in all; a rollout 50" in done.out.splitlines()


def test_a_row_is_not_turned_around_on_a_terminal_and_files_hold_what_is_there(
    program: Program,
) -> None:
    program.environment("שלום", TWO_TURNS)
    for number in ("1", "2"):
        assert program.run("שלום", "-m", "demo", "-n", "1", "-r", number, "-s").code == 0
    words = ("report", *(str(run.path) for run in program.runs()))
    assert "שלום " in program.run(*words).out
    terminal = Terminal(program.folder, program.env, *words)
    try:
        assert terminal.finish() == 0
        assert terminal.raw.count("שלום\u200e ".encode()) == 2
    finally:
        terminal.close()
