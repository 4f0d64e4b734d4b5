"""Input of a terminal: typed keys, and the terminal's answers between them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import termios
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import Any

from textual import events
from textual.message import Message

from tui_eval.tui.base.textual_private import key_parser

POLL_INTERVAL_S = 0.1
AT_ONCE = 1 << 12
SAME_KEYS = {
    "ctrl+h": ("backspace", "\x7f"),
    "ctrl+i": ("tab", "\t"),
    "ctrl+m": ("enter", "\r"),
    "ctrl+left_square_bracket": ("escape", "\x1b"),
    "alt+b": ("ctrl+left", None),
    "alt+f": ("ctrl+right", None),
}
"""Keys by their names on terminals with a richer protocol, and the names of the same keys on all
others."""
WITHOUT_ANSWERS = ("dumb", "linux")
"""Terminals whose background is not requested."""
GROUND_QUERY = "\x1b]11;?\x1b\\\x1b[c"
"""Requests the background, and an answer that every terminal gives, which ends the wait."""
ANSWERS_WITHIN_S = 0.1
_COLOUR = re.compile(r"\x1b\]11;rgba?:([0-9a-f]+)/([0-9a-f]+)/([0-9a-f]+)", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"\x1b\[\?[\d;]*c")
"""The last of the answers, which ends the wait."""
_LIGHT = 0.5
"""The brightness (0 to 1, as the eye weighs the three colours) from which a ground is light."""
ST_DELETE = ("\x1b[P", "\x1b[3~")

_ANSWERS = re.compile(
    r"\x1b\]\d+;[^\x07\x1b]*(?:\x07|\x1b\\)"  # colours, the clipboard, titles
    r"|\x1b\[[?>=][\d;:]*[a-zA-Z]"  # what the terminal is, the keys that it reports
    r"|\x1b\[2;(?P<column>\d+)R"  # where its cursor is, on the line that `Line` requests
    r"|\x1bP[\d;]*[$+>!|][^\x1b]*\x1b\\"  # its name, its settings
)
_CUT_OFF = re.compile(
    r"\x1b(?:\](?:\d+(?:;[^\x07\x1b]*\x1b?)?)?"
    r"|\[[?>=][\d;:]*|\[2;\d*"
    r"|P(?:[\d;]*(?:[$+>!|][^\x1b]*\x1b?)?)?)\Z"
)
_MAY_BEGIN = re.compile(r"\x1b\[?\Z")
_KEY = 2
"""The most characters of one typed key: Alt and a key."""
MOST = 4096
DROPPED_AFTER_S = 1.0
EXPECTED_FOR_S = 5.0
"""Seconds after a request in which an answer may come."""
ESCAPE_WAITS_S = 0.3
"""Seconds for which escape alone may be the beginning of an expected answer."""


class Answers:
    """Takes the answers out of a terminal's input: as keys they would be commands.

    Textual knows those that it waits for and types the others. An answer may come late, and in
    parts: an incomplete one is kept until the rest comes, and dropped where none comes.

    Args:
        on_cursor: Takes the cursor's column and line, from 0. Textual's parser would take such an
            answer for keys where it comes within a paste.
    """

    def __init__(
        self,
        on_cursor: Callable[[int, int], object] = lambda x, y: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_cursor = on_cursor
        self._clock = clock
        self._kept = ""
        self._since = 0.0
        self._expected_until = 0.0

    def expect(self, more: bool = True) -> None:
        """Expects an answer: escape, for a while, may be its beginning.

        Args:
            more: False once all answers have come.
        """
        self._expected_until = self._clock() + EXPECTED_FOR_S if more else 0.0

    def take_out(self, received: str) -> str:
        """A text without its answers, and without an incomplete one at its end."""
        text = _ANSWERS.sub(self._take, self._kept + received)
        found = _CUT_OFF.search(text)
        if found is None and self._clock() < self._expected_until:
            found = _MAY_BEGIN.search(text)
        start = found.start() if found else len(text)
        if len(text) - start > MOST:
            start, text = 0, ""
        self._kept, text = text[start:], text[:start]
        self._since = self._clock()
        return text

    def _take(self, answer: re.Match[str]) -> str:
        if answer["column"]:
            self._on_cursor(int(answer["column"]) - 1, 1)
        return ""

    def give_up(self) -> str:
        """The kept text, if it is a key after all; an incomplete answer is dropped."""
        kept, now = self._kept, self._clock()
        waits = ESCAPE_WAITS_S if now < self._expected_until else 0.0
        if now - self._since < (waits if len(kept) <= _KEY else DROPPED_AFTER_S):
            return ""
        self._kept = ""
        return kept if len(kept) <= _KEY else ""


class Keyboard:
    """Reads a terminal, in a thread of its own once that is taken; `handle` takes each event."""

    def __init__(
        self,
        fileno: int,
        handle: Callable[[Message], None],
        on_cursor: Callable[[int, int], object],
    ) -> None:
        self._fileno = fileno
        self._handle = handle
        self._answers = Answers(on_cursor)
        self._typed_before = ""
        self._is_st = os.environ.get("TERM", "").startswith("st-")

    def take_lines_waiting(self) -> None:
        """Takes keys up to the last enter, which a terminal that takes lines makes a line feed."""
        data = b""
        with contextlib.suppress(OSError, termios.error):
            taken, _, _, takes = termios.tcgetattr(self._fileno)[:4]
            if taken & termios.ICRNL and takes & termios.ICANON:
                while self._has_more(0) and (line := os.read(self._fileno, AT_ONCE)):
                    data += line
        self._typed_before += data.decode("utf-8", "replace").replace("\n", "\r")

    def request_ground(self, write: Callable[[str], object]) -> bool | None:
        """Requests whether the background is light; the terminal must give each key at once.

        A later answer is not taken as keys.

        Returns:
            None without an answer within a tenth of a second.
        """
        if os.environ.get("TERM", "dumb") in WITHOUT_ANSWERS:
            return None
        self._answers.expect()
        write(GROUND_QUERY)
        received, decode = "", getincrementaldecoder("utf-8")("replace").decode
        until = time.monotonic() + ANSWERS_WITHIN_S
        with contextlib.suppress(OSError):
            while (left := until - time.monotonic()) > 0 and self._has_more(left):
                data = os.read(self._fileno, AT_ONCE)
                received += decode(data)
                if _ATTRIBUTES.search(received):
                    self._answers.expect(more=False)
                    break
                if not data:
                    break
        self._typed_before += self._answers.take_out(received)
        return _is_light(received)

    def run(self, ended: threading.Event) -> None:
        """Reads until `ended` is set, first the text typed before."""
        parser = key_parser()
        assert parser is not None  # else the terminal has another driver
        decode = getincrementaldecoder("utf-8")("replace").decode
        typed, self._typed_before = self._typed_before, ""
        self._hand_on(parser.feed, typed)
        while not ended.is_set():
            if self._has_more(POLL_INTERVAL_S):
                data = os.read(self._fileno, AT_ONCE)
                if not data:  # stdin is a pipe that was closed, or the terminal is gone
                    ended.wait(POLL_INTERVAL_S)
                self._hand_on(parser.feed, self._answers.take_out(decode(data)))
            else:
                self._hand_on(parser.feed, self._answers.give_up())
            for event in parser.tick():
                self._handle(event)

    def is_gone(self) -> bool:
        """Whether the terminal is not there any more.

        A Mac's poll is no help: it knows no `/dev/tty`, and reports only the requested events.
        """
        try:
            termios.tcgetattr(self._fileno)
        except termios.error as error:
            return bool(error.args[0] != errno.ENOTTY)
        return False

    def _has_more(self, seconds: float) -> bool:
        return bool(select.select([self._fileno], [], [], seconds)[0])

    def _hand_on(self, feed: Callable[[str], Any], text: str) -> None:
        if self._is_st:
            text = text.replace(*ST_DELETE)
        for event in feed(text) if text else ():
            self._handle(event)


def usual_key(message: Message) -> Message:
    """A key by the name that it has on most terminals; anything else as it is."""
    if isinstance(message, events.Key) and message.key in SAME_KEYS:
        return events.Key(*SAME_KEYS[message.key])
    return message


def _is_light(received: str) -> bool | None:
    """Whether the background is light, by a terminal's answer; None without one."""
    found = _COLOUR.search(received)
    if found is None:
        return None
    red, green, blue = (int(one, 16) / int("f" * len(one), 16) for one in found.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue > _LIGHT
