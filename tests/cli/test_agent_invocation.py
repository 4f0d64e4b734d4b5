"""What of one call of `tui-eval agent` is as in `tui-eval run`: each flag by what it does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from agent_here import agent_here
from click.testing import CliRunner
from command_here import command_here
from program import Finished, Program, chat_answer, wait_until
from servers import FaultServer, Reply
from terminal import Terminal

from tui_eval.cli.agent.agent import command
from tui_eval.cli.agent.agent_request import SHARED, make_request
from tui_eval.cli.run import command as run_command

PROJECT = Path(__file__).parents[1] / "osmosis_projects" / "calculator"
CHAT = "/v1/chat/completions"
SEVEN = Reply(body=chat_answer("It is 7"))
AGENT = ("-m", "server:agent_loop", "-d", "test_data.jsonl", "--eval-fn", "rewards:compute_reward")


@pytest.fixture
def calculator(program: Program, fault_server: FaultServer) -> Program:
    shutil.copytree(PROJECT, program.folder, dirs_exist_ok=True)
    fault_server.script(CHAT, [SEVEN])
    return program


def agent(program: Program, server: FaultServer, *more: str) -> Finished:
    return agent_here(program, *AGENT, "--model", "m", "-b", f"{server.url}/v1", *more)


def test_options_that_run_has_too_are_the_same() -> None:
    ours = {one.name: one for one in command.params}
    for theirs in run_command.params:
        if theirs.name in SHARED:
            assert ours[theirs.name].to_info_dict() == theirs.to_info_dict()


def test_an_agents_json_is_all_of_stdout(calculator: Program, fault_server: FaultServer) -> None:
    beats = ("--heartbeat-url", f"{fault_server.url}/beat", "--heartbeat-status")
    fault_server.script("/beat", [Reply()])
    sampling = ("-T", "0.5", "-t", "64", "--header", "X-Mine: yes")
    more = (*sampling, *beats, "--timeout", "3", "-o", "out.json")
    fault_server.script(CHAT, [SEVEN, SEVEN, Reply(hang=True)])
    arguments = (*AGENT, "--model", "m", "-b", f"{fault_server.url}/v1", "--json", *more)
    done = calculator.run("agent", *arguments)
    assert done.code == 3, done
    reported = json.loads(done.out)
    assert reported["counts"]["rollouts"] == 3
    scores = reported["eval_fns"]["rewards:compute_reward"]
    assert (scores["mean"], scores["failed_runs"]) == (pytest.approx(1 / 3), 1)
    assert "RolloutTimeoutError" in reported["errors"], "timeout"
    assert "Scores written to: out.json" in done.err
    calls = [one for one in fault_server.requests if one.path == CHAT]
    assert {one.headers["X-Mine"] for one in calls} == {"yes"}
    assert {(one.json()["temperature"], one.json()["max_tokens"]) for one in calls} == {(0.5, 64)}
    queries = [one.query for one in fault_server.requests if one.path == "/beat"]
    assert sorted(queries) == ["", "", "", "status=finished", "status=started"]


def test_a_quiet_agents_json_is_all_there_is(
    calculator: Program, fault_server: FaultServer
) -> None:
    arguments = (*AGENT, "--model", "m", "-b", f"{fault_server.url}/v1", "--json", "-q")
    done = calculator.run("agent", *arguments, "-o", "out.json")
    assert done.code == 0, done
    assert json.loads(done.out)["counts"]["used"] == 3
    assert done.err.split("\n") == ["", "Scores written to: out.json", ""]
    assert (calculator.folder / "out.json").is_file()


def test_an_agents_dry_run_reports_and_runs_nothing(
    calculator: Program, fault_server: FaultServer
) -> None:
    arguments = ("agent", *AGENT, "--model", "m", "-b", f"{fault_server.url}/v1", "--dry-run")
    done = command_here(calculator, *arguments, "--n", "2")
    assert done.code == 0, done
    assert "Rollouts: 3 examples x 2 = 6" in done.out
    assert "rewards:compute_reward, weight 1" in done.out
    settings = {line.split()[0]: line for line in done.out.splitlines() if line.endswith(")")}
    assert settings["rollouts_per_example"].endswith("  2  (--n)")
    assert settings["max_concurrent"].endswith("  1  (tui-eval agent)")
    assert settings["env_args"].endswith("(--module, --dataset, --eval-fn)")
    assert settings["api_base_url"].endswith("(--base-url)")
    wrong = command_here(calculator, *arguments, "--json", "--max-cost", "0", "--n", "x")
    assert wrong.code == 2, wrong
    wheres = [fault["where"] for fault in json.loads(wrong.out)["faults"]]
    assert wheres == ["--n", "--max-cost"]
    assert fault_server.requests == [] and calculator.runs() == []


def test_an_agents_budget_stops_softly_and_a_short_summary_has_no_tables(
    calculator: Program, fault_server: FaultServer
) -> None:
    registry = (
        f'[[endpoint]]\nendpoint_id = "mini"\nmodel = "m"\nurl = "{fault_server.url}/v1"\n'
        "input_price = 100\noutput_price = 200\n"
    )
    (calculator.folder / "r.toml").write_text(registry)
    for flag, limit, why in (
        ("--max-total-tokens", "20", "30 tokens are used, the limit is 20"),
        ("--max-cost", "0.001", "$0.0020 is spent, the limit is $0.0010"),
    ):
        arguments = (*AGENT, "-e", "r.toml", "--model", "mini", flag, limit)
        done = agent_here(calculator, *arguments, "-A")
        assert done.code == 4, done
        assert f"Stopped: {why}." in done.out
        assert "Latency" not in done.out, "-A"
    done = agent_here(calculator, *arguments, "--abbreviated-summary")
    assert "Latency" not in done.out
    assert "Latency" in agent_here(calculator, *arguments).out


def test_an_agents_errors_and_scores_speak_of_examples_and_rollouts(
    calculator: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(400), SEVEN])
    arguments = (*AGENT, "--model", "m", "-b", f"{fault_server.url}/v1", "--limit", "2")
    done = calculator.run("agent", *arguments)
    assert done.code == 3, done
    assert "error: example 0, rollout 0: " in done.err
    assert "Examples: 2, rollouts of each: 1, in all: 2, 1 failed" in done.out
    assert "1 rollout without a score, counted as 0" in done.out
    shown = CliRunner().invoke(command, ["--help"]).output
    assert "runs of each" not in shown.lower() and "runs in flight" not in shown.lower()


@pytest.mark.slow
def test_an_agents_screen_is_requested_and_reported_where_there_is_no_terminal(
    calculator: Program, fault_server: FaultServer
) -> None:
    words = (*AGENT, "--model", "m", "-b", f"{fault_server.url}/v1", "-s", "--limit", "1")
    done = calculator.run("agent", *words, "-u", "-t", "9")
    assert done.code == 0, done
    assert "-u/--tui: there is no terminal, so lines are printed" in done.err
    terminal = Terminal(calculator.folder, calculator.env, "agent", *words, "--tui")
    try:
        terminal.wait_for("1/1")
        wait_until(
            lambda: all(not (run.path / "lock").exists() for run in calculator.runs()), "it is done"
        )
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()


def test_a_number_past_64_bits_is_reported_by_its_own_flag() -> None:
    typed = {"module": "m:x", "dataset": "d.csv", "eval_fn": ("m:f",), "max_turns": "9" * 23}
    request = make_request(typed)
    what = f"{'9' * 23} is too large; whole numbers have 64 bits"
    assert request["faults"] == [("--max-turns", what, "")]
    assert "max_turns" not in request["raw"]["env_args"]


def test_scores_are_not_written_over_the_dataset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("{}\n")
    typed = {"module": "m:x", "dataset": "rows.jsonl", "eval_fn": ("m:f",)}
    request = make_request({**typed, "output": str(tmp_path / "rows.jsonl")})
    assert request["faults"] == [
        ("-o/--output", f"{tmp_path / 'rows.jsonl'} is the dataset; name another file", "")
    ]


def test_lines_on_a_terminal_where_no_screen_is_wanted(
    calculator: Program, fault_server: FaultServer
) -> None:
    words = (*AGENT, "--model", "m", "-b", f"{fault_server.url}/v1", "--no-screen")
    terminal = Terminal(calculator.folder, calculator.env, "agent", *words)
    try:
        assert terminal.finish() == 0
    finally:
        terminal.close()
    assert b"Results:" in terminal.raw and b"\x1b[?1049h" not in terminal.raw
    assert not (calculator.folder / "local_debug").exists()
