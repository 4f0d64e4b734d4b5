"""Lines and JSON on the standard streams, safe for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from tui_eval.errors import Fault
from tui_eval.printable import left_to_right, printable
from tui_eval.runs.summary_json import json_line, refused_object


def print_stdout(lines: Iterable[str]) -> None:
    """Prints lines on stdout."""
    _print(sys.stdout, lines)


def print_stderr(lines: Iterable[str]) -> None:
    """Prints lines on stderr, where stdout is for machines."""
    _print(sys.stderr, lines)


def warn(text: str) -> None:
    """Prints a line on stderr."""
    _print(sys.stderr, [text])


def print_json(value: Mapping[str, Any]) -> None:
    """Prints one JSON object as one line on stdout."""
    print(printable(json_line(value)), flush=True)


def _print(stream: TextIO, lines: Iterable[str]) -> None:
    shown = left_to_right if stream.isatty() else str
    for line in lines:
        print(shown(printable(line)), file=stream)
    stream.flush()


def print_faults(faults: Iterable[Fault]) -> int:
    """Prints why a request was refused; returns the exit code of a refusal."""
    for fault in faults:
        warn(f"error: {fault}")
    return 2


def refuse(faults: Iterable[Fault], *, as_json: bool = False, code: int = 2) -> int:
    """Prints why a request was refused, as one JSON object too if requested.

    Returns:
        The exit code, which is `code`.
    """
    every = list(faults)
    if as_json:
        print_json({**refused_object(every), "exit_code": code})
    print_faults(every)
    return code
