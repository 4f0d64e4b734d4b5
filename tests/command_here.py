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
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with inside(program), mock.patch.multiple(sys, stdout=out, stderr=err, stdin=io.StringIO()):
        try:
            code = cli([*args])
        except Exception:
            traceback.print_exc()
            code = 1
    return Finished(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    written = stream.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode()
