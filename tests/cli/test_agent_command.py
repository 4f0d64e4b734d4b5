"""`tui-eval agent` on projects as people write them for the Osmosis SDK."""

from __future__ import annotations

import json
import os
import signal

import pytest
from agent_here import agent_here, copy_project, results, rows_by_prompt, write_rows
from command_here import command_here
from program import Finished, Program, chat_answer, tool_call, wait_until
from servers import FaultServer, Reply
from terminal import Terminal

CHAT = "/v1/chat/completions"


def agent_words(program: Program, words: str) -> Finished:
    return agent_here(program, *words.split())


# The seed's own command lines: `<your-model>` is served by the loopback server, the providers'
# models are aliases of a registry that leads there.
SEED = [
    "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward "
    "--model <your-model> --base-url http://localhost:8000/v1",
    "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:exact_match "
    "--eval-fn rewards:partial_match --model <your-model> --base-url http://localhost:8000/v1",
    "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward "
    "--model openai/gpt-5-mini",
    "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward "
    "--model anthropic/claude-sonnet-4-5",
    "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward --n 5 "
    "--model <your-model> --base-url http://localhost:8000/v1",
    "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward --n 5 "
    "--pass-threshold 0.5 --model <your-model> --base-url http://localhost:8000/v1",
    "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward "
    "--model <your-model> --base-url http://localhost:8000/v1 --batch-size 5",
    "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward --n 10 "
    "--batch-size 5 --model <your-model> --base-url http://localhost:8000/v1",
    "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward --n 5 "
    "--model <your-model> --base-url http://localhost:8000/v1 -o results.json",
]


@pytest.mark.parametrize("line", SEED)
def test_the_lines_of_the_manual(line: str, program: Program, fault_server: FaultServer) -> None:
    copy_project(program, "calculator")
    fault_server.script(CHAT, [Reply(body=chat_answer("The answer is 7"))])
    (program.folder / "configs").mkdir()
    (program.folder / "configs" / "endpoints.toml").write_text(
        "".join(
            f'[[endpoint]]\nendpoint_id = "{name}"\nmodel = "m"\nurl = "{fault_server.url}/v1"\n'
            for name in ("openai/gpt-5-mini", "anthropic/claude-sonnet-4-5")
        )
    )
    line = line.replace("http://localhost:8000", fault_server.url)
    done = agent_words(program, line.replace("<your-model>", "org/my-model"))
    assert done.code == 0, done
    assert done.err == ""
    requested = {request.json()["model"] for request in fault_server.requests}
    assert requested == ({"org/my-model"} if "<your-model>" in line else {"m"})
    n = int(line.partition("--n ")[2].split()[0]) if "--n " in line else 1
    assert len(program.only_run().rows) == len(fault_server.requests) == 3 * n
    assert f"Examples: 3, rollouts of each: {n}, in all: {3 * n}, 0 failed" in done.out
    if "-o" in line:
        whole = results(program)
        assert list(whole["config"])[:4] == ["model", "n_runs", "pass_threshold", "eval_fns"]
        assert whole["config"]["model"] == "org/my-model"
        scores = whole["summary"]["eval_fns"]["rewards:compute_reward"]
        third = pytest.approx(1 / 3)
        assert scores["mean"] == third
        assert scores["std"] == pytest.approx((2 / 9) ** 0.5)
        assert (scores["min"], scores["max"]) == (0.0, 1.0)
        rates = {name: value for name, value in scores.items() if name.startswith("pass")}
        assert rates == {"pass_at_1": third, "pass_at_3": third, "pass_at_5": third}
        assert whole["summary"]["total_rows"] == 3
        assert whole["summary"]["total_runs"] == 15
        assert whole["summary"]["total_tokens"] == 15 * 15
        assert whole["summary"]["total_duration_ms"] > 0
        run = whole["rows"][0]["runs"][0]
        assert (run["run_index"], run["success"], run["tokens"]) == (0, True, 15)
        assert run["scores"] == {"rewards:compute_reward": 1.0}
        assert whole["conversations"] == str(program.only_run().path / "results.jsonl")


