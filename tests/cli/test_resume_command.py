"""The printed line that resumes a run works as it is pasted, for every kind of run."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
from pathlib import Path

import pytest
from agent_here import agent_here
from command_here import command_here
from program import Finished, Program, Run, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply

from tui_eval.cli.resume_command import resume_lines
from tui_eval.config.plan import RunPlan, plan_to_toml
from tui_eval.runs.layout import RunDir

PROJECT = Path(__file__).parents[1] / "osmosis_projects" / "calculator"
CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("It is 7"))
BAD = Reply(400, {"error": {"message": "no"}})
AGENT = ("-m", "server:agent_loop", "-d", "test_data.jsonl", "--eval-fn",
         "rewards:compute_reward")  # fmt: skip

TALK = """
    import tui_eval as vf

    def load_environment(mark=""):
        rows = [{"question": f"{mark}{n}", "answer": "a"} for n in range(4)]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[lambda answer: 1.0]))
"""

REGISTRY = """
[[endpoint]]
endpoint_id = "team"
model = "org/m"
url = "URL/v1"
key = "TEAM_KEY"
headers = { X-Team = "secret-of-the-team" }
input_price = 100
output_price = 200

[[endpoint]]
endpoint_id = "team"
model = "org/m"
url = "HOST/v1"
key = "TEAM_KEY"
headers = { X-Team = "secret-of-the-second" }
input_price = 100
output_price = 200
"""


def pasted(done: Finished) -> list[str]:
    """The words of the printed line, without the program's name."""
    (line,) = [line for line in done.out.splitlines() if line.startswith("Resume: ")]
    words = shlex.split(line.removeprefix("Resume: "))
    assert words[0] == "tui-eval"
    return words[1:]


@pytest.fixture
def talk(program: Program, fault_server: FaultServer) -> Program:
    program.environment("talk", TALK)
    fault_server.script(CHAT, [GOOD])
    text = REGISTRY.replace("URL", fault_server.url)
    text = text.replace("HOST", fault_server.url.replace("127.0.0.1", "localhost"))
    (program.folder / "models.toml").write_text(text)
    program.env["TEAM_KEY"] = "sk-of-the-team"
    return program


def move(program: Program) -> None:
    """From now on the program is started in another folder, with a registry of its own."""
    program.folder = program.folder / "elsewhere"
    (program.folder / "configs").mkdir(parents=True)
    (program.folder / "configs" / "endpoints.toml").write_text("")


def requested_rows(server: FaultServer) -> list[str]:
    return [one.json()["messages"][-1]["content"] for one in server.requests]


def test_a_run_with_a_registry_of_its_own_is_resumed_from_anywhere_without_its_budget(
    talk: Program, fault_server: FaultServer
) -> None:
    arguments = ("talk", "-e", "models.toml", "-m", "team", "-n", "4", "-r", "1", "-c", "1")
    stopped = run_here(talk, *arguments, "--max-cost", "0.001")
    assert stopped.code == 4, stopped
    run = talk.only_run()
    assert pasted(stopped) == ["run", "--resume", str(run.path)]
    assert "That is without --max-cost" in stopped.out
    assert "secret-of" not in (run.path / "run.toml").read_text()
    move(talk)
    done = talk.run(*pasted(stopped))
    assert done.code == 0, done
    assert run.places() == [(n, 0) for n in range(4)]
    sent = {one.headers["X-Team"] for one in fault_server.requests}
    assert sent == {"secret-of-the-team", "secret-of-the-second"}
    keys = {one.headers["Authorization"] for one in fault_server.requests}
    assert keys == {"Bearer sk-of-the-team"}
    assert "Cost: $0.0080" in done.out, "what was spent before counts"


@pytest.mark.slow
def test_a_spent_budget_leaves_errored_rows_where_they_are(
    talk: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [BAD, GOOD])
    url = f"{fault_server.url}/v1"
    arguments = ("talk", "-m", "m", "-b", url, "-n", "4", "-r", "1", "-c", "1", "-s")
    stopped = run_here(talk, *arguments, "--max-total-tokens", "15")
    assert stopped.code == 4, stopped
    run = talk.only_run()
    before = run.rows
    assert [bool(row["error"]) for row in before] == [True, False]
    again = run_here(talk, *pasted(stopped), "--max-total-tokens", "15")
    assert again.code == 4, again
    assert "The budget is spent, so errored rollouts stay as they are" in again.err
    assert run.rows == before
    assert not (run.path / "superseded.jsonl").exists()
    done = run_here(talk, *pasted(again))
    assert done.code == 0, done
    assert run.places() == [(n, 0) for n in range(4)]
    full = run_here(talk, *arguments, "--resume", "--max-total-tokens", "15")
    assert full.code == 0, full
    assert "errored" not in full.err, "there are none"


