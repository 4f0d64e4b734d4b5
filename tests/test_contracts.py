"""Modules that floors may not load: the screen's process and the command line stay light."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest
from textual.screen import Screen

import tui_eval.tui

SDKS = ("openai", "anthropic", "datasets", "pandas", "textual")

SCREENS = "tui_eval.tui.app,tui_eval.tui.form.screen,tui_eval.feeds.live_feed"

PROGRAM = """
import importlib, sys
for name in sys.argv[1].split(","):
    importlib.import_module(name)
print(",".join(name for name in sys.argv[2].split(",") if name in sys.modules))
"""


def loaded_by(modules: str, suspects: tuple[str, ...]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, modules, ",".join(suspects)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "module",
    [
        "tui_eval.fold.run_state",
        "tui_eval.fold.trajectory",
        "tui_eval.events",
        "tui_eval.runs.saved_run",
        "tui_eval.config.plan",
        "tui_eval.config.expansion",
        "tui_eval.config.draft",
        "tui_eval.cli.main",
    ],
)
def test_a_floor_loads_no_sdk_and_no_screen(module: str) -> None:
    assert loaded_by(module, SDKS) == ""


def test_the_screen_loads_no_sdk_and_no_environment() -> None:
    suspects = (*SDKS[:-1], "tui_eval.environments.environment", "tui_eval.clients.base")
    assert loaded_by(SCREENS, suspects) == ""


def test_the_first_frame_loads_no_names_of_other_libraries_and_no_metadata_of_packages() -> None:
    first = "tui_eval.cli.screen,tui_eval.tui.app,tui_eval.tui.run.screen"
    assert loaded_by(first, ("tui_eval.compat", "importlib.metadata", "pydantic", "numpy")) == ""


def test_events_and_fold_do_not_even_load_pydantic_or_numpy() -> None:
    assert loaded_by("tui_eval.events,tui_eval.fold.run_state", ("pydantic", "numpy")) == ""


def test_the_help_loads_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tui_eval", "--help"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert "Usage: tui-eval" in done.stdout
    loaded = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "click" in loaded
    assert not loaded & {"textual", "openai", "anthropic", "numpy", "pydantic"}


def test_no_screen_has_more_than_two_ancestors_of_ours() -> None:
    for module in pkgutil.walk_packages(tui_eval.tui.__path__, "tui_eval.tui."):
        importlib.import_module(module.name)
    below, screens = [Screen], set[type]()
    while below:
        found = set(below.pop().__subclasses__()) - screens
        screens |= found
        below += found
    of_ours = {
        one.__name__: [base for base in one.__mro__[1:] if base.__module__.startswith("tui_eval")]
        for one in screens
    }
    assert "SuiteScreen" in of_ours
    assert {name: bases for name, bases in of_ours.items() if len(bases) > 2} == {}
