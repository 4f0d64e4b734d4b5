"""Every command, a table a screen: bindings, palette, footer and help are read from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_eval.tui.commands import app, compare, form, home, live, suite, transcripts
from tui_eval.tui.commands.command import Command, Scope

if TYPE_CHECKING:
    from textual.binding import BindingType

COMMANDS: tuple[Command, ...] = (
    *live.COMMANDS,
    *suite.COMMANDS,
    *form.COMMANDS,
    *compare.COMMANDS,
    *transcripts.COMMANDS,
    *home.COMMANDS,
    *app.COMMANDS,
)
APART: frozenset[Scope] = frozenset(
    command.scope for one in (form, compare, transcripts, home) for command in one.COMMANDS
)
"""Scopes of screens over no run: their help names nothing else, and no other help names them."""

TOGETHER: tuple[frozenset[Scope], ...] = tuple(
    scopes | {"app"}
    for screen in (live, suite, form, compare, transcripts, home)
    for scopes in screen.TOGETHER
)
"""Scopes whose keys work at the same time, from the pane with the focus to the whole app."""
FIXED: frozenset[Scope] = frozenset(("typing",))
"""Scopes whose keys cannot be set."""
TYPED: frozenset[Scope] = frozenset(("form", "fields"))
"""Scopes in which a character is text."""


def bindings(scope: Scope) -> list[BindingType]:
    """The bindings of one scope."""
    from textual.binding import Binding

    return [
        Binding(
            command.keys,
            command.action,
            command.help,
            show=False,
            priority=scope == "app",
            id=command.id,
        )
        for command in COMMANDS
        if command.scope == scope
    ]
