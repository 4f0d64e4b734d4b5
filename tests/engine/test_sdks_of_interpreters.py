"""Rollouts need no SDK: without one, and with one of another time, rows are as with the current."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from endpoint_scripts import ANSWERS, PATHS
from interpreters import add_package, make_interpreter
from program import Program
from run_here import run_here
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent

pytestmark = pytest.mark.slow

CODE = """
import sys

import tui_eval as vf


def load_environment():
    async def right(completion, state):
        state["prefix"] = sys.prefix
        return 1.0

    rows = [{"question": f"q{n}", "answer": ""} for n in range(EXAMPLES)]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([right]))
"""
WORDS = {"error": {"message": "so it is", "type": "some_error", "code": "such"}}
PROTOCOLS = list(PATHS)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_interpreter(tmp_path_factory.mktemp("without") / "venv")


@pytest.fixture(scope="module")
def ancient(tmp_path_factory: pytest.TempPathFactory) -> Path:
    python = make_interpreter(tmp_path_factory.mktemp("ancient") / "venv")
    for name in ("openai", "anthropic"):
        add_package(python, name, "0.1.0", "class OpenAIError(Exception): pass\n")
    return python


def replies(protocol: str, way: str) -> list[Reply]:
    """Replies in turn, an answer or failure for each rollout but for those tried again."""
    answer = ANSWERS[protocol]
    if way == "streamed":
        return [Reply(body=sent(events_of(protocol, answer)), headers=SSE), Reply(400, WORDS)]
    return [
        Reply(body=answer),
        Reply(400, WORDS),
        Reply(404, WORDS),
        Reply(422, b"no JSON"),
        Reply(body=b"<html>"),
        Reply(body=WORDS),
        Reply(reset=True),
        Reply(429, WORDS, {"Retry-After": "0"}),
        Reply(body=answer),
    ]


def rows_with(
    program: Program, server: FaultServer, protocol: str, way: str, python: Path | None
) -> list[dict[str, Any]]:
    before = {run.path for run in program.runs()}
    server.script(PATHS[protocol], replies(protocol, way))
    base = server.url if protocol == "anthropic_messages" else f"{server.url}/v1"
    args = ["plain", "-m", "m", "-b", base, "--api-client-type", protocol, "-c", "1", "-r", "1"]
    more = ["--python", str(python)] if python else []
    more += ["--stream"] if way == "streamed" else []
    done = run_here(program, *args, "-n", "-1", "-C", "prefix", "-s", *more)
    assert done.code == 3, done
    [run] = [run for run in program.runs() if run.path not in before]
    kept = ("example_id", "completion", "reward", "error", "token_usage", "prefix")
    return sorted(
        ({name: row.get(name) for name in kept} for row in run.rows),
        key=lambda row: row["example_id"],
    )


@pytest.mark.parametrize(
    ("protocol", "way"), [*((one, "whole") for one in PROTOCOLS), (PROTOCOLS[0], "streamed")]
)
def test_rows_without_an_sdk_are_those_with_the_current(
    program: Program,
    fault_server: FaultServer,
    without: Path,
    ancient: Path,
    protocol: str,
    way: str,
) -> None:
    program.environment("plain", CODE.replace("EXAMPLES", "2" if way == "streamed" else "7"))
    program.env["TUI_EVAL_CACHE_DIR"] = str(program.folder / "cache")
    found = []
    for python in (None, without, ancient):
        rows = rows_with(program, fault_server, protocol, way, python)
        prefixes = {row.pop("prefix") for row in rows if not row["error"]}
        assert python is None or prefixes == {str(python.parents[1])}
        found.append(rows)
    assert found[0] == found[1] == found[2]
    errored = [row["error"] is not None for row in found[0]]
    assert errored == ([False, True] if way == "streamed" else [False, *[True] * 5, False])
