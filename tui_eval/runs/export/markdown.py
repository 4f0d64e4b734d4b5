"""Trajectories to read, in Markdown: what people's models and tools said is in fences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from tui_eval.fold.trajectory import Entry, Rollout
from tui_eval.printable import harmless, one_line
from tui_eval.runs.export.figures import rollout_figures, summary_figures
from tui_eval.runs.export.source import ExportSource, as_bytes

LONGEST_TITLE = 80
_SIGNS = re.compile(r"([\\`*_\[\]<>#!|~&$])")


def write_markdown(source: ExportSource, file: BinaryIO) -> Iterator[int]:
    """See `writer.Writer`."""
    figures = summary_figures(source)
    file.write(as_bytes(f"# {plain(figures.pop('title'))}\n\n"))
    file.write(as_bytes("".join(f"- {plain(k)}: {plain(v)}\n" for k, v in figures.items())))
    for written, rollout in enumerate(source.rollouts(), 1):
        file.write(as_bytes("\n".join(["", *rollout_lines(source, rollout)]) + "\n"))
        yield written


def rollout_lines(source: ExportSource, rollout: Rollout) -> Iterator[str]:
    """The trajectory of one rollout, line by line."""
    figures = rollout_figures(source, rollout)
    yield f"## {plain(figures.pop('title'))}"
    yield ""
    for name, value in figures.items():
        yield f"- {plain(name)}: {plain(value)}"
    for entry in rollout.entries():
        yield ""
        yield from _entry(entry)
    for name, text in (("answer", rollout.answer), ("traceback", rollout.traceback)):
        if text:
            yield ""
            yield f"### {name}"
            yield ""
            yield from fenced(text)


def _entry(entry: Entry) -> Iterator[str]:
    turn = f"turn {entry.turn}, " if entry.turn else ""
    if entry.tool is None:
        yield f"### {turn}{plain(entry.role)}"
        yield ""
        if entry.reasoning:
            yield "Reasoning:"
            yield ""
            yield from fenced(entry.reasoning)
            yield ""
        yield from fenced(entry.text)
        return
    error = f" ({plain(entry.tool.error)})" if entry.tool.error else ""
    yield f"### {turn}tool {plain(entry.tool.name)}{error}"
    yield ""
    yield from fenced(entry.tool.arguments)
    if entry.tool.result is not None:
        yield ""
        yield from fenced(entry.tool.result)


def plain(text: str) -> str:
    """Text on one line of which no sign means anything to Markdown."""
    return _SIGNS.sub(r"\\\1", one_line(text, LONGEST_TITLE))


def fenced(text: str) -> Iterator[str]:
    """Text as it is, between fences that are longer than any in it."""
    text = harmless(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    yield fence
    yield text
    yield fence
