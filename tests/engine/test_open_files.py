"""Few open files: fewer rollouts in flight, and none that errs for it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from engine_listener import EngineListener
from program import Finished, Program, chat_answer, wait_until
from servers import FaultServer, Reply

from tui_eval.commands import SetMaxConcurrent
from tui_eval.engine.limits.limits import within_open_files
from tui_eval.error_classes import class_of
from tui_eval.errors import ModelError, ToolCallError
from tui_eval.events import CommandAnswered, MaxConcurrentChanged
from tui_eval.feeds.joined_feed import feed_of
from tui_eval.open_files import is_out_of_files, room_for_rollouts
from tui_eval.runs.layout import RunDir

pytestmark = pytest.mark.plain

LIMIT = 256


def limited(hard: int, soft: int | None = None) -> list[str]:
    """Runs a command with so many open files."""
    return ["sh", "-c", f'ulimit -Sn {soft or hard}; ulimit -Hn {hard}; exec "$@"', "-"]


HUNGRY = """
    import os
    import subprocess
    import sys
    import tui_eval as vf

    def lookup(word: str) -> str:
        "Looks a word up."
        with open(__file__), open(__file__):
            return subprocess.run(["echo", word], capture_output=True, text=True).stdout

    def opened(completion):
        held = [open(os.devnull) for _ in range(4)]
        [one.close() for one in held]
        return 1.0

    class Hungry(vf.ToolEnv):
        async def setup_state(self, state):
            state["held"] = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
            return await super().setup_state(state)

        @vf.cleanup
        async def give_back(self, state):
            for fd in state.pop("held", ()):
                os.close(fd)

    def load_environment():
        return Hungry(
            dataset=[{"question": f"Look up {i}"} for i in range(40)],
            tools=[lookup],
            rubric=vf.Rubric(funcs=[opened]),
            max_turns=2,
        )
"""
"""Holds three files and a connection for each rollout, and opens more in each of its places."""


def run_limited(program: Program, *args: str, limit: list[str]) -> tuple[Finished, dict]:
    program.before = limit
    done = program.run(*args, "-m", "demo", "-s", "--json")
    return done, json.loads(done.out)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[Program, Finished, dict]:
    program = Program(tmp_path_factory.mktemp("few"))
    program.preloaded = False
    program.env["TUI_EVAL_DEMO_SPEED"] = "3"
    args = ("reverse-text", "-n", "100", "-r", "5", "-c", "512")
    return program, *run_limited(program, *args, limit=limited(LIMIT))


@pytest.mark.slow
def test_fewer_are_in_flight_and_none_errs(outcome: tuple[Program, Finished, dict]) -> None:
    program, done, summary = outcome
    assert done.code == 0, done
    assert summary["counts"]["used"] == 500 and summary["counts"]["errored"] == 0
    run = program.only_run()
    assert run.metadata["status"] == "finished"
    assert not re.search("Too many open files|Traceback", run.log + done.err), done


@pytest.mark.slow
def test_it_is_said_before_the_run(outcome: tuple[Program, Finished, dict]) -> None:
    program, done, _ = outcome
    said = done.err.index("-c 512: at most 192 rollouts are in flight")
    assert f"a process may open {LIMIT} files here" in done.err and "ulimit -Hn" in done.err
    assert said < done.err.index("Progress")
    program.before = limited(LIMIT)
    plan = program.run(
        "reverse-text", "-m", "demo", "-n", "100", "-r", "5", "-c", "512", "--dry-run"
    )
    assert "at most 192 rollouts are in flight" in plan.out + plan.err, plan


TWO = """
max_concurrent = 2
model = "m"
num_examples = 100
rollouts_per_example = 5
save_results = true
api_base_url = "{url}"
[[eval]]
env_id = "reverse-text"
[[eval]]
env_id = "calculator"
"""


@pytest.mark.slow
@pytest.mark.parametrize("several", [False, True])
async def test_a_limit_that_is_raised_later_is_lowered_as_well(
    program: Program, fault_server: FaultServer, several: bool
) -> None:
    program.before = limited(LIMIT)
    fault_server.script("/v1/chat/completions", [Reply(hang=True)])
    url = f"{fault_server.url}/v1"
    (program.folder / "two.toml").write_text(TWO.format(url=url))
    one_run = ("reverse-text", "-m", "m", "-b", url, "-n", "100", "-r", "5", "-c", "2", "-s")
    process = program.start(*(("two.toml",) if several else one_run), "-d", "--no-preflight")
    await asyncio.to_thread(wait_until, lambda: program.runs() and fault_server.requests, "calls")
    feed = feed_of(RunDir(program.runs()[0].path))
    await feed.start()
    one = EngineListener(feed)
    await one.until(lambda: one.state.run, "the engine has answered")
    feed.send(SetMaxConcurrent(512))
    (answer,) = await one.until(lambda: one.of(CommandAnswered), "it is said")
    assert "512: at most 192 rollouts are in flight" in answer.text and not answer.done
    await one.until(
        lambda: one.of(MaxConcurrentChanged)[-1].max_concurrent == 192,
        "as many as there are files for",
    )
    await feed.close()
    process.send_signal(signal.SIGINT)
    await asyncio.to_thread(program.finish, process)


@pytest.mark.slow
def test_environments_tools_and_rewards_that_find_no_file_are_tried_again(
    program: Program,
) -> None:
    program.environment("hungry", HUNGRY)
    args = ("hungry", "-n", "40", "-r", "2", "-c", "80")
    done, summary = run_limited(program, *args, limit=limited(128))
    assert done.code == 0, done
    run = program.only_run()
    assert "Too many open files" in run.log, "it was tight"
    assert summary["counts"]["errored"] == 0 and len(run.rows) == 80
    assert not any(one["error"] for row in run.rows for one in row.get("tool_calls", []))
    assert {row["reward"] for row in run.rows} == {1.0}


@pytest.mark.slow
def test_the_soft_limit_is_raised_to_the_hard_one(program: Program) -> None:
    program.environment(
        "limits",
        """
        import pathlib, resource, subprocess
        import tui_eval as vf

        pathlib.Path("limit").write_text(str(resource.getrlimit(resource.RLIMIT_NOFILE)))

        def load_environment():
            return vf.SingleTurnEnv(
                dataset=[{"question": "?"}], rubric=vf.Rubric(funcs=[lambda completion: 1.0])
            )
        """,
    )
    done, _ = run_limited(program, "limits", "-n", "1", limit=limited(700, 100))
    assert done.code == 0, done
    assert (program.folder / "limit").read_text() == "(700, 700)"


SUITE = """
max_concurrent = 512
model = "demo"
num_examples = {examples}
rollouts_per_example = 3
[[eval]]
env_id = "reverse-text"
[[eval]]
env_id = "word-guess"
"""


@pytest.mark.slow
def test_evaluations_of_a_file_have_fewer_in_flight_together(program: Program) -> None:
    program.before = limited(LIMIT)
    for examples, said in ((10, False), (100, True)):
        (program.folder / "suite.toml").write_text(SUITE.format(examples=examples))
        plan = program.run("suite.toml", "--dry-run")
        assert plan.code == 0 and ("-c 512: at most 192 rollouts" in plan.err) == said, plan
        assert ("max_concurrent 192" in plan.out) == said, plan


OWN_PROGRAM = """
import asyncio, sys
import tui_eval as vf

