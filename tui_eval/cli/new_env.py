"""`tui-eval new-env NAME`: an environment to begin with, which runs at once."""

from __future__ import annotations

import keyword
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import click

from tui_eval.cli.env import USUAL, env_folder
from tui_eval.environments.discovery import LONGEST, module_name_of
from tui_eval.errors import Fault, RefusedError

KINDS = {
    "single": "Sums: one question and one answer.",
    "tool": "A greengrocer: the model looks prices up with a tool.",
    "multi-turn": "A guessing game: the environment answers every guess.",
}
"""Kinds of environments, each with its subject."""

_STARTERS = Path(__file__).with_name("starters")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_][A-Za-z0-9]+)*")


@click.command("new-env")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    default="single",
    show_default=True,
    help="What the model does: answers once, calls tools, or takes turns.",
)
@env_folder
def command(name: str, kind: str, folder: Path) -> int:
    """Write an environment to begin with: module, dataset, README, and tests that pass.

    It runs at once: `tui-eval NAME -m demo`. Nothing that is there is overwritten.
    """
    from tui_eval.cli.console.printing import print_stdout

    made = write_environment(name, kind, folder)
    where = "" if folder == USUAL else f" --env-dir-path {shlex.quote(str(folder))}"
    print_stdout(
        [
            f"Wrote {made.folder}: {', '.join(made.files)}",
            f"Run it:    tui-eval {made.name} -m demo{where}",
            f"Check it:  tui-eval env check {made.name}{where}",
            f"Test it:   pytest {shlex.quote(str(made.folder))}",
        ]
    )
    return 0


class Made(NamedTuple):
    """An environment that was written: its id, its folder, and the files in it."""

    name: str
    folder: Path
    files: list[str]


def write_environment(name: str, kind: str, folder: Path) -> Made:
    """Writes an environment to begin with; it is there whole or not at all.

    Args:
        name: Its id; the module is called so with `_` for `-`.
        kind: A key of `KINDS`.
        folder: Folder of local environments; made where it is missing.

    Raises:
        RefusedError: The name cannot be one, something is there already, or it cannot be written.
    """
    module = module_name_of(name)
    target = folder / module
    faults = [*_name_faults(name, module), *_taken(target)]
    if faults:
        raise RefusedError(faults)
    shown = shlex.quote(str(target))
    values = {"NAME": name, "MODULE": module, "SUMMARY": KINDS[kind], "FOLDER": shown}
    texts = dict(sorted(_texts(kind, module, values).items()))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as near:
            whole = Path(near, module)
            whole.mkdir()
            for file, text in texts.items():
                (whole / file).write_text(text, encoding="utf-8")
            whole.rename(target)
    except OSError as error:
        what = f"the environment cannot be written here: {error.strerror or error}"
        raise RefusedError([Fault(str(target), what, "Name another folder")]) from error
    return Made(name, target, list(texts))


def _texts(kind: str, module: str, values: dict[str, str]) -> dict[str, str]:
    """The text of every file by its name, with `values` for the words of the templates."""
    words = re.compile("|".join(values))
    texts = {}
    for source in (*_STARTERS.glob("*.txt"), *(_STARTERS / kind).iterdir()):
        file = source.name.removesuffix(".txt").replace("environment", module)
        texts[file] = words.sub(lambda found: values[found[0]], source.read_text("utf-8"))
    return texts


def _name_faults(name: str, module: str) -> list[Fault]:
    """Faults of a name for an environment."""
    from tui_eval.cli.main import COMMANDS

    if not _NAME.fullmatch(name):
        what = f"{name!r} is no name for an environment"
        return [Fault("NAME", what, "Letters, digits and single hyphens, a letter first: my-env")]
    if len(name) > LONGEST:
        return [Fault("NAME", f"it has {len(name)} characters", f"{LONGEST} are the most")]
    if keyword.iskeyword(module) or module in sys.stdlib_module_names:
        what = f"{module} is a word of Python or a module of its library"
        return [Fault("NAME", what, f"Call it my-{name}, say")]
    if name in COMMANDS:
        what = f"{name} is a command: tui-eval {name} would not run the environment"
        return [Fault("NAME", what, f"Call it my-{name}, say")]
    return []


def _taken(target: Path) -> list[Fault]:
    """Faults for places that are taken already."""
    spellings = {target.name, target.name.replace("_", "-")}
    places = [target.with_name(one) for one in sorted(spellings)]
    places += [one.with_name(f"{one.name}.py") for one in places]
    hint = "Nothing was overwritten. Choose another name, or move it away"
    return [
        Fault(str(place), "something is there already", hint)
        for place in places
        if place.exists() or place.is_symlink()
    ]
