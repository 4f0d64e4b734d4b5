"""Replays a saved run as events: what it is, every row, how it ended, what came after.

A saved run is shown by the code that shows a running one: its rows become the events that its
engine sent. So there is no second viewer that may count differently, and other programs' files need
only a reader of rows.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

from msgspec.structs import replace

from tui_eval.events import (
    Event,
    LineUnreadable,
    Noticed,
    ReadingMoved,
    RolloutFinished,
)
from tui_eval.runs.contradictions import RowSums, contradictions, recorded_means
from tui_eval.runs.formats import osmosis
from tui_eval.runs.formats.detection import Format
from tui_eval.runs.formats.rows import reward_fault, row_event
from tui_eval.runs.journal_records import InFlight, other_version, read_journal, tokens_in_flight
from tui_eval.runs.layout import RunDir
from tui_eval.runs.lock import holder
from tui_eval.runs.outcome import saved_outcome
from tui_eval.runs.rescue import kept_elsewhere
from tui_eval.runs.row_index import MOST_FAULTS, BrokenIndexError, RowIndex
from tui_eval.runs.row_places import unfinished_tokens
from tui_eval.runs.row_positions import Counted, RowPositions, count_once, likely_shape
from tui_eval.runs.run_info import (
    format_of_run,
    known_shape,
    metadata_fault,
    missing_columns,
    modified,
    plan_fault,
    read_info,
    read_metadata,
    requested_shape,
    started_event,
)
from tui_eval.runs.scan import Line, LineNumbers, Settling, Stamp, stamp_of
from tui_eval.token_kinds import most

COUNTED_BYTES = 1 << 22
"""Bytes read before the first row is reported, to learn how many rollouts an example has."""
QUIET_S = 30.0
"""Another program's run that is not whole is followed until its file was left alone for so long."""
END = 1 << 62


