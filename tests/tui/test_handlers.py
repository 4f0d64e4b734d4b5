"""Textual calls a handler by its name alone: one that names no message is never called."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import textual.widgets
from textual.message import Message
from textual.message_pump import MessagePump

import tui_eval.tui


def everything_below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from everything_below(one)


def test_every_handler_names_a_message_that_there_is() -> None:
    for module in pkgutil.walk_packages(tui_eval.tui.__path__, "tui_eval.tui."):
        importlib.import_module(module.name)
    for name in textual.widgets.__all__:
        getattr(textual.widgets, name)
    names = {one.handler_name for one in everything_below(Message)}
    handlers = {
        (one.__module__, one.__name__, name)
        for one in everything_below(MessagePump)
        if one.__module__.startswith("tui_eval.")
        for name in vars(one)
        if name.startswith("on_")
    }
    assert len(handlers) > 50
    assert {handler for handler in handlers if handler[2] not in names} == set()
