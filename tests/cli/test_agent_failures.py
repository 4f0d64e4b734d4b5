"""`tui-eval agent` where something is wrong: what is refused, what fails, what is scored."""

from __future__ import annotations

import pytest
from agent_here import agent_here, copy_project, results, rows_by_prompt, write_rows
from program import Finished, Program, chat_answer
from servers import FaultServer, Reply

from tui_eval.stats.intervals import wilson

CHAT = "/v1/chat/completions"
KEY = "sk-very-secret-value"


def agent_words(program: Program, words: str) -> Finished:
    return agent_here(program, *words.split())


def test_what_goes_wrong_is_kept_with_its_text_and_its_tokens(
    program: Program, fault_server: FaultServer
) -> None:
    copy_project(program, "troubles")
    requested = [
        "works",
        "gives up",
        "raises",
        "forgets",
        "bad messages",
        "bad tool",
        "is scored badly",
    ]
    write_rows(program, requested)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    words = "-m troubles:troubles -d rows.jsonl --eval-fn troubles:fine --eval-fn troubles:picky"
    done = agent_words(
        program, f"{words} --model m --base-url {fault_server.url}/v1 -o results.json"
    )
    assert done.code == 3, done
    runs = dict(zip(requested, (row["runs"][0] for row in results(program)["rows"]), strict=True))
    texts = {name: run.get("error", "") for name, run in runs.items()}
    assert texts["works"] == texts["is scored badly"] == ""
    assert "the shop is closed" in texts["gives up"]
    assert "KeyError" in texts["raises"] and "a drawer that is not there" in texts["raises"]
    assert "returned a NoneType; return ctx.complete" in texts["forgets"]
    assert "messages[3]" in texts["bad messages"] and "ghost" in texts["bad messages"]
    assert "Tool validation error" in texts["bad tool"] and "no spaces!" in texts["bad tool"]
    assert [run["success"] for run in runs.values()] == [True, *[False] * 5, True]
    tokens = [run["tokens"] for run in runs.values()]
    assert tokens == [15, 15, 15, 15, 15, 0, 15]
    assert runs["is scored badly"]["scores"] == {"troubles:fine": 1.0}
    assert "no score for this" in runs["is scored badly"]["scoring_errors"]["troubles:picky"]
    summary = results(program)["summary"]
    assert (summary["failed_runs"], summary["failed_runs_count_as"]) == (5, 0.0)
    fine, picky = (summary["eval_fns"][f"troubles:{name}"] for name in ("fine", "picky"))
    assert (fine["mean"], fine["failed_runs"], fine["mean_without_failed"]) == (
        pytest.approx(2 / 7), 5, 1.0
    )  # fmt: skip
    assert (picky["mean"], picky["failed_runs"], picky["mean_without_failed"]) == (
        pytest.approx(0.5 / 7), 6, 0.5
    )  # fmt: skip
    low, high = wilson(2, 7)
    assert fine["interval"] == {"low": low, "high": high, "method": "wilson", "weight": 7.0}
    assert f"troubles:fine: 95% interval {low:.3f} to {high:.3f} (Wilson, 7 examples)" in done.out
    rows = rows_by_prompt(program.only_run())
    for name in ("gives up", "raises", "forgets"):
        assert rows[name]["completion"] == [{"role": "assistant", "content": "yes"}]
    assert "troubles.py" in rows["raises"]["tui_eval"]["traceback"]
    assert "troubles.py" in rows["is scored badly"]["tui_eval"]["scores"][1]["error"]
    assert (
        "troubles:fine: 5 rollouts without a score, counted as 0; without them the mean is 1.000"
        in (done.out)
    )


def test_an_endpoint_that_refuses_is_an_error_of_each_run(
    program: Program, fault_server: FaultServer
) -> None:
    copy_project(program, "troubles")
    write_rows(program, ["works", "works"])
    fault_server.script(
        CHAT,
        [Reply(401, {"error": {"message": f"bad key {KEY}"}}), Reply(body=chat_answer("yes"))],
    )
    words = "-m troubles:troubles -d rows.jsonl --eval-fn troubles:fine -o results.json"
    served = f"--model m --base-url {fault_server.url}/v1 --api-key {KEY} -v"
    done = program.run("agent", *f"{words} {served}".split())
    assert done.code == 3, done
    first, second = (row["runs"][0] for row in results(program)["rows"])
    assert (first["success"], second["success"]) == (False, True)
    assert "401" in first["error"] or "bad key" in first["error"]
    sent = [request.headers["Authorization"] for request in fault_server.requests]
    assert sent == [f"Bearer {KEY}"] * 2
    assert KEY not in done.out + done.err
    for path in program.folder.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_everything_that_is_wrong_is_refused_at_once(program: Program) -> None:
    copy_project(program, "troubles")
    (program.folder / "rows.jsonl").write_text(
        '{"system_prompt": "s", "user_prompt": "u"}\n\n'
        "nonsense\n"
        '{"system_prompt": "s", "user_prompt": 3, "ground_truth": "x"}\n'
        '{"system_prompt": " ", "ground_truth": 7}\n'
    )
    functions = ("wrong_name", "too_few", "too_many", "A_LIST", "fien", "fine", "fine")
    words = " ".join(f"--eval-fn troubles:{name}" for name in functions)
    done = agent_words(
        program, f"-m troubles:Trouble -d rows.jsonl {words} --model nobody/knows --n 0 "
        "--batch-size x --max-turns 0 --limit 0 --offset -1 --temperature -1 -o nowhere/x.json"
    )  # fmt: skip
    assert done.code == 2
    reported = done.err
    for part in (
        "--n: 0 is too small; expected 1 or more",
        "--batch-size: 'x' is not a whole number",
        "--max-turns: 0 is too small",
        "--limit: 0 is too small",
        "--offset: -1 is too small",
        "--temperature: -1 is too small",
        "-o/--output: there is no folder nowhere",
        "--model: 'nobody/knows' is no alias",
        "module troubles has no Trouble. Did you mean Troubles",
        "rows.jsonl line 3: it is not JSON",
        "rows.jsonl line 4: its 'user_prompt' is of type int",
        "rows.jsonl line 5: it has no 'user_prompt'",
        "rows.jsonl line 5: its 'system_prompt' is empty",
        "rows.jsonl line 5: its 'ground_truth' is of type int",
        "troubles:wrong_name: its first parameter is 'answer'. It must be 'solution_str'",
        "troubles:too_many: it cannot be called with messages, ground_truth, metadata",
        "troubles:A_LIST: this is a list, no function",
        "module troubles has no fien. Did you mean fine",
        "troubles:fine: it is given twice",
    ):
        assert part in reported, f"{part!r} is not reported:\n{reported}"
    assert program.runs() == []


