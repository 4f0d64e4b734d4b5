"""What child processes and C code print, with its time: a program between them and the log.

It is a process of its own, as the last words of a process that dies would be lost in one of its
threads. It is run by its path, and knows nothing of the rest.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable

LATE_S = 0.3
"""How long an unfinished line may wait for its end."""
MOST = 1 << 16
_ENDS_WITHIN_S = 1.0
_STAMP = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")


def stamped(fd: int, secrets: list[bytes]) -> int | None:
    """A file descriptor to write to in place of another: each line gets the time before it.

    Args:
        fd: Of the log.
        secrets: What is taken out.

    Returns:
        None where no process can be started.
    """
    read, write = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-S", "-E", __file__],
            stdin=read,
            stdout=fd,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.write(write, json.dumps([one.decode("latin-1") for one in secrets]).encode() + b"\n")
    except OSError:
        os.close(write)
        return None
    finally:
        os.close(read)
    atexit.register(_end, process, os.dup(fd))
    return write


def _end(process: subprocess.Popen[bytes], fd: int) -> None:
    """Waits for what was written last; who is still there writes to the log as it is."""
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        pass


def copy(read: int, write: Callable[[bytes], object]) -> None:
    """Copies lines to their end, with the time before those that have none; secrets come first."""
    rest = b""
    secrets: list[bytes] | None = None
    while True:
        if rest and secrets is not None and not select.select([read], [], [], LATE_S)[0]:
            write(_line(rest, secrets))
            rest = b""
        more = os.read(read, MOST)
        lines = (rest + more).split(b"\n")
        rest = lines.pop()
        if secrets is None and lines:
            secrets = [one.encode("latin-1") for one in json.loads(lines.pop(0))]
        if len(rest) > MOST or not more:
            lines.append(rest)
            rest = b""
        if data := b"".join(_line(line, secrets or []) for line in lines if line):
            write(data)
        if not more:
            return


def _line(line: bytes, secrets: list[bytes]) -> bytes:
    for secret in secrets:
        line = line.replace(secret, b"*" * len(secret))
    if _STAMP.match(line):
        return line + b"\n"
    now = time.time()
    date = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    return f"{date},{int(now % 1 * 1000):03d} PRINT ".encode() + line + b"\n"


def _write(data: bytes) -> None:
    """Appends to the log; who prints goes on, also where the disk refuses it."""
    with contextlib.suppress(OSError):
        os.write(1, data)


if __name__ == "__main__":
    copy(0, _write)
