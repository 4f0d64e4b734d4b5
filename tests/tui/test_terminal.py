"""The app in a real terminal, with a real engine behind it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from program import Program, chat_answer, wait_until
from servers import FaultServer, Reply
from terminal import Terminal

from tui_eval.runs.lock import holder

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))

ECHO = """
    import tui_eval as vf

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{"question": f"Say {i}"} for i in range(20)],
            rubric=vf.Rubric(funcs=[lambda completion: 1.0]),
        )
"""


@pytest.fixture
def on_terminal(program: Program) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(*args: str, **options: Any) -> Terminal:
        opened.append(Terminal(program.folder, program.env, *args, **options))
        return opened[-1]

    yield open_terminal
    for terminal in opened:
        terminal.close()


@pytest.fixture
def echo(program: Program, fault_server: FaultServer) -> list[str]:
    program.environment("echo", ECHO)
    fault_server.script(CHAT, [GOOD])
    return ["echo", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "10", "-r", "1", "-c", "2"]


def engine_pid(program: Program) -> int:
    held = holder(program.only_run().path / "lock")
    assert held is not None
    return held.pid


@pytest.mark.slow
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
def test_the_demo_runs_and_leaving_prints_the_summary(
    program: Program, on_terminal: Callable[..., Terminal], size: tuple[int, int]
) -> None:
    terminal = on_terminal("demo", "-n", "4", "-r", "2", size=size)
    terminal.wait_for("calculator")
    terminal.wait_for("8/8")
    terminal.wait_for("finished in")
    terminal.type("q")
    assert terminal.finish() == 0
    assert terminal.is_whole()
    assert "Results saved to:" in terminal.text
    assert len(program.only_run().rows) == 8


@pytest.mark.slow
def test_a_theme_wished_for_is_the_theme(
    program: Program, on_terminal: Callable[..., Terminal]
) -> None:
    program.env |= {"COLORTERM": "truecolor", "TEXTUAL_THEME": "tui-eval-light"}
    terminal = on_terminal("demo", "-n", "1", "-r", "1")
    terminal.wait_for("finished in")
    assert b"48;2;250;250;248" in terminal.raw
    terminal.type("q")
    assert terminal.finish() == 0


def test_pausing_stops_requests_and_resuming_finishes(
    echo: list[str], on_terminal: Callable[..., Terminal], fault_server: FaultServer
) -> None:
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"), delay=0.2)])
    terminal = on_terminal(*echo, "-s")
    terminal.wait_for("/10")
    terminal.wait_for(lambda: fault_server.requests)
    terminal.type(" ")
    terminal.wait_for("‖ paused")
    sent = len(fault_server.requests)
    quiet_until = time.monotonic() + 0.6  # three calls would have come in this time
    while time.monotonic() < quiet_until:
        terminal.read()
    assert len(fault_server.requests) == sent < 10
    terminal.type(" ")
    terminal.wait_for("10/10")
    terminal.type("q")
    assert terminal.finish() == 0


@pytest.mark.slow
def test_ctrl_z_gives_the_shell_back_and_fg_redraws_everything(
    echo: list[str], on_terminal: Callable[..., Terminal]
) -> None:
    terminal = on_terminal(*echo, "-s", preloaded=False)
    still = ("echo · m", "1 Rollouts", "2 Trajectory", "3 Numbers", "function ", "q quit")
    terminal.wait_for(lambda: all(text in terminal.text for text in still))
    terminal.type("\x1a")
    pid = terminal.process.pid
    terminal.wait_for(lambda: os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG))
    terminal.wait_for(lambda: b"\x1b[?1049l" in terminal.raw)
    terminal.read_all()
    terminal.screen.reset()
    os.kill(pid, signal.SIGCONT)
    terminal.wait_for(lambda: all(text in terminal.text for text in still))
    terminal.type("q")
    assert terminal.finish() == 0


def test_quitting_prompts_and_stop_leaves_a_resumable_run(
    program: Program, echo: list[str], on_terminal: Callable[..., Terminal],
    fault_server: FaultServer,
) -> None:  # fmt: skip
    fault_server.script(CHAT, [GOOD, GOOD, GOOD, Reply(hang=True)])
    terminal = on_terminal(*echo, "-s")
    terminal.wait_for("3/10")
    terminal.type("q")
    terminal.wait_for("detach")
    terminal.type("\x1b")
    terminal.wait_for(lambda: "detach" not in terminal.text)
    terminal.type("q")
    terminal.wait_for("detach")
    terminal.type("s")
    assert terminal.finish() == 130
    assert terminal.is_whole()
    assert "Interrupted: 3 of 10 rollouts are done." in terminal.text
    run = program.only_run()
    assert run.metadata["status"] == "interrupted"
    fault_server.script(CHAT, [GOOD])
    again = on_terminal("run", "--resume", str(run.path))
    again.wait_for("10/10")
    again.type("q")
    assert again.finish() == 0
    assert run.places() == [(i, 0) for i in range(10)]


@pytest.fixture
def detached(
    program: Program, echo: list[str], on_terminal: Callable[..., Terminal],
    fault_server: FaultServer,
) -> threading.Event:  # fmt: skip
    """Once the event is set, a run that nobody watches has the rest of its answers."""
    answers = threading.Event()
    held = Reply(body=chat_answer("yes"), hold=(0, answers))
    fault_server.script(CHAT, [GOOD, GOOD, held])
    terminal = on_terminal(*echo, "-s")
    terminal.wait_for("2/10")
    terminal.type("q")
    terminal.wait_for("detach")
    terminal.type("d")
    assert terminal.finish() == 0
    assert "tui-eval open" in terminal.text
    return answers


def test_a_detached_run_continues_and_can_be_joined(
    program: Program, detached: threading.Event, on_terminal: Callable[..., Terminal]
) -> None:
    pid = engine_pid(program)
    assert Path(f"/proc/{pid}").exists()
    joined = on_terminal("open", str(program.only_run().path))
    joined.wait_for("2/10")
    detached.set()
    joined.wait_for("10/10")
    joined.type("q")
    assert joined.finish() == 0
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the engine has ended")
    assert program.only_run().metadata["status"] == "finished"


@pytest.mark.slow
def test_a_detached_run_is_left_alone_by_another_engine_that_starts(
    program: Program, detached: threading.Event, on_terminal: Callable[..., Terminal]
) -> None:
    run, pid = program.only_run().path, engine_pid(program)
    words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    os.utime(words[words.index("--socket") + 1], (1, 1))  # one that was killed looks the same
    assert program.finish(program.start("calculator", "-m", "demo", "-n", "1", "-d"), 60).code == 0
    joined = on_terminal("open", str(run))
    joined.wait_for("2/10")
    detached.set()
    joined.wait_for("10/10")
    joined.type("q")
    assert joined.finish() == 0


@pytest.mark.slow
def test_an_unsaved_run_is_saved_when_it_is_stopped_to_be_saved(
    program: Program, echo: list[str], on_terminal: Callable[..., Terminal],
    fault_server: FaultServer,
) -> None:  # fmt: skip
    fault_server.script(CHAT, [GOOD, Reply(hang=True)])
    terminal = on_terminal(*echo)
    terminal.wait_for("1/10")
    terminal.type("q")
    terminal.wait_for("stop and save")
    terminal.type("s")
    assert terminal.finish() == 130
    assert program.only_run().path.is_relative_to(program.folder / "outputs")
    assert "Results saved to:" in terminal.text


def test_a_refusal_closes_the_screen_and_says_everything(
    program: Program, on_terminal: Callable[..., Terminal]
) -> None:
    terminal = on_terminal("calculater", "-m", "demoo")
    assert terminal.finish() == 2
    assert terminal.is_whole()
    assert "calculator" in terminal.text
    assert "demoo" in terminal.text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_leaves_the_terminal_whole_and_the_run_resumable(
    program: Program, echo: list[str], on_terminal: Callable[..., Terminal],
    fault_server: FaultServer, number: int,
) -> None:  # fmt: skip
    fault_server.script(CHAT, [GOOD, Reply(hang=True)])
    terminal = on_terminal(*echo, "-s")
    terminal.wait_for("1/10")
    pid = engine_pid(program)
    terminal.process.send_signal(number)
    assert terminal.finish() == 130
    assert terminal.is_whole()
    assert not Path(f"/proc/{pid}").exists()
    assert program.only_run().metadata["status"] == "interrupted"


def test_a_killed_engine_is_shown_and_the_rows_stay(
    program: Program, echo: list[str], on_terminal: Callable[..., Terminal],
    fault_server: FaultServer,
) -> None:  # fmt: skip
    fault_server.script(CHAT, [GOOD, GOOD, Reply(hang=True)])
    terminal = on_terminal(*echo, "-s")
    terminal.wait_for("2/10")
    os.kill(engine_pid(program), signal.SIGKILL)
    terminal.wait_for("failed")
    terminal.type("q")
    assert terminal.finish() == 1
    assert "the engine was killed (signal 9, SIGKILL; often: out of" in terminal.text
    run = program.only_run()
    assert len(run.rows) == 2
    later = on_terminal("open", str(run.path))
    later.wait_for("the engine was killed (signal 9, SIGKILL")
    later.wait_for("stopped, resumable")
    assert "the engine was killed" in program.run("report", str(run.path)).out


@pytest.mark.slow
def test_code_that_holds_the_engine_does_not_hold_the_screen(
    program: Program, on_terminal: Callable[..., Terminal], fault_server: FaultServer
) -> None:
    program.environment(
        "echo",
        ECHO.replace("lambda completion: 1.0", "hold").replace(
            "def load",
            "def hold(completion):\n        import time\n        time.sleep(600)\n\n    def load",
        ),
    )
    fault_server.script(CHAT, [GOOD])
    url = f"{fault_server.url}/v1"
    terminal = on_terminal("echo", "-m", "m", "-b", url, "-n", "2", "-r", "1", "-s")
    terminal.wait_for(lambda: len(fault_server.requests) == 2)
    terminal.type("?")
    terminal.wait_for("Keys and signs")
    terminal.type("\x1b")
    terminal.wait_for(lambda: "Keys and signs" not in terminal.text)
    terminal.type("q")
    terminal.wait_for("Leave while it runs")
    terminal.type("s")
    assert terminal.finish() == 130


HOSTILE = (
    "\x1b]52;c;aGFja2Vk\x07 \x1b[2J \x9b31m \x9d52;c;x\x9c [/foo] [bold]x[/bold] \u202egnp.exe "
    "\u200bz \x00 \x08 \r over"
)


def test_text_of_models_and_tools_cannot_steer_the_terminal(
    program: Program, on_terminal: Callable[..., Terminal], fault_server: FaultServer
) -> None:
    program.environment(
        "hostile",
        """
        import tui_eval as vf

        TEXT = TEXT_HERE

        def tool(text: str) -> str:
            "A tool."
            return TEXT + " \\\\ud800 " + "x" * 1_000_000

        def broken(completion):
            raise ValueError(TEXT)

        def load_environment():
            return vf.ToolEnv(
                tools=[tool],
                dataset=[{"question": TEXT, "answer": TEXT}],
                rubric=vf.Rubric(funcs=[broken]),
            )
        """.replace("TEXT_HERE", repr(HOSTILE)),
    )
    import json

    call = {
        "id": HOSTILE,
        "type": "function",
        "function": {"name": "tool", "arguments": json.dumps({"text": HOSTILE})},
    }
    long_line = "y" * 1_000_000
    fault_server.script(
        CHAT,
        [
            Reply(body=chat_answer(HOSTILE, tool_calls=[call], reasoning_content=HOSTILE)),
            Reply(body=chat_answer(HOSTILE + long_line)),
        ],
    )
    url = f"{fault_server.url}/v1"
    terminal = on_terminal(
        "hostile", "-m", HOSTILE.replace("\x00", ""), "-b", url, "-n", "1", "-r", "1", "-s"
    )
    terminal.wait_for("1/1")
    for keys in ("\r", "G", "g", "2", "\r", "j", "j", "\r", "j", "\r", "3", "1"):
        terminal.type(keys)
        terminal.read(0.2)
    terminal.wait_for(lambda: "[/foo]" in terminal.text)
    terminal.type("q")
    assert terminal.finish() == 3, terminal.text
    for bad in (b"\x1b]52", b"\x9b31m".decode("latin1").encode(), b"\xc2\x9d", b"\x1b[2J \xc2"):
        assert bad not in terminal.raw
    assert "\u202e".encode() not in terminal.raw
    assert terminal.is_whole()
    opened = program.run("open", str(program.only_run().path))
    assert "\x1b" not in opened.out


@pytest.mark.slow
def test_what_an_environment_prints_is_in_the_log_pane_and_nowhere_else(
    program: Program, on_terminal: Callable[..., Terminal], fault_server: FaultServer
) -> None:
    program.environment(
        "loud", ECHO.replace("def load", "print('loaded the dunes')\n\n    def load")
    )
    fault_server.script(CHAT, [GOOD])
    terminal = on_terminal("loud", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "2", "-v")
    terminal.wait_for("finished")
    assert "dunes" not in terminal.text
    terminal.type("4z")
    terminal.wait_for("debug  rollout")
    terminal.type("g")
    terminal.wait_for("print  loaded the dunes")
    terminal.type("/Say 1\r")
    terminal.wait_for("“say 1”")
