"""What `tui-eval --help` imports: none of the heavy libraries."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from bench.figure import Figure, NotMeasuredError
from bench.setting import Setting

HEAVY = ("textual", "openai", "anthropic", "numpy")
PROGRAM = """
import sys
from tui_eval.cli.main import cli
code = cli(["--help"])
print("IMPORTED", *sorted({name.split(".")[0] for name in sys.modules}))
sys.exit(code)
"""


def measure(setting: Setting) -> Iterator[Figure]:
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
