"""Something that is done after a while, for sure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.message_pump import MessagePump


def after(seconds: float, target: MessagePump, do: Callable[[], object]) -> None:
    """Has a widget, a screen or an app do something after so many seconds.

    A timer of Textual that runs once never does where its thread is held up for so long just when
    it begins: it takes its only turn for one that was missed.
    """
    asyncio.get_running_loop().call_later(seconds, target.call_later, do)
