"""Writing an export: the file is there when it is whole, and not before."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO, TypeAlias

import msgspec

from tui_eval.errors import Fault, RefusedError, UnwritableError
from tui_eval.install_commands import extra_command
from tui_eval.runs.export.source import ExportSource
from tui_eval.runs.file_writing import cut_name, is_replaceable, new_file
from tui_eval.runs.layout import SUFFIXES as SUFFIXES_OF_RUNS

Writer: TypeAlias = Callable[[ExportSource, BinaryIO], Iterator[int]]
"""Writes a source to a file and yields after each rollout how many are written."""

FORMATS = {
    "jsonl": "a rollout a line, as in results.jsonl",
    "csv": "a table, one rollout a line",
    "parquet": "the same table, with conversations as JSON",
    "markdown": "trajectories to read",
    "html": "one page with everything, for any browser",
}
SUFFIXES = {"markdown": "md"}


class ExportProgress(msgspec.Struct, frozen=True):
    """Number of rollouts that are written."""

    written: int
    total: int


def format_of(path: Path) -> str | None:
    """The format of a file's name."""
    ending = path.suffix.removeprefix(".").lower()
    return next((name for name in FORMATS if ending == SUFFIXES.get(name, name)), None)


def default_path(place: Path, kind: str, part: str = "") -> Path:
    """A file in the current folder that is not there yet, named after a run.

    Args:
        place: Path of the run: see `RunDir.place`.
        part: Name of the rollouts of it, where these are not all.
    """
    run = place.absolute()
    own = run.stem if run.suffix in SUFFIXES_OF_RUNS else run.name
    name = cut_name("-".join(filter(None, (run.parent.name, own, part))))
    number = 1
    while True:
        more = f"-{number}" if number > 1 else ""
        path = Path(f"{name}{more}.{SUFFIXES.get(kind, kind)}")
        if not path.exists():
            return path
        number += 1


def write_export(
    source: ExportSource, kind: str, path: Path, *, overwrite: bool = False
) -> Iterator[ExportProgress]:
    """Writes one of `FORMATS` and yields after each rollout.

    A caller that stops early leaves no file. To be run off the screen's loop.

    Raises:
        RefusedError: A package is missing, the file is there already, or is the run's own.
        UnwritableError: It cannot be written.
    """
    write = writer_of(kind)
    total = len(source.finished)
    if path.resolve() in {one.resolve() for one in source.run.files}:
        raise RefusedError([Fault(str(path), "this is a file of the run itself", "Name another")])
    if path.exists() and is_replaceable(path) and not overwrite:
        hint = "Name another one, or overwrite it: --overwrite"
        raise RefusedError([Fault(str(path), "this file is there already", hint)])
    try:
        with new_file(path) as file:
            for written in write(source, file):
                yield ExportProgress(written, total)
    except OSError as error:
        what = f"the export cannot be written: {error.strerror or error}"
        raise UnwritableError([Fault(str(path), what)]) from error


def write_to_stdout(source: ExportSource, kind: str, is_gone: Callable[[], bool]) -> None:
    """Writes an export to stdout, until nobody takes it any more (`is_gone`).

    Raises:
        RefusedError: A package is missing.
    """
    for _ in writer_of(kind)(source, sys.stdout.buffer):
        if is_gone():
            return
    sys.stdout.buffer.flush()


def missing_package(kind: str) -> str:
    """The package that a format needs and that is not installed; empty where nothing is missing.

    Nothing is imported: that would take a screen's time and memory.
    """
    return "pyarrow" if kind == "parquet" and find_spec("pyarrow") is None else ""


def writer_of(kind: str) -> Writer:
    """Writer of a format; refused where it needs a package that is missing."""
    try:
        importlib.import_module("pyarrow" if kind == "parquet" else "json")
    except ImportError:
        hint = f"Install it: {extra_command(kind)}"
        raise RefusedError([Fault(kind, "the package pyarrow is missing", hint)]) from None
    name = kind if kind in ("html", "markdown") else "rows"
    module = importlib.import_module(f"tui_eval.runs.export.{name}")
    write: Writer = getattr(module, f"write_{kind}")
    return write