async def main():
    config = vf.ClientConfig(api_base_url=sys.argv[1], api_key_var="")
    examples = [{"question": str(n)} for n in range(400)]
    env = vf.SingleTurnEnv(dataset=examples, rubric=vf.Rubric(funcs=[lambda completion: 1.0]))
    got = await env.evaluate(config, "m")
    print(sum(one["reward"] for one in got["outputs"]), got["metadata"]["n_errored"])

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_program_of_ones_own_has_fewer_in_flight_too(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
    command = [sys.executable, "-c", OWN_PROGRAM, f"{fault_server.url}/v1"]
    done = subprocess.run(
        [*limited(LIMIT), *command],
        cwd=program.folder,
        env=program.env,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "400.0 0\n", done
    assert "no limit of rollouts in flight: at most 192 rollouts are in flight" in done.stderr


NO_HARD_ONE = """
import resource
granted = resource.setrlimit

def at_most_open_max(kind, limits):
    if limits[0] > 10_240:
        raise ValueError("current limit exceeds maximum limit")
    granted(kind, limits)

_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if hard >= 10_240:
    granted(resource.RLIMIT_NOFILE, (256, hard))
resource.setrlimit = at_most_open_max
from tui_eval.open_files import file_limit, raise_limit
raise_limit()
print(file_limit() if hard >= 10_240 else 10_240)
"""


def test_where_the_hard_limit_is_not_granted_what_macos_grants_is() -> None:
    command = [sys.executable, "-c", NO_HARD_ONE]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "10240\n"


NONE_FREE = """
import os, socket
from pathlib import Path
from tui_eval.runs.layout import RunDir
from tui_eval.open_files import is_out_of_files, keep_spare
from tui_eval.runs.writer import write_atomically

unknown = socket.gaierror(socket.EAI_NONAME, "not known")
keep_spare()
held = []
try:
    while True:
        held.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    told = [is_out_of_files(unknown)]
write_atomically(Path("metadata.json"), b"whole")
keep_spare()
try:
    open("other")
except OSError as error:
    told.append(is_out_of_files(error))
os.close(held.pop())
print(*told, is_out_of_files(unknown), Path("metadata.json").read_text())
"""


def test_with_none_free_a_name_is_not_looked_up_and_one_file_is_written_all_the_same(
    tmp_path: Path,
) -> None:
    command = [*limited(64), sys.executable, "-c", NONE_FREE]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "True True False whole\n", done


def chained(inner: BaseException) -> Exception:
    try:
        try:
            raise inner
        except BaseException as error:
            raise ValueError("no connection") from error
    except ValueError as error:
        return error


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_running_out_is_recognised_wherever_it_came_from(number: int) -> None:
    error = OSError(number, os.strerror(number))
    group = ExceptionGroup("both failed", [ValueError(), error])
    for one in (error, chained(error), chained(group)):
        assert is_out_of_files(one) and class_of(one) == "engine"
    for wrapped in (ModelError("?"), ToolCallError("?")):
        wrapped.__cause__ = error
        assert class_of(wrapped) == "engine"
    assert not is_out_of_files(chained(OSError(errno.ENOENT, "?"))) and not is_out_of_files(None)
    assert not is_out_of_files(socket.gaierror(socket.EAI_NONAME, "?"))


def test_limits_are_lowered_only_where_files_do_not_reach() -> None:
    room = room_for_rollouts()
    assert within_open_files(0) == within_open_files(-1) == 0
    assert within_open_files(room) == room and within_open_files(room + 1) == room
    assert within_open_files(room + 1, room) == room + 1 and within_open_files(0, room) == 0
    assert within_open_files(0, room + 1) == room
