"""Rescue of what a run could not write when it ended: kept elsewhere until it is resumed.

A disk that was still full at the end of a run has taken neither the last rows nor the last answers,
which are paid for. They go into the user's state directory, or the one for temporary files, under
the name of the session that had them. run.toml has that name from the session's begin on, so it
comes along where the run is moved or copied, and the next session, which has another name, puts
them where they belong before it writes its own. So the run and each copy of it take them in once,
whichever is resumed first: what was taken in stays for the others, for as long as unsaved runs do.

A session that leaves a directory whose disk refuses, for another one, has another name there. Where
it went stands here, too, under the name that it had: the old directory does not take it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from tui_eval.runs.layout import RunDir, unsaved_root
from tui_eval.runs.repair import append_once
from tui_eval.runs.run_info import modified, read_requested
from tui_eval.runs.writer import write_atomically
from tui_eval.text.figures import plural

FOLDER = "unwritten"
TAKEN_IN = "taken-in"
"""File beside what was taken in, by one run at least; its last change is the last time."""
CONTINUED = "continued-in"
"""File with the path of the directory in which a session continued, under another name."""


class Rescued(msgspec.Struct, frozen=True):
    """Rows and records of a run that are kept elsewhere.

    Args:
        rows: Lines of results.jsonl.
        records: Lines of the journal.
    """

    folder: Path
    rows: list[bytes]
    records: list[bytes]

    @property
    def count(self) -> str:
        """Its size, in words."""
        return f"{plural(len(self.rows), 'row')} and {plural(len(self.records), 'answer')}"

    @property
    def text(self) -> str:
        """A sentence for who only looks at the run."""
        what = f"{self.count} that the disk had refused"
        return f"{what} are in {self.folder}: a resume takes them in"


def rescue(session: str, rows: Sequence[bytes], records: Sequence[bytes]) -> Path:
    """Writes down lines of results.jsonl and of the journal that the disk of a run refused.

    Args:
        session: Name of the session that had them; see `RunPlan.session`.

    Returns:
        The folder that has it.

    Raises:
        OSError: No folder took it.
    """
    *others, last = (root / _name(session) for root in _roots())
    for folder in others:
        try:
            return _write(folder, rows, records)
        except OSError:
            continue
    return _write(last, rows, records)


def _roots() -> list[Path]:
    roots = [unsaved_root()]
    with contextlib.suppress(FileNotFoundError):  # no folder for temporary files takes any
        roots.append(Path(tempfile.gettempdir()) / f"tui-eval-{os.getuid()}")
    return [root / FOLDER for root in roots]


def _name(session: str) -> str:
    return sha256(session.encode()).hexdigest()[:16]


def note_continued(session: str, path: Path) -> None:
    """Writes down where a session continues from now on, as its directory refuses to say so.

    Raises:
        OSError: The user's state directory refuses as well.
    """
    folder = _made(unsaved_root() / FOLDER / _name(session))
    write_atomically(folder / CONTINUED, os.fsencode(path))


def continued_in(run: RunDir) -> Path | None:
    """The run in which the last session on a run continued; None where it did not, or is gone."""
    for folder in _folders(run):
        if (folder / CONTINUED).is_file():
            other = RunDir(Path(os.fsdecode((folder / CONTINUED).read_bytes())))
            return other.path if other.is_run() else None
    return None


def kept_elsewhere(run: RunDir) -> list[str]:
    """Sentences, for who only looks at a run, on what of it is in other directories."""
    other = continued_in(run)
    continued = [f"The run was saved as {other} and continued there"] if other is not None else []
    return continued + [one.text for one in find_rescued(run)]


def _write(folder: Path, rows: Sequence[bytes], records: Sequence[bytes]) -> Path:
    _append(RunDir(_made(folder)), rows, records)
    return folder


def _made(folder: Path) -> Path:
    for one in (folder.parent.parent, folder.parent, folder):
        one.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_own(folder):
        raise PermissionError(f"{folder} is another user's")
    return folder


def _is_own(folder: Path) -> bool:
    """Whether nobody else could have put there what is in it."""
    return all(
        (status := one.lstat()).st_uid == os.getuid() and not status.st_mode & 0o022
        for one in (folder.parent, folder)
    )


def _append(run: RunDir, rows: Sequence[bytes], records: Sequence[bytes]) -> None:
    """Appends what is not there yet from a time before, where that was cut off."""
    for path, lines in ((run.results, rows), (run.journal, records)):
        if lines:
            append_once(path, lines, sum(map(len, lines)))


def find_rescued(run: RunDir) -> list[Rescued]:
    """The rescued parts that the last session on a run, or on its original, left elsewhere."""
    kept = map(RunDir, _folders(run))
    found = [Rescued(one.path, _lines(one.results), _lines(one.journal)) for one in kept]
    return [one for one in found if one.rows or one.records]


def _folders(run: RunDir) -> list[Path]:
    """The folders of a run's last session that are there."""
    roots = [root for root in _roots() if os.access(root, os.R_OK)]
    session = read_requested(run).get("session") if roots else None
    if not session or not isinstance(session, str):
        return []
    folders = [root / _name(session) for root in roots]
    return [folder for folder in folders if folder.is_dir() and _is_own(folder)]


def _lines(path: Path) -> list[bytes]:
    """The lines of a file, the last one whole as well; none where it is not there."""
    with contextlib.suppress(FileNotFoundError):
        return [line.removesuffix(b"\n") + b"\n" for line in path.read_bytes().splitlines(True)]
    return []


def take_in(run: RunDir) -> list[str]:
    """Puts what was rescued where it belongs; for who holds the run's lock.

    After it, and before anything else is written, run.toml gets the name of another session. Where
    that is cut off it is done again, and nothing is there twice.

    Returns:
        Sentences on what was taken in.

    Raises:
        OSError: The disk refuses still; it stays where it is.
    """
    reports = []
    for one in find_rescued(run):
        _append(run, one.rows, one.records)
        with contextlib.suppress(OSError):
            (one.folder / TAKEN_IN).touch(mode=0o600)
        reports.append(f"Taken in from {one.folder}, which the disk had refused: {one.count}")
    return reports


def remove_taken_in(before: float) -> None:
    """Removes what was taken in, the last time before a moment in unix seconds."""
    for root in _roots():
        for folder in root.glob("*"):
            if 0 < modified(folder / TAKEN_IN) < before and _is_own(folder):
                shutil.rmtree(folder, ignore_errors=True)
