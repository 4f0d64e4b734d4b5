"""Tokens of each kind from the wire to rows, sums and reports."""

from __future__ import annotations

import csv
import json
from typing import Any

from command_here import command_here
from program import TWO_TURNS, Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
BAD = Reply(body={"choices": []})


def answer(cached: int = 0, reasoning: int = 0) -> Reply:
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    details: dict[str, Any] = {"prompt_tokens_details": {"cached_tokens": cached}}
    details["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return Reply(body=chat_answer("yes") | {"usage": {**usage, **details}})


def words(server: FaultServer) -> tuple[str, ...]:
    return ("-m", "m", "-b", f"{server.url}/v1", "-n", "1", "-r", "1")


def test_rows_and_sums_have_the_tokens_of_each_kind(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("two-turns", TWO_TURNS)
    fault_server.script(CHAT, [answer(), answer(cached=90, reasoning=15)])
    done = run_here(program, "two-turns", *words(fault_server), "--json")
    assert done.code == 0, done
    tokens = json.loads(done.out)["tokens"]
    assert (tokens["input"], tokens["cached"], tokens["reasoning"]) == (200, 90, 15)
    assert "cache_write" not in tokens
    run = program.only_run()
    (row,) = run.rows
    assert row["token_usage"] == {"input_tokens": 200, "output_tokens": 40}
    assert row["tui_eval"]["token_kinds"] == {"cached": 90, "reasoning": 15}
    first, second = row["tui_eval"]["steps"]
    assert "token_kinds" not in first, "a missing key means the ordinary"
    assert second["token_kinds"] == {"cached": 90, "reasoning": 15}
    assert run.metadata["numbers"]["tokens"]["cached"] == 90
    report = command_here(program, "report", str(run.path))
    assert "90 cached, 15 of thoughts of them" in report.out
    assert (
        json.loads(command_here(program, "report", str(run.path), "--json").out)["tokens"] == tokens
    )
    table = program.folder / "rows.csv"
    assert (
        command_here(program, "export", str(run.path), "-o", str(table), "--format", "csv").code
        == 0
    )
    (line,) = csv.DictReader(table.read_text().splitlines())
    assert (line["tokens.cached"], line["tokens.reasoning"]) == ("90", "15")


def test_kinds_of_lost_attempts_and_of_rows_that_run_again_are_counted_on(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("two-turns", TWO_TURNS)
    cached = answer(cached=90)
    fault_server.script(CHAT, [cached, BAD, cached, Reply(400), cached, cached])
    first = run_here(program, "two-turns", *words(fault_server), "--max-retries", "1", "--json")
    assert first.code == 3, first
    assert json.loads(first.out)["tokens"]["cached"] == 180
    (row,) = program.only_run().rows
    assert row["tui_eval"]["lost_usage"]["token_kinds"] == {"cached": 90}
    done = run_here(program, "run", "--resume", str(program.only_run().path), "--json")
    assert done.code == 0, done
    tokens = json.loads(done.out)["tokens"]
    assert (tokens["input"], tokens["cached"]) == (400, 360)
    again = command_here(program, "report", str(program.only_run().path), "--json")
    assert json.loads(again.out)["tokens"] == tokens


def test_kinds_of_generated_rollouts_outlive_a_stop_before_their_scores(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment(
        "compared",
        """
        import tui_eval as vf

        def compared(completions, **kwargs):
            return [1.0 for _ in completions]

        def load_environment():
            rubric = vf.Rubric(funcs=[compared])
            return vf.SingleTurnEnv(dataset=[{"question": "?"}], rubric=rubric)
        """,
    )
    one = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-r", "2", "-c", "1")
    fault_server.script(CHAT, [answer(cached=90), answer()])
    assert run_here(program, "compared", *one, "--max-total-tokens", "100").code == 4
    assert program.only_run().rows == []
    done = run_here(program, "run", "--resume", str(program.only_run().path), "--json")
    assert done.code == 0, done
    assert json.loads(done.out)["tokens"]["cached"] == 90
    kinds = [row["tui_eval"].get("token_kinds") for row in program.only_run().rows]
    assert kinds.count({"cached": 90}) == 1
