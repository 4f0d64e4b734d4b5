"""Every command, a table a screen: bindings, palette, footer and help are read from them.

A key that the footer names and the help does not, or that people cannot set, comes from saying the
same thing twice. Commands are rows of data; whatever shows or binds a key reads the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.tui.base.keys.command import LEAVE, Command, Scope
from tui_eval.tui.compare import commands as compare
from tui_eval.tui.form import commands as form
from tui_eval.tui.home import commands as home
from tui_eval.tui.run import commands as run
from tui_eval.tui.suite import commands as suite

if TYPE_CHECKING:
    from textual.binding import BindingType


EVERYWHERE = (
    Command("ctrl+c", "interrupt", "app", LEAVE, "Ask how to leave; twice: stop it"),
    Command("ctrl+q", "quit", "app", LEAVE, "Stop and quit at once"),
    Command(
        "ctrl+z", "suspend_process", "app", LEAVE, "To the shell; fg comes back", name="suspend",
    ),
)  # fmt: skip

TABLES = (run, suite, form, compare, home)
COMMANDS: tuple[Command, ...] = (
    *(command for screen in TABLES for command in screen.COMMANDS),
    *EVERYWHERE,
)
APART: frozenset[Scope] = frozenset(
    command.scope for one in (form, compare, home) for command in one.COMMANDS
)
"""Scopes of screens over no run: their help names nothing else, and no other help names them."""

TOGETHER: tuple[frozenset[Scope], ...] = tuple(
    scopes | {"app"} for screen in TABLES for scopes in screen.TOGETHER
)
"""Scopes whose keys work at the same time, from the pane with the focus to the whole app."""
LISTS = {"list": run.LIST, "runs": home.RUNS}
"""Groups that are all of a pane, by its scope: some of their commands work in others too."""
FIXED: frozenset[Scope] = frozenset(("typing",))
"""Scopes whose keys cannot be set."""
TYPED: frozenset[Scope] = frozenset(("form", "fields"))
"""Scopes in which a character is text."""


def bindings(scope: Scope) -> list[BindingType]:
    """The bindings of one scope."""
    from textual.binding import Binding

    return [
        Binding(one.keys, one.action, one.help, priority=scope == "app", id=one.id)
        for one in COMMANDS
        if one.scope == scope
    ]
