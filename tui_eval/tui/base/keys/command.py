"""Commands, the rows of every screen's table."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Scope: TypeAlias = str
"""The name of a screen or a pane where a command works; `app` for everywhere."""

RUN, MOVE, READ, PANES = "Run", "Moving", "Reading", "Panes"
HELP, LEAVE = "Help", "Leaving"
PASS = "Passing on"
"""Groups that several screens have."""
ABOVE = "above"
"""In place of a group: the line of the command before names these keys too."""
HIDDEN = ""
"""In place of a group: the help leaves it out."""


class Command(NamedTuple):
    """An action of people, with its keys and its words.

    Args:
        keys: As Textual names them, separated by commas.
        action: What Textual calls, on the screen or the pane.
        scope: Where it works.
        group: The group of its line in the help; `ABOVE` or `HIDDEN` where it has none.
        help: A sentence without a full stop.
        footer: A word for the footer; empty keeps it out.
        rank: The footer shows low ranks first, as many as fit.
        palette: Whether it can be found in the palette; its name there where its help
            names other commands too.
        name: Its name in settings, within its scope; by default the action.
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
        """Its help without that of other commands."""
        return self.palette if isinstance(self.palette, str) else self.help

    @property
    def id(self) -> str:
        """Its name in settings: `list.sort`."""
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
    """Two commands, to the next and the previous of something, on one line of the help.

    Args:
        key, back: Keys to the next and to the previous.
        action: Gets 1, or -1.
        noun: The name of the thing.
        name: For settings, behind `next-` and `previous-`; the noun, where that is a name.
        more: The end of the help text.
    """
    name, found = name or noun.replace(" ", "-"), f"Next {noun}" if palette else False
    help, action_forth = f"Next, previous {noun}{more}", f"{action}(1)"
    return (
        Command(key, action_forth, scope, group, help, footer, rank, found, f"next-{name}"),
        Command(back, f"{action}(-1)", scope, ABOVE, f"Previous {noun}", name=f"previous-{name}"),
    )
