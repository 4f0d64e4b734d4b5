"""Processes: which one this is among all of all machines, and signals to those it started."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

_ENDED = "ended"


class ProcessIdentity(msgspec.Struct, frozen=True):
    """A process, distinct from those that have its number on another machine or later.

    Args:
        host: Name of the machine.
        boot: Id of the time since the machine was started; empty where it says none.
        space: The numbers' namespace, which differs between containers of one machine.
        started: When the process began, in whatever its system counts.
    """

    pid: int
    host: str = ""
    boot: str = ""
    space: str = ""
    started: str = ""

    def status(self) -> Literal["running", "gone", "elsewhere"]:
        """Whether the process is there; `elsewhere` where it cannot be seen from here."""
        here = own_identity()
        if self.host != here.host:
            return "elsewhere"
        if self.boot != here.boot:
            return "gone"  # the machine was started again since
        if self.space != here.space:
            return "elsewhere"
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, OverflowError):
            return "gone"
        except PermissionError:  # another user's
            pass
        now = _started(self.pid)
        return "running" if not now or now == self.started else "gone"


def own_identity() -> ProcessIdentity:
    """The identity of this process."""
    return _identity(os.getpid())


@cache
def _identity(pid: int) -> ProcessIdentity:
    return ProcessIdentity(
        pid,
        socket.gethostname(),
        _text(Path("/proc/sys/kernel/random/boot_id")),
        _link(Path("/proc/self/ns/pid")),
        _started(pid),
    )


def is_own_interpreter(path: Path) -> bool:
    """Whether a path is that of the interpreter that runs this process."""
    with contextlib.suppress(OSError):
        is_inside = path.absolute().parents[1].samefile(sys.prefix)
        return is_inside and path.samefile(sys.executable)
    return False


def private_memory(pid: int) -> int | None:
    """Bytes that a process has in memory and shares with no other; None where it has none.

    Where there is no `/proc` those that it shares are counted as well.
    """
    statm = _text(Path(f"/proc/{pid}/statm")).split()
    if len(statm) > 2:
        return (int(statm[1]) - int(statm[2])) * os.sysconf("SC_PAGE_SIZE") or None
    if Path("/proc/self").exists():
        return None
    reported = _ps(pid, "rss=")
    return int(reported) * 1024 if reported.strip().isdigit() else None


def free_memory() -> int | None:
    """Bytes that new processes may take here, in this container; None where that is not known."""
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
            break
    else:
        return None
    limit, used = (_text(Path(f"/sys/fs/cgroup/memory.{name}")) for name in ("max", "current"))
    return min(free, int(limit) - int(used)) if limit.isdigit() and used.isdigit() else free


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process; 0 where there is no `/proc`, or no such process."""
    user, system = _state_and_more(pid)[11:13] or (0, 0)
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def busy_seconds(pid: int) -> float:
    """Seconds in which a process computed, or its main thread waited for a core to compute on.

    Among others that are as busy a process gets less than a core, and would use all of one. That
    is known from `/proc` alone: elsewhere only what it computed counts.
    """
    computed = cpu_seconds(pid)
    fields = _text(Path(f"/proc/{pid}/schedstat")).split()
    if len(fields) == 3:
        return max(computed, (int(fields[0]) + int(fields[1])) / 1e9)
    return computed or _clock_seconds(_ps(pid, "time="))


def _clock_seconds(text: str) -> float:
    """Seconds in a time as `ps` prints it: `0:01.50`, `01:02:03`, `1-01:02:03`."""
    days, _, rest = text.strip().rpartition("-")
    seconds = 0.0
    try:
        for part in rest.split(":"):
            seconds = 60 * seconds + float(part)
        return seconds + 86400 * int(days or 0)
    except ValueError:
        return 0.0


def has_ended(pid: int) -> bool:
    """Whether a process is over, if a thread of it hangs in the system; False without `/proc`."""
    return _state_and_more(pid)[:1] in (["Z"], ["X"])


def _state_and_more(pid: int) -> list[str]:
    """Fields of `/proc/PID/stat` after the name; none without `/proc`, or without the process."""
    stat = _text(Path(f"/proc/{pid}/stat"))
    return stat[stat.rindex(")") + 2 :].split() if stat else []


def _started(pid: int) -> str:
    """The start of a process; empty where that is not known, `ended` where nobody waited for it."""
    if found := _state_and_more(pid):
        return _ENDED if found[0] in "ZX" else found[19]
    state, _, began = _ps(pid, "stat=,lstart=").strip().partition(" ")
    return _ENDED if state.startswith("Z") else began.strip()


def _ps(pid: int, columns: str) -> str:
    """The line of `ps` for a process; empty where there is none."""
    ps = ["ps", "-o", columns, "-p", str(pid)]
    try:
        env = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}  # the answer is the same for everybody
        return subprocess.run(ps, env=env, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def signal_group(group: int, number: int) -> None:
    """Sends a signal to a process group; nothing where there is none any more.

    Where the system lets nobody signal a group (some sandboxes; macOS where one of it is a
    zombie), its leader gets the signal.
    """
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass
    except PermissionError:
        with contextlib.suppress(OSError):
            os.kill(group, number)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
