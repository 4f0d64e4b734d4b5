"""A folder that another program wrote is resumed as a run of ours, and its rows stay."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from program import Finished, Program, Run, chat_answer
from run_here import run_here
from servers import FaultServer, Reply
from tiers import first_always

import tui_eval as vf

CHAT = "/v1/chat/completions"
ENV = """
    import tui_eval as vf

    def load_environment(level=1):
        rows = [{"question": f"q{n}", "answer": "yes"} for n in range(4)]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([lambda answer: 1.0]))
"""


def row(example: int, text: str = "", error: str = "") -> dict[str, Any]:
    """A row as verifiers 0.1.11 writes it."""
    failed = {"error": error, "error_chain_repr": f"{error}()", "error_chain_str": error}
    return {
        "example_id": example,
        "prompt": [{"role": "user", "content": text or f"q{example}"}],
        "completion": [] if error else [{"role": "assistant", "content": "no"}],
        "answer": "yes",
        "task": "default",
        "reward": 0.0,
        "error": failed if error else None,
        "timing": {"generation_ms": 5.0, "scoring_ms": 1.0, "total_ms": 6.0},
        "is_completed": True,
        "is_truncated": False,
        "stop_condition": "max_turns_reached",
        "metrics": {"num_turns": 1.0},
        "tool_defs": [],
        "token_usage": {"input_tokens": 3.0, "output_tokens": 2.0},
    }


@pytest.fixture
def others(program: Program, fault_server: FaultServer) -> Run:
    """Three of four examples are done, one of them errored."""
    program.environment("kept", ENV)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    rows = [row(0), row(1, error="ModelError"), row(2)]
    return written(program.folder / "old", rows, base_url=f"{fault_server.url}/v1")


def written(folder: Path, rows: list[dict[str, Any]], **metadata: Any) -> Run:
    known = {
        "env_id": "kept",
        "env_args": {},
        "model": "m",
        "num_examples": 4,
        "rollouts_per_example": 1,
        "sampling_args": {"n": 1, "extra_body": {}, "max_tokens": None, "temperature": 0.5},
        "state_columns": [],
        **metadata,
    }
    folder.mkdir()
    (folder / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    metadata = {name: value for name, value in known.items() if value is not None}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return Run(folder)


def resume(program: Program, run: Run, *more: str) -> Finished:
    return run_here(program, "run", "--resume", str(run.path), *more)


@pytest.mark.slow
def test_what_lacks_runs_and_the_rows_stay(
    program: Program, fault_server: FaultServer, others: Run
) -> None:
    lines = (others.path / "results.jsonl").read_text().splitlines()
    done = resume(program, others)
    assert done.code == 0, done
    after = (others.path / "results.jsonl").read_text().splitlines()
    assert after[:2] == [lines[0], lines[2]], "byte for byte"
    assert (others.path / "superseded.jsonl").read_text().splitlines() == [lines[1]]
    assert sorted(one["example_id"] for one in others.rows) == [0, 1, 2, 3]
    assert others.metadata["avg_reward"] == 0.5 and others.metadata["status"] == "finished"
    requests = [request.json() for request in fault_server.requests]
    assert {one["temperature"] for one in requests} == {0.5} and len(requests) == 2
    again = resume(program, others, "-n", "4")
    assert (again.code, len(fault_server.requests)) == (0, 2), again


def test_settings_missing_in_the_metadata_are_all_reported(
    program: Program, fault_server: FaultServer, others: Run
) -> None:
    lacking = dict.fromkeys(("rollouts_per_example", "env_args", "sampling_args"))
    old = written(program.folder / "older", [row(0)], **lacking)
    done = resume(program, old)
    assert done.code == 2, done
    for said in ("no base_url. Give it with -b URL, -p", "no key_var", "no rollouts_per_example",
                 "no env_args. Give them with -a", "no sampling_args"):  # fmt: skip
        assert said in done.err
    assert sorted(path.name for path in old.path.iterdir()) == ["metadata.json", "results.jsonl"]
    url = f"{fault_server.url}/v1"
    unread = resume(program, old, "-b", url, "-r", "many")
    assert "many" in unread.err and "no env_args" in unread.err, unread
    given = resume(program, old, "-b", url, "-r", "1", "-a", '{"level": 2}', "-S", "{}", "-t", "9")
    assert given.code == 0, given
    assert {request.json()["max_tokens"] for request in fault_server.requests} == {9}
    assert len(old.rows) == 4


def test_a_prompt_as_json_text_is_the_same_prompt(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("kept", ENV)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    rows = [{**row(n), "prompt": json.dumps(row(n)["prompt"])} for n in range(3)]
    old = written(program.folder / "old", rows, base_url=f"{fault_server.url}/v1")
    done = resume(program, old)
    assert done.code == 0 and len(old.rows) == 4, done


@pytest.mark.slow
def test_examples_that_are_others_now_are_refused_or_accepted(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("kept", ENV)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    rows = [row(0), row(1, "another question")]
    old = written(program.folder / "old", rows, base_url=f"{fault_server.url}/v1")
    done = resume(program, old)
    assert done.code == 2, done
    assert "another prompt in 1 of 2 rows, the first of example 1" in done.err
    assert not fault_server.requests
    accepted = resume(program, old, "--accept-changes")
    assert accepted.code == 0 and len(old.rows) == 4, accepted


@pytest.mark.slow
def test_an_alias_of_the_registry_gives_url_and_key(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("kept", ENV)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    url = f"{fault_server.url}/v1"
    (program.folder / "configs").mkdir()
    (program.folder / "configs" / "endpoints.toml").write_text(
        f'[[endpoint]]\nendpoint_id = "mine"\nmodel = "m"\nurl = "{url}"\nkey = "MY_KEY"\n'
    )
    program.env["MY_KEY"] = "sk-mine"
    old = written(program.folder / "old", [row(0)])
    other = written(program.folder / "other", [row(0)], base_url=f"{url}/")
    assert resume(program, old, "-m", "mine").code == 0
    done = resume(program, other)
    assert (done.code, len(other.rows)) == (0, 4), done
    sent = [request.headers.get("Authorization") for request in fault_server.requests]
    assert sent == ["Bearer sk-mine"] * 6


def test_the_line_that_began_it_finds_it(program: Program, fault_server: FaultServer) -> None:
    program.environment("kept", ENV)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    url = f"{fault_server.url}/v1"
    folder = program.folder / "outputs" / "evals" / "kept--m"
    folder.mkdir(parents=True)
    line = ("kept", "-m", "m", "-b", url, "-n", "4", "-r", "1", "-T", "0.5", "-s", "-d", "--resume")
    older = written(folder / "older", [row(0)], env_args=None, base_url=f"{url}/")
    done = run_here(program, *line)
    assert done.code == 0, done
    assert "Passed over kept with m, 1 of 4: outputs/evals/kept--m/older (it has no env_args)" in (
        done.err
    )
    (begun,) = [run for run in program.runs() if run.path != older.path]
    shutil.rmtree(begun.path)
    half = written(folder / "half", [row(0), row(2)], base_url=f"{url}/")
    done = run_here(program, *line)
    assert done.code == 0, done
    assert "Resuming the run outputs/evals/kept--m/half: 2 of 4 done" in done.err
    assert len(half.rows) == 4
    assert len(fault_server.requests) == 6


@pytest.mark.slow
def test_a_file_of_evaluations_names_one(program: Program, others: Run) -> None:
    (program.folder / "two.toml").write_text(
        f'model = "m"\napi_base_url = "{others.metadata["base_url"]}"\n'
        "num_examples = 4\nrollouts_per_example = 1\n"
        '[[eval]]\nenv_id = "kept"\ntemperature = 0.7\nresume = "old"\n'
        '[[eval]]\nenv_id = "kept"\n'
    )
    done = program.run("two.toml", "-d")
    assert done.code == 2 and "sampling_args.temperature is 0.7" in done.err, done
    done = program.run("two.toml", "-d", "--accept-changes")
    assert done.code == 0 and len(others.rows) == 4, done
    assert "has no effect" not in done.err


@pytest.mark.parametrize("more", first_always(["", '[[eval]]\nenv_id = "kept"\n']))
def test_a_file_of_evaluations_says_what_metadata_lack(
    program: Program, fault_server: FaultServer, more: str
) -> None:
    program.environment("kept", ENV)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    old = written(program.folder / "old", [row(0)], env_id=None, env_args=None)
    (program.folder / "some.toml").write_text(
        f'model = "m"\napi_base_url = "{fault_server.url}/v1"\n'
        'api_client_type = "openai_chat_completions_token"\n'
        "num_examples = 4\nrollouts_per_example = 1\n"
        '[[eval]]\nenv_id = "kept"\ntemperature = 0.5\nresume = "old"\n' + more
    )
    done = program.run("some.toml", "-d")
    assert done.code == 0 and len(old.rows) == 4, done


def test_rows_that_could_not_stay_are_refused_and_nothing_is_written(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment("kept", ENV)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    url = f"{fault_server.url}/v1"
    old = written(program.folder / "old", [row(0), row(0), row(9)], base_url=url)
    done = resume(program, old)
    assert done.code == 2, done
    assert "results.jsonl:2: example 0 has more than 1 rows. Give -r" in done.err
    assert "results.jsonl:3: example 9 is none of the 4" in done.err
    assert sorted(path.name for path in old.path.iterdir()) == ["metadata.json", "results.jsonl"]


def test_a_folder_without_metadata_or_with_scores_alone_is_refused(program: Program) -> None:
    bare = program.folder / "bare"
    bare.mkdir()
    (bare / "results.jsonl").write_text(json.dumps(row(0)) + "\n")
    assert "has no run.toml" in run_here(program, "run", "--resume", str(bare)).err
    scores = program.folder / "scores.json"
    scores.write_text(json.dumps({"config": {"model": "m", "n_runs": 1}, "summary": {},
                                  "rows": [{"row_index": 0, "runs": []}]}))  # fmt: skip
    done = run_here(program, "run", "--resume", str(scores))
    assert done.code == 2, done
    assert "no rollouts" in done.err


async def test_a_program_resumes_it_as_well(
    tmp_path: Path, fault_server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUI_EVAL_STATE_DIR", str(tmp_path / "state"))
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    rows = [{"question": f"q{n}", "answer": "yes"} for n in range(4)]
    rubric = vf.Rubric([lambda answer: 1.0])
    env = vf.SingleTurnEnv(dataset=rows, rubric=rubric, env_id="kept")
    client = vf.ClientConfig(api_base_url=f"{fault_server.url}/v1", api_key_var="")
    old = written(tmp_path / "old", [row(0), row(2)], sampling_args={}, rollouts_per_example=1)
    inputs = list(env.get_dataset())
    with pytest.raises(vf.RefusedError, match="metadata mismatch: model"):
        await env.generate(inputs, client, "another", results_path=old.path)
    got = await env.generate(inputs, client, "m", results_path=old.path)
    assert [one["reward"] for one in got["outputs"]] == [0.0, 1.0, 0.0, 1.0]
    assert len(fault_server.requests) == 2
