"""What a command is: every screen's table is made of these."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Scope: TypeAlias = str
"""Where a command works: the name of a screen, of a pane, or `app` for everywhere."""

RUN, MOVE, READ, PANES = "Run", "Moving", "Reading", "Panes"
HELP, LEAVE = "Help", "Leaving"
PASS = "Passing on"
"""Groups that several screens have."""
ABOVE = "above"
"""In place of a group: the line of the command before this one names its keys as well."""
HIDDEN = ""
"""In place of a group: the help does not tell of it."""


class Command(NamedTuple):
    """Something that people can ask for.

    Args:
        keys: As Textual names them, separated by commas.
        action: What Textual calls, on the screen or the pane.
        scope: Where it works.
        group: Where its line stands in the help; `ABOVE` or `HIDDEN` where it has none.
        help: A sentence without a full stop.
        footer: A word for the footer; empty keeps it out.
        rank: The footer shows low ranks first, as many as fit.
        palette: Whether it can be found in the palette; what it is called there where its help
            tells of other commands too.
        name: What settings call it within its scope; the action where that is a name.
    """

    keys: str
    action: str
    scope: Scope
    group: str
    help: str
    footer: str = ""
    rank: int = 50
    palette: bool | str = False
    name: str = ""

    @property
    def palette_name(self) -> str:
        """What it does, alone."""
        return self.palette if isinstance(self.palette, str) else self.help

    @property
    def id(self) -> str:
        """What settings call it: `list.sort`."""
        return f"{self.scope}.{self.name or self.action.replace('_', '-')}"


def both_ways(
    key: str,
    back: str,
    action: str,
    scope: Scope,
    group: str,
    noun: str,
    name: str = "",
    more: str = "",
    footer: str = "",
    rank: int = 50,
    palette: bool = False,
) -> tuple[Command, Command]:
    """What goes to the next and to the previous of something, on one line of the help.

    Args:
        key, back: The keys of the one and of the other.
        action: Gets 1, or -1.
        noun: What is gone to.
        name: For settings, behind `next-` and `previous-`; the noun, where that is a name.
        more: What the help says at its end.
    """
    name, found = name or noun.replace(" ", "-"), f"Next {noun}" if palette else False
    help, action_forth = f"Next, previous {noun}{more}", f"{action}(1)"
    return (
        Command(key, action_forth, scope, group, help, footer, rank, found, f"next-{name}"),
        Command(back, f"{action}(-1)", scope, ABOVE, f"Previous {noun}", name=f"previous-{name}"),
    )
