"""Places of runs on disk and files of a run directory.

A run is one folder of plain files, at the paths where verifiers has its own, so that it can be
copied, searched and read by others without this program. `RunDir` alone knows the names of the
files: it reads and creates nothing, so every layer can hold one, of a run of any program. What is
there to stay is in `files`; index and lock can be lost.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec
import platformdirs

from tui_eval.own_folders import home_folder
from tui_eval.runs.file_writing import cut_name, distinct_name

RESULTS = "results.jsonl"
NOTES = "notes.jsonl"
SUFFIXES = (".jsonl", ".json", ".ndjson")
"""Endings of files that hold rollouts."""
TEXT = ".txt"
"""Ending of files that may hold rollouts, and anything else."""
EVALS = "evals"
BELOW = ("*", "*/*", f"{EVALS}/*/*")
"""Patterns of runs in a folder of results, in its folder `evals`, and in one of that."""


class RunDir(msgspec.Struct, frozen=True):
    """The files of one run; nothing is created or read here."""

    path: Path
    """The directory."""
    name: str = RESULTS
    """The file that holds the rollouts; other programs call it as they like."""

    @property
    def plan(self) -> Path:
        """The requested settings, as TOML."""
        return self.path / "run.toml"

    @property
    def results(self) -> Path:
        """One finished rollout a line, in order of completion."""
        return self.path / self.name

    @property
    def index(self) -> Path:
        """Index of the lines, with what lists show of each; can always be made again."""
        return self.path / "results.index"

    @property
    def metadata(self) -> Path:
        """The summary; nothing depends on it."""
        return self.path / "metadata.json"

    @property
    def versions(self) -> Path:
        """Versions of the code that the rows are of, and of what was installed."""
        return self.path / "versions.json"

    @property
    def journal(self) -> Path:
        """Records of rollouts that results.jsonl does not have yet."""
        return self.path / "journal.jsonl"

    @property
    def superseded(self) -> Path:
        """Rows that a resume took out of results.jsonl to run them again."""
        return self.path / "superseded.jsonl"

    @property
    def notes(self) -> Path:
        """Notes of people on rollouts, one a line; the last one of a rollout holds.

        A folder may hold several files of other programs: each has notes of its own.
        """
        before = "" if self.name == RESULTS else f"{self.name.removesuffix('.jsonl')}."
        return self.path / f"{before}{NOTES}"

    @property
    def log(self) -> Path:
        """Output of the engine and of people's code."""
        return self.path / "engine.log"

    @property
    def lock(self) -> Path:
        """Held by the engine that writes here; names its socket."""
        return self.path / "lock"

    @property
    def files(self) -> tuple[Path, ...]:
        """All that are there to stay: the lock goes, and the index can be made again.

        The journal is before the results: a rollout that moves from one to the other while they
        are copied in this order is in both, which a resume settles.
        """
        beside = (self.superseded, self.plan, self.metadata, self.versions, self.notes, self.log)
        return self.journal, *beside, self.results

    @property
    def is_ours(self) -> bool:
        """Whether our engine made it; another program's directory is only read."""
        return self.name == RESULTS and self.plan.exists()

    @property
    def place(self) -> Path:
        """Path that names this run to people: its directory, or the file where that says more."""
        return self.path if self.name == RESULTS else self.results

    def is_run(self) -> bool:
        """Whether this looks like a run of ours or of verifiers."""
        return self.results.is_file() or (self.metadata.is_file() and self.plan.is_file())


def runs_below(folder: Path) -> list[RunDir]:
    """The runs that a folder of results holds: one given with `--output-dir`, or one in it."""
    found = (one for above in BELOW for one in folder.glob(f"{above}/{RESULTS}"))
    return [
        RunDir(one.parent)
        for one in sorted(found)
        if not any(part.startswith(".") for part in one.relative_to(folder).parts)
    ]


def run_name(env_id: str, model: str) -> str:
    """The folder that holds the runs of an environment with a model: `env--org--model`, cut."""
    return cut_name(f"{env_id.split('/')[-1].split('@')[0]}--{model.replace('/', '--')}")


def outputs_root(env_id: str, output_dir: str | None, environments_dir: Path) -> Path:
    """The folder for a saved run: what `-o` names, or the environment's own, or `./outputs`."""
    if output_dir:
        return Path(output_dir)
    own = environments_dir / env_id.split("/")[-1].split("@")[0].replace("-", "_")
    return own / "outputs" if own.is_dir() else Path("outputs")


def new_run(root: Path, env_id: str, model: str) -> RunDir:
    """A path for a new run under an outputs folder; not created yet."""
    folder = root / EVALS
    name = distinct_name(run_name(env_id, model), folder)
    return RunDir(folder / name / uuid.uuid4().hex[:8])


def unsaved_root() -> Path:
    """The user's state directory, where runs live until somebody saves them."""
    named = os.environ.get("TUI_EVAL_STATE_DIR")
    return Path(named) if named else _user_folder(platformdirs.user_state_path, ".local/state")


def cache_root() -> Path:
    """The user's cache directory, where indexes of other programs' runs are."""
    named = os.environ.get("TUI_EVAL_CACHE_DIR")
    return Path(named) if named else _user_folder(platformdirs.user_cache_path, ".cache")


def _user_folder(find: Callable[[str], Path], below_home: str) -> Path:
    """Folder that `platformdirs` finds or, where that is none, one below the home folder."""
    try:
        path = find("tui-eval")
    except RuntimeError:
        path = Path()
    return path if path.is_absolute() else home_folder() / below_home / "tui-eval"


def is_unsaved(run: RunDir) -> bool:
    """Whether a run lives in the user's state directory."""
    return run.path.resolve().is_relative_to(unsaved_root().resolve())


def saved_roots(environments_dir: Path = Path("environments")) -> list[Path]:
    """The outputs folders that are looked through for saved runs, from here."""
    found = sorted(environments_dir.glob("*/outputs")) if environments_dir.is_dir() else []
    return [Path("outputs"), *found]
