"""On Windows the first command says where the program runs, in one line."""

from __future__ import annotations

import pytest
from program import Program

WINDOWS = """
import importlib.abc, sys
sys.platform = "win32"

class Lacks(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in ("termios", "fcntl", "pty", "tty", "pwd", "grp", "resource"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Lacks())
for name in ("fcntl", "termios", "pwd", "grp", "resource"):
    sys.modules.pop(name, None)
"""


@pytest.mark.parametrize("words", [(), ("--help",), ("word-guess", "-m", "demo"), ("ls", "--json")])
def test_the_first_command_names_wsl(program: Program, words: tuple[str, ...]) -> None:
    program.happens_at_start(WINDOWS)
    done = program.run(*words)
    assert (done.code, done.out) == (1, "")
    (line,) = done.err.splitlines()
    assert line.startswith("error: tui-eval does not run on Windows itself, but in WSL")
