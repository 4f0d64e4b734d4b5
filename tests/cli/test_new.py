"""`tui-eval new` in a real terminal, with real engines behind it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator

import pytest
from program import Program, chat_answer
from servers import FaultServer, Reply
from terminal import Terminal

CHAT = "/v1/chat/completions"
DOWN = "\x1b[B"

ECHO = """
    import tui_eval as vf

    def load_environment(words: int = 3):
        rows = [{"question": f"Say {n}", "answer": "yes"} for n in range(20)]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[lambda completion: 1.0]))
"""


@pytest.fixture
def terminal(program: Program, fault_server: FaultServer) -> Iterator[Terminal]:
    program.environment("echo", ECHO)
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    file = program.folder / "mine.toml"
    file.write_text(
        '# Mine.\n[[eval]]\nenv_id = "echo"\nmodel = "m"     # the small one\n'
        f'api_base_url = "{fault_server.url}/v1"\nsave_results = true\nnum_examples = 2\n'
    )
    terminal = Terminal(program.folder, program.env, "new", "mine.toml")
    yield terminal
    if terminal.process.poll() is None:
        terminal.process.kill()
    terminal.process.wait()


def test_a_form_is_filled_in_saved_and_run(
    terminal: Terminal, program: Program, fault_server: FaultServer
) -> None:
    terminal.wait_for("words")
    terminal.wait_for("2 examples × 3 = 6 rollouts")
    assert not fault_server.requests, "nothing is sent before it runs"
    # The environment, its interpreter and its argument come first.
    terminal.type(DOWN * 2)
    terminal.type("5")
    terminal.wait_for("words = 5")
    terminal.wait_for("'{\"words\": 5}'")
    terminal.type("\x17")
    terminal.wait_for("this file is replaced")
    terminal.type("\r")
    terminal.wait_for("Saved mine.toml.")
    saved = (program.folder / "mine.toml").read_text()
    assert saved.startswith("# Mine.\n") and "# the small one" in saved
    assert tomllib.loads(saved)["eval"][0]["env_args"] == {"words": 5}
    terminal.wait_for("✓ ready")
    terminal.type("\x12")
    terminal.wait_for("✓ finished")
    terminal.type("q")
    terminal.wait_for(lambda: terminal.process.poll() is not None)
    assert terminal.process.returncode == 0
    run = program.only_run()
    assert len(run.rows) == 6
    assert run.metadata["env_args"] == {"words": 5}


@pytest.mark.slow
def test_what_the_engine_refuses_comes_back_to_the_form(
    terminal: Terminal, program: Program
) -> None:
    terminal.wait_for("✓ ready")
    terminal.wait_for("2 examples × 3 = 6 rollouts")
    (program.folder / "outputs").write_text("no folder")
    os.unlink(program.folder / "environments" / "echo.py")
    terminal.type("\x12")
    terminal.wait_for("✗ there is no such environment")
    terminal.type("\x1b")
    terminal.wait_for(lambda: terminal.process.poll() is not None)
    assert terminal.process.returncode == 0
    assert not program.runs()


def test_ctrl_c_leaves_the_form(terminal: Terminal, program: Program) -> None:
    terminal.wait_for("words")
    terminal.type("\x03")
    terminal.wait_for(lambda: terminal.process.poll() is not None)
    assert not program.runs()


def test_without_a_terminal_it_says_what_to_do(program: Program) -> None:
    done = program.run("new", "calculator")
    assert done.code == 2
    assert "tui-eval new: there is no terminal to draw on" in done.err


def test_a_file_that_is_no_toml_is_refused(program: Program) -> None:
    (program.folder / "torn.toml").write_text("a = ")
    terminal = Terminal(program.folder, program.env, "new", "torn.toml")
    terminal.wait_for("this is no TOML")
    terminal.wait_for(lambda: terminal.process.poll() is not None)
    assert terminal.process.returncode == 2
