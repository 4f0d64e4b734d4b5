"""Packages that an interpreter lacks for a worker: installed once behind its own, or named."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from interpreters import (
    AIOHTTP,
    NEEDED,
    add_package,
    make_interpreter,
    make_program,
    make_wheels,
)
from program import Finished, Program, chat_answer, wait_until
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
DAY_S = 24 * 3600.0
CODE = """
import sys

import tui_eval as vf


def load_environment():
    def right(completion, state):
        homes = {name: sys.modules[name].__file__ for name in ("aiohttp", "idna", "msgspec")}
        state["homes"] = {"prefix": sys.prefix, **homes}
        return 1.0

    rows = [{"question": "?", "answer": ""}]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([right]))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_wheels(tmp_path_factory.mktemp("index") / "wheels")


@pytest.fixture
def homes(program: Program, fault_server: FaultServer) -> Program:
    if shutil.which("uv") is None:
        pytest.skip("there is no uv here")
    program.environment("homes", CODE)
    cut_off = {"UV_OFFLINE": "1", "UV_CACHE_DIR": str(program.folder / "uv")}
    program.env |= {**cut_off, "TUI_EVAL_CACHE_DIR": str(program.folder / "cache")}
    fault_server.script(CHAT, [Reply(body=chat_answer("42"))])
    return program


def run(program: Program, server: FaultServer, python: Path, *more: str) -> Finished:
    args = ["homes", "-m", "m", "-b", f"{server.url}/v1", "-r", "1", "-C", "homes", "-s"]
    return run_here(program, *args, "--python", str(python), *more)


def test_what_lacks_is_installed_once_and_stands_behind(
    homes: Program, fault_server: FaultServer, wheels: Path, tmp_path: Path
) -> None:
    has_all_but = [one for one in NEEDED if one not in ("aiohttp", "yarl", "msgspec")]
    python = make_interpreter(tmp_path / "venv", has_all_but)
    homes.env["UV_FIND_LINKS"] = str(wheels)
    packages = homes.folder / "cache" / "packages"
    before = {"89": 89, "91": 91, ".new-0": 0, ".new-1": 1}
    for name, days in before.items():  # how long nobody used them
        (packages / name / "site-packages").mkdir(parents=True)
        os.utime(packages / name, times=(time.time() - days * DAY_S,) * 2)
    done = run(homes, fault_server, python)
    assert done.code == 0, done
    installed = next(one for one in packages.iterdir() if one.name not in before)
    assert {*packages.iterdir()} == {packages / "89", packages / ".new-0", installed}
    row = homes.only_run().rows[0]["homes"]
    own = f"{python.parents[1]}/"
    assert row["prefix"] == str(python.parents[1])
    assert row["aiohttp"].startswith(f"{installed}/site-packages/")
    assert row["msgspec"].startswith(f"{installed}/")
    assert row["idna"].startswith(own), "what is there is not shadowed by what came along"
    assert (installed / "site-packages" / "idna").exists()
    del homes.env["UV_FIND_LINKS"]
    again = make_interpreter(tmp_path / "of-the-same-kind", has_all_but)
    os.utime(installed, (0, 0))
    assert run(homes, fault_server, again).code == 0
    assert {*packages.iterdir()} == {packages / "89", packages / ".new-0", installed}
    assert time.time() - installed.stat().st_mtime < DAY_S, "it is not removed while it is used"


