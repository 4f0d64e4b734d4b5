"""Runs that nobody saved: kept two weeks in the user's state directory, moved or copied then."""

from __future__ import annotations

import contextlib
import errno
import itertools
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tui_eval.errors import Fault, RefusedError
from tui_eval.runs.file_writing import cut_name
from tui_eval.runs.layout import RunDir, is_unsaved, outputs_root, saved_roots, unsaved_root
from tui_eval.runs.lock import LockHeldError, RunLock, holder
from tui_eval.runs.rescue import remove_taken_in
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.saved_run import named_run
from tui_eval.runs.scan import count_rows, decode_row

KEPT_S = 14 * 24 * 3600.0


def prune(now: float | None = None) -> list[Path]:
    """Removes unsaved runs that were last written over two weeks ago; returns their paths.

    So it does with what was rescued of runs, as long after it was taken in.
    """
    now = time.time() if now is None else now
    remove_taken_in(now - KEPT_S)
    removed = []
    for run in _runs_under(unsaved_root()):
        written = _last_written(run)
        if written is not None and now - written > KEPT_S and _remove(run):
            removed.append(run.path)
    return removed


def _remove(run: RunDir) -> bool:
    """Removes a run that nobody writes; holds its lock meanwhile."""
    try:
        lock = RunLock(run.lock, "")
    except (LockHeldError, OSError):
        return False
    shutil.rmtree(run.path, ignore_errors=True)
    lock.release()
    return not run.path.exists()


def _last_written(run: RunDir) -> float | None:
    """Last change in its folder, in unix seconds; None where the run is gone meanwhile."""
    try:
        return max(path.stat().st_mtime for path in (run.path, *run.path.iterdir()))
    except OSError:
        return None


def _runs_under(root: Path) -> Iterator[RunDir]:
    for path in sorted(root.glob("evals/*/*")):
        with contextlib.suppress(PermissionError):
            if RunDir(path).is_run():
                yield RunDir(path)


