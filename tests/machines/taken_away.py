"""What machines of clusters and containers lack, taken away from outside of the program."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from program import Program

NO_FLOCK = """
import errno, fcntl, os
def flock(fd, operation):
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
fcntl.flock = flock
"""
FLOCK_ON_WRITABLE_ONLY = """
import errno, fcntl, os
real = fcntl.flock
def flock(file, operation):
    fd = file if isinstance(file, int) else file.fileno()
    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return real(fd, operation)
fcntl.flock = flock
"""
FLOCK_OF_ANOTHER_NODE = """
import fcntl, socket
fcntl.flock = lambda fd, operation: None
socket.gethostname = lambda: "another-node"
"""
"""As with `localflock`: what one machine has locked, another one can lock, too."""
NO_UNIX_SOCKETS = """
import errno, os, socket
real = socket.socket.bind
def bind(self, address):
    if self.family == socket.AF_UNIX:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    return real(self, address)
socket.socket.bind = bind
"""
NO_GROUP_SIGNALS = """
import errno, os
def killpg(group, number):
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
os.killpg = killpg
"""

HELD = """
import asyncio, pathlib
import tui_eval as vf

class Held(vf.SingleTurnEnv):
    async def setup_state(self, state):
        while state["example_id"] == 1 and not pathlib.Path("go").exists():
            await asyncio.sleep(0.02)
        return await super().setup_state(state)

def load_environment():
    return Held(dataset=[{"question": "?"}] * 2, rubric=vf.Rubric(funcs=[lambda completion: 1.0]))
"""
"""An environment whose second example waits for a file."""

is_root = pytest.mark.skipif(
    os.name != "posix" or os.getuid() != 0 or shutil.which("setpriv") is None,
    reason="only root may run programs as another user, with setpriv",
)


def as_nobody(program: Program, uid: int) -> list[str]:
    """A command's beginning: a user without a passwd entry, who may read all and write nothing.

    What is below the program's folder is that user's.
    """
    for path in [program.folder, *program.folder.rglob("*")]:
        os.chown(path, uid, uid)
    reads = "+dac_read_search"
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups",
            "--inh-caps", reads, "--ambient-caps", reads]  # fmt: skip


def with_read_only_tmp(folder: Path) -> list[str]:
    """A command's beginning: `/tmp` cannot be written, but for the folder."""
    steps = (
        "mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp && "
        f"mount --bind {folder} {folder} && mount -o remount,rw,bind {folder} && "
        f'cd {folder} && exec "$@"'
    )
    return ["unshare", "-m", "sh", "-c", steps, "sh"]
