"""A resumed run knows whether the code of its rows is still the same."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from command_here import command_here
from program import Finished, Program, Run, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

import tui_eval as vf
from tui_eval.config.compatibility import code_changes

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
PROJECTS = Path(__file__).parents[1] / "osmosis_projects"

SOURCES = {
    "own/own.py": """
import os
from pathlib import Path
import tui_eval as vf
from scoring import kept, judged
PROMPT = Path(__file__).with_name("prompt.txt").read_text()
def load_environment():
    rows = [{"question": f"q{n}", "answer": "a"} for n in range(6)]
    judge = vf.JudgeRubric(judge_model="small", judge_prompt="Right? {response}")
    weights = [float(os.environ.get("WEIGHT", 1)), 0.0]
    return vf.SingleTurnEnv(
        dataset=rows, system_prompt=PROMPT,
        rubric=vf.RubricGroup([vf.Rubric([kept, judged], weights), judge]),
    )
""",
    "own/scoring.py": "from words import GOOD\ndef kept(completion): return GOOD\n"
    "def judged(completion): return 0.0\n",
    "own/words.py": "GOOD = 1.0\n",
    "own/prompt.txt": "Be brief.",
    "own/notes.md": "of nobody's interest",
    "other.py": "",
}


def write(program: Program, **texts: str) -> None:
    """Writes the environment, with other texts in some of its files."""
    for name, text in SOURCES.items():
        path = program.folder / "environments" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts.get(path.stem, text))


def evaluate(program: Program, server: FaultServer, *more: str) -> Finished:
    server.script(CHAT, [GOOD])
    words = ("own", "-m", "m", "-b", f"{server.url}/v1", "-k", "", "-A", "-o", "out", "-r", "1")
    return run_here(program, *words, *more)


def only(program: Program) -> Run:
    (run,) = program.runs(program.folder / "out")
    return run


def versions(program: Program) -> dict[str, Any]:
    return json.loads((only(program).path / "versions.json").read_text())


@pytest.mark.slow
def test_changed_code_is_named_refused_accepted_and_distinguished(
    program: Program, fault_server: FaultServer
) -> None:
    write(program)
    assert evaluate(program, fault_server, "-n", "2").code == 0
    (code,) = versions(program)["code"]
    names = {*code["parts"]}
    assert {"code.own.py", "code.scoring.py", "code.words.py", "code.prompt.txt"} <= names
    assert {"rubric.kept", "rubric.judged", "judge.model", "judge.prompt", "dataset"} <= names
    assert "code.notes.md" not in names and "code.other.py" not in names
    write(program, words="GOOD = 1 / 2\n", notes="x", other="x = 1")
    done = evaluate(program, fault_server, "-n", "4", "--resume")
    assert done.code == 2 and done.err.count("error: ") == 1, done
    assert "code.words.py is hash " in done.err and "--accept-changes" in done.err
    done = evaluate(program, fault_server, "-n", "4", "--resume", "--accept-changes")
    assert done.code == 0 and "Accepted: code.words.py is hash " in done.err, done
    assert "Code: 2 versions of it: 2 of version 1, 2 of version 2; mean rewards 1.00, 0.50" in (
        done.out
    )
    rows = only(program).rows
    assert [row["tui_eval"].get("code") for row in rows] == [None, None, 2, 2]
    plan = tomllib.loads((only(program).path / "run.toml").read_text())
    assert [one["name"] for one in plan["changes"]] == ["code.words.py"]
    report = json.loads(command_here(program, "report", str(only(program).path), "--json").out)
    assert report["code_versions"] == [
        {"number": 1, "finished": 2, "used": 2, "mean": 1.0},
        {"number": 2, "finished": 2, "used": 2, "mean": 0.5},
    ]
    path = str(only(program).path)
    page = command_here(program, "export", path, "--format", "markdown", "-o", "-").out
    assert "- code: version 1: 2 finished, mean reward 1; version 2: 2 finished" in page
    lines = command_here(program, "ls", path, "--where", "code:2", "--json").out.splitlines()
    assert [json.loads(line)["example_id"] for line in lines] == [2, 3]
    write(program)  # as it was at first: a version that the run knows
    done = evaluate(program, fault_server, "-n", "6", "--resume")
    assert done.code == 0, done
    assert [row["tui_eval"].get("code") for row in only(program).rows[4:]] == [None, None]


@pytest.mark.slow
def test_weights_of_rewards_and_the_judge_are_parts_of_the_code(
    program: Program, fault_server: FaultServer
) -> None:
    write(program)
    evaluate(program, fault_server, "-n", "2")
    program.env["WEIGHT"] = "0.5"
    done = evaluate(program, fault_server, "-n", "4", "--resume")
    assert done.code == 2 and "rubric.kept is 0.5, the run has 1.0" in done.err, done
    program.env["WEIGHT"] = "1"
    own = SOURCES["own/own.py"].replace('"small"', '"largest"').replace("Right?", "Is it?")
    write(program, own=own)
    done = evaluate(program, fault_server, "-n", "4", "--resume")
    assert done.code == 2 and 'judge.model is "largest", the run has "small"' in done.err, done
    assert "judge.prompt is " in done.err and "code.own.py is hash " in done.err


@pytest.mark.slow
def test_code_that_is_the_same_says_nothing(program: Program, fault_server: FaultServer) -> None:
    write(program)
    evaluate(program, fault_server, "-n", "2")
    before = (only(program).path / "versions.json").read_bytes()
    done = evaluate(program, fault_server, "-n", "4", "--resume")
    assert done.code == 0 and "Accepted" not in done.err and "Versions" not in done.err, done
    assert "Code:" not in done.out
    assert (only(program).path / "versions.json").read_bytes() == before
    assert all("code" not in row["tui_eval"] for row in only(program).rows)


@pytest.mark.slow
def test_what_is_installed_is_kept_and_what_differs_is_named(
    program: Program, fault_server: FaultServer
) -> None:
    write(program)
    packages = program.folder / "packages"
    program.env["PYTHONPATH"] = str(packages)
    for version in ("1.0", "2.0"):
        shutil.rmtree(packages, ignore_errors=True)
        (packages / f"Odd_name-{version}.dist-info").mkdir(parents=True)
        done = evaluate(program, fault_server, "-n", str(2 * int(version[0])), "--resume")
        assert done.code == 0, done
    assert "warning: Versions are not what they were: odd-name 1.0 → 2.0\n" in done.err
    first, second = versions(program)["installed"]
    assert first["versions"]["odd-name"] == "1.0" and second["versions"]["odd-name"] == "2.0"
    assert {"python", "tui-eval", "msgspec"} <= first["versions"].keys()
    again = evaluate(program, fault_server, "-n", "2", "-o", "other")
    assert again.code == 0
    shutil.rmtree(packages)
    evaluate(program, fault_server, "-n", "2", "-o", "third")
    paths = [
        str(run.path) for name in ("other", "third") for run in program.runs(program.folder / name)
    ]
    done = command_here(program, "compare", *paths)
    assert "  version of odd-name: A: 2.0  B: –\n" in done.out, done
    found = json.loads(command_here(program, "compare", *paths, "--json").out)["settings"]
    assert found == {"version of odd-name": ["2.0", None]}


def test_code_that_differs_between_two_runs_is_named(
    program: Program, fault_server: FaultServer
) -> None:
    write(program)
    evaluate(program, fault_server, "-n", "2")
    write(program, words="GOOD = 0.25\n")
    evaluate(program, fault_server, "-n", "2")
    paths = [str(run.path) for run in program.runs(program.folder / "out")]
    done = command_here(program, "compare", *paths)
    assert "  code.words.py: A: hash " in done.out, done


@pytest.mark.slow
def test_evaluations_of_a_file_know_their_code(program: Program, fault_server: FaultServer) -> None:
    write(program)
    fault_server.script(CHAT, [GOOD])
    (program.folder / "two.toml").write_text(
        f'model = "m"\napi_base_url = "{fault_server.url}/v1"\napi_key_var = ""\n'
        'num_examples = 1\nrollouts_per_example = 1\noutput_dir = "out"\n'
        '[[eval]]\nenv_id = "own"\n[[eval]]\nenv_id = "own"\ntemperature = 0.5\n'
    )
    assert program.run("two.toml", "-A").code == 0
    write(program, scoring=SOURCES["own/scoring.py"] + "\n# x\n")
    more = ("--set", "num_examples=2", "--resume")
    done = program.run("run", "two.toml", *more)
    assert done.code == 2 and "code.scoring.py is hash " in done.err, done
    done = program.run("run", "two.toml", *more, "--accept-changes")
    assert done.code == 0, done
    for run in program.runs(program.folder / "out"):
        assert [row["tui_eval"].get("code") for row in run.rows] == [None, 2]


@pytest.mark.slow
def test_an_agent_and_its_eval_functions_are_code(program: Program, tmp_path: Path) -> None:
    shutil.copytree(PROJECTS / "calculator", program.folder, dirs_exist_ok=True)
    words = "agent -m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward"
    done = program.run(*words.split(), "--model", "demo", "-s")
    assert done.code == 0, done
    parts = json.loads((program.only_run().path / "versions.json").read_text())["code"][0]["parts"]
    assert {"code.server.py", "code.tools.py", "code.rewards.py"} <= {*parts}
    with (program.folder / "rewards.py").open("a") as file:
        file.write("\n# another\n")
    done = program.run("agent", "--resume", str(program.only_run().path))
    assert done.code == 2 and "code.rewards.py is hash " in done.err, done


def one(completion: Any) -> float:
    return 1.0


async def test_a_program_resumes_and_its_rows_say_of_which_code_they_are(
    fault_server: FaultServer, tmp_path: Path
) -> None:
    fault_server.script(CHAT, [GOOD])
    client = vf.ClientConfig(api_base_url=f"{fault_server.url}/v1", api_key_var="")
    rows = [{"question": f"q{n}"} for n in range(2)]
    path = tmp_path / "run"
    for number, weight in enumerate((1.0, 0.5), 1):
        env = vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([one], [weight]))
        await env.evaluate(client, "m", rollouts_per_example=number, results_path=path)
    run = Run(path)
    assert [row["tui_eval"].get("code") for row in run.rows] == [None, None, 2, 2]
    parts = json.loads((path / "versions.json").read_text())["code"][0]["parts"]
    assert "code.test_code_versions.py" in parts


@pytest.mark.parametrize(("count", "named"), [(5, 5), (6, 6), (40, 6)])
def test_of_many_files_the_first_are_named(count: int, named: int) -> None:
    before = {f"code.f{n:02}.py": "hash a" for n in range(count)}
    found = code_changes(before, {**dict.fromkeys(before, "hash b"), "dataset": "x"})
    assert len(found) == named
    assert count == 5 or str(found[-1]).startswith(f"code is other text in {count - 5} more file")
