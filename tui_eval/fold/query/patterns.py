"""Regular expressions that people type, matched so that none blocks the screen.

Python's matcher cannot be interrupted and some expressions take it forever. One whose cost on a
short text has a small bound is matched right here; every other one, and every one on long texts,
by a process of its own, which is ended when it takes too long.
"""

from __future__ import annotations

import marshal
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from itertools import islice

from tui_eval.fold.lower_texts import LowerTexts, stays_within_lines
from tui_eval.fold.saved_values import whole_text

SHORT = 200
"""Characters of a text that are looked at where many are; the index has no more of each."""
LONGEST_SOURCE = 1000
PATIENCE_S = 2.0
AT_ONCE, QUICK_S = 16, 0.001
"""Texts that are matched between two looks at the clock; more once they are quick."""
_COST_MOST, _COST_MOST_IN_MANY = 1e7, 1e5
_ESCAPES_AND_SETS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_REPEATED_OR_LOOKING = re.compile(r"\)[*+{?]|\(\?(?![:P])|\(\?P=|[*+?}][*+]")


class PatternTooSlowError(Exception):
    """A regular expression took longer than it may; the text says which one."""

    def __init__(self, source: str) -> None:
        super().__init__(
            f"the regular expression /{source}/ takes too long: repeats inside of repeats do that"
        )


def pattern_fault(source: str) -> str:
    """Fault of a regular expression; empty where it has none."""
    if not source:
        return "it is empty"
    if len(source) > LONGEST_SOURCE:
        return f"it has more than {LONGEST_SOURCE:,} characters"
    if "(?-" in source:
        return "upper and lower case are always the same here"
    try:
        _compiled(source)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        return str(error)
    return ""


def has_small_cost(source: str, most: float = _COST_MOST) -> bool:
    """Whether matching a short text is sure to take well below a second, whatever the text.

    No group may be repeated, and few repeats and alternatives may follow each other.
    """
    bare = _ESCAPES_AND_SETS.sub(
        lambda match: "\\1" if match.group()[1:].isdigit() else "x", source
    )
    if "\\1" in bare or _REPEATED_OR_LOOKING.search(bare):
        return False
    repeats = sum(bare.count(sign) for sign in "*+{")
    choices = bare.count("?") + bare.count("|")
    return SHORT * float(SHORT) ** repeats * 2.0**choices <= most


class Matcher:
    """Finds the texts that match a regular expression; a context manager.

    Args:
        short: Whether no text has more than `SHORT` characters.
        patience_s: Seconds that one call may take.
    """

    def __init__(self, source: str, *, short: bool, patience_s: float = PATIENCE_S) -> None:
        self._source = source
        self._patience = patience_s
        cheap = short and has_small_cost(source)
        self._here = _compiled(source) if cheap else None
        self._lines: re.Pattern[str] | None = None
        if cheap and has_small_cost(source, _COST_MOST_IN_MANY) and stays_within_lines(source):
            self._lines = _compiled(f"(?:{source}).*")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Matcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def found_in(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text, which is in lower case, holds a match.

        Raises:
            PatternTooSlowError: It took longer than it may.
            OSError: No process could be started.
        """
        if self._here is None:
            return self._request(list(map(whole_text, texts)))
        end = time.monotonic() + self._patience
        found = self._in_pieces(texts, end) if isinstance(texts, LowerTexts) else []
        search, now, many = self._here.search, time.monotonic(), AT_ONCE
        left, total = islice(texts, len(found), None), len(texts)  # it may grow meanwhile
        while len(found) < total:
            self._look_at(now, end)
            found += [match is not None for match in map(search, islice(left, many))]
            before, now = now, time.monotonic()
            many = 2 * many if now - before < QUICK_S else AT_ONCE
        return found

    def _in_pieces(self, texts: LowerTexts, end: float) -> list[bool]:
        """The first texts at once, where that is sure to come to the same and to be faster."""
        found: list[bool] = []
        first = texts[:AT_ONCE]
        if self._lines is None or 2 * sum(map(bool, map(self._lines.search, first))) > len(first):
            return found
        for piece in texts.pieces():
            self._look_at(time.monotonic(), end)
            found += piece.found(self._lines)
        return found

    def _look_at(self, now: float, end: float) -> None:
        if now > end:
            raise PatternTooSlowError(self._source)

    def _request(self, texts: list[str]) -> list[bool]:
        process = self._process or self._start()
        requested, answers = process.stdin, process.stdout
        if requested is None or answers is None:
            raise ValueError("the matcher's process has no pipes")
        timer = threading.Timer(self._patience, process.kill)
        timer.start()
        try:
            marshal.dump(texts, requested)
            requested.flush()
            answer = answers.read(len(texts))
        except OSError:
            answer = b""
        finally:
            timer.cancel()
        if len(answer) < len(texts):
            self.close()
            raise PatternTooSlowError(self._source)
        return [byte == 1 for byte in answer]

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = matching_process(_PROGRAM)
        if self._process.stdin is not None:
            marshal.dump((whole_text(self._source), int(_flags(self._source))), self._process.stdin)
        return self._process

    def close(self) -> None:
        """Ends the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                try:
                    pipe.close()  # type: ignore[union-attr]
                except OSError:
                    pass
            process.wait()


def matches_in(
    source: str, texts: Sequence[str], most: int, patience_s: float = PATIENCE_S
) -> list[tuple[int, int, int]]:
    """Matches of an expression, in any case: the place of the text, begin and end in it.

    Args:
        most: Matches that are enough.

    Raises:
        TimeoutError: It took longer than it may.
        OSError: No process could be started; the text says so.
    """
    with matching_process(_FINDING) as process:
        try:
            answer, _ = process.communicate(
                marshal.dumps((source, most, list(texts))), timeout=patience_s
            )
        except subprocess.TimeoutExpired:
            process.kill()
            answer = b""
    if not answer or process.returncode != 0:
        raise TimeoutError("it takes too long: repeats inside of repeats do that")
    found: list[tuple[int, int, int]] = marshal.loads(answer)
    return found


def matching_process(program: str) -> subprocess.Popen[bytes]:
    """A Python that runs a program between two pipes, and imports nothing of anybody's."""
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise OSError(f"no process could be started: {error.strerror or error}") from error


_PROGRAM = """
import marshal, re, sys
requests, answers = sys.stdin.buffer, sys.stdout.buffer
search = re.compile(*marshal.load(requests)).search
while True:
    try:
        texts = marshal.load(requests)
    except EOFError:
        break
    answers.write(bytes(search(text) is not None for text in texts))
    answers.flush()
"""

_FINDING = """
import marshal, re, sys
source, most, texts = marshal.load(sys.stdin.buffer)
search = re.compile(source, re.IGNORECASE | re.MULTILINE)
found = []
for at, text in enumerate(texts):
    for match in search.finditer(text):
        if match.end() > match.start():
            found.append((at, match.start(), match.end()))
            if len(found) == most:
                break
    if len(found) == most:
        break
sys.stdout.buffer.write(marshal.dumps(found))
"""


def _compiled(source: str) -> re.Pattern[str]:
    with warnings.catch_warnings():  # what may mean something else in a later Python
        warnings.simplefilter("ignore")
        return re.compile(source, _flags(source))


def _flags(source: str) -> re.RegexFlag:
    """Texts are in lower case, so that a source in lower case matches fastest as it is."""
    return re.MULTILINE if source == source.lower() else re.MULTILINE | re.IGNORECASE
