"""Home through the real command on a real terminal, with real runs and a real engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from program import Program, chat_answer, wait_until
from servers import FaultServer, Reply
from terminal import Terminal

from tui_eval.runs.lock import holder

CHAT = "/v1/chat/completions"
REGISTRY = """
[[endpoint]]
endpoint_id = "here"
model = "m"
url = "{url}/v1"

[[endpoint]]
endpoint_id = "elsewhere"
model = "m"
url = "http://127.0.0.1:9/v1"
key = "A_KEY_OF_NOBODY"
"""
ECHO = """
    import tui_eval as vf

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{"question": f"Say {i}"} for i in range(20)],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""


@pytest.fixture
def home(program: Program, fault_server: FaultServer) -> Iterator[Callable[..., Terminal]]:
    program.environment("echo", ECHO)
    registry = program.folder / "configs/endpoints.toml"
    registry.parent.mkdir()
    registry.write_text(REGISTRY.format(url=fault_server.url))
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    opened: list[Terminal] = []

    def open_home(*args: str, size: tuple[int, int] = (120, 40)) -> Terminal:
        opened.append(Terminal(program.folder, program.env, *args, size=size))
        return opened[-1]

    yield open_home
    for terminal in opened:
        terminal.close()


def wait_for_home(terminal: Terminal) -> None:
    """Until nothing of a run is on the screen any more."""
    terminal.wait_for(lambda: "2 Environments" in terminal.text and "Rollouts" not in terminal.text)


def test_the_bare_command_shows_what_there_is_opens_a_run_and_comes_back(
    program: Program, home: Callable[..., Terminal]
) -> None:
    assert program.run("echo", "-m", "here", "-n", "3", "-r", "1", "-s").code == 0
    terminal = home()
    terminal.wait_for("complete")
    terminal.wait_for("local")
    terminal.wait_for("✓ reachable")
    for text in ("echo", "1.00", "✗ key not set", "calculator", "1 run"):
        assert text in terminal.text
    terminal.type("\r")
    terminal.wait_for("✓ finished in")
    terminal.type("q")
    wait_for_home(terminal)
    terminal.type("q")
    assert terminal.finish() == 0
    assert terminal.is_whole()


def test_a_running_one_is_attached_to_and_left_running_then_followed_to_its_end(
    program: Program, fault_server: FaultServer, home: Callable[..., Terminal]
) -> None:
    answers, yes = threading.Event(), chat_answer("yes")
    fault_server.script(CHAT, [Reply(body=yes), Reply(body=yes, hold=(0, answers))])
    process = program.start("echo", "-m", "here", "-n", "20", "-r", "1", "-c", "1", "-s", "-d")
    wait_until(lambda: program.runs() and program.only_run().rows, "a first row")
    terminal = home("home")
    terminal.wait_for("enter attach")
    terminal.type("\r")
    terminal.wait_for(
        lambda: "Attached: q goes back" in terminal.text and "Rollouts" in terminal.text
    )
    terminal.type("q")
    wait_for_home(terminal)
    assert holder(program.only_run().path / "lock") is not None
    answers.set()
    assert program.finish(process).code == 0
    terminal.wait_for("✓ echo")
    assert len(program.only_run().rows) == 20
    terminal.type("\x11")
    assert terminal.finish() == 0


@pytest.mark.slow
def test_an_incomplete_run_is_resumed_from_home(
    program: Program, fault_server: FaultServer, home: Callable[..., Terminal]
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes")), Reply(hang=True)])
    process = program.start("echo", "-m", "here", "-n", "6", "-r", "1", "-c", "1", "-s", "-d")
    wait_until(lambda: program.runs() and program.only_run().rows, "a first row")
    process.terminate()
    program.finish(process)
    assert len(program.only_run().rows) == 1
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    terminal = home("home", size=(80, 24))
    terminal.wait_for("■ echo")
    terminal.type("r")
    terminal.wait_for("✓ finished in")
    terminal.type("q")
    wait_for_home(terminal)
    terminal.wait_for("✓ echo")
    terminal.type("q")
    assert terminal.finish() == 0
    assert len(program.only_run().rows) == 6


@pytest.mark.slow
def test_quitting_at_once_stops_a_run_that_home_started(
    program: Program, fault_server: FaultServer, home: Callable[..., Terminal]
) -> None:
    terminal = home()
    terminal.wait_for("No runs under ./outputs yet")
    program.env["TUI_EVAL_DEMO_SPEED"] = "1"
    terminal.type("D")
    terminal.wait_for("▶ running")
    terminal.type("\x11")
    assert terminal.finish() in (0, 130)
    assert terminal.is_whole()
    assert "Results saved to:" in terminal.text


def test_without_a_terminal_the_help_is_printed_and_home_says_what_to_do(
    program: Program,
) -> None:
    bare = program.run()
    assert "Usage: tui-eval" in bare.out + bare.err
    refused = program.run("home")
    assert refused.code == 2 and "there is no terminal" in refused.err
    missing = program.run("home", "nowhere")
    assert missing.code == 2 and "nowhere: there is no such file" in missing.err