NEEDED = ["-m/--module: it is required", "--eval-fn: it is required", "--model", "-d/"]
NO_ALIAS = ["Did you mean mistral/x", "--base-url"]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ("", NEEDED),
        ("-m troubles", ["this is not of the form module:name"]),
        ("-d rows.md", ["a dataset's name ends in .jsonl, .json, .csv, .parquet"]),
        ("-m nope:x --model mistal/x", ["importing nope raised ModuleNotFoundError", *NO_ALIAS]),
        (
            "-d gone.jsonl --base-url nowhere",
            ["there is no file gone.jsonl", "'nowhere' is no URL"],
        ),
        (
            "-m troubles:A_LIST --offset 5 --model openai/gpt-5-mini",
            [
                "this is a list, no RolloutAgentLoop",
                "rows.jsonl has no rows after the first 5",
                "OPENAI_API_KEY",
            ],
        ),
    ],
)
def test_refusals(program: Program, words: str, reported: list[str]) -> None:
    copy_project(program, "troubles")
    write_rows(program, ["works"])
    usual = ["-m", "troubles:troubles", "-d", "rows.jsonl", "--eval-fn", "troubles:fine"]
    given = [*usual, "--model", "demo", *words.split()] if words else []
    done = agent_here(program, *given)
    assert done.code == 2, done
    for part in reported:
        assert part in done.err
    assert program.runs() == []


def test_a_reward_that_is_no_float_is_a_scoring_error(
    program: Program, fault_server: FaultServer
) -> None:
    copy_project(program, "troubles")
    write_rows(program, ["works"])
    words = "-m troubles:troubles -d rows.jsonl --eval-fn troubles:whole_number --model demo"
    done = agent_words(program, f"{words} -o results.json -q")
    assert done.code == 3, done
    run = results(program)["rows"][0]["runs"][0]
    assert (run["success"], run["scores"]) == (True, {})
    assert "must return a float" in run["scoring_errors"]["troubles:whole_number"]
    assert done.out.splitlines()[1] == "Examples: 1, rollouts of each: 1, in all: 1, 0 failed"


def test_scores_that_cannot_be_written_are_reported(program: Program) -> None:
    folder = copy_project(program, "interview")
    (folder / "interview.py").write_text(
        (folder / "interview.py").read_text() + "\nimport os\nos.rmdir('gone')\n"
    )
    (folder / "gone").mkdir()
    words = "-m interview:interview -d people.json --eval-fn interview:answers_share --model demo"
    done = agent_words(program, f"{words} -o gone/results.json")
    assert done.code == 1, done
    assert "gone/results.json cannot be written: No such file or directory" in done.err


def test_what_the_model_did_is_scored_and_failures_inside_a_200_are_tried_again(
    program: Program, fault_server: FaultServer
) -> None:
    copy_project(program, "calculator")
    spent, refused = chat_answer(""), chat_answer("")
    spent["choices"][0]["finish_reason"] = "length"
    refused["choices"][0]["message"] = {"role": "assistant", "refusal": "I cannot."}
    busy = {"error": {"code": 503, "message": "no capacity"}}
    long = Reply(400, {"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}})
    script = [Reply(body=busy), Reply(body=spent), Reply(body=refused), long]
    fault_server.script(CHAT, script)
    line = (
        "-m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward --batch-size 1 "
        f"--model m --base-url {fault_server.url}/v1"
    )
    done = agent_words(program, line)
    assert done.code == 0, done
    assert "in all: 3, 0 failed" in done.out
    ended = {
        (row["tui_eval"].get("finish_reason"), row["is_truncated"], row["stop_condition"])
        for row in program.only_run().rows
    }
    assert ended == {
        ("length", True, "length"),
        ("refusal", False, "refusal"),
        (None, True, "prompt_too_long"),
    }
    assert len(fault_server.requests) == 4
