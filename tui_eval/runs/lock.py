"""One writer a run: a lock that dies with its process and says who holds it.

`flock` decides that. File systems of clusters may refuse it (Lustre without `-o flock`), or for a
descriptor that cannot write (NFS), or hold it on one machine only (`localflock`). So the file names
its process as well: where `flock` is refused it is held as long as that is there. A process of
another machine cannot be looked for; it touches the file every few seconds, and is taken for gone
once it has not for half a minute.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shlex
import threading
import time
from pathlib import Path

import msgspec

from tui_eval.errors import Fault, Notice, warning
from tui_eval.processes import ProcessIdentity, own_identity

LOOK_LASTS_S = 1.0
"""Seconds for which a writer tries again: a look at the holder takes the lock for a moment."""

BEATS_EVERY_S = 5.0
SILENT_S = 30.0
"""Seconds between touches of a held lock, and those after which another machine's is stale."""

_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
"""Errors of `flock` where somebody else has it; any other says that it does not lock here."""


class Holder(msgspec.Struct, frozen=True):
    """Holder of a lock: the engine's process id, 0 if it is not known, and its socket's path."""

    pid: int
    socket: str
    host: str = ""
    """The machine that it runs on, where that is another one or it cannot be seen from here."""
    is_certain: bool = True
    """Whether it is known to be running."""

    def __str__(self) -> str:
        where = f" on {self.host}" if self.host else ""
        return f"process {self.pid}{where}" if self.pid else "another process"

    def fault(self, run: Path) -> Fault:
        """Sentence why nobody else can resume the run at this path."""
        if not self.is_certain:
            what = f"{self} is writing this run, or has ended without a word"
            remove = f"rm {shlex.quote(str(run / 'lock'))}"
            rest = f"Once it has ended wait {SILENT_S:.0f} s, or: {remove}" if self.host else ""
            return Fault(str(run), what, rest or f"Once it has ended: {remove}")
        hint = f"Join it: tui-eval open {shlex.quote(str(run))}"
        return Fault(str(run), f"{self} is writing this run", hint if self.socket else "")


_UNKNOWN = Holder(0, "", is_certain=False)


class LockHeldError(Exception):
    """Another engine writes this run; `held` says which one."""

    def __init__(self, held: Holder) -> None:
        super().__init__(f"{held} is writing this run")
        self.held = held


class _Written(msgspec.Struct):
    """Content of the file; earlier versions have the first two fields only."""

    pid: int
    socket: str
    process: ProcessIdentity | None = None
    flocked: bool = True

    @property
    def holder(self) -> Holder:
        """The process that wrote it, as it is to be found from here."""
        if self.process is None:
            return Holder(self.pid, self.socket, is_certain=False)
        if self.process.status() == "elsewhere":
            return Holder(self.pid, "", self.process.host, is_certain=False)
        return Holder(self.pid, self.socket)

    @property
    def is_elsewhere(self) -> bool:
        """Whether its process cannot be seen from here."""
        return self.process is not None and self.process.status() == "elsewhere"

    def is_stale(self, path: Path, fd: int) -> bool:
        """Whether its process is gone; `fd` is that of the lock at the path."""
        if self.process is None:
            return False
        status = self.process.status()
        return status == "gone" or (status == "elsewhere" and _is_silent(path, fd))