def test_resume_alone_without_an_environment_resumes_the_newest_run_begun_here(
    talk: Program, fault_server: FaultServer
) -> None:
    none = talk.run("run", "--resume", "--json")
    assert none.code == 2, none
    (fault,) = json.loads(none.out)["faults"]
    assert fault["where"] == "--resume"
    assert fault["what"] == "no incomplete run was begun in this folder"
    served = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-r", "1", "-c", "1")
    fault_server.script(CHAT, [GOOD, GOOD, GOOD, BAD, GOOD])
    assert run_here(talk, "talk", *served).code == 0
    assert run_here(talk, "talk", *served).code == 3
    arguments, here = len(fault_server.requests), talk.folder
    move(talk)
    other = talk.run("run", "--resume")
    assert other.code == 2, other
    assert f"begun in {here} is resumed with tui-eval run --resume {talk.state}" in other.err
    talk.folder = here
    done = talk.run("--resume")
    assert done.code == 0, done
    assert "Resuming the unsaved run" in done.err and "2 of 2 done, 1 of them errored" in done.err
    assert len(fault_server.requests) == arguments + 1
    assert talk.run("run", "--resume").code == 2, "nothing is left"
    fault_server.script(CHAT, [Reply(hang=True)])
    process = talk.start("talk", *served, "-s")
    wait_until(lambda: len(fault_server.requests) == arguments + 2, "a run is at work")
    (at_work,) = talk.runs(talk.folder / "outputs")
    assert (
        f"is at work: tui-eval open {at_work.path.relative_to(here)}"
        in talk.run("run", "--resume").err
    )
    process.send_signal(signal.SIGINT)
    talk.finish(process)


