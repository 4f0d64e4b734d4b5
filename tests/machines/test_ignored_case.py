"""Names that differ in case alone, on a file system for which they are one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Program, Run, chat_answer
from servers import FaultServer, Reply

pytestmark = pytest.mark.slow

MODELS = ("Org/Model", "org/model", "org/model")
ENVIRONMENT = """
    import tui_eval as vf

    def load_environment():
        return vf.SingleTurnEnv(
            dataset=[{"question": "?"}], rubric=vf.Rubric(funcs=[lambda completion: 1.0])
        )
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A program that has run two models."""
    program = Program(tmp_path_factory.mktemp("ignored"))
    program.happens_at_start((Path(__file__).parents[1] / "ignoring_case.py").read_text())
    program.environment("asks", ENVIRONMENT)
    with FaultServer() as server:
        server.script("/v1/chat/completions", [Reply(body=chat_answer("yes"))])
        args = ("-b", f"{server.url}/v1", "-n", "1", "-r", "1", "-s")
        for model in MODELS:
            done = program.run("asks", "-m", model, *args)
            assert done.code == 0, done
    yield program
    program.end_all()


def test_every_model_has_a_folder_of_its_own(program: Program) -> None:
    evals = program.folder / "outputs" / "evals"
    runs = [Run(path.parent) for path in evals.glob("*/*/run.toml")]
    found = {run.path.parent.name: run.metadata["model"] for run in runs}
    assert sorted(run.metadata["model"] for run in runs) == sorted(MODELS)
    assert sorted(found.values()) == ["Org/Model", "org/model"], found
    assert found["asks--Org--Model"] == "Org/Model", "the name is as it is where none is alike"
    assert len({name.casefold() for name in found}) == 2


def test_an_environment_is_found_only_by_its_own_name(program: Program) -> None:
    refused = program.run("Asks", "-m", "demo", "-n", "1")
    assert refused.code == 2 and "there is no such environment" in refused.err, refused
    assert "asks" in refused.err
