"""An OpenEnv project: what its `.build.json` says, and how its server is launched here."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.errors import Fault

MANIFEST = ".build.json"
CONTRACTS = ("gym", "mcp")
_SHAPE = 'It is {"schema_version": 1, "contract": "gym" or "mcp", "app": "server.app:app"}'
_APP = re.compile(r"[\w.]+:[\w.]+")
# A list of what may pass, not of what may not: a key can have any name.
_PASSED = {
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "LD_LIBRARY_PATH", "XDG_CACHE_HOME"),
}


class OpenEnvProject(msgspec.Struct, frozen=True):
    """A project whose server can be launched.

    Args:
        contract: `gym` or `mcp`: what an action is.
        app: The ASGI application as `module:name`; empty where only a command is known.
        start_command: A shell-like command line; used where there is no `app`.
        port: The port that `start_command` names.
    """

    folder: Path
    contract: str
    app: str
    start_command: str
    port: int

    @property
    def python(self) -> Path:
        """The project's own interpreter, or the one that runs this."""
        own = self.folder / ".venv" / "bin" / "python"
        return own if own.exists() else Path(sys.executable)

    def command(self, port: int) -> list[str]:
        """The command that launches the server on this loopback port.

        The application is preferred: a `start_command` is written for the project's container. In
        it, the address `0.0.0.0` and the port of `.build.json` are replaced.
        """
        if self.app:
            serve = ["-m", "uvicorn", self.app, "--host", "127.0.0.1", "--port", str(port)]
            return [str(self.python), *serve]
        local = self.start_command.replace("0.0.0.0", "127.0.0.1")
        return shlex.split(re.sub(rf"(?<!\d){self.port}(?!\d)", str(port), local))

    def environment(self, port: int, more: Mapping[str, str]) -> dict[str, str]:
        """The variables that the server sees: few of ours, no keys, and those given here."""
        passed = {k: v for k, v in os.environ.items() if k in _PASSED or k.startswith("LC_")}
        path = os.pathsep.join([str(self.python.parent), passed.get("PATH", os.defpath)])
        own = {"PATH": path, "HOST": "127.0.0.1", "PORT": str(port), "PYTHONUNBUFFERED": "1"}
        return {**passed, **own, **more}


def read_project(folder: Path) -> tuple[OpenEnvProject | None, list[Fault]]:
    """The project in a folder, or everything that is wrong with it."""
    path = folder / MANIFEST
    if not folder.is_dir():
        hint = "Give the folder of the OpenEnv project as openenv_project"
        return None, [Fault(str(folder), "there is no such folder", hint)]
    try:
        manifest = json.loads(path.read_bytes())
    except OSError as error:
        return None, [Fault(str(path), f"it cannot be read: {error.strerror}", _SHAPE)]
    except (ValueError, RecursionError) as error:
        return None, [Fault(str(path), f"it is not JSON: {error}", _SHAPE)]
    if not isinstance(manifest, dict):
        return None, [Fault(str(path), f"it is a {type(manifest).__name__}", _SHAPE)]
    faults = [Fault(str(path), what, hint) for what, hint in _faults(manifest)]
    if faults:
        return None, faults
    app, command = manifest.get("app") or "", manifest.get("start_command") or ""
    port = manifest.get("port", 8000)
    return OpenEnvProject(folder, manifest["contract"], app, command, port), []


def _faults(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Faults of a manifest, each with what to do."""
    faults = []
    version = manifest.get("schema_version", 1)
    if version != 1:
        faults.append((f"its 'schema_version' is {version!r}", "Only version 1 is known"))
    contract = manifest.get("contract")
    if contract not in CONTRACTS:
        what = "it has no 'contract'" if contract is None else f"its 'contract' is {contract!r}"
        faults.append((what, 'It must be "gym" or "mcp"'))
    app, command = manifest.get("app"), manifest.get("start_command")
    if not app and not command:
        faults.append(("it has neither 'app' nor 'start_command'", _SHAPE))
    if app and not (isinstance(app, str) and _APP.fullmatch(app)):
        faults.append((f"its 'app' is {app!r}", 'It is named like "server.app:app"'))
    if command and not _is_command(command):
        faults.append((f"its 'start_command' is {command!r}", "It must be one command line"))
    port = manifest.get("port", 8000)
    if type(port) is not int or not 0 < port < 65536:
        faults.append((f"its 'port' is {port!r}", "It must be a number from 1 to 65535"))
    return faults


def _is_command(command: Any) -> bool:
    try:
        return isinstance(command, str) and bool(shlex.split(command))
    except ValueError:
        return False
