"""Opening a saved run: its events, and single rollouts by their place.

A run of any size opens at once and needs little memory: lists are filled by the events of its
index, and a conversation is read by its offset only when somebody looks at it. The events are those
that a live run sends, whatever program wrote the files, so screen, reports, exports and resumes
have one way in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tui_eval.errors import Fault, RefusedError
from tui_eval.events import Event, ReadingMoved, RolloutFinished, RunFinished, RunStarted
from tui_eval.fold.run_state import RunState
from tui_eval.fold.trajectory import Rollout, from_row
from tui_eval.runs.formats.detection import as_row, detect, what_it_is
from tui_eval.runs.layout import NOTES, RESULTS, SUFFIXES, TEXT, RunDir, runs_below
from tui_eval.runs.lock import holder
from tui_eval.runs.replay import Replay
from tui_eval.runs.scan import LineNumbers, decode_row

OTHER_FILES = ("metadata.json", "versions.json", "journal.jsonl", "superseded.jsonl", NOTES)
"""Files of a run directory that hold no rollouts to show."""


def find_run(path: Path) -> RunDir:
    """The run that a path names: its directory, a file inside it, or a results file of any name.

    Raises:
        RefusedError: There is no run; says what was looked for.
    """
    try:
        if not path.exists():
            raise RefusedError([Fault(str(path), "there is no such file or directory")])
        if path.is_file():
            return _run_of_file(path)
        if path.is_dir():
            return _run_of_directory(path)
        raise RefusedError([Fault(str(path), "this is neither a file nor a directory")])
    except OSError as error:
        raise RefusedError([Fault(str(path), f"this cannot be read: {error.strerror}")]) from None


def _run_of_file(path: Path) -> RunDir:
    inside = RunDir(path.parent)
    if path.name == RESULTS:
        return inside
    may_be_one = path.stat().st_size > 0 or (path.suffix in SUFFIXES and not inside.is_run())
    if not _is_beside(path) and may_be_one and detect(path) is not None:
        return RunDir(path.parent, path.name)
    if inside.is_run() and path.suffix not in SUFFIXES:
        return inside
    if inside.is_run() and _is_beside(path):
        return inside
    if not path.stat().st_size:
        hint = f"Name the file that a program writes its rollouts to, {', '.join(SUFFIXES)}"
        raise RefusedError([Fault(str(path), "this file is empty", hint)])
    what, hint = what_it_is(path)
    raise RefusedError([Fault(str(path), f"no rollouts can be read from this: {what}", hint)])


def _is_beside(path: Path) -> bool:
    """Whether a file goes with a run and holds no rollouts to show."""
    return path.name in OTHER_FILES or path.name.endswith(f".{NOTES}")


def _run_of_directory(path: Path) -> RunDir:
    if RunDir(path).is_run():
        return RunDir(path)
    names = results_files(path)
    if len(names) == 1:
        return RunDir(path, names[0])
    if names:
        what = f"there are several runs: {', '.join(names[:5])}{', …' if names[5:] else ''}"
        raise RefusedError([Fault(str(path), what, "Name one of these files")])
    what = f"this is no run: it holds no {RESULTS}"
    hint = f"Name the directory that holds it; the runs below one: tui-eval home {path}"
    if RunDir(path).metadata.is_file():
        what += ", only metadata.json: nothing is saved yet, or it was not copied"
        hint = "Open it again when the first rollout is saved"
    raise RefusedError([Fault(str(path), what, hint)])


def results_files(folder: Path) -> list[str]:
    """The names of the files right in a folder that look like the rollouts of a known program."""
    return sorted(
        one.name
        for one in folder.iterdir()
        if one.suffix in (*SUFFIXES, TEXT) and not _is_beside(one) and one.is_file()
        if one.stat().st_size and detect(one, at_once=one.suffix == TEXT) is not None
    )


def saved_events(run: RunDir) -> Iterator[Event]:
    """The events of a run as it is on disk now: what it is, every row, how it ended."""
    replay = Replay(run, exact=True)
    try:
        for events in replay.begin():
            yield from (event for event in events if not isinstance(event, ReadingMoved))
    finally:
        replay.close()


def read_run(
    run: RunDir, progressed: Callable[[float], None] = lambda share: None
) -> tuple[RunState, int]:
    """A run on disk, and the process that works on it now; 0 where none does.

    Args:
        progressed: Called with the share that was read after every row.
    """
    held, state = holder(run.lock), RunState()
    size = max(size_of(run.results), 1)
    for event in saved_events(run):
        if isinstance(event, RolloutFinished):
            progressed(min(event.offset / size, 1.0))
        if held is None or not isinstance(event, RunFinished):
            state.apply(event)
    return state, held.pid if held is not None else 0


def size_of(file: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    try:
        return file.stat().st_size
    except OSError:
        return 0


def run_started(run: RunDir) -> RunStarted:
    """Event that begins the replay of a saved run."""
    return next(event for event in saved_events(run) if isinstance(event, RunStarted))


def finished_on_disk(run: RunDir) -> list[RolloutFinished]:
    """Every rollout that is whole on disk, also those that the index does not have yet."""
    found = (event for event in saved_events(run) if isinstance(event, RolloutFinished))
    return list({event.row: event for event in found}.values())


def read_rollout(run: RunDir, row: int, offset: int, length: int) -> Rollout | None:
    """The rollout whose line is at this place; None where it cannot be read any more."""
    try:
        with open(run.results, "rb") as file:
            file.seek(offset)
            line = file.read(length)
        rollout = from_row(row, as_row(decode_row(line)))
        rollout.doubt = LineNumbers(run.results).doubt(offset, line)
        return rollout
    except (OSError, ValueError, RecursionError):
        return None


MOST_NAMED = 5


def named_run(path: Path) -> RunDir:
    """The run that a path names: a run, a file in it, or a folder of results that holds one run.

    Raises:
        RefusedError: There is no run, or there are several.
    """
    try:
        return find_run(path)
    except RefusedError:
        below = runs_below(path)
        if not below or results_files(path):
            raise
        if len(below) == 1:
            return below[0]
    hint = "Name one: " + ", ".join(str(one.path) for one in below[:MOST_NAMED])
    fault = Fault(str(path), f"this folder holds {len(below)} runs", hint)
    raise RefusedError([fault])


def named_runs(paths: Sequence[Path]) -> list[RunDir]:
    """The runs that paths name; refused with all that is wrong where something is no run."""
    found: list[RunDir] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            found.append(named_run(path))
        except RefusedError as error:
            faults += error.faults
    if faults:
        raise RefusedError(faults)
    return found


class SavedRows:
    """The rollouts of a run that are on disk; a context manager, whose file may be gone."""

    def __init__(self, run: RunDir, state: RunState) -> None:
        self._path = run.results
        self._state = state
        self._numbers = LineNumbers(run.results)

    def __enter__(self) -> SavedRows:
        self._file = open(self._path, "rb")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def line(self, row: int) -> bytes:
        """A rollout's bytes in the file, or what is left of them."""
        self._file.seek(self._state.offset[row])
        return self._file.read(self._state.length[row])

    def values(self, row: int) -> dict[str, Any] | None:
        """A rollout as it was saved; None where it cannot be read any more."""
        return values_of(self.line(row))

    def doubt(self, row: int, line: bytes) -> str:
        """Sentence on a rollout's bytes that are shown with a replacement; empty where none are.

        Args:
            line: Those bytes.
        """
        return self._numbers.doubt(self._state.offset[row], line)


def values_of(line: bytes) -> dict[str, Any] | None:
    """A saved rollout; None where the bytes are none."""
    try:
        return dict(as_row(decode_row(line)))
    except (ValueError, RecursionError):
        return None
