"""Several evaluations in a real terminal, with a real engine behind them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest
from program import Program, chat_answer, wait_until
from servers import FaultServer, Reply
from terminal import Terminal

from tui_eval.runs.lock import holder

CHAT = "/v1/chat/completions"
SUITE = """
model = "m"
api_base_url = "{url}/v1"
num_examples = 6
rollouts_per_example = 1
max_concurrent = 2
save_results = true

[[eval]]
env_id = "echo"
sampling_args = {{ temperature = 0.2 }}

[[eval]]
env_id = "echo"
sampling_args = {{ temperature = 0.9 }}
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
def on_terminal(program: Program, fault_server: FaultServer) -> Iterator[Callable[..., Terminal]]:
    program.environment("echo", ECHO)
    (program.folder / "suite.toml").write_text(SUITE.format(url=fault_server.url))
    opened: list[Terminal] = []

    def open_terminal(
        *args: str, answers: threading.Event | None = None, command: str = "run"
    ) -> Terminal:
        hold = (0, answers) if answers is not None else None
        fault_server.script(CHAT, [Reply(body=chat_answer("yes"), hold=hold)])
        opened.append(Terminal(program.folder, program.env, command, "suite.toml", *args))
        return opened[-1]

    yield open_terminal
    for terminal in opened:
        terminal.close()


def test_a_suite_runs_to_its_end_and_is_looked_at_again(
    program: Program, on_terminal: Callable[..., Terminal]
) -> None:
    none = on_terminal(command="open")
    assert none.finish() == 2
    assert "none of their runs is here with the settings" in none.text
    terminal = on_terminal()
    terminal.wait_for("suite.toml · 2/2 evaluations")
    terminal.wait_for("finished in")
    terminal.type("g")
    terminal.wait_for("6/6 finished")
    terminal.type("q")
    assert terminal.finish() == 0
    assert terminal.is_whole()
    for text in ("temperature=0.2", "temperature=0.9", "Results saved to:"):
        assert text in terminal.text
    program.environment("echo", "raise SystemExit('nothing is run')")
    again = on_terminal(command="open")
    again.wait_for("suite.toml · 2/2 evaluations done")
    again.wait_for("✓ finished today")
    again.wait_for("6/6 finished")
    again.type("q")
    assert again.finish() == 0
    assert again.is_whole()
    assert "2 of 2 evaluations finished" in again.text
    assert "ex rolls" in again.text
    assert len(program.runs()) == 2
    shown = program.run("open", "suite.toml")
    assert shown.code == 2
    assert "Open it on a terminal" in shown.err


@pytest.mark.slow
def test_stopping_a_suite_is_resumable(on_terminal: Callable[..., Terminal]) -> None:
    terminal = on_terminal(answers=threading.Event())
    terminal.wait_for("▶ 2 running")
    terminal.type("q")
    terminal.wait_for("Leave while it runs")
    terminal.type("s")
    assert terminal.finish() == 130
    assert "Resume: tui-eval run suite.toml --resume" in terminal.text
    again = on_terminal("--resume")
    again.wait_for("2/2 evaluations")
    again.wait_for("finished in")
    again.type("q")
    assert again.finish() == 0


@pytest.mark.slow
def test_a_detached_suite_continues_to_its_end(
    program: Program, on_terminal: Callable[..., Terminal]
) -> None:
    answers = threading.Event()
    terminal = on_terminal(answers=answers)
    terminal.wait_for("▶ 2 running")
    terminal.type("<")
    terminal.type("q")
    terminal.wait_for("Leave while it runs")
    terminal.type("d")
    assert terminal.finish() == 0
    assert "Join it: tui-eval open suite.toml" in terminal.text
    answers.set()
    wait_until(lambda: sum(len(run.rows) for run in program.runs()) == 12, "every rollout")
    released = lambda: all(holder(run.path / "lock") is None for run in program.runs())  # noqa: E731
    wait_until(released, "the end of the engine")