def save_run(run: RunDir, target: RunDir) -> RunDir:
    """Moves a run to where saved runs are; refused, it is still where it was."""
    held = holder(run.lock)
    if held is not None:
        what = f"{held} is writing this run"
        raise RefusedError([Fault(str(run.path), what, "Save it when the run is over")])
    partial = target.path.with_name(f".{cut_name(target.path.name)}.partial")
    try:
        if target.path.exists():
            raise FileExistsError("it exists already")
        target.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            run.path.rename(target.path)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            shutil.copytree(run.path, partial, dirs_exist_ok=True)
            partial.rename(target.path)
            shutil.rmtree(run.path, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        what = f"the run could not be moved here ({error}); it is still in {run.path}"
        raise RefusedError([Fault(str(target.path), what)]) from error
    return target


class Incomplete(msgspec.Struct, frozen=True):
    """A run that has rollouts left to do, or `is_complete`."""

    run: RunDir
    env_id: str
    model: str
    rollouts_per_example: int
    num_examples: int
    done: int
    total: int
    unsaved: bool
    written_at: float
    is_complete: bool = False
    at_work: bool = False
    errored: int = 0

    @property
    def progress(self) -> str:
        """Progress in a few words."""
        errored = f", {self.errored} errored" if self.errored else ""
        return f"{self.done} of {self.total}{errored}"

    @property
    def resuming(self) -> str:
        """The sentence that says that this is the resumed run."""
        kind = "unsaved run" if self.unsaved else "run"
        errored = f", {self.errored} of them errored" if self.errored else ""
        return f"Resuming the {kind} {self.run.path}: {self.done} of {self.total} done{errored}"


def incomplete_runs(
    roots: list[Path] | None = None, *, all_of_them: bool = False
) -> list[Incomplete]:
    """Runs that can be resumed, newest first: under the outputs folders here, and unsaved ones.

    Args:
        all_of_them: Also those that an engine is at work on, and after the others those that have
            nothing left to do, which can be extended.
    """
    found = []
    for root in [*(saved_roots() if roots is None else roots), unsaved_root()]:
        for run in _runs_under(root):
            one = _incomplete(run, read_metadata(run))
            if one is not None and (all_of_them or not (one.is_complete or one.at_work)):
                found.append(one)
    return sorted(found, key=lambda one: (one.is_complete, -one.written_at))


def run_of(path: Path | None, command: str) -> RunDir:
    """The run that a path names, the newest one without any.

    Args:
        command: Command that is said to lack one.

    Raises:
        RefusedError: There is none.
    """
    run = newest_run() if path is None else named_run(path)
    if run is None:
        what = "there is no run under ./outputs, nor an unsaved one"
        raise RefusedError([Fault(command, what, "Make one: tui-eval demo")])
    return run


def newest_run() -> RunDir | None:
    """The run that was written last, of those under the outputs folders here and unsaved ones."""
    runs = [run for root in [*saved_roots(), unsaved_root()] for run in _runs_under(root)]
    return max(runs, key=lambda run: _last_written(run) or 0.0, default=None)


def _incomplete(run: RunDir, meta: dict[str, Any]) -> Incomplete | None:
    examples, per_example = meta.get("num_examples"), meta.get("rollouts_per_example")
    if not isinstance(examples, int) or not isinstance(per_example, int):
        return None
    if meta.get("uneven_groups"):  # only a program can resume it
        return None
    at_work = holder(run.lock) is not None
    done = count_rows(run.results) if run.results.exists() else 0
    errored = meta.get("n_errored")
    return Incomplete(
        run=run,
        env_id=str(meta.get("env_id") or meta.get("env")),
        model=str(meta.get("model")),
        rollouts_per_example=per_example,
        num_examples=examples,
        done=done,
        total=examples * per_example,
        unsaved=is_unsaved(run),
        written_at=_last_written(run) or 0.0,
        is_complete=done >= examples * per_example and not errored and not at_work,
        at_work=at_work,
        errored=errored if isinstance(errored, int) else 0,
    )


def keep(run: RunDir, output_dir: str | None = None) -> RunDir:
    """Moves an unsaved run to its environment's outputs, or under another folder; see `save_run`.

    Where a copy of it has the name already, it gets a number behind its own.
    """
    name = run.path.parent.name
    root = outputs_root(name.split("--")[0], output_dir, Path("environments"))
    target = root.resolve() / "evals" / name / run.path.name
    others = (target.with_name(f"{target.name}-{n}") for n in itertools.count(2))
    free = next(path for path in itertools.chain([target], others) if not path.exists())
    return save_run(run, RunDir(free))


BLOCK = 1 << 20


def copy_run(run: RunDir, target: Path) -> RunDir:
    """Copies a run as it is now to a new directory: every row that is whole, and what is beside it.

    Raises:
        RefusedError: The target is there already or cannot be written.
    """
    partial = RunDir(target.with_name(f".{cut_name(target.name)}.partial"))
    try:
        if target.exists():
            raise FileExistsError("it is there already")
        # It may be there from one that was killed.
        partial.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = RunLock(partial.lock, "")
        try:
            _copy_files(run, partial)
            partial.path.rename(target)
            RunDir(target).lock.unlink()
        except OSError:
            shutil.rmtree(partial.path, ignore_errors=True)
            raise
        finally:
            lock.release()
    except OSError as error:
        what = f"the run could not be copied here: {error.strerror or error}"
        raise RefusedError([Fault(str(target), what, "Name another path")]) from error
    except LockHeldError as error:
        what = f"{error.held} is copying a run to this path"
        raise RefusedError([Fault(str(target), what, "Name another path")]) from error
    return RunDir(target, run.name)


def _copy_files(run: RunDir, copy: RunDir) -> None:
    for path in copy.path.iterdir():
        if path != copy.lock:
            path.unlink()
    for path in run.files[:-1]:
        if path.exists():
            shutil.copy2(path, copy.path / path.name)
    _copy_lines(run.results, copy.path / run.results.name)


def _copy_lines(source: Path, target: Path) -> None:
    """Copies a file without what is behind its last whole line, unless that is a row."""
    with open(source, "rb") as lines, open(target, "w+b") as copy:
        whole = 0
        while block := lines.read(BLOCK):
            copy.write(block)
            if b"\n" in block:
                whole = copy.tell() - len(block) + block.rindex(b"\n") + 1
        copy.seek(whole)
        try:
            decode_row(copy.read() or b"{}")
        except (ValueError, RecursionError):
            copy.truncate(whole)
