"""Environments whose own properties raise are refused at the load, with class, message and line."""

from __future__ import annotations

import pytest
from command_here import command_here
from program import Program, chat_answer
from servers import FaultServer, Reply
from tiers import first_always, some_slow

CODE = """
import tui_eval as vf


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Own(vf.SingleTurnEnv):
    @property
    def {name}(self):
        raise {error}

    @{name}.setter
    def {name}(self, value):
        pass


def load_environment():
    return Own(dataset=[{{"question": "?"}}])
"""
LINE = CODE.format(name="x", error="x").split("\n").index("        raise x") + 1
AT = f"environments/raising.py:{LINE})"
SAID = "ValueError: not now ("

CASES = [
    ("temperature", 'ValueError("not now")', SAID, ("-x", '{"temperature": 1}')),
    ("pass_threshold", 'ValueError("not now")', SAID, ()),
    ("env_id", 'ValueError("not now")', SAID, ()),
    ("tool_defs", 'ValueError("not now")', SAID, ()),
    ("replayable", "Silent()", "Silent: its message raised RuntimeError (", ()),
    ("env_args", '__import__("json").loads("x")', "JSONDecodeError: Expecting value: line", ()),
    ("score_rollouts", 'SystemExit("not now")', "SystemExit: not now (", ()),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "error", "says", "more"),
    some_slow(CASES, [one[0] for one in CASES], "replayable"),
)
def test_one_whose_property_raises_is_refused_with_the_line(
    program: Program,
    fault_server: FaultServer,
    name: str,
    error: str,
    says: str,
    more: tuple[str, ...],
) -> None:
    program.environment("raising", CODE.format(name=name, error=error))
    to = ("raising", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", *more)
    done = program.finish(program.start(*to), 30)
    here = command_here(program, "run", *to, "--dry-run")
    for one in (done, here):
        assert one.code == 2, one
        [line] = [line for line in one.err.splitlines() if line.startswith("error: ")]
        assert says in line and AT in line, one
        assert name == "temperature" or "environment raising: " in line, one
    assert not fault_server.requests


OTHERS = """
import asyncio

import tui_eval as vf


class Own(BaseException):
    pass


class Silent(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Ends(vf.SingleTurnEnv):
    @vf.teardown
    async def ends(self):
        if {teardown}:
            raise {error}


def load_environment():
    if not {teardown}:
        raise {error}
    rubric = vf.Rubric([lambda completion: 1.0])
    return Ends(dataset=[{{"question": "?"}}], rubric=rubric)
"""
RAISED = [
    ("Own('not now')", "Own: not now"),
    ("KeyboardInterrupt", "KeyboardInterrupt"),
    ("asyncio.CancelledError", "CancelledError"),
    ("GeneratorExit", "GeneratorExit"),
    ("Silent", "Silent: its message raised RuntimeError"),
    ("ValueError('x' * 5_000_000)", f"{'x' * 2000}... 4,998,000 more characters"),
]


@pytest.mark.parametrize(
    ("error", "says"),
    some_slow(RAISED, [error for error, _ in RAISED], "KeyboardInterrupt", "Silent"),
)
@pytest.mark.parametrize("teardown", first_always([True, False]))
def test_whatever_a_load_or_a_teardown_raises_is_reported(
    program: Program, fault_server: FaultServer, error: str, says: str, teardown: bool
) -> None:
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("42"))])
    program.environment("raising", OTHERS.format(error=error, teardown=teardown))
    to = ("raising", "-m", "m", "-b", f"{fault_server.url}/v1", "-n", "1", "-w", "1")
    done = program.finish(program.start(*to), 30)
    assert done.code == (0 if teardown else 2), done
    begins = "warning: a teardown handler raised" if teardown else "error: environment raising: "
    [line] = [line for line in done.err.splitlines() if line.startswith(begins)]
    assert f"{says} (" in line and "environments/raising.py:" in line, line
