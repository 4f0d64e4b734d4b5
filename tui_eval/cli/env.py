"""`tui-eval env`: commands about environments; `check` lists what one lacks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui_eval.errors import Fault, RefusedError

if TYPE_CHECKING:
    from tui_eval.cli.installed import Installed
    from tui_eval.cli.requirements import Checked
    from tui_eval.environments.discovery import FoundEnvironment

LOADS_WITHIN_S = 120.0
USUAL = Path("environments")

env_folder = click.option(
    "--env-dir-path",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=USUAL,
    show_default=True,
    help="Where local environments are.",
)


@click.group("env")
def command() -> None:
    """Look at an environment before it runs; `tui-eval new-env` writes one."""


@command.command("check")
@click.argument("env_id", metavar="ENV")
@click.option("-a", "--env-args", metavar="JSON", help="Arguments of its load_environment.")
@env_folder
@click.option("--python", metavar="PATH", help="The interpreter in place of the environment's own.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(
    env_id: str, env_args: str | None, folder: Path, python: str | None, as_json: bool
) -> int:
    """List what an environment needs and has not, and what installs or sets it.

    It is looked for in the interpreter that the environment runs in. Its source is read for
    packages, keys, datasets on the Hugging Face hub and addresses, its pyproject.toml for
    dependencies; then it is loaded once, in a process of its own. Ends with 2 where something
    lacks.
    """
    from tui_eval.cli.installed import installed_in
    from tui_eval.cli.requirements import Checked, check_needs
    from tui_eval.config.env_file import load_env_file
    from tui_eval.environments.needs import needs_of

    load_env_file()
    found = _found(env_id, folder, may_be_elsewhere=python is not None)
    needs = needs_of(found, folder) if found is not None else []
    named, where = (python, "--python") if python else _own_python(env_id, folder)
    modules = [one.name for one in needs if one.kind == "package"]
    installed = installed_in(named, where, modules)
    checked = check_needs(needs, found, installed) if found is not None else []
    lacking = [one.fault for one in checked if one.fault is not None]
    if not any(one.kind in ("package", "dependency") and one.fault for one in checked):
        loading = _loading_faults(env_id, env_args, folder, python)
        lacking += loading
        why = "it does not load" if loading else ""
        place = str(found.path or "") if found is not None else ""
        checked.append(Checked("loading", env_id, place, why))
    return _print(env_id, installed, checked, lacking, as_json=as_json)


def _print(
    env_id: str,
    installed: Installed,
    checked: list[Checked],
    lacking: list[Fault],
    *,
    as_json: bool,
) -> int:
    """Prints the needs; returns the exit code."""
    from tui_eval.cli.console.printing import print_faults, print_json, print_stdout
    from tui_eval.runs.summary_json import refused_object

    if as_json:
        reported = refused_object(lacking)["faults"]
        print_json({"version": 1, "env_id": env_id, "ok": not lacking, "python": installed.object(),
                    "needs": [one.object() for one in checked], "faults": reported})  # fmt: skip
        return 2 if lacking else 0
    print_stdout([f"{env_id} runs in {installed}"])
    if lacking:
        return print_faults(dict.fromkeys(lacking))
    needed = [f"{one.kind} {one.name}" for one in checked if one.kind != "loading"]
    print_stdout([f"{env_id} has what it needs: {', '.join([*needed, 'it loads'])}"])
    return 0


def _found(env_id: str, folder: Path, *, may_be_elsewhere: bool) -> FoundEnvironment | None:
    """Folder of an environment; None where only the interpreter that is named may know it.

    Raises:
        RefusedError: There is no such environment.
    """
    from tui_eval.environments.discovery import find_environment

    try:
        return find_environment(env_id, folder)
    except RefusedError:
        if not may_be_elsewhere:
            raise
    return None


def _own_python(env_id: str, folder: Path) -> tuple[str | None, str]:
    """The interpreter that an environment's project names, and the place where it does.

    Raises:
        RefusedError: The project names a wrong one.
    """
    from tui_eval.config.environment_defaults import environment_defaults

    settings, faults = environment_defaults(env_id, folder)
    if faults:
        raise RefusedError(faults)
    setting = settings.get("python")
    return (setting.value, setting.source) if setting is not None else (None, "")


def _loading_faults(
    env_id: str, env_args: str | None, folder: Path, python: str | None
) -> list[Any]:
    """Reason why an environment cannot be loaded, or its examples read; loads it in a child."""

    words = [sys.executable, "-m", "tui_eval", "run", env_id, "-m", "demo", "--dry-run", "--json"]
    words += ["--env-dir-path", str(folder)] + (["-a", env_args] if env_args else [])
    words += ["--python", python] if python else []
    where = f"environment {env_id}"
    try:
        done = subprocess.run(
            words, capture_output=True, encoding="utf-8", errors="replace", timeout=LOADS_WITHIN_S
        )
        reported = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return [Fault(where, f"it did not load within {LOADS_WITHIN_S:.0f} s")]
    except ValueError:
        lines = done.stderr.strip().splitlines() or [f"its process ended with {done.returncode}"]
        return [Fault(where, f"it does not load: {lines[-1]}")]
    return [
        Fault(one["where"], one["what"], one["hint"] or "") for one in reported.get("faults", ())
    ]
