"""The kept run, its folder and its endpoint, in the place of a test's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kept_run import CHAT, GOOD, evaluate, write
from program import Program, Run
from servers import FaultServer


@dataclass(frozen=True)
class Kept:
    """A folder with a finished run of three examples, its server, and a copy."""

    folder: Path
    server: FaultServer
    copy: Path


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """The run is made once; every test finds it, or nothing, in the same folder."""
    folder = tmp_path_factory.mktemp("kept")
    program = Program(folder)
    write(program)
    with FaultServer() as server:
        server.script(CHAT, [GOOD])
        done = evaluate(program, server, "-n", "3", "-s")
        program.end_all()
        assert done.code == 0, done
        copy = tmp_path_factory.mktemp("copy")
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        yield Kept(folder, server, copy)


@pytest.fixture
def fault_server(kept: Kept) -> FaultServer:
    kept.server.script(CHAT, [GOOD])
    kept.server.requests.clear()
    return kept.server


@pytest.fixture
def program(kept: Kept) -> Iterator[Program]:
    for path in kept.folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    program = Program(kept.folder)
    yield program
    program.end_all()


@pytest.fixture
def begun(kept: Kept, program: Program) -> Run:
    """The finished run of three examples."""
    shutil.copytree(kept.copy, kept.folder, dirs_exist_ok=True)
    return program.only_run()
