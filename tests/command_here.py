"""A command as `tui-eval` has it, in the test's own process: same arguments, streams and exit code.

A process of its own takes 0.4 CPU seconds to start. What begins an engine or looks at streams,
signals and exits has one; what only reads, plans, writes a file or refuses is called here.
"""

from __future__ import annotations

import io
import sys
import traceback
from unittest import mock

from program import Finished, Program
from run_here import inside

from tui_eval.cli.main import cli


def command_here(program: Program, *args: str) -> Finished:
    """Runs a command in the program's folder and environment; what it raises is exit 1."""
    printed = Printed()
    with inside(program), printed:
        try:
            code = cli([*args])
        except Exception:
            traceback.print_exc()
            code = 1
    return Finished(code, printed.out, printed.err)


class Printed:
    """Output while it is entered; nobody types anything."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO(), io.BytesIO()
        out, err = (
            io.TextIOWrapper(one, "utf-8", newline="", write_through=True) for one in self._bytes
        )
        self._patch = mock.patch.multiple(sys, stdout=out, stderr=err, stdin=io.StringIO())

    def __enter__(self) -> None:
        self._patch.start()

    def __exit__(self, *raised: object) -> None:
        self._patch.stop()

    @property
    def out(self) -> str:
        return self._bytes[0].getvalue().decode()

    @property
    def err(self) -> str:
        return self._bytes[1].getvalue().decode()
