"""What is typed on a terminal, and what the terminal answers in between."""

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
"""Keys by the names that terminals give them whose protocol tells them from others, and what they
are on all others, where fingers learnt them."""
WITHOUT_ANSWERS = ("dumb", "linux")
"""Terminals that are not asked for the colour of their ground."""
GROUND_QUERY = "\x1b]11;?\x1b\\\x1b[c"
"""Asks for the colour of the ground, and for what every terminal answers: the end of the wait."""
ANSWERS_WITHIN_S = 0.1
_COLOUR = re.compile(r"\x1b\]11;rgba?:([0-9a-f]+)/([0-9a-f]+)/([0-9a-f]+)", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"\x1b\[\?[\d;]*c")
"""The last of the answers: nothing more is to be waited for."""
_LIGHT = 0.5
"""The brightness (0 to 1, as the eye weighs the three colours) from which a ground is light."""
ST_DELETE = ("\x1b[P", "\x1b[3~")

_ANSWERS = re.compile(
    r"\x1b\]\d+;[^\x07\x1b]*(?:\x07|\x1b\\)"  # colours, the clipboard, titles
    r"|\x1b\[[?>=][\d;:]*[a-zA-Z]"  # what the terminal is, the keys that it reports
    r"|\x1b\[2;(?P<column>\d+)R"  # where its cursor is, on the line that `Line` asks for
    r"|\x1bP[\d;]*[$+>!|][^\x1b]*\x1b\\"  # its name, its settings
)
_CUT_OFF = re.compile(
    r"\x1b(?:\](?:\d+(?:;[^\x07\x1b]*\x1b?)?)?"
    r"|\[[?>=][\d;:]*|\[2;\d*"
    r"|P(?:[\d;]*(?:[$+>!|][^\x1b]*\x1b?)?)?)\Z"
)
_MAY_BEGIN = re.compile(r"\x1b\[?\Z")
_KEY = 2
"""So many signs are typed at most with one key: what ends with them is Alt and a key."""
MOST = 4096
DROPPED_AFTER_S = 1.0
EXPECTED_FOR_S = 5.0
"""So long after the question an answer may come."""
ESCAPE_WAITS_S = 0.3
"""How long escape alone may be the beginning of an answer that is expected."""


class Answers:
    """Takes the answers out of what a terminal sends: as keys they would be commands.

    Textual knows those that it waits for and types the others. An answer may come late, and in
    parts: one that is cut off is kept until the rest is there, and dropped where none comes.

    Args:
        on_cursor: Takes where the cursor is, column and line from 0. Textual's parser would take
            such an answer for keys where it comes within a paste.
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
        """The terminal was asked: escape, for a while, may be the beginning of an answer.

        Args:
            more: False once all answers have come.
        """
        self._expected_until = self._clock() + EXPECTED_FOR_S if more else 0.0

    def take_out(self, received: str) -> str:
        """What is left of a text without answers, and without one that is cut off at its end."""
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
        """What turned out to be a key, once nothing has come for a while; an answer is dropped."""
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

    def ask_for_ground(self, write: Callable[[str], object]) -> bool | None:
        """Asks the terminal, which has to give each key at once, whether its ground is light.

        What it answers later is nothing that was typed.

        Returns:
            None where it does not answer within a tenth of a second.
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
        """Reads until it is told to end, first what was typed before."""
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

        A Mac's poll does not tell: it knows no `/dev/tty`, and of others only what it is asked for.
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
    """Whether the ground is light, by what a terminal answered; None where it did not."""
    found = _COLOUR.search(received)
    if found is None:
        return None
    red, green, blue = (int(one, 16) / int("f" * len(one), 16) for one in found.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue > _LIGHT
