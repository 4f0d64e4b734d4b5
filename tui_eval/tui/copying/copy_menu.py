"""Choosing what to copy, and saying where it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from textual.screen import Screen

from tui_eval.errors import RefusedError
from tui_eval.tui.base.keys.keymap import key_for
from tui_eval.tui.base.terminal.copied import copy
from tui_eval.tui.copying.copyable import Copyable

BEGINNING = 200


def offer_copies(
    screen: Screen[Any], items: Sequence[Copyable], say: Callable[[str], None], command: str
) -> None:
    """Shows what can be copied, and copies what is chosen.

    Args:
        say: Tells a sentence at the bottom of the screen.
        command: What asked for it, as settings call it; its key chooses what is under the cursor.
    """
    if not items:
        say("There is nothing to copy yet.")
        return
    from tui_eval.tui.base.dialogs.menu import Item, Menu

    def chosen(place: int | None) -> None:
        if place is not None:
            copy_at_once(screen, items[place], say)

    lines = [
        Item(one.key, one.label, " ".join(one.note[:BEGINNING].split()), one.is_path)
        for one in items
    ]
    screen.app.push_screen(Menu("Copy", lines, key_for(command)), chosen)


def copy_at_once(screen: Screen[Any], one: Copyable, say: Callable[[str], None]) -> None:
    """Copies something; see `offer_copies`."""
    screen.run_worker(_copy(screen, one, say), group="copy", exclusive=True)


async def _copy(screen: Screen[Any], one: Copyable, say: Callable[[str], None]) -> None:
    try:
        made = await asyncio.to_thread(one.make)
    except RefusedError as error:
        say(f"Not copied: {error.faults[0].what}.")
    except (OSError, ValueError) as error:
        say(f"Not copied: {getattr(error, 'strerror', None) or error}.")
    else:
        say(await copy(screen.app, made.text, f"the {one.label} {made.without}".rstrip()))