def test_a_run_without_preflight_is_resumed_without(
    talk: Program, fault_server: FaultServer
) -> None:
    fault_server.script("/v1/models", [Reply(body={"data": [{"id": "other"}]})])
    arguments = ("talk", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-r", "1", "-c", "1")
    stopped = run_here(talk, *arguments, "--no-preflight", "--max-total-tokens", "1")
    assert stopped.code == 4, stopped
    done = run_here(talk, *pasted(stopped))
    assert done.code == 0, done


def test_what_is_secret_is_named_beside_the_line(talk: Program, fault_server: FaultServer) -> None:
    arguments = ("talk", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-r", "1", "-c", "1")
    secret = ("--header", "X-Mine: of-mine", "-S", '{"extra_headers": {"X-Other": "of-other"}}')
    stopped = run_here(talk, *arguments, *secret, "--max-total-tokens", "1")
    assert stopped.code == 4, stopped
    assert "Add what is secret and not kept: -S JSON --header 'X-Mine: ...'" in stopped.out
    done = run_here(talk, *pasted(stopped), *secret)
    assert done.code == 0, done


def write_suite(program: Program, server: FaultServer, *tables: str, top: str = "") -> None:
    common = (
        f'env_id = "talk"\nmodel = "m"\napi_base_url = "{server.url}/v1"\nnum_examples = 2\n'
        f"rollouts_per_example = 1\n{top}\n"
    )
    text = common + "".join(f"[[eval]]\n{table}\n" for table in tables)
    (program.folder / "suite.toml").write_text(text)


def marks(program: Program) -> dict[str, Run]:
    return {run.rows[0]["prompt"][-1]["content"][0]: run for run in program.runs() if run.rows}


@pytest.mark.slow
def test_a_suite_is_resumed_without_the_budget_of_all_and_with_what_was_set(
    talk: Program, fault_server: FaultServer
) -> None:
    write_suite(talk, fault_server, *(f'env_args = {{ mark = "{m}" }}' for m in "abc"),
                top="max_concurrent = 1")  # fmt: skip
    fault_server.script(CHAT, [GOOD, GOOD, BAD, GOOD])
    limits = ("--max-total-tokens", "30")
    stopped = talk.run("suite.toml", "-A", "--set", "temperature=0.5", *limits)
    assert stopped.code == 4, stopped
    assert "[2/3] talk (mark=b): not begun" in stopped.out
    assert "[3/3] talk (mark=c): not begun" in stopped.out
    assert "That is without a budget" in stopped.out
    assert pasted(stopped) == ["run", "suite.toml", "--resume", "--set", "temperature=0.5"]
    fault_server.script(CHAT, [BAD, GOOD])
    errs = talk.run(*pasted(stopped))
    assert errs.code == 3, errs
    assert {mark: len(run.rows) for mark, run in marks(talk).items()} == dict.fromkeys("abc", 2)
    assert {one.json()["temperature"] for one in fault_server.requests} == {0.5}
    arguments = len(fault_server.requests)
    spent = talk.run(*pasted(stopped), *limits)
    assert spent.code == 3, spent
    assert "No further calls begin: 75 tokens are used, the limit is 30" in spent.err
    assert not list(talk.state.rglob("superseded.jsonl"))
    assert len(fault_server.requests) == arguments
    done = talk.run(*pasted(stopped))
    assert done.code == 0, done
    assert len(fault_server.requests) == arguments + 1


@pytest.mark.slow
def test_the_budget_of_one_evaluation_of_a_suite_is_lifted_visibly(
    talk: Program, fault_server: FaultServer
) -> None:
    write_suite(
        talk,
        fault_server,
        'env_args = { mark = "a" }\nmax_total_tokens = 5\nmax_concurrent = 1',
        'env_args = { mark = "b" }',
    )
    stopped = talk.run("suite.toml")
    assert stopped.code == 4, stopped
    words = ["run", "suite.toml", "--resume", "--max-total-tokens", "none"]
    assert pasted(stopped) == words
    done = talk.run(*words)
    assert done.code == 0, done
    assert {mark: len(run.rows) for mark, run in marks(talk).items()} == dict.fromkeys("ab", 2)


@pytest.fixture
def calculator(talk: Program) -> Program:
    shutil.copytree(PROJECT, talk.folder, dirs_exist_ok=True)
    return talk


def test_an_agent_is_resumed_from_anywhere_by_its_path_alone(
    calculator: Program, fault_server: FaultServer
) -> None:
    arguments = (
        *AGENT,
        "-e",
        "models.toml",
        "--model",
        "team",
        "--pass-threshold",
        "0.5",
        "--n",
        "2",
    )
    stopped = agent_here(calculator, *arguments, "--max-total-tokens", "1", "-o", "out.json")
    assert stopped.code == 4, stopped
    run = calculator.only_run()
    words = ["agent", "--resume", str(run.path)]
    (calculator.folder / "out.json").unlink()
    kept = calculator.folder / "out.json"
    assert pasted(stopped) == words
    move(calculator)
    done = calculator.run(*words)
    assert done.code == 0, done
    assert run.places() == [(row, n) for row in range(3) for n in range(2)]
    assert {one.headers["X-Team"] for one in fault_server.requests} >= {"secret-of-the-team"}
    assert "rewards:compute_reward" in done.out, "its scores are printed"
    assert kept.exists(), "and written as before"
    other = agent_here(calculator, *words[1:], "--pass-threshold", "0.7")
    assert other.code == 2, other
    assert "env_args.pass_threshold is 0.7, the run has 0.5" in other.err


def test_an_agent_whose_key_was_typed_says_so(
    calculator: Program, fault_server: FaultServer
) -> None:
    arguments = (
        *AGENT,
        "--model",
        "m",
        "-b",
        f"{fault_server.url}/v1",
        "--api-key",
        "sk-typed-0123456",
    )
    stopped = agent_here(calculator, *arguments, "--max-total-tokens", "1")
    assert stopped.code == 4, stopped
    assert "Add what is secret and not kept: --api-key KEY" in stopped.out
    refused = agent_here(calculator, *pasted(stopped)[1:])
    assert refused.code == 2, refused
    assert "--api-key: the key that was typed is not kept with the run" in refused.err
    assert "TUI_EVAL_API_KEY" not in refused.err
    done = calculator.run(*pasted(stopped), "--api-key", "sk-typed-0123456")
    assert done.code == 0, done
    keys = {one.headers["Authorization"] for one in fault_server.requests}
    assert keys == {"Bearer sk-typed-0123456"}


def test_agent_refuses_a_run_that_is_none_of_its_own(talk: Program) -> None:
    assert talk.run("talk", "-m", "demo", "-n", "1", "-r", "1").code == 0
    path = str(talk.only_run().path)
    refused = talk.run("agent", "--resume", path)
    assert refused.code == 2, refused
    assert f"{path}: this is no run of tui-eval agent" in refused.err
    assert f"Resume: tui-eval run --resume {path}" in refused.err


def test_a_run_of_a_program_is_resumed_there(tmp_path: Path) -> None:
    plan = RunPlan(env_id="e", alias="m", model="m", base_url="", given_inputs=True)
    (tmp_path / "run.toml").write_text(plan_to_toml(plan))
    (line,) = resume_lines(RunDir(tmp_path), "interrupted")
    assert line == f"Resume: give this directory to generate() as results_path: {tmp_path}"
    (tmp_path / "run.toml").write_text("nonsense")
    assert list(resume_lines(RunDir(tmp_path), "interrupted")) == []


@pytest.mark.parametrize("given_inputs", [False, True])
def test_how_to_resume_holds_in_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given_inputs: bool
) -> None:
    plan = RunPlan(env_id="e", alias="m", model="m", base_url="", given_inputs=given_inputs)
    (tmp_path / "run.toml").write_text(plan_to_toml(plan))
    monkeypatch.chdir(tmp_path.parent)
    (line,) = resume_lines(RunDir(Path(tmp_path.name)), "interrupted")
    assert line.endswith(f" {tmp_path}")


def test_a_dry_run_plans_only_what_is_left(talk: Program, fault_server: FaultServer) -> None:
    fault_server.script(CHAT, [BAD, GOOD])
    url = f"{fault_server.url}/v1"
    arguments = ("talk", "-m", "m", "-b", url, "-n", "4", "-r", "1", "-c", "1", "-s")
    stopped = run_here(talk, *arguments, "--max-total-tokens", "15")
    assert stopped.code == 4, stopped
    run = talk.only_run()
    planned = command_here(talk, *pasted(stopped), "--dry-run")
    assert f"Resume: {run.path}, 3 rollouts are left" in planned.out, planned
    kept = command_here(talk, *pasted(stopped), "--keep-errors", "--dry-run", "--json")
    found = json.loads(kept.out)
    assert (found["rollouts"], found["left"]) == (4, 2)
