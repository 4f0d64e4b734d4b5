"""How the page of a run looks, in the light and in the dark."""

from __future__ import annotations

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
.facts { margin-bottom: 1rem; }
.facts th, .facts td { border: 0; padding-top: 0; padding-bottom: 0; }
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