@pytest.mark.slow
def test_a_detached_suite_is_joined_as_a_whole(
    program: Program, on_terminal: Callable[..., Terminal]
) -> None:
    answers = threading.Event()  # it is never set
    terminal = on_terminal(answers=answers)
    terminal.wait_for("▶ 2 running")
    leave(terminal, "d")
    shown = program.run("open", "suite.toml")
    assert shown.code == 0, shown
    assert "0 of 2 evaluations done; " in shown.out
    assert "Join it: tui-eval open suite.toml" in shown.out
    joined = on_terminal(answers=answers, command="open")
    joined.wait_for("suite.toml ·")
    for text in ("temperature=0.2", "temperature=0.9", "▶ 2 running"):
        joined.wait_for(text)
    leave(joined, "d")
    again = on_terminal(answers=answers, command="open")
    again.wait_for("▶ 2 running")
    leave(again, "s")
    assert "Resume: tui-eval run suite.toml --resume" in again.text
    assert all(holder(run.path / "lock") is None for run in program.runs())
    over = program.run("open", "suite.toml")
    assert over.code == 2, over
    assert "no engine is at work on these evaluations" in over.err
    assert "tui-eval run suite.toml --resume (errored rollouts run again)" in over.err


def leave(terminal: Terminal, how: str) -> None:
    terminal.type("q")
    terminal.wait_for("Leave while it runs")
    terminal.type(how)
    assert terminal.finish() == (0 if how == "d" or "open" in terminal.process.args else 130)


@pytest.mark.slow
def test_what_errored_in_a_suite_runs_again_from_its_screen(
    program: Program, fault_server: FaultServer, on_terminal: Callable[..., Terminal]
) -> None:
    terminal = on_terminal("-A")
    errs(terminal, fault_server)
    fault_server.script(CHAT, [Reply(400)] * 6 + [Reply(body=chat_answer("yes"))])
    run_again(terminal)
    terminal.wait_for("12/12 rollouts   ✗ 6 errors   90 tokens")
    terminal.wait_for(lambda: "finished in" in terminal.text.splitlines()[0])
    terminal.type("q")
    assert terminal.finish() == 3
    assert terminal.is_whole()
    assert terminal.text.count("Results saved to:") == 1
    assert "ex rolls" not in terminal.text, "-A"
    assert len(program.runs()) == 2
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    again = on_terminal(command="open")
    again.wait_for("1/2 evaluations done · 1 errored")
    run_again(again)
    again.wait_for("12/12 rollouts")
    again.wait_for(lambda: "finished in" in again.text.splitlines()[0])
    again.type("q")
    assert again.finish() == 0
    assert again.is_whole()
    assert "2 of 2 evaluations finished" in again.text
    rows = [row for run in program.runs() for row in run.rows]
    assert [row["error"] for row in rows] == [None] * 12


def errs(terminal: Terminal, fault_server: FaultServer) -> None:
    """Every rollout of a suite that has just been requested errors."""
    fault_server.script(CHAT, [Reply(400)])
    terminal.wait_for("12 errors")
    terminal.wait_for("finished in")


def run_again(terminal: Terminal) -> None:
    terminal.type("R")
    terminal.wait_for("Run again?")
    terminal.type("g")


@pytest.mark.slow
def test_where_it_cannot_be_resumed_the_suite_is_shown_again_and_reported(
    program: Program, fault_server: FaultServer, on_terminal: Callable[..., Terminal]
) -> None:
    terminal = on_terminal()
    errs(terminal, fault_server)
    (program.folder / "suite.toml").unlink()
    run_again(terminal)
    terminal.wait_for("The suite was not resumed")
    terminal.type("\x1b")
    terminal.wait_for(lambda: "was not resumed" not in terminal.text)
    terminal.wait_for("12 errors")
    terminal.type("q")
    assert terminal.finish() == 3
    assert "2 of 2 evaluations finished" in terminal.text
    assert terminal.text.count("Results saved to:") == 1
