"""Runs that are there to be opened, reported from their small files alone, again and again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tui_eval.errors import RefusedError
from tui_eval.events import STOPPED_EARLY
from tui_eval.fold.mean_reward import mean_reward
from tui_eval.fold.outcome_words import errors_as_0
from tui_eval.fold.run_state import RunState
from tui_eval.fold.saved_values import mapping, number_of
from tui_eval.runs.formats import episodes
from tui_eval.runs.formats.detection import Format, detect
from tui_eval.runs.layout import RunDir, is_unsaved, saved_roots, unsaved_root
from tui_eval.runs.lock import Holder, holder
from tui_eval.runs.run_info import (
    env_id_of,
    format_of_run,
    known_shape,
    modified,
    read_info,
    recorded_date,
    requested_shape,
    requested_values,
)
from tui_eval.runs.saved_run import find_run, results_files, saved_events
from tui_eval.runs.scan import count_rows
from tui_eval.stats.intervals import interval_name

COUNTED_BYTES = 1 << 26
"""The lines of a larger file are not counted."""
BY_NAME = {"results.json": Format.OSMOSIS, episodes.NAME: Format.EPISODES}
"""Names of other programs' results."""
MEASURED_BYTES = 1 << 18
"""A smaller file of another program is read: metadata is often missing, and sometimes wrong."""


class FoundRun(msgspec.Struct, frozen=True):
    """A run as a list shows it."""

    run: RunDir
    format: str
    """Program that wrote it, as `runs.formats` calls it."""
    env_id: str
    model: str
    reward: float | None
    """Mean of the rewards, and its 95 % interval from `low` to `high`; None where the metadata does
    not say, and another program's may be wrong: see `measured`. An earlier version's interval is
    left out, as it is by another rule."""
    low: float | None
    high: float | None
    n: int | None
    """Rollouts that the mean is over; None where that is not reported."""
    done: int | None
    """Rollouts that are on disk; None where the file is too large to count at once."""
    total: int | None
    """Rollouts that were requested; None where nothing says."""
    date: float
    """Start or, of another program's run, its own date; unix seconds."""
    written_at: float
    """Last change of its results, in unix seconds."""
    pid: int
    socket: str
    """The engine that is at work on it; 0 and empty where none is."""
    saved: bool
    """False where it lives in the user's state directory until somebody saves it."""
    given: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Arguments of the environment and sampling parameters that were given, by name."""
    errored: int = 0
    """Rollouts reported to have ended in an error."""
    classes: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The same by what failed, where the metadata says that."""
    failed_tools: int = 0
    """Rollouts with a tool call that went wrong."""
    interval_name: str = ""
    """Name of the interval, as `Mean.interval_name`."""
    stopped_early: str = ""
    """Reason why its own numbers stopped it before its end; empty where they did not."""

    @property
    def reward_with_errors(self) -> float | None:
        """Mean reward with errored rollouts as 0; None where none errored."""
        if not self.errored or self.reward is None or self.n is None:
            return None
        return errors_as_0(self.reward, self.errored, self.n + self.errored)

    @property
    def running(self) -> bool:
        """Whether an engine is at work on it."""
        return self.pid != 0 or bool(self.socket)

    @property
    def complete(self) -> bool:
        """Whether nothing is known to be missing."""
        return self.total is None or self.done is None or self.done >= self.total


def find_runs(paths: Iterable[Path] = (), *, environments: Path | None = None) -> list[FoundRun]:
    """Runs under `./outputs`, every environment's outputs, the user's state and given paths.

    Running ones first, then the newest. Small files are read and the lines of larger ones counted:
    call it off a screen's loop.

    Args:
        paths: Runs, results files, or folders that hold some at any depth.
        environments: The folder of environments; `./environments` by default.
    """
    found = (describe(run) for run in run_dirs(paths, environments=environments))
    runs = [one for one in found if one is not None]
    return sorted(runs, key=lambda one: (one.running, one.written_at), reverse=True)


def run_dirs(paths: Iterable[Path] = (), *, environments: Path | None = None) -> list[RunDir]:
    """Places of the runs of `find_runs`, each once and unread."""
    roots = saved_roots() if environments is None else saved_roots(environments)
    runs: dict[Path, RunDir] = {}
    for path in [*roots, unsaved_root(), *paths]:
        for run in _runs_at(path):
            runs.setdefault(run.place.resolve(), run)
    return list(runs.values())


def _runs_at(path: Path) -> Iterator[RunDir]:
    """The run that a path names, or those in it and below, except in hidden folders and venvs."""
    with contextlib.suppress(RefusedError, OSError):
        if not path.is_dir():
            yield find_run(path)
        elif not RunDir(path).is_run():
            yield from (RunDir(path, name) for name in results_files(path))
    for folder, below, names in os.walk(path):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if "pyvenv.cfg" in names and Path(folder) != path:
            below.clear()
            continue
        run = RunDir(Path(folder))
        if run.is_run():
            below.clear()
            yield run
        elif Path(folder) != path:
            for name in BY_NAME.keys() & set(names):
                with contextlib.suppress(OSError):
                    if detect(Path(folder, name)) is BY_NAME[name]:
                        yield RunDir(Path(folder), name)


def describe(run: RunDir) -> FoundRun | None:
    """A run from its small files; None where it vanished or may not be read."""
    try:
        format = format_of_run(run)
        info = read_info(run, format)
        size = run.results.stat().st_size if run.results.exists() else 0
        done = _done(run, format, info, size)
    except OSError:
        return None
    held = holder(run.lock) if run.is_ours else None
    found = _as_recorded(run, format, info, done, held)
    if info.get("status") == STOPPED_EARLY and not found.complete:
        found = replace(found, stopped_early=str(info.get("stopped_because") or STOPPED_EARLY))
    if run.is_ours and held is None and done is not None and _reported(info) not in (None, done):
        return measured(found)
    recorded_low = mapping(mapping(info.get("numbers")).get("reward")).get("low")
    is_outdated = found.low is None and recorded_low is not None
    is_doubtful = not run.is_ours or is_outdated
    return measured(found) if is_doubtful and 0 < size <= MEASURED_BYTES else found


