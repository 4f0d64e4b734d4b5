"""Draws for `tui-eval serve`, by packets on a pipe that nothing else writes to."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.drivers import web_driver

from tui_eval.tui.base.look.widths import hold_columns
from tui_eval.tui.base.terminal.browser import SHOWS, in_browser
from tui_eval.tui.base.textual_private import write_packets_by

if TYPE_CHECKING:
    from tui_eval.tui.base.app import BaseApp

PRELUDE = b"__GANGLION__\n"
"""The bytes that Textual's driver writes before its first packet."""


class WebDriver(web_driver.WebDriver):
    """Textual's driver, for a process that may show several apps one after the other."""

    def __init__(self, app: BaseApp[Any], **options: Any) -> None:
        in_browser()
        # Child processes do not draw for the browser.
        os.environ.pop("TEXTUAL_DRIVER", None)
        super().__init__(app, **options)
        write_packets_by(self, _packets)
        app.drawn_by = self

    def write(self, data: str) -> None:
        super().write(hold_columns(data))

    def notify_server(self, path: str) -> None:
        """Reports the shown run to the server, so that other tabs can show it, too."""
        self.write_meta({"type": SHOWS, "path": path})

    def write_meta(self, data: dict[str, object]) -> None:
        """Writes to the server. The browser is released when the process ends, not before."""
        if data != {"type": "exit"}:
            super().write_meta(data)


@functools.cache
def _packets() -> Callable[[bytes], int]:
    """A function that writes to the pipe, the prelude once; prints go to stderr from then on."""
    fd = os.dup(1)
    os.dup2(2, 1)
    begun = False

    def write(data: bytes) -> int:
        nonlocal begun
        if data == PRELUDE and begun:
            return len(data)
        begun = True
        return os.write(fd, data)

    return write