class RunLock:
    """Holds `lock` in a run directory until it is released or the process ends.

    `refused` says why the kernel does not lock the file; empty where it does.
    """

    def __init__(self, path: Path, socket: str) -> None:
        """Takes the lock.

        Raises:
            LockHeldError: Another process has it; the message names the process.
            OSError: The file cannot be opened or written.
        """
        self._path = path
        self.socket = socket
        deadline = time.monotonic() + LOOK_LASTS_S
        while (taken := _try_lock(path)) is None:
            held = holder(path)
            if held is not None or time.monotonic() > deadline:
                raise LockHeldError(held or _UNKNOWN)
            time.sleep(0.005)
        self._fd, self.refused = taken
        self._is_over = threading.Event()
        self._beating = threading.Thread(target=self._beat, name="lock", daemon=True)
        process = own_identity()
        written = _Written(process.pid, socket, process, not self.refused)
        try:
            with contextlib.suppress(PermissionError):  # of file systems without modes
                os.fchmod(self._fd, 0o600)
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, msgspec.json.encode(written), 0)
        except OSError:
            self.release()
            raise
        self._beating.start()

    def _beat(self) -> None:
        while not self._is_over.wait(BEATS_EVERY_S):
            with contextlib.suppress(OSError):
                os.utime(self._fd)

    @property
    def notices(self) -> list[Notice]:
        """Sentence that nothing but its text makes the file a lock."""
        if not self.refused:
            return []
        text = f"Files cannot be locked here ({self.refused}): "
        return [warning(f"{text}a lock file names this process instead.")]

    def release(self) -> None:
        """Gives the lock back and removes its file, unless that is another process's by now."""
        self._is_over.set()
        if self._beating.is_alive():
            self._beating.join(BEATS_EVERY_S)
        if _is_at(self._path, self._fd):
            with contextlib.suppress(OSError):  # a look sees that nobody holds it
                self._path.unlink(missing_ok=True)
        os.close(self._fd)


def _try_lock(path: Path) -> tuple[int, str] | None:
    """The open file, now this process's, and why it is not locked; None where it is not to be had.

    A file that nobody wrote into is its maker's: where nothing can be locked, that decides.
    """
    try:
        fd, is_new = os.open(path, os.O_RDWR | os.O_CLOEXEC), False
    except FileNotFoundError:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            return None
        is_new = True
    refused = _flock(fd, fcntl.LOCK_EX)
    if refused is not None:
        written = None if is_new else _read(fd)
        is_stale = written is not None and written.is_stale(path, fd)
        is_free = written is None or is_stale or (written.flocked and not written.is_elsewhere)
        if not refused and _is_at(path, fd) and is_free:
            return fd, ""
        if refused and is_new:
            return fd, refused
        if refused and is_stale:
            _take_away(path, fd)
    os.close(fd)
    return None


def _flock(fd: int, operation: int) -> str | None:
    """Locks a file: empty once it is, None while somebody else has it, else why it cannot be."""
    try:
        fcntl.flock(fd, operation | fcntl.LOCK_NB)
    except OSError as error:
        return None if error.errno in _HELD else error.strerror or str(error)
    return ""


def _is_at(path: Path, fd: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(fd).st_ino
    except OSError:
        return False


def _take_away(path: Path, fd: int) -> None:
    """Removes the file of a process that is gone, unless another one took it over meanwhile.

    Nothing removes a file only if it is still a given one: so only who has the claim may.
    """
    claim = path.with_name(f"{path.name}.claim")
    try:
        os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    try:
        if _is_at(path, fd):
            path.unlink(missing_ok=True)
    finally:
        claim.unlink(missing_ok=True)


def _is_silent(path: Path, fd: int) -> bool:
    """Whether nobody has touched a lock lately, by the clock of the machine that keeps the file."""
    now, own = time.time(), path.with_name(f".{path.name}.{os.getpid()}.now")
    with contextlib.suppress(OSError):
        own.touch(mode=0o600)
        now = own.stat().st_mtime
        own.unlink()
    return now - os.fstat(fd).st_mtime > SILENT_S


def _read(fd: int) -> _Written | None:
    try:
        return msgspec.json.decode(os.pread(fd, 4096, 0), type=_Written)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def holder(path: Path) -> Holder | None:
    """Holder of the lock at this path; None where there is none.

    Of a file that cannot be opened, such as another user's, that is not known.
    """
    try:
        fd = _open_to_check(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return _UNKNOWN
    try:
        refused = _flock(fd, fcntl.LOCK_SH)
        written = _read(fd)
        is_stale = written is not None and written.is_stale(path, fd)
    finally:
        os.close(fd)
    if refused is None:
        return Holder(written.pid, written.socket) if written else Holder(0, "")
    if not refused and (written is None or (written.flocked and not written.is_elsewhere)):
        return None
    if written is None:
        return _UNKNOWN
    return None if is_stale else written.holder


def _open_to_check(path: Path) -> int:
    """Opened for writing, which NFS wants for a lock, where that is allowed."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
