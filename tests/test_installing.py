"""Commands that install packages, each for the interpreter that lacks them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from interpreters import make_program

from tui_eval import install_commands
from tui_eval.install_commands import extra_command, install_command, install_command_for, own_venv


@pytest.fixture
def on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_uv_installs_for_an_interpreter_where_it_is_there(on_the_path: Path) -> None:
    make_program(on_the_path / "uv", "")
    here = f"uv pip install --python {sys.executable}"
    assert install_command(["cowsay<2"]) == f"{here} 'cowsay<2'"
    assert extra_command("math") == f"{here} 'tui-eval[math]'"
    there = install_command_for("/my venv/bin/python", ["cowsay"], has_pip=True)
    assert there == "uv pip install --python '/my venv/bin/python' cowsay"
    assert own_venv("an env/.venv", ["x<2"]) == (
        "uv venv 'an env/.venv' && uv pip install --python 'an env/.venv' 'x<2'"
    )


@pytest.mark.parametrize("has_pip", [True, False])
def test_without_uv_an_interpreter_s_own_pip_does_or_is_made_first(
    on_the_path: Path, monkeypatch: pytest.MonkeyPatch, has_pip: bool
) -> None:
    monkeypatch.setattr(install_commands, "find_spec", lambda name: name if has_pip else None)
    for python, command in (
        (sys.executable, install_command(["cowsay"])),
        ("/v/bin/python", install_command_for("/v/bin/python", ["cowsay"], has_pip=has_pip)),
    ):
        first = "" if has_pip else f"{python} -m ensurepip && "
        assert command == f"{first}{python} -m pip install cowsay"
    assert own_venv("own/.venv", ["x"]) == (
        f"{sys.executable} -m venv own/.venv && own/.venv/bin/python -m pip install x"
    )
