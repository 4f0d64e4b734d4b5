"""An interpreter that an environment runs in, where that is not the engine's own."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tui_eval import cuts
from tui_eval.errors import Fault, RefusedError
from tui_eval.processes import is_own_interpreter, signal_group
from tui_eval.worker import bootstrap, probe

OLDEST = (3, 11)
ANSWERS_WITHIN_S = 60.0
"""Seconds for a probe of an interpreter: on a cold network disk it takes long."""
_PROBE = (
    "import sys\n"
    "print('.'.join(map(str, sys.version_info[:3])))\n"
    f"if sys.version_info >= {OLDEST}:\n"
    "    import runpy\n"
    "    sys.stdout.flush()\n"
    "    sys.argv[:1] = []\n"
    "    runpy.run_path(sys.argv[0], run_name='__main__')\n"
)
"""Code of the probe; also interpreters that are too old can say their version."""


class InterpreterInfo(msgspec.Struct):
    """The result of a probe: see `worker.probe`."""

    version: str
    prefix: str
    abi: str
    packages: dict[str, str]
    modules: dict[str, bool]
    has_pip: bool


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An interpreter, and the folders that are added behind its own packages.

    Args:
        path: As it is started: a link into a virtual environment stays one.
        added_paths: Packages that it lacks, and last our own.
    """

    path: str
    info: InterpreterInfo = field(repr=False)
    added_paths: tuple[str, ...] = ()

    def command(self, module: str) -> list[str]:
        """The command line that runs a module of ours."""
        return [self.path, bootstrap.__file__, os.pathsep.join(self.added_paths), module]


def executable_of(named: str, where: str) -> str | None:
    """The path of the interpreter that somebody named; None where it is this process's own.

    Args:
        named: A path, a virtual environment's folder, or a name on the `PATH`.
        where: The setting that named it, for faults.

    Raises:
        RefusedError: There is none.
    """
    path = Path(named).expanduser()
    if path.is_dir():
        path = path / "bin" / "python"
    if os.sep not in named and not path.exists():
        path = Path(shutil.which(named) or path)
    hint = "Name an interpreter or a virtual environment, as in --python .venv/bin/python"
    if not path.is_file():
        what = f"there is no interpreter {named}"
        if path.is_symlink():
            what = f"{named} leads nowhere: {path.readlink()} is gone"
            hint = f"Make it again, or say --python {sys.executable} for that of tui-eval"
        raise RefusedError([Fault(where, what, hint)])
    if not os.access(path, os.X_OK):
        raise RefusedError([Fault(where, f"{named} cannot be executed", hint)])
    return None if is_own_interpreter(path) else str(path.absolute())


async def inspect_interpreter(path: str, modules: Sequence[str], where: str) -> InterpreterInfo:
    """Probes an interpreter.

    Args:
        modules: Top modules to look for.
        where: The setting that named it, for faults.

    Raises:
        RefusedError: It is no Python, or one that is too old.
    """
    hint = f"Name a Python of {'.'.join(map(str, OLDEST))} or later"
    output, error = await _probe(path, modules)
    first, _, rest = output.partition(b"\n")
    version = first.decode(errors="replace").strip()
    numbers = [int(one) for one in version.split(".") if one.isdecimal()]
    if len(numbers) != 3:
        raise RefusedError(
            [Fault(where, f"{path} is no Python: {error or 'it says nothing'}", hint)]
        )
    if tuple(numbers) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        what = f"{path} is Python {version}, and a worker needs {oldest} or later"
        raise RefusedError([Fault(where, what, _newer(path, oldest))])
    try:
        return msgspec.json.decode(rest, type=InterpreterInfo)
    except msgspec.DecodeError:
        what = f"{path} cannot say what it has: {error or 'it says nothing'}"
        raise RefusedError([Fault(where, what, hint)]) from None


def _newer(path: str, oldest: str) -> str:
    """The command that makes a virtual environment of a later version, in place of no other."""
    folder = Path(path).parent.parent
    made = folder if (folder / "pyvenv.cfg").exists() else Path(".venv")
    if made.exists():
        made = made.with_name(f"{made.name}-{oldest}")
    words = (
        ["uv", "venv", "--python", oldest]
        if shutil.which("uv")
        else [f"python{oldest}", "-m", "venv"]
    )
    return f"Make another and name it: {shlex.join([*words, str(made)])}"


async def _probe(path: str, modules: Sequence[str]) -> tuple[bytes, str]:
    """The output of a probe, and the last line on its standard error."""
    # Not pipes: what a wrapper leaves running would hold their other ends.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = await asyncio.create_subprocess_exec(
                *(path, "-c", _PROBE, probe.__file__, *modules),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            return b"", str(error.strerror or error)
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                await process.wait()
        except TimeoutError:
            return b"", f"it does not answer within {ANSWERS_WITHIN_S:.0f} s"
        finally:
            if process.returncode is None:
                signal_group(process.pid, signal.SIGKILL)
                await process.wait()
        out.seek(0)
        err.seek(0)
        lines = err.read().decode(errors="replace").strip().splitlines()
        return out.read(), cuts.head(lines[-1], 300) if lines else ""
