"""An environment in an interpreter of its own, with the packages that are there."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from interpreters import NEEDED, add_package, make_interpreter, make_program
from program import Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

import tui_eval
from tui_eval.engine.interpreters import interpreter
from tui_eval.errors import RefusedError
from tui_eval.worker.to_engine import PROTOCOL

CHAT = "/v1/chat/completions"

ELSEWHERE = """
import os
import sys

import tui_eval as vf
import verifiers
import only_there
from tui_eval.shipped import shipped


def load_environment(dies=False):
    def right(completion, state):
        if dies and not os.path.exists("died"):
            open("died", "w").close()
            if dies == "for good":
                os.unlink(sys.executable)
            os._exit(3)
        state["where"] = [sys.prefix, sys.version, only_there.VALUE, vf.__version__]
        state["loaded"] = sorted({name.partition(".")[0] for name in sys.modules})
        state["path"] = sys.path
        return 1.0

    assert verifiers.Rubric is vf.Rubric
    assert shipped("configs", "endpoints.toml").exists()
    rows = [{"question": f"q{n}", "answer": ""} for n in range(2)]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([right]))
"""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    python = make_interpreter(tmp_path_factory.mktemp("other") / "venv")
    add_package(python, "only_there", "1.0", "VALUE = 'there'")
    return python


@pytest.fixture
def elsewhere(program: Program, fault_server: FaultServer) -> Program:
    program.environment("elsewhere", ELSEWHERE)
    program.env["TUI_EVAL_CACHE_DIR"] = str(program.folder / "cache")
    fault_server.script(CHAT, [Reply(body=chat_answer("42"))])
    return program


def request(server: FaultServer, *more: str) -> list[str]:
    return ["elsewhere", "-m", "m", "-b", f"{server.url}/v1", "-r", "1", "-s", *more]


def test_an_environment_runs_in_the_interpreter_that_is_named_with_what_is_there(
    elsewhere: Program, fault_server: FaultServer, other: Path
) -> None:
    more = ("-C", "where,loaded,path", "--python", str(other), "-a", '{"dies": true}')
    done = run_here(elsewhere, *request(fault_server, *more))
    assert done.code == 0, done
    rows = elsewhere.only_run().rows
    assert [row["reward"] for row in rows] == [1.0, 1.0]
    for row in rows:
        prefix, version, value, ours = row["where"]
        assert prefix == str(other.parents[1])
        assert version == sys.version
        assert value == "there"
        assert ours == tui_eval.__version__
        assert not {"textual", "rich", "tomlkit", "openai", "anthropic", "numpy"} & {*row["loaded"]}
        assert sys.prefix not in " ".join(row["path"])
        assert str(Path(tui_eval.__file__).parents[1]) not in row["path"]
    assert (elsewhere.folder / "died").exists()  # so it ran in a worker that was replaced


@pytest.mark.slow
def test_a_dry_run_looks_at_the_environment_in_its_interpreter(
    elsewhere: Program, fault_server: FaultServer, other: Path
) -> None:
    done = elsewhere.run(*request(fault_server, "--python", str(other), "--dry-run", "--json"))
    assert done.code == 0, done
    planned = json.loads(done.out)
    assert planned["rollouts"] == 2
    assert planned["reward_functions"] == [
        {"name": "right", "weight": 1.0},
        {"name": "num_turns", "weight": 0.0},
    ]
    [python] = [one for one in planned["settings"] if one["name"] == "python"]
    assert python["value"] == str(other)
    assert elsewhere.runs() == []


@pytest.mark.slow
def test_a_run_is_resumed_in_its_interpreter_or_in_another_that_is_named(
    elsewhere: Program, fault_server: FaultServer, other: Path, tmp_path: Path
) -> None:
    at_first = request(fault_server, "--python", str(other.parents[1]), "-n", "1", "-C", "where")
    assert run_here(elsewhere, *at_first).code == 0
    run = elsewhere.only_run()
    on = ["elsewhere", "--resume", str(run.path), "-n", "2"]
    assert run_here(elsewhere, *on).code == 0
    second = make_interpreter(tmp_path / "second")
    add_package(second, "only_there", "1.0", "VALUE = 'second'")
    assert run_here(elsewhere, *on, "-r", "2", "--python", str(second)).code == 0
    assert sorted(row["where"][2] for row in run.rows) == ["second", "second", "there", "there"]
    gone = run_here(elsewhere, *on, "-r", "3", "--python", str(tmp_path / "gone"))
    assert gone.code == 2 and f"--python: there is no interpreter {tmp_path / 'gone'}" in gone.err


@pytest.mark.slow
def test_what_is_no_interpreter_is_refused_with_everything_else(
    elsewhere: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("")
    silent = make_program(tmp_path / "silent", "")
    broken = make_program(tmp_path / "broken", "raise SystemExit('out of order')")
    old = make_program(tmp_path / "old", "print('3.9.18')")
    for python, what in (
        (tmp_path / "none", f"there is no interpreter {tmp_path / 'none'}. Name an interpreter"),
        (plain, f"{plain} cannot be executed"),
        (silent, f"{silent} is no Python: it says nothing"),
        (broken, f"{broken} is no Python: out of order"),
        (old, f"{old} is Python 3.9.18, and a worker needs 3.11 or later. Make another and "),
    ):
        wrong = request(fault_server, "--python", str(python), "--heartbeat-url", "nowhere")
        done = run_here(elsewhere, *wrong)
        assert done.code == 2
        assert f"--python: {what}" in done.err
        assert "'nowhere' is no URL" in done.err


def test_another_for_one_that_is_too_old_is_made_in_a_folder_that_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    old = make_program(tmp_path / "venv" / "bin" / "python", "print('3.10.4')")

    def refusal() -> str:
        with pytest.raises(RefusedError, match=r"is Python 3\.10\.4") as refused:
            asyncio.run(interpreter.inspect_interpreter(str(old), [], "--python"))
        return str(refused.value)

    assert refusal().endswith(" 3.11 .venv") or refusal().endswith("python3.11 -m venv .venv")
    (tmp_path / ".venv").mkdir()
    assert refusal().endswith(" .venv-3.11")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    assert refusal().endswith(f" {tmp_path}/venv-3.11") and "--clear" not in refusal()


@pytest.mark.slow
def test_an_interpreter_that_goes_away_ends_the_run_resumably(
    elsewhere: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv")
    add_package(python, "only_there", "1.0", "VALUE = 1")
    args = request(fault_server, "--python", str(python), "-a", '{"dies": "for good"}')
    done = run_here(elsewhere, *args, "--json")
    assert done.code == 1, done
    assert "no worker could be started: [Errno 2] No such file or directory" in done.out
    assert str(python) in done.out
    make_interpreter(tmp_path / "venv")
    again = run_here(elsewhere, "elsewhere", "--resume", str(elsewhere.only_run().path))
    assert again.code == 0, again
    assert len(elsewhere.only_run().rows) == 2


@pytest.mark.slow
def test_an_environment_may_be_installed_there_alone(
    elsewhere: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv")
    add_package(python, "only_there", "1.0", "VALUE = 'far'")
    add_package(python, "far_env", "2.5", ELSEWHERE)
    args = ["far-env", *request(fault_server, "-C", "where", "--python", str(python))[1:]]
    done = run_here(elsewhere, *args)
    assert done.code == 0, done
    [run] = elsewhere.runs()
    assert run.rows[0]["where"][2] == "far"
    assert run.metadata["version_info"]["env_version"] == "2.5"
    checked = elsewhere.run("env", "check", "far-env", "--python", str(python))
    assert checked.code == 0, checked
    assert "far-env has what it needs: it loads" in checked.out


@pytest.mark.slow
def test_evaluations_of_a_file_have_interpreters_of_their_own(
    elsewhere: Program, fault_server: FaultServer, other: Path, tmp_path: Path
) -> None:
    second = make_interpreter(tmp_path / "second")
    add_package(second, "only_there", "1.0", "VALUE = 'second'")
    evaluations = [
        f'[[eval]]\nenv_id = "elsewhere"\npython = "{one}"\nstate_columns = ["where"]\n'
        for one in (other, second.parents[1])
    ]
    file = elsewhere.folder / "both.toml"
    file.write_text("\n".join(evaluations))
    args = ["both.toml", "--set", "model=m", "--set", f"api_base_url={fault_server.url}/v1"]
    done = elsewhere.run(*args, "--set", "save_results=true", "--set", "rollouts_per_example=1")
    assert done.code == 0, done
    values = [{row["where"][2] for row in run.rows} for run in elsewhere.runs()]
    assert sorted(values, key=str) == [{"second"}, {"there"}]


@pytest.mark.slow
def test_an_interpreter_in_which_no_worker_starts_is_refused_with_what_helps(
    elsewhere: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv", [one for one in NEEDED if one != "yarl"])
    done = run_here(elsewhere, *request(fault_server, "--python", str(python)))
    assert done.code == 2
    assert f"--python: no worker starts in {python}: ModuleNotFoundError: No module nam" in done.err
    assert f"{python} aiohttp msgspec" in done.err or f"{python} -m pip" in done.err


def project(program: Program, pyproject: str) -> Path:
    """An environment with a project of its own, `environments/elsewhere`."""
    folder = program.folder / "environments" / "elsewhere"
    folder.mkdir()
    (program.folder / "environments" / "elsewhere.py").rename(folder / "elsewhere.py")
    (folder / "pyproject.toml").write_text(f'[project]\nname = "elsewhere"\n{pyproject}')
    return folder


def where_it_ran(program: Program) -> tuple[str, str]:
    """The prefix and the value of the package that is there."""
    [run] = program.runs(program.folder / "environments" / "elsewhere" / "outputs")
    prefix, _, value, _ = run.rows[0]["where"]
    return prefix, value


@pytest.mark.slow
def test_a_venv_beside_the_environment_is_its_interpreter(
    elsewhere: Program, fault_server: FaultServer
) -> None:
    folder = project(elsewhere, 'version = "7.0"\n')
    python = make_interpreter(folder / ".venv")
    add_package(python, "only_there", "1.0", "VALUE = 'beside'")
    done = run_here(elsewhere, *request(fault_server, "-C", "where"))
    assert done.code == 0, done
    assert where_it_ran(elsewhere) == (str(folder / ".venv"), "beside")
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"elsewhere runs in {python} (Python {version})" in done.err
    [run] = elsewhere.runs(folder / "outputs")
    kept = json.loads((run.path / "versions.json").read_text())["installed"][0]["versions"]
    assert (kept["only-there"], kept["environment"]) == ("1.0", "7.0")
    assert "textual" not in kept and "aiohttp" in kept
    python.unlink()
    python.symlink_to("/nowhere/python")
    gone = run_here(elsewhere, *request(fault_server))
    assert gone.code == 2
    beside = "environments/elsewhere/.venv"
    assert f"{beside}: {beside}/bin/python leads nowhere: /nowhere/python is gone" in gone.err
    assert f"or say --python {sys.executable} for that of tui-eval" in gone.err


@pytest.mark.slow
def test_the_project_of_an_environment_names_its_interpreter(
    elsewhere: Program, fault_server: FaultServer, other: Path
) -> None:
    folder = project(elsewhere, '[tool.tui-eval]\npython = "there/bin/python"\n')
    make_interpreter(folder / ".venv")
    (folder / "there").symlink_to(other.parents[1])
    done = run_here(elsewhere, *request(fault_server, "-C", "where"))
    assert done.code == 0, done
    assert where_it_ran(elsewhere)[1] == "there"
    (folder / "there").unlink()
    for text, what in (
        ('python = "there/bin/python"', "there is no interpreter environments/elsewhere/there/"),
        ("python = 3", "python: "),
    ):
        (folder / "pyproject.toml").write_text(f"[tool.tui-eval]\n{text}\n")
        refused = run_here(elsewhere, *request(fault_server))
        assert refused.code == 2
        assert "environments/elsewhere/pyproject.toml:2" in refused.err
        assert what in refused.err
    (folder / "pyproject.toml").write_text("[tool.tui-eval]\npython = 3\n")
    assert run_here(elsewhere, *request(fault_server, "--python", str(other))).code == 2


SPEAKS_ANOTHER = """
import json, os, socket, sys
if sys.argv[1] == "-c":
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
fd = int(sys.argv[sys.argv.index("--socket-fd") + 1])
payload = bytes([0x91, 0x92, 0xA5]) + b"hello" + bytes([99])
socket.socket(fileno=fd).sendall(len(payload).to_bytes(4, "big") + payload)
sys.stdin.read()
import time; time.sleep(60)
"""
"""A worker that says hello as [["hello", 99]], and does nothing more."""


def test_a_worker_of_another_protocol_is_refused_by_number(
    elsewhere: Program, fault_server: FaultServer, other: Path, tmp_path: Path
) -> None:
    python = make_program(tmp_path / "python", SPEAKS_ANOTHER.format(python=str(other)))
    done = run_here(elsewhere, *request(fault_server, "--python", str(python)))
    assert done.code == 2
    assert f"it speaks protocol 99, and this engine {PROTOCOL}" in done.err


@pytest.mark.parametrize("answers", [True, False], ids=["answers", "silent"])
def test_what_a_wrapper_of_an_interpreter_leaves_running_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: bool
) -> None:
    monkeypatch.setattr(interpreter, "ANSWERS_WITHIN_S", 60.0 if answers else 1.0)
    left = tmp_path / "left"
    then = f'exec {sys.executable} "$@"' if answers else "sleep 7000; :"
    wrapper = tmp_path / "python"
    wrapper.write_text(f"#!/bin/sh\nsleep 7000 &\necho $! > {left}\n{then}\n")
    wrapper.chmod(0o755)
    try:
        asyncio.run(asyncio.wait_for(_looked_at(str(wrapper), answers), 50))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(left.read_text()), signal.SIGKILL)


async def _looked_at(wrapper: str, answers: bool) -> None:
    if answers:
        found = await interpreter.inspect_interpreter(wrapper, [], "--python")
        assert found.version == ".".join(map(str, sys.version_info[:3]))
        return
    with pytest.raises(RefusedError, match="does not answer within 1 s"):
        await interpreter.inspect_interpreter(wrapper, [], "--python")
