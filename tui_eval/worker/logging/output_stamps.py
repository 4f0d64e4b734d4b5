"""Timestamps for the output of child processes and C code: a program between them and the log.

It is a process of its own, as the last output of a process that dies would be lost in one of its
threads. It also ends that process where its engine is gone and C code holds its interpreter: no
thread of its own can. It is run by its path, without our modules.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

LATE_S = 0.3
"""Seconds that an unfinished line may wait for its end."""
MOST = 1 << 16
_ENDS_WITHIN_S = 1.0
_ENDS_WITHOUT_ENGINE_WITHIN_S = 5.0
"""Seconds; more than cleanup and teardown may take: see `worker.process`."""
_STAMP = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")


def stamped(fd: int, secrets: list[bytes], engine: int | None = None) -> int | None:
    """A file descriptor to write to in place of another: each line gets its time.

    Args:
        fd: Of the log.
        secrets: Texts to take out.
        engine: A socket whose other end an engine has; this process is ended some seconds after
            that is closed.

    Returns:
        None where no process can be started.
    """
    read, write = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-S", "-E", __file__, *([] if engine is None else [str(engine)])],
            pass_fds=[] if engine is None else [engine],
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
    """Waits for the last lines; processes that are left write to the log directly."""
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    try:
        process.wait(_ENDS_WITHIN_S)
    except subprocess.TimeoutExpired:
        pass


def copy(read: int, write: Callable[[bytes], object]) -> None:
    """Copies lines to their end, without secrets, and with the time before those without one."""
    rest, is_held = b"", False
    secrets: list[bytes] | None = None
    while True:
        is_waiting = rest and not is_held and secrets is not None
        if is_waiting and not select.select([read], [], [], LATE_S)[0]:
            line, rest = redact_so_far(rest, secrets or [])
            is_held = bool(rest)
            if line:
                write(_line(line, []))
            continue
        more, is_held = os.read(read, MOST), False
        lines = (rest + more).split(b"\n")
        rest = lines.pop()
        if secrets is None and lines:
            secrets = [one.encode("latin-1") for one in json.loads(lines.pop(0))]
        if not more:
            lines.append(rest)
        elif len(rest) > MOST:
            line, rest = redact_so_far(rest, secrets or [])
            lines.append(line)
        if data := b"".join(_line(line, secrets or []) for line in lines if line):
            write(data)
        if not more:
            return


def redact_so_far(output: bytes, secrets: list[bytes]) -> tuple[bytes, bytes]:
    """Output of which more may follow, without secrets.

    Args:
        secrets: The longest first.

    Returns:
        What is final, and the rest as it was: an end, shorter than a secret, that begins one.
    """
    clean, places = _redacted(output, secrets), set[int]()
    for secret in secrets:
        first = secret[:1]
        at = output.find(first, max(len(output) - len(secret) + 1, 0))
        while at >= 0:
            if secret.startswith(output[at:]):
                places.add(at)
            at = output.find(first, at + 1)
    for at in sorted(places):
        if _redacted(output[:at], secrets) == clean[:at]:  # no secret goes through this place
            return clean[:at], output[at:]
    return clean, b""


def _redacted(output: bytes, secrets: list[bytes]) -> bytes:
    for secret in secrets:
        output = output.replace(secret, b"*" * len(secret))
    return output


def _line(line: bytes, secrets: list[bytes]) -> bytes:
    line = _redacted(line, secrets)
    if _STAMP.match(line):
        return line + b"\n"
    return stamp() + line + b"\n"


def stamp(place: str = "") -> bytes:
    """The beginning of a line: its time, and its rollout where that is known."""
    now = time.time()
    date = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    return f"{date},{int(now % 1 * 1000):03d} PRINT{place} ".encode()


def _write(data: bytes) -> None:
    """Appends to the log; ignores that the disk refuses."""
    with contextlib.suppress(OSError):
        os.write(1, data)


def _end_held(engine: int, process: int) -> None:
    """Waits until an engine is gone, and kills its worker some seconds later."""
    waiting = select.poll()
    waiting.register(engine, 0)
    waiting.poll()
    time.sleep(_ENDS_WITHOUT_ENGINE_WITHIN_S)
    if os.getppid() == process:
        os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1:]:
        held = (int(sys.argv[1]), os.getppid())
        threading.Thread(target=_end_held, args=held, daemon=True).start()
    copy(0, _write)