class Replay:
    """Reports a run in batches of events, and continues when the file has grown.

    Where another program's run says too few rollouts per example, or does not say how many, that
    is known at the end only: the run is replayed again then, with a greater `RunStarted.reading`.

    Args:
        run: The run; nothing is written into another program's directory.
        exact: Read everything before the first event, so that the run is replayed once, and ends.
    """

    def __init__(self, run: RunDir, *, exact: bool = False) -> None:
        self.run = run
        self._exact = exact
        self._reading = 0
        self._index: RowIndex | None = None
        self._unchanged: Stamp | None = None
        self._ended = False
        self._settling = Settling(run)
        self._gone = False
        self._is_resumed = False

    def begin(self) -> Iterator[list[Event]]:
        """The whole run as the disk has it now."""
        self.close()
        self._unchanged = stamp_of(self.run)
        self.format = format_of_run(self.run)
        self._read_info()
        self._fault_count, self._unplaced, self._outgrown = 0, 0, False
        self._reported_torn: LineUnreadable | None = None
        self._counted = Counted()
        trusted = known_shape(self.run, self._info)
        self._trusted = trusted is not None
        self._final = self._trusted or self._exact
        if self.format is Format.OSMOSIS:
            yield from self._document()
        else:
            try:
                yield from self._lines(trusted)
            except BrokenIndexError:
                assert self._index is not None
                self._index.discard()
                self._reading += 1
                self._counted = Counted()
                yield from self._lines(trusted)
        yield self._last()

    def _lines(self, trusted: tuple[int, int] | None) -> Iterator[list[Event]]:
        self._index = index = RowIndex(self.run, beside=self._trusted)
        scanned = index.scanned()
        yield self._start(trusted or self._shape(index, scanned))
        for batch in index.kept():
            self._counted.add(index.once(batch))
            yield self._row_events(batch, known=self._trusted)
        yield from self._scan(scanned)

    def _shape(self, index: RowIndex, scanned: Iterator[list[RolloutFinished]]) -> tuple[int, int]:
        """The shape of another program's run, from as much of it as may be read first."""
        if index.shape is None or self._exact:
            for batch in scanned:
                index.keep(batch)
                if index.covered > COUNTED_BYTES and not self._exact:
                    break
        known = None if self._exact else index.shape
        if known is None:
            known = count_once(index, requested_shape(self._info)).shape
        return likely_shape(requested_shape(self._info), known)

    def _scan(self, scanned: Iterator[list[RolloutFinished]]) -> Iterator[list[Event]]:
        """Reports rows as they are read; all again where an example turns out to have more."""
        index = self._index
        assert index is not None
        writes = not (self._trusted and holder(self.run.lock) is not None)
        for batch in scanned:
            if self._trusted:
                events = self._row_events(batch)
                batch = self._placed
            if writes:
                index.keep(batch)
            if not self._trusted:
                self._counted.add(index.once(batch))
                self._outgrown = self._counted.shape[1] > self._positions.per_example
                events = self._row_events(batch)
            yield events
        if self._outgrown:
            self._counted = count_once(index, requested_shape(self._info))
        index.save(self._counted.shape)
        if self._outgrown:
            self._unplaced = 0
            self._outgrown = False
            self._final = True
            self._reading += 1
            yield self._start(likely_shape((self._positions.examples, 0), self._counted.shape))
            for batch in index.kept():
                yield self._row_events(batch)

    def _start(self, shape: tuple[int, int]) -> list[Event]:
        self._positions = RowPositions(shape, fixed=self._trusted)
        self._sums = RowSums(recorded_means(read_metadata(self.run)))
        self._noticed: set[str] = set()
        self._journal = InFlight()
        self._started = started_event(self.run, self.format, self._info, shape)
        self._started.reading = self._reading
        self._started.total_known = self._trusted or requested_shape(self._info)[1] == shape[1]
        self._fault_count = 0
        faults = filter(None, [metadata_fault(self.run), plan_fault(self.run)])
        return [self._started, *(Noticed(0, time.time(), "warning", one) for one in faults)]

    def _row_events(self, batch: list[RolloutFinished], known: bool = False) -> list[Event]:
        """The events of some rows; before them more places, where there are too few."""
        positions, index = self._positions, self._index
        placed, misfits = index.once(batch) if index else batch, list[RolloutFinished]()
        if known:
            positions.learn(placed)
        else:
            placed, misfits = positions.place(placed)
        self._placed = placed
        rows = positions.count(placed)
        self._sums.add(rows)
        events: list[Event] = []
        if positions.total > self._started.total:
            self._started = replace(
                self._started, total=positions.total, num_examples=positions.examples
            )
            events.append(self._started)
        events += rows
        events += self._faults(misfits)
        if index is not None:
            done = batch[-1].offset + batch[-1].length if batch else index.covered
            events.append(self._progress(done))
        return events

    def _faults(self, misfits: list[RolloutFinished]) -> Iterator[LineUnreadable]:
        if self._index is not None:
            yield from self._index.faults[self._fault_count :]
            self._fault_count = len(self._index.faults)
        for event in misfits:
            self._unplaced += 1
            if self._final and not self._outgrown and self._unplaced <= MOST_FAULTS:
                number = LineNumbers(self.run.results).at(event.offset)
                why = "no place in this run"
                yield _unreadable(self.run, Line(number, event.offset, event.length, None, why))

    def _progress(self, done: int) -> ReadingMoved:
        size = self._unchanged.size if self._unchanged is not None else 0
        index, unreadable, unfinished = self._index, 0, 0
        if index is not None:
            unreadable = index.unreadable
            if index.torn is not None:
                unreadable += self._reported_torn is not None
                unfinished = index.torn.line
        if self._final and not self._outgrown:
            unreadable += self._unplaced
        return ReadingMoved(0, time.time(), min(done, size), size, unreadable, unfinished)

    def _document(self) -> Iterator[list[Event]]:
        """A document that holds all rollouts is read at once: it is small."""
        rows: list[RolloutFinished] = []
        faults: list[LineUnreadable] = []
        try:
            for run in osmosis.runs_of(self.run.results):
                line = run.line
                if line.row is not None:
                    row = osmosis.row_of(line.row, run.row_index)
                    line = replace(line, row=row, fault=reward_fault(row))
                    rows.append(row_event(line))
                if line.fault:
                    faults.append(_unreadable(self.run, line))
        except ValueError as error:
            size = self.run.results.stat().st_size
            number = LineNumbers(self.run.results).at(size)
            faults.append(_unreadable(self.run, Line(number, 0, size, None, f"torn: {error}")))
        self._counted.add(rows)
        yield self._start(likely_shape(requested_shape(self._info), self._counted.shape))
        size = self.run.results.stat().st_size
        done = ReadingMoved(0, time.time(), size, size, sum(not one.shown for one in faults))
        yield [*self._row_events(rows), *faults, done]

    def _last(self) -> list[Event]:
        """Events at the end of the file."""
        self._reported_torn = None
        events: list[Event] = []
        if self._index is not None:
            events += self._faults([])
            events.append(self._progress(END))
        return events + self._torn() + self._end()

    def _torn(self) -> list[Event]:
        """The last line where it is not finished, once nobody seems to write it any more."""
        torn = self._index.torn if self._index is not None else None
        if torn is None or torn is self._reported_torn or not (self._exact or self._quiet()):
            return []
        self._reported_torn = torn
        return [torn, self._progress(END)]

    def _end(self) -> list[Event]:
        """The end of the run; nothing while somebody may still write it."""
        positions, requested = self._positions, self._started.total_known
        is_torn = self._reported_torn is not None
        whole = (
            positions.rows >= positions.total if requested else positions.rows > 0 and not is_torn
        )
        if not self._exact:
            if self._is_held():
                self._is_resumed = True
                return self._with_unfinished()
            if not self.run.is_ours and not (whole and requested) and not self._quiet():
                return []
            if not requested and not positions.rows + self._unread:
                return []  # an empty file may become anything
        self._ended = True
        again = self._restarted() or self._with_unfinished()
        end = saved_outcome(
            self._started.complete_at, self._info, is_whole=whole, errored=positions.errored
        )
        end.missing_columns = missing_columns(self._info)
        end.contradictions = reported = self._contradictions()
        others = filter(None, [other_version(self._journal)])
        found = [*reported, *others, *kept_elsewhere(self.run)]
        new = [text for text in found if text not in self._noticed]
        self._noticed.update(new)
        return [*again, *(Noticed(0, time.time(), "warning", text) for text in new), end]

    def _contradictions(self) -> list[str]:
        """Contradictions between the files; nothing while an engine writes them."""
        if self._is_held():
            return []
        repeated = self._index.repeated if self._index is not None else ()
        return contradictions(self.run, self._info, self._positions, repeated, self._sums)

    def _restarted(self) -> list[Event]:
        """The run after somebody resumed it: its metadata says more now."""
        if not self._is_resumed:
            return []
        self._is_resumed = False
        self._read_info()
        before, shape = self._started, (self._positions.examples, self._positions.per_example)
        self._started = started_event(self.run, self.format, self._info, shape)
        self._started.reading, self._started.total_known = before.reading, before.total_known
        return self._with_unfinished() or [self._started]

    def _with_unfinished(self) -> list[Event]:
        """The run again where what its rollouts without a row have used was not reported yet."""
        if not self._trusted:
            return []
        if modified(self.run.metadata) != self._info_at:
            self._read_info()
        places = self._positions.places
        lost = unfinished_tokens(self._info, places)
        if self._exact or not self._is_held():  # metadata.json lacks the last second
            has_own = bool(self._info.get("uneven_groups"))
            with contextlib.suppress(OSError):
                self._journal = read_journal(self.run)
                for row, tokens in tokens_in_flight(self._journal, places, has_own=has_own).items():
                    lost[row] = most(lost.get(row, ()), tokens)
        if lost == self._started.lost:
            return []
        self._started = replace(self._started, lost=lost)
        return [self._started]

    def _read_info(self) -> None:
        self._info_at = modified(self.run.metadata)
        self._info = read_info(self.run, self.format)

    @property
    def _unread(self) -> int:
        """Lines that hold rollouts, as it seems, and cannot be read."""
        if self._index is None:
            return 0
        return self._index.unreadable + (self._reported_torn is not None)

    def _quiet(self) -> bool:
        return time.time() - modified(self.run.results) > QUIET_S

    def more(self) -> Iterator[list[Event]]:
        """New events: new rows; everything again where the file was written again."""
        stamp = stamp_of(self.run)
        if (stamp is None) != self._gone:
            self._gone = stamp is None
            if self._gone:
                text = f"{self.run.name} was moved or removed: its messages cannot be read any more"
                yield [Noticed(0, time.time(), "warning", text)]
        if stamp == self._unchanged:
            reopened = self._reopened() if self._is_held() else []
            events = reopened + self._torn() + ([] if self._ended else self._end())
            if events:
                yield events
            return
        index, before = self._index, self._unchanged
        replaced = stamp is not None and before is not None and stamp.inode != before.inode
        if index is None or replaced or not index.still_holds():
            if stamp is None or not self._settling.is_over():
                return
            self._reading += 1
            self._ended = False
            self._is_resumed = True
            yield from self.begin()
            return
        self._unchanged = stamp
        self._settling.end()
        yield self._reopened()
        yield from self._scan(index.scanned())
        yield self._last()

    def _is_held(self) -> bool:
        return self.run.is_ours and holder(self.run.lock) is not None

    def _reopened(self) -> list[Event]:
        """The run again, where it was reported that it had ended and somebody resumes it."""
        if not self._ended:
            return []
        self._ended = False
        self._is_resumed = True
        self._started = replace(self._started, complete_at=modified(self.run.results))
        return [self._started]

    def close(self) -> None:
        """Keeps what is read for the next opening."""
        if self._index is not None:
            self._index.save(self._counted.shape)
            self._index.close()
            self._index = None


def _unreadable(run: RunDir, line: Line) -> LineUnreadable:
    place = line.number, line.offset, line.length
    return LineUnreadable(0, 0.0, run.name, *place, line.fault, shown=line.row is not None)
