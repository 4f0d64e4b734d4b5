"""What is left on the terminal after the screen: the summary, true also where the run has gone."""

from __future__ import annotations

import json
import os
import signal

import pytest
from program import Program, chat_answer, wait_until
from servers import FaultServer, Reply
from terminal import Terminal


@pytest.mark.slow
def test_a_run_that_was_moved_meanwhile_is_summed_up_from_what_was_seen(program: Program) -> None:
    terminal = Terminal(program.folder, program.env, "reverse-text", "-m", "demo", "-n", "2")
    try:
        terminal.wait_for("finished in")
        run = program.only_run()
        wait_until(lambda: not (run.path / "lock").exists(), "the engine is done")
        assert program.run("save", str(run.path)).code == 0
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    said = terminal.raw.decode().rsplit("\x1b", 1)[-1]
    assert "= 6 total rollouts" in said
    assert "Rollouts: 6 used" in said
    assert f"{run.path} is not there any more" in said
    assert "Save it" not in said


@pytest.mark.slow
def test_an_engine_that_cannot_be_joined_is_reported_and_the_run_is_followed_on_disk(
    program: Program, fault_server: FaultServer
) -> None:
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes")), Reply(hang=True)])
    url = f"{fault_server.url}/v1"
    process = program.start("reverse-text", "-m", "m", "-b", url, "-n", "3", "-r", "1", "-s")
    run = wait_until(lambda: (r := program.runs()) and r[0].rows and r[0], "a row is there")
    lock = json.loads((run.path / "lock").read_bytes())
    os.unlink(lock["socket"])
    terminal = Terminal(program.folder, program.env, "open", str(run.path))
    try:
        terminal.wait_for("cannot be joined")
        terminal.wait_for("1/3")
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()
        process.send_signal(signal.SIGINT)
        program.finish(process)
    said = terminal.raw.decode().rsplit("\x1b", 1)[-1]
    assert f"Running in process {lock['pid']}: 1 of 3 rollouts are done." in said
    assert b"Traceback" not in terminal.raw


def test_an_environment_that_ends_its_process_closes_the_screen_and_is_named(
    program: Program,
) -> None:
    program.environment("held", "import os; os._exit(5)")
    terminal = Terminal(program.folder, program.env, "held", "-m", "demo")
    try:
        assert terminal.finish() == 1
        said = terminal.raw.decode().rsplit("\x1b", 1)[-1]
        assert "environment held ended its worker while it was loaded: exit status 5" in said
    finally:
        terminal.close()


@pytest.mark.parametrize("requested", ["--no-screen", "TUI_EVAL_SCREEN=0"])
def test_a_loop_of_a_shell_gets_lines_though_it_has_a_terminal(
    program: Program, requested: str
) -> None:
    name, _, value = requested.partition("=")
    env = {**program.env, **({name: value} if value else {})}
    flags = [] if value else [requested]
    terminal = Terminal(
        program.folder, env, "reverse-text", "-m", "demo", "-n", "1", "-r", "1", *flags
    )
    try:
        assert terminal.finish() == 0
    finally:
        terminal.close()
    assert b"Results:" in terminal.raw and b"\x1b[?1049h" not in terminal.raw