def test_tools_of_an_agent_are_offered_called_and_recorded(
    program: Program, fault_server: FaultServer
) -> None:
    copy_project(program, "calculator")
    calls = [
        tool_call("add", '{"a": 3, "b": 4}', "c1"),
        tool_call("divide", '{"a": 1, "b": 0}', "c2"),
        tool_call("divide", "not json", "c3"),
    ]
    fault_server.script(
        CHAT, [Reply(body=chat_answer("", tool_calls=calls)), Reply(body=chat_answer("It is 7"))]
    )
    words = "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward --limit 1"
    served = f"--model m --base-url {fault_server.url}/v1 --temperature 0.5 --max-tokens 64"
    done = program.run("agent", *f"{words} {served} --debug".split())
    assert done.code == 0, done
    first, second = (request.json() for request in fault_server.requests)
    assert (first["temperature"], first["max_tokens"]) == (0.5, 64)
    assert [tool["function"]["name"] for tool in first["tools"]] == ["add", "divide"]
    assert first["tools"][0]["function"]["parameters"]["properties"]["a"] == {
        "type": "number",
        "description": "First number",
    }
    unparsed = json.dumps({"unparsed_arguments": "not json"}, separators=(",", ":"))
    replayed = [*calls[:2], tool_call("divide", unparsed, "c3")]
    assert second["messages"][2]["tool_calls"] == replayed
    assert [m["content"] for m in second["messages"][3:]][:2] == ["7", "Error: Division by zero"]
    (row,) = program.only_run().rows
    recorded = [(c["id"], c["name"], c["error"]) for c in row["tui_eval"]["tool_calls"]]
    assert recorded[:2] == [("c1", "add", None), ("c2", "divide", "Division by zero")]
    assert recorded[2][:2] == ("c3", "divide")
    assert recorded[2][2].startswith("The arguments are no JSON")
    assert [m["role"] for m in row["completion"]] == ["assistant", *["tool"] * 3, "assistant"]
    assert row["metrics"]["total_tool_calls"] == 3
    assert (row["reward"], row["stop_condition"]) == (1.0, "stop")
    events = (program.folder / "local_debug" / "eval-0-run-0.jsonl").read_text().splitlines()
    assert [json.loads(event)["event"] for event in events] == ["before_model"] * 2


def test_a_class_with_dict_tools_and_a_csv_file(
    program: Program, fault_server: FaultServer
) -> None:
    folder = copy_project(program, "librarian")
    (folder / "books.csv").write_text(
        "system_prompt,USER_PROMPT,ground_truth,Level,may_search\n"
        'Be brief.,"Where is ""Dune""?",A3,easy,yes\n'
        "Be brief.,Where is Emma?,B1,hard,\n"
    )
    call = tool_call("find_shelf", '{"title": "Dune"}')
    fault_server.script(
        CHAT, [Reply(body=chat_answer("", tool_calls=[call])), Reply(body=chat_answer("On A3."))]
    )
    words = "-m librarian:Librarian -d books.csv --eval-fn librarian:shelf_named --temperature 0.9"
    done = agent_words(program, f"{words} --model m --base-url {fault_server.url}/v1")
    assert done.code == 0, done
    assert [request.json()["temperature"] for request in fault_server.requests] == [0.25] * 3
    assert ["tools" in request.json() for request in fault_server.requests] == [True, True, False]
    rows = rows_by_prompt(program.only_run())
    assert rows['Where is "Dune"?']["reward"] == 1.0
    assert rows["Where is Emma?"]["reward"] == 0.0
    (used,) = rows['Where is "Dune"?']["tui_eval"]["tool_calls"]
    assert (used["id"], used["name"], used["error"]) == ("call_1", "find_shelf", None)
    assert rows["Where is Emma?"]["info"] == {"columns": {"Level": "hard", "may_search": None}}


def test_full_mode_and_async_functions_on_the_demo_endpoint(program: Program) -> None:
    copy_project(program, "interview")
    names = ["answers_share", "begins_with_system", "knows_no_truth"]
    functions = " ".join(f"--eval-fn interview:{name}" for name in names)
    done = agent_words(
        program, f"-m interview:interview -d people.json {functions} --model demo --n 2 "
        "--batch-size 4 -o out.json"
    )  # fmt: skip
    assert done.code == 0, done
    whole = results(program, "out.json")
    assert whole["config"]["model"] == "demo"
    scores = [row["runs"][0]["scores"] for row in whole["rows"]]
    assert [score["interview:answers_share"] for score in scores] == [3 / 7, 1 / 3]
    assert [score["interview:begins_with_system"] for score in scores] == [1.0, 1.0]
    assert [score["interview:knows_no_truth"] for score in scores] == [1.0, 1.0]
    rows = program.only_run().rows
    ada = next(row for row in rows if row["prompt"][0]["content"] == "You are Ada.")
    assert [m["role"] for m in ada["completion"]] == ["assistant", "user"] * 2 + ["assistant"]
    assert ada["metrics"]["num_turns"] == 3


