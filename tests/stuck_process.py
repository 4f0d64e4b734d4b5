"""A process that has ended or was killed and stays, as one does whose disk never answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_HOLD = """
import ctypes, os, sys, time

SEIZE, CONTINUE, STOPPED, EVENT = 0x4206, 7, 0x7F, 16
pid = int(sys.argv[1])
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
print(ptrace(SEIZE, pid, None, None), flush=True)
while True:
    seen = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    if seen.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED):
        time.sleep(600)  # nobody else can wait for it until this one ends
    _, status = os.waitpid(pid, os.WUNTRACED)
    number = 0 if status >> EVENT else os.WSTOPSIG(status)
    ptrace(CONTINUE, pid, None, number)
"""


@contextmanager
def stuck_process(pid: int) -> Iterator[None]:
    """Who waits for the end of this process waits for that of the block."""
    if sys.platform != "linux":
        pytest.skip("processes are held with ptrace")
    holding = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(pid)], stdout=subprocess.PIPE, text=True
    )
    assert holding.stdout is not None
    try:
        if holding.stdout.readline().strip() != "0":
            pytest.skip("nobody may be traced here")
        yield
    finally:
        holding.kill()
        holding.communicate()
