"""The scripted policy in tool environments that it was not written for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from program import Program, Run

TOOLBOX = Path(__file__).with_name("toolbox.py")
KINDS = re.findall(r'^    "(\w+)": \(\[', TOOLBOX.read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Twelve rollouts in each of the ten environments."""
    program = Program(tmp_path_factory.mktemp("toolbox"))
    program.environment("toolbox", TOOLBOX.read_text())
    head = 'model = "demo"\nnum_examples = 1\nrollouts_per_example = 12\nenv_id = "toolbox"\n'
    tables = (f'[[eval]]\nenv_args = {{ kind = "{kind}" }}\n' for kind in KINDS)
    (program.folder / "ten.toml").write_text(head + "".join(tables))
    try:
        done = program.run("ten.toml")
    finally:
        program.end_all()
    assert done.code in (0, 3), done
    return {run.metadata["env_args"]["kind"]: run for run in program.runs()}


@pytest.mark.slow
def test_at_least_four_of_five_calls_are_valid(runs: dict[str, Run]) -> None:
    assert len(runs) == len(KINDS) == 10
    valid, every = 0, 0
    for run in runs.values():
        for row in run.rows:
            schemas = {tool["name"]: tool["parameters"] for tool in row["tool_defs"]}
            for message in row["completion"]:
                for call in map(json.loads, message.get("tool_calls", ())):
                    every += 1
                    check = Draft202012Validator(schemas[call["name"]])
                    valid += check.is_valid(json.loads(call["arguments"]))
    assert every > 60 and valid / every >= 0.8, (valid, every)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_twelve_rollouts_do_not_all_end_alike(runs: dict[str, Run], kind: str) -> None:
    ends = {(row["reward"], row["stop_condition"], bool(row["error"])) for row in runs[kind].rows}
    assert len(ends) >= 2, ends
