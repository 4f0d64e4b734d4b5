"""How many colours a terminal has, where what it calls itself says more than is true."""

from __future__ import annotations

import os
import subprocess
import sys

PATIENCE_S = 0.5
_NAME = ("tmux", "display-message", "-p", "#{client_termname}")


def known_colours(told: str | None) -> str | None:
    """The colours that a terminal has, as Rich names them.

    GNU screen has no more than 256, and COLORTERM may stand there from the terminal around it;
    tmux makes fewer of 256 where the terminal around it has fewer, grey to black among them.

    Args:
        told: What TERM and COLORTERM say.
    """
    if told not in ("256", "truecolor"):
        return told
    term = os.environ.get("TERM", "")
    in_tmux = bool(os.environ.get("TMUX"))
    if os.environ.get("STY") or (term.startswith("screen") and not in_tmux):
        told = "256" if term.endswith("256color") else "standard"
    if in_tmux and (outer := _terminal_of_tmux()) and 0 < _colours_of(outer) < 256:
        return "standard"
    return told


def _terminal_of_tmux() -> str:
    """The name of the terminal that tmux draws on; empty where it does not say."""
    try:
        done = subprocess.run(
            _NAME, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()


def _colours_of(term: str) -> int:
    """The colours of a kind of terminal; 0 where it is not known."""
    try:
        import curses
    except ImportError:  # not every Python has it
        return 0
    try:
        curses.setupterm(term, sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return max(curses.tigetnum("colors"), 0)
    except (curses.error, OSError, ValueError):
        return 0
