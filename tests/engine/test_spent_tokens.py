"""Tokens of attempts that were run again: they were paid for, so they are counted."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

from command_here import command_here
from program import TWO_TURNS, Program, Run, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.runs.lock import holder

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
BAD = Reply(body={"choices": []})


def spent(program: Program, server: FaultServer, env_id: str, code: int) -> dict[str, Any]:
    """The reported tokens of one rollout that may be tried twice."""
    words = ("-m", "m", "-b", f"{server.url}/v1", "-n", "1", "-r", "1", "--max-retries", "1")
    done = run_here(program, env_id, *words, "--json")
    assert done.code == code, done
    found: dict[str, Any] = json.loads(done.out)["tokens"]
    return found


def test_tokens_of_a_lost_attempt_are_counted(program: Program, fault_server: FaultServer) -> None:
    program.environment("two-turns", TWO_TURNS)
    fault_server.script(CHAT, [GOOD, BAD, GOOD, GOOD])
    tokens = spent(program, fault_server, "two-turns", code=0)
    assert (tokens["input"], tokens["output"], tokens["total"]) == (30, 15, 45)
    assert tokens["lost"] == {"input": 10, "output": 5}
    assert tokens["per_rollout"] == {"input": 20, "output": 10}
    (row,) = program.only_run().rows
    assert row["token_usage"] == {"input_tokens": 20, "output_tokens": 10}
    later = command_here(program, "report", str(program.only_run().path))
    assert "Tokens: 30 in, 15 out, 45 in all; a rollout 20 in, 10 out" in later.out
    assert "15 of them in attempts that were cut short or run again" in later.out


def test_tokens_of_answers_that_are_of_no_use_are_counted(
    program: Program, fault_server: FaultServer
) -> None:
    used = {"usage": {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}}
    refused = [Reply(body={"choices": [], **used}), Reply(body={"choices": [], **used})]
    fault_server.script(CHAT, refused)
    tokens = spent(program, fault_server, "reverse-text", code=3)
    assert (tokens["input"], tokens["output"], tokens["total"]) == (14, 8, 22)
    assert tokens["lost"] == {"input": 7, "output": 4}
    (row,) = program.only_run().rows
    assert row["token_usage"] == {"input_tokens": 7, "output_tokens": 4}


def test_a_rollout_that_slept_does_not_run_again_once_the_budget_is_spent(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [BAD, GOOD])
    words = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-r", "1", "-c", "1")
    budget = ("--max-retries", "1", "--max-total-tokens", "10")
    done = run_here(program, "reverse-text", *words, *budget)
    assert done.code in (3, 4), done
    assert len([one for one in fault_server.requests if one.path == CHAT]) == 2


def test_the_cost_of_a_saved_run_is_that_of_the_prices_that_it_was_made_with(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD])
    words = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-r", "1")
    assert run_here(program, "reverse-text", *words).code == 0
    run = program.only_run()
    plan = run.path / "run.toml"
    plan.write_text(f"input_price = 1000.0\noutput_price = 2000.0\n{plan.read_text()}")
    found = json.loads(command_here(program, "report", str(run.path), "--json").out)
    cost = found["cost"]
    assert (cost["usd"], cost["input_price"], cost["output_price"]) == (0.04, 1000.0, 2000.0)
    assert cost["list_price"] is None


def test_tokens_of_a_row_that_runs_again_are_counted_on(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("two-turns", TWO_TURNS)
    fault_server.script(CHAT, [GOOD, Reply(400), GOOD, Reply(400), GOOD])
    words = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-r", "1")
    assert run_here(program, "two-turns", *words).code == 3
    run = program.only_run()
    assert run_here(program, "run", "--resume", str(run.path)).code == 3
    done = run_here(program, "run", "--resume", str(run.path), "--json")
    assert done.code == 0, done
    tokens = json.loads(done.out)["tokens"]
    assert tokens["lost"] == {"input": 20, "output": 10}, "of both sessions before"
    assert tokens["total"] == 60
    assert len((run.path / "superseded.jsonl").read_text().splitlines()) == 2


def test_what_is_in_flight_counts_for_the_budget_also_where_the_engine_was_killed(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("two-turns", TWO_TURNS)
    fault_server.script(CHAT, [GOOD, GOOD, GOOD, Reply(hang=True)])
    words = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-r", "4", "-c", "1")
    process = program.start("two-turns", *words, "-s")
    run = wait_until(lambda: next(iter(program.runs()), None), "a run")
    unfinished = [{"example_id": 0, "rollout": 1, "input_tokens": 10, "output_tokens": 5}]
    wait_until(lambda: noted(run) == unfinished, "what is in flight is noted")
    held = holder(run.path / "lock")
    assert held is not None
    os.kill(held.pid, signal.SIGKILL)
    assert program.finish(process).code == 1
    report = command_here(program, "report", str(run.path), "--json")
    assert json.loads(report.out)["tokens"]["total"] == 45
    before, budget = len(fault_server.requests), ("--max-total-tokens", "45")
    again = run_here(program, "run", "--resume", str(run.path), *budget)
    assert again.code == 4, again
    assert len(fault_server.requests) == before


def noted(run: Run) -> Any:
    path = run.path / "metadata.json"
    return run.metadata.get("unfinished") if path.exists() else None
