"""Modules that `tui-eval --help` and `import tui_eval` load, and the cost of the import."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from bench.figure import Figure, NotMeasuredError, spread
from bench.setting import Setting

HEAVY = ("textual", "openai", "anthropic", "numpy")
PROGRAM = """
import sys
from tui_eval.cli.main import cli
code = cli(["--help"])
print("IMPORTED", *sorted({name.split(".")[0] for name in sys.modules}))
sys.exit(code)
"""

TIMED = """
import json, resource, sys
before = resource.getrusage(resource.RUSAGE_SELF)
{}
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print(json.dumps([cpu, [name for name in sys.argv[1:] if name in sys.modules]]))
"""
ALONE = "import tui_eval"
ALIAS = """import tui_eval.compat
tui_eval.compat.install_verifiers_alias()
import verifiers"""
CLASSES = """import tui_eval as vf
vf.SingleTurnEnv, vf.ToolEnv, vf.Rubric, vf.XMLParser, vf.State"""
GROUND = """import asyncio, inspect, logging
from pydantic import BaseModel
class Message(BaseModel):
    content: str"""
"""Basis of the classes: an event loop, and messages that are pydantic models."""
AUTHORS_HEAVY = ("openai", "anthropic", "datasets", "textual")
IMPORT_AT_MOST_S = 0.15
ALIAS_OVER_IMPORT_S = 0.15
OVER_GROUND = 1.5


def measure(setting: Setting) -> Iterator[Figure]:
    """The modules that are there afterwards, and CPU seconds."""
    yield from _measure_help(setting)
    yield from _measure_import(setting)


def _measure_import(setting: Setting) -> Iterator[Figure]:
    """`import tui_eval`, and with the classes that most environments use."""
    heavy: set[str] = set()
    rounds = [
        [_seconds(setting, program, heavy) for program in (ALONE, CLASSES, GROUND, ALIAS)]
        for _ in range(setting.repeats(9, 3))
    ]
    alone, classes, ground, alias = ([one[at] for one in rounds] for at in range(4))
    yield Figure("CPU of import tui_eval", median(alone), IMPORT_AT_MOST_S, " s", spread(alone))
    over = [one - other for one, other in zip(alias, alone, strict=True)]
    what = "CPU of import verifiers through the alias, over it"
    yield Figure(what, median(over), ALIAS_OVER_IMPORT_S, " s", spread(over))
    ratios = [one / other for one, other in zip(classes, ground, strict=True)]
    what = "the same with five of its classes / pydantic and asyncio"
    times = f"{spread(ratios)}; s: {median(classes):.2f}, {median(ground):.2f}"
    yield Figure(what, median(ratios), OVER_GROUND, "x", times)
    yield Figure("heavy libraries that it imports", len(heavy), 0, "", ", ".join(sorted(heavy)))


def _seconds(setting: Setting, program: str, heavy: set[str]) -> float:
    command = [sys.executable, "-c", TIMED.format(program), *AUTHORS_HEAVY]
    done = subprocess.run(
        command, env=setting.variables(), cwd=setting.folder, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise NotMeasuredError(f"{program}\nended with {done.returncode}:\n{done.stderr}")
    seconds, loaded = json.loads(done.stdout)
    heavy.update(loaded)
    return float(seconds)


def _measure_help(setting: Setting) -> Iterator[Figure]:
    """The modules that are there after the help was printed."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=setting.variables(),
        cwd=setting.folder,
        capture_output=True,
        text=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("IMPORTED ")]
    if done.returncode != 0 or not lines:
        raise NotMeasuredError(f"tui-eval --help ended with {done.returncode}:\n{done.stderr}")
    found = sorted(set(lines[-1].split()) & set(HEAVY))
    yield Figure("heavy libraries that --help imports", len(found), 0, "", ", ".join(found))
