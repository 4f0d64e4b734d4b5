"""One page with a run's numbers and trajectories that needs nothing but itself."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import BinaryIO

from tui_eval.fold.rollout_columns import ERROR
from tui_eval.fold.trajectory import Entry, Rollout
from tui_eval.printable import harmless, one_line
from tui_eval.runs.export.figures import (
    metric_figures,
    number_text,
    rollout_figures,
    summary_figures,
)
from tui_eval.runs.export.source import ExportSource, as_bytes, question_of

LONGEST_NAME = 200
QUESTION_MOST = 90


def write_html(source: ExportSource, file: BinaryIO) -> Iterator[int]:
    """See `writer.Writer`."""
    figures = summary_figures(source)
    title = line(figures.pop("title"))
    file.write(as_bytes(_HEAD.format(title=title, style=STYLE)))
    file.write(as_bytes(f"<h1>{title}</h1>\n{_figures_html(figures)}"))
    metrics = metric_figures(source)
    if metrics:
        file.write(as_bytes(f"<h2>Metrics</h2>\n{_figures_html(metrics)}"))
    file.write(as_bytes("".join(_examples(source))))
    file.write(b"<h2>Rollouts</h2>\n")
    for written, rollout in enumerate(source.rollouts(), 1):
        file.write(as_bytes("".join(_rollout(source, rollout))))
        yield written
    file.write(b"</main>\n</body>\n</html>\n")


_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
"""


def line(text: str) -> str:
    """Anybody's text on one line, with nothing that HTML or a reader could take for a command."""
    return escape(one_line(text, LONGEST_NAME))


def block(text: str, kind: str = "") -> str:
    """Anybody's text as it is."""
    named = f' class="{kind}"' if kind else ""
    return f"<pre{named}>\n{escape(harmless(text))}</pre>\n"


def _figures_html(figures: Mapping[str, str]) -> str:
    rows = "".join(
        f"<tr><th>{line(name)}</th><td>{line(value)}</td></tr>\n" for name, value in figures.items()
    )
    return f'<table class="figures">\n{rows}</table>\n'


def _examples(source: ExportSource) -> Iterator[str]:
    """A line an example: the mean over its rollouts, and each of those that are on the page."""
    state = source.state
    shown: dict[int, list[int]] = {}
    for row in source.finished:
        shown.setdefault(row // state.per_example, []).append(row)
    yield "<h2>Examples</h2>\n<table>\n<tr><th>example</th><th>reward</th><th>passed</th>"
    yield "<th>errors</th><th>rollouts</th></tr>\n"
    for place, rows in shown.items():
        one = state.examples.result(place)
        links = " ".join(_link(source, row) for row in rows)
        yield f"<tr><td>{line(str(state.example_id(rows[0])))}</td>"
        yield f"<td>{number_text(one.mean)}</td><td>{one.passed} of {one.n}</td>"
        yield f"<td>{one.errored or ''}</td><td>{links}</td></tr>\n"
    yield "</table>\n"


def _link(source: ExportSource, row: int) -> str:
    reward = source.state.reward[row]
    if source.state.stage[row] == ERROR:
        return f'<a class="bad" href="#r{row}">✗ error</a>'
    if math.isnan(reward):
        return f'<a href="#r{row}">–</a>'
    glyph, kind = ("✓", "good") if source.state.passes(reward) else ("·", "low")
    return f'<a class="{kind}" href="#r{row}">{glyph} {number_text(reward)}</a>'


def _rollout(source: ExportSource, rollout: Rollout) -> Iterator[str]:
    figures = rollout_figures(source, rollout)
    question = one_line(question_of(rollout), QUESTION_MOST)
    yield f'<details id="r{rollout.row}">\n<summary><b>{line(figures.pop("title"))}</b> '
    yield f"{_link(source, rollout.row)} <span>{line(question)}</span></summary>\n"
    yield _figures_html(figures)
    for entry in rollout.entries():
        yield from _entry(entry)
    if rollout.answer:
        yield f'<div class="entry"><h3>answer of the dataset</h3>\n{block(rollout.answer)}</div>\n'
    if rollout.traceback:
        yield f'<div class="entry"><h3>traceback</h3>\n{block(rollout.traceback, "bad")}</div>\n'
    yield "</details>\n"


def _entry(entry: Entry) -> Iterator[str]:
    turn = f"turn {entry.turn} · " if entry.turn else ""
    if entry.tool is not None:
        yield f'<div class="entry tool"><h3>{turn}tool {line(entry.tool.name)}</h3>\n'
        yield block(_indented(entry.tool.arguments))
        if entry.tool.result is not None:
            yield block(entry.tool.result, "bad" if entry.tool.error else "result")
        yield "</div>\n"
        return
    kind = entry.role if entry.role in ("system", "user", "assistant") else "other"
    yield f'<div class="entry {kind}"><h3>{turn}{line(entry.role)}</h3>\n'
    if entry.reasoning:
        yield f"<details><summary>reasoning</summary>\n{block(entry.reasoning)}</details>\n"
    yield block(entry.text) if entry.text else ""
    yield "</div>\n"


def _indented(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


STYLE = """
:root {
  --ink: #1d2430; --muted: #5b6675; --paper: #fbfaf8; --card: #ffffff; --rule: #dcd9d2;
  --good: #1c7a4c; --bad: #b3261e; --accent: #8a5a00; --busy: #285ea8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #dfe3ea; --muted: #97a1b0; --paper: #14171c; --card: #1b1f26; --rule: #323842;
    --good: #6cc593; --bad: #f2857d; --accent: #e0b060; --busy: #86b4f0;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 1rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .6rem; }
h3 { font-size: .8rem; margin: 0 0 .3rem; color: var(--muted); font-weight: 600; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0;
  border-bottom: 1px solid var(--rule); overflow-wrap: anywhere; }
th { color: var(--muted); font-weight: 500; white-space: nowrap; }
.figures { margin-bottom: 1rem; }
.figures th, .figures td { border: 0; padding-top: 0; padding-bottom: 0; }
a { color: var(--busy); text-decoration: none; margin-right: .6rem; white-space: nowrap; }
a.good { color: var(--good); } a.bad { color: var(--bad); } a.low { color: var(--accent); }
details { background: var(--card); border: 1px solid var(--rule); border-radius: 6px;
  margin: .4rem 0; padding: .5rem .8rem; }
details[open] > summary { margin-bottom: .6rem; }
details details { background: none; border: 0; padding: 0; }
summary { cursor: pointer; overflow-wrap: anywhere; }
summary span { color: var(--muted); }
summary b { margin-right: .6rem; }
:target { outline: 2px solid var(--accent); }
.entry { border-left: 3px solid var(--rule); padding: .2rem 0 .2rem .8rem; margin: .8rem 0; }
.entry.assistant { border-color: var(--busy); }
.entry.user { border-color: var(--good); }
.entry.tool { border-color: var(--accent); }
pre { margin: .2rem 0; white-space: pre-wrap; overflow-wrap: anywhere;
  font: 13px/1.45 ui-monospace, monospace; }
pre.result { color: var(--muted); } pre.bad { color: var(--bad); }
@media print { details { break-inside: avoid; } }
"""