def _as_recorded(
    run: RunDir, format: Format, info: Mapping[str, Any], done: int | None, held: Holder | None
) -> FoundRun:
    """A run with the numbers of its metadata."""
    figures = mapping(info.get("numbers"))
    numbers = mapping(figures.get("reward"))
    shape = known_shape(run, info) or requested_shape(info)
    total = shape[0] * shape[1] or None
    if not run.is_ours and total is not None and done is not None and done > total:
        total = None  # its counts are wrong
    used, errored = numbers.get("n"), info.get("n_errored")
    low, high, interval = _recorded_interval(numbers)
    return FoundRun(
        run=run,
        format=format.value,
        env_id=env_id_of(run, info),
        model=str(info.get("model") or "?"),
        reward=number_of(numbers.get("mean", info.get("avg_reward"))),
        low=low,
        high=high,
        n=used if isinstance(used, int) else None,
        done=done,
        total=total,
        date=recorded_date(info) or modified(run.results) or modified(run.metadata),
        written_at=modified(run.results) or modified(run.metadata),
        pid=held.pid if held is not None else 0,
        socket=held.socket if held is not None else "",
        saved=not is_unsaved(run),
        given=requested_values(info),
        errored=errored if isinstance(errored, int) else 0,
        classes=_counts(figures.get("error_classes")),
        failed_tools=_counts(figures.get("counts")).get("failed_tools", 0),
        interval_name=interval,
    )


def measured(found: FoundRun) -> FoundRun:
    """A run with the mean of its rewards, counted from its rows; call it off a screen's loop."""
    state = RunState()
    for event in saved_events(found.run):
        state.apply(event)
    mean = mean_reward(state)
    return replace(
        found,
        reward=mean.mean,
        low=mean.low,
        high=mean.high,
        n=mean.n or None,
        done=state.finished,
        errored=state.errored,
        classes=dict(state.outcomes.classes),
        failed_tools=state.outcomes.failed_tools,
        interval_name=mean.interval_name,
    )


def _recorded_interval(reward: Mapping[str, Any]) -> tuple[float | None, float | None, str]:
    """The ends and the name of an interval in metadata.

    Earlier versions, which reported no weight, had other intervals but for single rollouts.
    """
    method, n, groups = (reward.get(key) for key in ("method", "n", "examples"))
    if "weight" not in reward and (method != "wilson" or n != groups):
        return None, None, ""
    low, high, weight = (number_of(reward.get(key)) for key in ("low", "high", "weight"))
    if low is None or not isinstance(n, int) or not isinstance(groups, int):
        return low, high, ""
    return low, high, interval_name(str(method), weight, groups, n)


def _counts(saved: Any) -> dict[str, int]:
    return {str(name): count for name, count in mapping(saved).items() if isinstance(count, int)}


def _done(run: RunDir, format: Format, info: Mapping[str, Any], size: int) -> int | None:
    if format is Format.OSMOSIS:
        examples, each = requested_shape(info)
        return examples * each
    if not size:
        return 0
    return _reported(info) if size > COUNTED_BYTES else count_rows(run.results)


def _reported(info: Mapping[str, Any]) -> int | None:
    """Number of finished rollouts in metadata."""
    finished = mapping(mapping(info.get("numbers")).get("counts")).get("finished")
    return finished if isinstance(finished, int) else None


MEASURED_NOW_BYTES = 1 << 20
"""Largest results that are measured at once; those of a larger run are when it ends."""


class RunWatcher:
    """Remembers what it saw; call it off a screen's loop, from one thread at a time."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._paths = list(paths)
        self._seen: dict[Path, tuple[Hashable, FoundRun | None]] = {}

    def look(self) -> list[FoundRun]:
        """All runs that there are now, in no order."""
        seen = {}
        for run in run_dirs(self._paths):
            signature = _signature(run)
            known = self._seen.get(run.place)
            same = known is not None and known[0] == signature
            seen[run.place] = known if known and same else (signature, _described(run))
        self._seen = seen
        return [one for _, one in seen.values() if one is not None]


def _described(run: RunDir) -> FoundRun | None:
    found = describe(run)
    if found is None or found.reward is not None or not found.done or not run.is_ours:
        return found
    with contextlib.suppress(OSError):
        if run.results.stat().st_size <= MEASURED_NOW_BYTES:
            return measured(found)
    return found


def _signature(run: RunDir) -> Hashable:
    """A value that differs once anything differs that a list shows of a run."""
    held = holder(run.lock) if run.is_ours else None
    return (held, *(_stat(path) for path in (run.results, run.metadata, run.plan)))


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


NAME = "last-seen"


def note_seen(run: str) -> None:
    """Notes that somebody looked at a run just now; a disk that takes nothing is no trouble."""
    with contextlib.suppress(OSError, UnicodeEncodeError):
        root = unsaved_root()
        root.mkdir(parents=True, exist_ok=True)
        (root / NAME).write_text(str(Path(run).absolute()), encoding="utf-8")


def last_seen() -> tuple[Path, float] | None:
    """The run, and when it was looked at in unix seconds; None where nothing is known."""
    file = unsaved_root() / NAME
    try:
        return Path(file.read_text(encoding="utf-8")), file.stat().st_mtime
    except (OSError, UnicodeDecodeError):
        return None
