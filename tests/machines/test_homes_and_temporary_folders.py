"""Users without a home, and machines whose temporary folders are not as usual."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Program, wait_until
from taken_away import HELD, NO_GROUP_SIGNALS, as_nobody, is_root, with_read_only_tmp
from terminal import Terminal

pytestmark = pytest.mark.slow

RUN = ("word-guess", "-m", "demo", "-n", "1", "-r", "1")


@pytest.fixture
def nobody(program: Program) -> Iterator[tuple[Program, Path]]:
    """The program as a user without passwd entry and HOME; and the folder that it then uses."""
    uid = 200_000 + os.getpid()
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "TMPDIR",
                 "TUI_EVAL_STATE_DIR", "TUI_EVAL_CONFIG", "TUI_EVAL_CACHE_DIR"):  # fmt: skip
        program.env.pop(name, None)
    program.before = as_nobody(program, uid)
    private = Path(f"/tmp/tui-eval-{uid}")
    yield program, private
    shutil.rmtree(private, ignore_errors=True)


@is_root
def test_who_has_no_home_has_a_private_folder_for_runs(nobody: tuple[Program, Path]) -> None:
    program, private = nobody
    done = program.run(*RUN)
    assert done.code == 0, done
    assert (private.stat().st_mode & 0o777, private.stat().st_uid) == (
        0o700,
        int(private.name.split("-")[-1]),
    )
    assert f"Unsaved, kept 14 days: {private}/" in done.out
    assert list(program.folder.iterdir()) == []
    listed = program.run("ls")
    assert (listed.code, listed.err) == (0, "1 rollout\n")
    assert "Traceback" not in done.err + listed.err


@is_root
def test_the_screen_needs_no_home(nobody: tuple[Program, Path]) -> None:
    program, _ = nobody
    assert program.run(*RUN, "-s").code == 0
    words = ("-c", "import os, sys; os.execvp(sys.argv[1], sys.argv[1:])", *program.before)
    command = (*words, sys.executable, "-m", "tui_eval")
    terminal = Terminal(program.folder, program.env, command=command)
    try:
        terminal.wait_for("word-guess")
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    assert b"Traceback" not in terminal.raw
    assert [path.name for path in program.folder.iterdir()] == ["outputs"]


@is_root
@pytest.mark.parametrize("home", ["/nonexistent", "/", "/proc"])
def test_a_home_that_takes_nothing_names_the_variable(
    nobody: tuple[Program, Path], home: str
) -> None:
    program, _ = nobody
    program.env["HOME"] = home
    refused = program.run(*RUN)
    (line,) = [line for line in refused.err.splitlines() if line.startswith("error")]
    assert (refused.code, "Set TUI_EVAL_STATE_DIR to a folder" in line) == (2, True)
    assert program.run(*RUN, "-s").code == 0


@is_root
def test_a_folder_that_somebody_else_made_is_not_taken_for_ones_own(
    nobody: tuple[Program, Path],
) -> None:
    program, private = nobody
    private.mkdir()
    private.chmod(0o777)
    refused = program.run(*RUN, "-s")
    (line,) = [line for line in refused.err.splitlines() if line.startswith("error")]
    assert f"{private} belongs to somebody else" in line
    assert "set TMPDIR or XDG_RUNTIME_DIR" in line
    program.env["TMPDIR"] = str(program.folder)
    assert program.run(*RUN, "-s").code == 0
    assert list(private.iterdir()) == []


@is_root
def test_a_tmp_that_cannot_be_written_needs_tmpdir(program: Program) -> None:
    program.before = with_read_only_tmp(program.folder)
    program.env.pop("TMPDIR", None)
    refused = program.run(*RUN)
    (line,) = [line for line in refused.err.splitlines() if line.startswith("error")]
    assert f"/tmp/tui-eval-{os.getuid()}" in line and "set TMPDIR" in line
    for name in ("TMPDIR", "XDG_RUNTIME_DIR"):
        program.env[name] = str(program.folder)
        done = program.run(*RUN)
        assert done.code == 0, done
        program.env[name] = ""


def test_an_engine_is_ended_where_no_group_can_be_signalled(program: Program) -> None:
    program.environment("held", HELD)
    program.happens_at_start(NO_GROUP_SIGNALS)
    process = program.start("held", "-m", "demo", "-n", "2", "-r", "1", "-s")
    wait_until(lambda: program.runs() and program.only_run().rows, "one rollout is over")
    engine = json.loads((program.only_run().path / "lock").read_text())["pid"]
    os.kill(engine, signal.SIGSTOP)
    process.send_signal(signal.SIGINT)
    assert program.finish(process).code == 130
    with pytest.raises(ProcessLookupError):
        os.kill(engine, 0)
