"""Where Unix sockets are refused the screen reaches its engine on a port that wants a token."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Finished, Program, wait_until
from taken_away import HELD, NO_UNIX_SOCKETS
from terminal import Terminal


class HeldRun:
    """A run whose engine listens on a port, until it is let go on."""

    def __init__(self, program: Program) -> None:
        self.program = program
        program.environment("held", HELD)
        program.happens_at_start(NO_UNIX_SOCKETS)
        self._process = program.start("held", "-m", "demo", "-n", "2", "-r", "1", "-s")
        wait_until(lambda: program.runs() and program.only_run().rows, "one rollout is over")
        self.run = program.only_run()
        lock = json.loads((self.run.path / "lock").read_text())
        self.address = Path(lock["socket"])
        port, self.token, self.answer, _ = self.address.read_text().split(" ", 3)
        self.port = int(port)

    def let_go(self) -> Finished:
        (self.program.folder / "go").touch()
        return self.program.finish(self._process)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeldRun]:
    program = Program(tmp_path_factory.mktemp("held"))
    try:
        yield HeldRun(program)
    finally:
        program.end_all()


def said_to(port: int, words: str) -> bytes:
    """What a listener says to who says words, and then no more."""
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        sock.sendall(words.encode())
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(10)
        received = b""
        try:
            while data := sock.recv(1 << 16):
                received += data
        except ConnectionResetError:
            pass
        return received


def test_its_token_is_for_nobody_else(held: HeldRun) -> None:
    assert held.address.stat().st_mode & 0o777 == 0o600
    assert held.address.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("words", ["", "0" * 64, "GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 8])
def test_who_says_another_word_receives_nothing(held: HeldRun, words: str) -> None:
    assert said_to(held.port, words) == b""


def test_an_engine_answers_who_knows_its_token(held: HeldRun) -> None:
    assert said_to(held.port, held.token).startswith(held.answer.encode())


@pytest.mark.slow
def test_the_screen_joins_it_and_sees_it_end(program: Program) -> None:
    held = HeldRun(program)
    terminal = Terminal(held.program.folder, held.program.env, "open", str(held.run.path))
    try:
        terminal.wait_for("1/2")
        assert "cannot be joined" not in terminal.text
        ended = held.let_go()
        terminal.wait_for("2/2")
        print(terminal.text)
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()
    assert ended.code == 0, ended
    warned = [line for line in ended.err.splitlines() if "Unix sockets are refused" in line]
    assert len(warned) == 1 and f"127.0.0.1:{held.port}" in warned[0]
    assert held.token not in ended.out + ended.err + held.run.log
    assert not held.address.exists()


@pytest.mark.slow
def test_a_port_that_another_program_took_is_not_taken_for_an_engine(program: Program) -> None:
    program.happens_at_start(NO_UNIX_SOCKETS)
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = program.folder / "address"
        address.write_text(f"{other.getsockname()[1]} {'1' * 64} {'2' * 64} refused")
        address.chmod(0o600)
        program.environment("held", HELD)
        (program.folder / "go").touch()
        assert program.run("held", "-m", "demo", "-n", "2", "-r", "1", "-s").code == 0
        run = program.only_run().path
        holding = (
            "import sys, pathlib; from tui_eval.runs.lock import RunLock; "
            "lock = RunLock(pathlib.Path(sys.argv[1]), sys.argv[2]); print('held', flush=True); "
            "sys.stdin.read()"
        )
        terminal = Terminal(
            program.folder,
            program.env,
            str(run / "lock"),
            str(address),
            command=("-c", holding),
        )
        try:
            terminal.wait_for("held")
            joining = Terminal(program.folder, program.env, "open", str(run))
            try:
                other.settimeout(30)
                accepted, _ = other.accept()
                assert accepted.recv(64) == b"1" * 64
                accepted.sendall(b"3" * 64)
                joining.wait_for("cannot be joined")
                joining.type("q")
                joining.finish()
            finally:
                joining.close()
                accepted.close()
        finally:
            terminal.close()


@pytest.mark.slow
def test_evaluations_of_a_file_are_reached_each_on_a_port(program: Program) -> None:
    program.happens_at_start(NO_UNIX_SOCKETS)
    one = '[[eval]]\nenv_id = "word-guess"\nnum_examples = 1\nrollouts_per_example = 1\n'
    (program.folder / "two.toml").write_text(f'model = "demo"\n{one}{one}')
    terminal = Terminal(program.folder, program.env, "two.toml")
    try:
        terminal.wait_for("Unix sockets are refused")
        terminal.wait_for(lambda: "finished in" in terminal.text.split("\n")[0])
        assert terminal.text.count("1/1") >= 2
        terminal.type("q")
        assert terminal.finish() == 0
    finally:
        terminal.close()
