"""Comparing answers as mathematics in a process of its own, which a time limit can end."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import signal
import subprocess
import sys
import weakref
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any


class Comparers:
    """Processes that compare: one for each thread at the same time, kept for the next.

    Some answers, such as 10^{10^{10}}, keep Python busy for days inside one operation, in which no
    other thread of the process runs.
    """

    def __init__(self) -> None:
        self._idle: list[_Comparer] = []

    def compare(self, answer: str, response: str, limit_s: float) -> bool:
        """Whether two answers are equal as mathematics; blocks until that is known.

        Args:
            limit_s: Seconds of the processor that the comparison may take, without the start of
                its process. What else runs on the machine changes no verdict.

        Raises:
            TimeoutError: It took longer.
            ValueError: There is no mathematics in the correct answer.
            ChildProcessError: The process ended.
        """
        try:
            comparer = self._idle.pop()
        except IndexError:
            comparer = _Comparer()
        outcome = comparer.compare(answer, response, limit_s)
        self._idle.append(comparer)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


class _Comparer:
    """One process; it ends with this object, and with the process that has it."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_paths())},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C in the terminal is not meant for it
            )
        self._end = weakref.finalize(self, _end, self._process, self._connection)

    def compare(self, answer: str, response: str, limit_s: float) -> bool | Exception:
        """The outcome of a comparison; an error that is raised means that the process is gone."""
        try:
            self._connection.send((answer, response, limit_s))
            outcome: bool | Exception = self._connection.recv()
        except (EOFError, OSError):
            code = self._process.wait()
            self._end()
            if code == -signal.SIGPROF:
                text = f"ran longer than its time limit of {limit_s:g} s"
                raise TimeoutError(text) from None
            text = f"the process that compares ended with code {code}"
            raise ChildProcessError(text) from None
        return outcome


def _import_paths() -> list[str]:
    """The import path of this process, of texts alone."""
    return [place for place in sys.path if place and isinstance(place, str)]


def _end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    connection.close()
    process.kill()
    process.wait()


def main() -> None:
    """Compares what comes over the connection, until that ends."""
    connection = Connection(int(sys.argv[1]))
    import math_verify

    logging.disable()  # it warns that its own time limits are off, as they are
    # The kernel ends the process at its limit, whatever it is doing. It never waits, so the limit
    # is one of the processor's time.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    with contextlib.suppress(EOFError, OSError):
        while True:
            answer, response, limit_s = connection.recv()
            limited = limit_s < math.inf
            signal.setitimer(signal.ITIMER_PROF, max(limit_s, 1e-6) if limited else 0)
            outcome = _outcome(math_verify, answer, response)
            signal.setitimer(signal.ITIMER_PROF, 0)
            connection.send(outcome)


def _outcome(verify: Any, answer: str, response: str) -> bool | Exception:
    try:
        gold = verify.parse(_boxed(answer), parsing_timeout=None)
        if not gold:
            return ValueError(f"There is no mathematics in the correct answer {answer!r}")
        given = verify.parse(_boxed(response), parsing_timeout=None)
        return bool(verify.verify(gold, given, timeout_seconds=None))
    except Exception as error:  # of a class that only its own process may know
        return RuntimeError(f"math-verify failed: {type(error).__name__}: {error}")


def _boxed(text: str) -> str:
    return f"\\boxed{{{text}}}"


if __name__ == "__main__":
    main()