def test_scores_pass_by_the_one_tolerance_and_those_that_are_no_number_are_none(
    program: Program, fault_server: FaultServer
) -> None:
    copy_project(program, "troubles")
    write_rows(program, ["works"])
    (program.folder / "scores.py").write_text(
        "def rounded(solution_str, ground_truth, extra_info):\n    return 0.7 + 0.2 + 0.1\n"
        "def huge(solution_str, ground_truth, extra_info):\n    return 1e308\n"
    )
    words = "-m troubles:troubles -d rows.jsonl --eval-fn scores:rounded --model demo --n 2"
    assert agent_words(program, f"{words} -o results.json -q").code == 0
    scores = results(program)["summary"]["eval_fns"]["scores:rounded"]
    assert (scores["pass_at_1"], scores["failed_runs"]) == (1.0, 0)
    assert program.only_run().metadata["pass_at_k"] == {"1": 1.0, "2": 1.0}
    done = agent_words(program, f"{words} --eval-fn scores:huge -o huge.json -q")
    assert done.code == 0, done
    found = results(program, "huge.json")["summary"]["eval_fns"]["scores:huge"]
    assert (found["mean"], found["failed_runs"], found["mean_without_failed"]) == (0.0, 2, None)


def test_an_interrupted_run_writes_what_there_is_and_is_resumed(
    program: Program, fault_server: FaultServer
) -> None:
    copy_project(program, "troubles")
    write_rows(program, ["works", "works", "works"])
    good = Reply(body=chat_answer("yes"))
    fault_server.script(CHAT, [good, Reply(hang=True)])
    words = (
        "agent -m troubles:troubles -d rows.jsonl --eval-fn troubles:fine --n 2 "
        f"--model m --base-url {fault_server.url}/v1 -o results.json"
    ).split()
    process = program.start(*words)
    wait_until(lambda: len(fault_server.requests) == 2, "the second run is under way")
    process.send_signal(signal.SIGINT)
    done = program.finish(process)
    assert done.code == 130, done
    summary = results(program)["summary"]
    assert (summary["total_runs"], summary["missing_runs"]) == (1, 5)
    assert summary["eval_fns"]["troubles:fine"]["mean"] == 1.0
    assert "in all: 1, 0 failed, 5 not done" in done.out
    fault_server.script(CHAT, [good])
    path = str(program.only_run().path)
    done = program.run("agent", "--resume", path, "-o", "later.json")
    assert done.code == 0, done
    assert program.only_run().places() == [(i, j) for i in range(3) for j in range(2)]
    assert len(fault_server.requests) == 2 + 5
    whole = results(program, "later.json")
    assert (whole["summary"]["total_runs"], whole["summary"]["missing_runs"]) == (6, 0)
    done = program.run(*words, "--resume")
    assert done.code == 0, done


def test_offset_and_limit_choose_rows_by_their_place(
    program: Program, fault_server: FaultServer
) -> None:
    copy_project(program, "troubles")
    write_rows(program, [f"row {i}" for i in range(6)])
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    words = "-m troubles:troubles -d rows.jsonl --eval-fn troubles:fine --offset 2 --limit 3"
    url = f"--base-url {fault_server.url}/v1"
    done = agent_words(program, f"{words} --model m {url} -o results.json --batch-size 1")
    assert done.code == 0, done
    requested = [request.json()["messages"][-1]["content"] for request in fault_server.requests]
    assert requested == ["row 2", "row 3", "row 4"]
    assert [row["row_index"] for row in results(program)["rows"]] == [2, 3, 4]
    assert fault_server.most_at_once == 1


def test_the_batch_size_is_how_many_runs_are_in_flight(
    program: Program, fault_server: FaultServer
) -> None:
    copy_project(program, "troubles")
    write_rows(program, ["works"] * 8)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.3)])
    words = "-m troubles:troubles -d rows.jsonl --eval-fn troubles:fine --batch-size 4"
    done = agent_words(program, f"{words} --model m --base-url {fault_server.url}/v1")
    assert done.code == 0, done
    assert fault_server.most_at_once == 4


def test_a_run_of_an_agent_opens_like_any_other(program: Program) -> None:
    copy_project(program, "interview")
    words = "-m interview:interview -d people.json --eval-fn interview:answers_share --model demo"
    assert agent_words(program, words).code == 0
    run = program.only_run()
    assert run.path.is_relative_to(program.state)
    done = command_here(program, "open", str(run.path))
    assert done.code == 0
    assert "interview:answers_share: 0.38" in done.out
    assert os.listdir(program.folder / "state" / "evals") == ["osmosis-agent--demo-scripted-policy"]


@pytest.mark.slow
def test_on_the_screen_scores_come_when_it_is_left(program: Program) -> None:
    copy_project(program, "interview")
    words = "-m interview:interview -d people.json --eval-fn interview:answers_share --model demo"
    terminal = Terminal(program.folder, program.env, "agent", *words.split(), "-o", "out.json")
    try:
        terminal.wait_for("2/2")
        terminal.wait_for("interview:answers")
        wait_until(lambda: not (program.only_run().path / "lock").exists(), "the engine is done")
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    said = terminal.raw.decode().rsplit("\x1b", 1)[-1]
    assert "Examples: 2, rollouts of each: 1, in all: 2, 0 failed" in said
    assert "Scores written to: out.json" in said
    assert results(program, "out.json")["summary"]["total_runs"] == 2