def test_without_a_network_the_command_is_named_beside_all_other_faults(
    homes: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv", ())
    done = run(homes, fault_server, python, "--heartbeat-url", "nowhere")
    assert done.code == 2
    assert f"--python: {python} lacks aiohttp>=3.10,<4, msgspec" in done.err
    assert f"With a network: uv pip install --python {python} 'aiohttp>=3.10,<4' 'msgs" in done.err
    assert "'nowhere' is no URL" in done.err
    assert not [*(homes.folder / "cache" / "packages").iterdir()]


@pytest.mark.slow
def test_where_there_is_no_uv_pip_installs(
    homes: Program, fault_server: FaultServer, wheels: Path, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv", [one for one in NEEDED if one not in AIOHTTP])
    subprocess.run([python, "-m", "ensurepip"], check=True, capture_output=True)
    homes.env |= {"PATH": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    nothing = run(homes, fault_server, python)
    assert nothing.code == 2
    assert f"With a network: {python} -m pip install 'aiohttp>=3.10,<4'" in nothing.err
    homes.env["PIP_FIND_LINKS"] = str(wheels)
    done = run(homes, fault_server, python)
    assert done.code == 0, done
    assert "cache/packages" in homes.only_run().rows[0]["homes"]["aiohttp"]


def test_where_there_is_neither_pip_is_to_be_made_first(
    homes: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv", ())
    homes.env |= {"PATH": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    done = run(homes, fault_server, python)
    how = f"With a network: {python} -m ensurepip && {python} -m pip install 'aiohttp>=3.10,<4'"
    assert done.code == 2 and how in done.err, done


def test_a_package_of_a_version_that_no_worker_runs_with_is_refused(
    homes: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv", AIOHTTP)
    add_package(python, "pydantic", "1.10.26", "")
    add_package(python, "msgspec", "0.9.0", "")
    done = run(homes, fault_server, python, "--json")
    assert done.code == 2
    faults = [(one["what"], one["hint"]) for one in json.loads(done.out)["faults"]]
    install = f"Install it: uv pip install --python {python}"
    assert faults == [
        (
            f"{python} has msgspec 0.9.0, and a worker needs msgspec>=0.18.6,<1",
            f"{install} 'msgspec>=0.18.6,<1'",
        ),
        (
            f"{python} has pydantic 1.10.26, and a worker needs pydantic>=2,<3",
            f"{install} 'pydantic>=2,<3'",
        ),
    ]


@pytest.mark.slow
def test_engines_that_install_at_the_same_time_do_not_disturb_each_other(
    homes: Program, fault_server: FaultServer, wheels: Path, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv", ())
    homes.env["UV_FIND_LINKS"] = str(wheels)
    args = ["homes", "-m", "m", "-b", f"{fault_server.url}/v1", "-r", "1", "--python", str(python)]
    started = [homes.start(*args) for _ in range(3)]
    assert [homes.finish(one).code for one in started] == [0, 0, 0]
    assert len([*(homes.folder / "cache" / "packages").iterdir()]) == 1


BUILDS = """
import os, subprocess, sys, time
builder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
new = {path!r} + ".new"
with open(new, "w") as file:
    file.write(f"{os.getppid()} {os.getpid()} {builder.pid}")
os.rename(new, {path!r})
time.sleep(300)
"""


def begin_install(
    homes: Program, server: FaultServer, python: Path, folder: Path
) -> tuple[subprocess.Popen[str], list[int]]:
    """Starts a run whose install does not end; its engine, its installer, and what that builds."""
    pids, bin_folder = folder / "pids", folder / "bin"
    bin_folder.mkdir()
    make_program(bin_folder / "uv", BUILDS.replace("{path!r}", repr(str(pids))))
    path = homes.env.get("PATH", os.environ["PATH"])
    homes.env["PATH"] = f"{bin_folder}{os.pathsep}{path}"
    args = ["homes", "-m", "m", "-b", f"{server.url}/v1", "-r", "1", "--python", str(python), "-d"]
    process = homes.start(*args)
    homes.env["PATH"] = path
    wait_until(pids.exists, "the install has begun")
    return process, [int(one) for one in pids.read_text().split()]


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.slow
def test_an_install_that_is_given_up_ends_what_builds_for_it(
    homes: Program, fault_server: FaultServer, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv", ())
    process, (_, installer, builder) = begin_install(homes, fault_server, python, tmp_path)
    process.send_signal(signal.SIGINT)
    assert homes.finish(process).code != 0
    wait_until(lambda: not is_running(installer) and not is_running(builder), "both have ended")
    assert not [*(homes.folder / "cache" / "packages").iterdir()]


@pytest.mark.slow
def test_what_an_engine_left_that_was_killed_in_an_install_is_removed_by_the_next(
    homes: Program, fault_server: FaultServer, wheels: Path, tmp_path: Path
) -> None:
    python = make_interpreter(tmp_path / "venv", ())
    process, (engine, installer, builder) = begin_install(homes, fault_server, python, tmp_path)
    packages = homes.folder / "cache" / "packages"
    [left] = packages.iterdir()
    homes.env["UV_FIND_LINKS"] = str(wheels)
    assert run(homes, fault_server, python).code == 0
    assert left.exists(), "its engine is at it"
    os.kill(engine, signal.SIGKILL)
    wait_until(lambda: not is_running(installer) and not is_running(builder), "both end with it")
    homes.finish(process)
    shutil.rmtree(next(one for one in packages.iterdir() if one != left))
    assert run(homes, fault_server, python).code == 0
    assert not left.exists()
    assert len([*packages.iterdir()]) == 1
