"""What is printed reaches whoever reads it, and a missing or odd reader never ends a run."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from typing import IO, Any
from unittest import mock

import pytest
from command_here import command_here
from program import Finished, Program, chat_answer, wait_until
from run_here import inside, run_here
from servers import FaultServer, Reply
from test_analysing import saved
from tiers import first_always

from tui_eval.cli.main import cli
from tui_eval.cli.output import last_code, ready_streams

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
DEMO = ("-m", "demo", "-n", "2", "-r", "1")


def in_shell(program: Program, line: str) -> Finished:
    """Runs a shell line in which `tui-eval` is this program."""
    line = line.replace("tui-eval", f"{sys.executable} -m tui_eval")
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=program.folder,
        env=program.env,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("streams", "encoding"),
    [
        ("<&-", "ascii"),
        ("", "latin-1"),
        (">&-", "utf-8"),
        ("2>&-", "utf-8"),
        ("<&- >&- 2>&-", "utf-8"),
        ("> /dev/full", "utf-8"),
        ("| head -n 1", "utf-8"),
    ],
)
def test_a_run_needs_nobody_at_its_streams_and_any_encoding_will_do(
    program: Program, streams: str, encoding: str
) -> None:
    program.env["PYTHONIOENCODING"] = encoding
    done = in_shell(program, f"tui-eval reverse-text {' '.join(DEMO)} {streams}")
    refuses = ">&-" in streams.replace("2>&-", "") or "full" in streams
    assert done.code == (1 if refuses else 0), done
    assert "Traceback" not in done.err
    assert ("error: stdout cannot be written: " in done.err) == (refuses and "2>" not in streams)
    assert ("Reward:" in done.out) == (streams in ("", "<&-", "2>&-"))
    assert len(program.only_run().rows) == 2


PRINTING = {
    "report RUN": 0,
    "report RUN RUN": 0,
    "report RUN --json": 0,
    "open RUN": 0,
    "ls RUN": 0,
    "ls RUN --json": 0,
    "compare RUN RUN": 0,
    "compare RUN RUN --json": 0,
    "export RUN --format html -o -": 0,
    "note RUN ex0 0 --tag odd": 0,
    "config explain reverse-text -m demo": 0,
    "config keys": 0,
    "reverse-text --dry-run -m demo": 0,
    "run --help": 0,
    "--version": 0,
    "report nothing --json": 2,
}
"""Commands that print on stdout, and the exit code of each."""


LOSES = {">/dev/full": "No space left on device", ">&-": "Bad file descriptor"}
"""Streams that take nothing, and what the system says of them."""


def with_stdout(program: Program, words: list[str], stdout: IO[str] | None) -> Finished:
    """Runs a command in this process on a stdout of its own."""
    err = program.folder / "stderr"
    with (
        inside(program),
        err.open("w") as stderr,
        mock.patch.multiple(sys, stdout=stdout, stderr=stderr),
    ):
        ready_streams()
        code = last_code(cli(words))
        sys.stderr.flush()
    return Finished(code, "", err.read_text())


def reports_loss(done: Finished, why: str) -> bool:
    last = f"error: stdout cannot be written: {why}\n"
    return done.code == 1 and done.err.endswith(last) and "Traceback" not in done.err


@pytest.mark.slow
@pytest.mark.parametrize("command", PRINTING)
def test_every_command_reports_lost_output(program: Program, command: str) -> None:
    words = command.replace("RUN", saved(program.folder, "kept"))
    with open("/dev/full", "w") as full:
        done = with_stdout(program, shlex.split(words), full)
    assert reports_loss(done, LOSES[">/dev/full"]), done
    done = with_stdout(program, shlex.split(words), None)
    assert reports_loss(done, LOSES[">&-"]), done
    done = in_shell(program, f"tui-eval {words} | true")
    assert done.code == PRINTING[command], done
    assert "stdout" not in done.err and "Traceback" not in done.err


@pytest.mark.parametrize("streams", LOSES)
def test_the_program_reports_lost_output(program: Program, streams: str) -> None:
    done = in_shell(program, f"tui-eval report {saved(program.folder, 'kept')} {streams}")
    assert reports_loss(done, LOSES[streams]), done


def test_a_file_that_cannot_be_written_ends_with_1(program: Program) -> None:
    run = saved(program.folder, "kept")
    done = command_here(program, "export", run, "--format", "csv", "-o", "/dev/full")
    assert done.code == 1, done
    assert done.err == "error: /dev/full: the export cannot be written: No space left on device\n"


NAMES = {"letters": "m" * 300, "chinese": "模" * 85, "slashes": "/".join(["org"] * 100)}


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_any_name_runs_and_is_exported(
    program: Program, fault_server: FaultServer, name: str
) -> None:
    fault_server.script(CHAT, [GOOD])
    arguments = ("-m", NAMES[name], "-b", f"{fault_server.url}/v1", "-k", "", "--no-preflight")
    done = run_here(program, "reverse-text", *arguments, "-n", "1", "-r", "1", "-s")
    assert done.code == 0 and len(program.only_run().rows) == 1, done
    done = command_here(program, "export", str(program.only_run().path), "--format", "jsonl")
    assert done.code == 0, done


@pytest.mark.parametrize("place", ["", "-o", "--env-dir-path", "-e"])
def test_a_name_that_no_file_can_have_is_refused(program: Program, place: str) -> None:
    words = ["reverse-text", place] if place else []
    done = run_here(program, "run", *words, "e" * 300, *DEMO)
    assert done.code == 2, done
    assert "Traceback" not in done.err
    expected = "has more than 255 bytes" if place else "there is no such environment"
    assert expected in done.err


@pytest.mark.slow
@pytest.mark.parametrize("streams", first_always(["2> /dev/full", "2>&1 | head -n 1"]))
def test_errors_that_nobody_reads_do_not_end_the_run(
    program: Program, fault_server: FaultServer, streams: str
) -> None:
    fault_server.script(CHAT, [Reply(400, {"error": {"message": "no"}}, delay=0.2)])
    arguments = f"-m m -b {fault_server.url}/v1 -n 3 -r 1 -c 1"
    done = in_shell(program, f"tui-eval reverse-text {arguments} {streams}")
    assert done.code == 3, done
    assert len(program.only_run().rows) == 3


@pytest.mark.parametrize("place", ["ENVIRONMENT", "-o/--output-dir"])
def test_an_argument_that_is_not_utf_8_is_refused(program: Program, place: str) -> None:
    odd = b"caf\xe9"
    args: list[Any] = [odd] if place == "ENVIRONMENT" else ["reverse-text", "-o", odd]
    done = subprocess.run(
        [sys.executable, "-m", "tui_eval", *args, *DEMO],
        cwd=program.folder,
        env=program.env,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done
    assert f"{place}: 'caf\\udce9' is not UTF-8 text" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_running_run_that_is_printed_is_said_to_run(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [GOOD, Reply(hang=True)])
    url = f"{fault_server.url}/v1"
    process = program.start("reverse-text", "-m", "m", "-b", url, "-n", "3", "-r", "1", "-s")
    run = wait_until(lambda: (r := program.runs()) and r[0].rows and r[0], "a row is there")
    pid = json.loads((run.path / "lock").read_bytes())["pid"]
    opened = command_here(program, "open", str(run.path))
    os.kill(process.pid, signal.SIGINT)
    program.finish(process)
    assert opened.code == 0, opened
    assert f"Running in process {pid}: 1 of 3 rollouts are done." in opened.out
    assert "Interrupted" not in opened.out
    assert "--resume" not in opened.out
    again = command_here(program, "open", str(run.path))
    assert "Interrupted: 1 of 3 rollouts are done." in again.out


@pytest.mark.parametrize("command", ["run reverse-text -m demo", "config explain reverse-text"])
def test_a_folder_that_is_gone_is_reported(program: Program, command: str) -> None:
    done = in_shell(program, f"mkdir x && cd x && rmdir ../x && tui-eval {command} --json")
    assert done.code == 2, done
    assert "the working directory was removed" in done.err
    assert "Traceback" not in done.err
    assert not done.out or json.loads(done.out)["status"] == "refused"
