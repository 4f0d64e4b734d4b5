"""State of a resumed run, read from disk: rows, rollouts in flight, and what they have cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from tui_eval.config.plan import RunPlan
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.errors import Fault, Notice, warning
from tui_eval.events import RolloutFinished
from tui_eval.fold.saved_values import mapping
from tui_eval.runs.journal_records import (
    other_version,
    read_journal,
    split_given_up,
    tokens_in_journal,
    tokens_of_answer,
    tokens_of_trajectory,
)
from tui_eval.runs.layout import RunDir
from tui_eval.runs.repair import Repaired, append_once, repair
from tui_eval.runs.rescue import find_rescued
from tui_eval.runs.row_events import event_of
from tui_eval.runs.row_places import RowPlaces, example_id_of, unfinished_tokens
from tui_eval.runs.run_info import read_metadata
from tui_eval.runs.saved_run import read_run
from tui_eval.runs.scan import scan
from tui_eval.stats.cost import budget_spent, cost_of, run_prices
from tui_eval.token_kinds import Tokens, minus, plus
from tui_eval.worker.examples import Places

MOST_NAMED = 5
"""Number of rows that cannot stay that are named."""
MOST_REPLAYS = 2
"""Replays of a rollout to the same place, as what it meets there may end the engine."""

Record = dict[str, Any]


def restore_progress(prepared: Prepared, keep_errors: bool) -> None:
    """Repairs the run's files, and fills in what is done and what waits for its group.

    Where `prepared.again` names rows, only those of the errored ones run again.

    Raises:
        OSError: The files cannot be read or replaced.
    """
    repaired = repair_run(prepared, keep_errors=keep_errors, again=prepared.again)
    prepared.done = repaired.kept
    shape = prepared.started.rollouts_per_example, prepared.started.num_examples
    places = RowPlaces(*shape, _positions(prepared.examples))
    done = {event.row for event in prepared.done}
    prepared.lost = _lost(prepared.run, places, done)
    prepared.started.lost = {**prepared.lost}
    prepared.notices += map(warning, repaired.dropped)
    _restore_in_flight(prepared, done, _positions(prepared.examples))
    if prepared.grouped:
        _restore_members(prepared)


def _lost(run: RunDir, places: RowPlaces, done: Collection[int]) -> dict[int, Tokens]:
    """Tokens of attempts of the rollouts that are not done, by place."""
    lost = dict(spent_on_superseded(run, places))
    for row, tokens in unfinished_tokens(read_metadata(run), places).items():
        lost[row] = max(tokens, lost.get(row, tokens))  # it has those of the rows put aside in it
    return {row: tokens for row, tokens in lost.items() if row not in done}


def repair_run(prepared: Prepared, *, keep_errors: bool, again: Collection[int] | None) -> Repaired:
    """Repairs the run's files, and takes out what is to run again: see `runs.repair.repair`."""
    return repair(
        prepared.run,
        rollouts_per_example=prepared.started.rollouts_per_example,
        examples=prepared.started.num_examples,
        positions=_positions(prepared.examples),
        keep_errors=keep_errors,
        again=again,
    )


def _positions(examples: Places) -> dict[Any, int]:
    return {id_: place for place, id_ in enumerate(examples.ids())}


def _restore_members(prepared: Prepared) -> None:
    """States of saved rollouts whose group has members left to do."""
    examples = prepared.examples
    places = {event.offset: event.row for event in prepared.done}
    members = Counter(examples.example(row) for row in places.values())
    for line in scan(prepared.run.results):
        row = places.get(line.offset, -1)
        if row < 0 or line.row is None:
            continue
        example = examples.example(row)
        if members[example] == examples.size(example):
            continue
        prepared.saved_members[row] = line.row


def _restore_in_flight(
    prepared: Prepared, done: Collection[int], positions: Mapping[Any, int]
) -> None:
    """Fills in the journal's records of rollouts that have no row.

    Args:
        done: Places of the rollouts that have one.
        positions: The place of each example, by its id.
    """
    found = read_journal(prepared.run)
    if text := other_version(found):
        prepared.notices.append(_put_aside_whole(prepared.run.journal, text))
    if found.unreadable:
        lines = [line if line.endswith(b"\n") else line + b"\n" for _, line in found.unreadable]
        append_once(prepared.run.superseded, lines, sum(map(len, lines)))
        for number, _ in found.unreadable:
            what = f"line {number} of journal.jsonl is cut off or damaged"
            prepared.notices.append(warning(f"{what}; it is in superseded.jsonl now"))
    for place, record in _places(found.generated, prepared, positions):
        if place not in done:
            prepared.journal[place] = {**record, "row": place}
            later = [{**one, "row": place} for one in found.answers.get(record["row"], ())]
            if later:
                prepared.answers[place] = later
            with_its_row = plus(tokens_in_journal(record), tokens_of_trajectory(later))
            _count_with_its_row(prepared, place, with_its_row)
    for row in found.generated:
        found.answers.pop(row, None)
    firsts = {row: records[0] for row, records in found.answers.items()}
    for place, record in _places(firsts, prepared, positions):
        if place not in done and prepared.info.replayable:
            _restore_answers(prepared, place, found.answers[record["row"]])
    if prepared.answers:
        prepared.notices.append(_saved(prepared.answers.values()))


def _put_aside_whole(journal: Path, text: str) -> Notice:
    """Keeps a journal of another version as it is, beside the one that is begun."""
    aside = journal.with_name(f"{journal.name}.of-another-version")
    journal.replace(aside)
    return warning(f"{text}; it is {aside.name} now")


def journal_notices(run: RunDir, *, replayable: bool) -> list[Notice]:
    """The notices of a resume about a run's journal, for a reader of the run."""
    found = read_journal(run)
    if text := other_version(found):
        return [warning(text)]
    kept = {
        (str(answers[0]["input"].get("example_id")), answers[0]["number"]): answers
        for row, answers in found.answers.items()
        if row in found.generated or (replayable and answers[-1].get("replays", 0) < MOST_REPLAYS)
    }
    folders = [run, *(RunDir(one.folder) for one in find_rescued(run))]
    for line in chain.from_iterable(scan(one.results) for one in folders) if kept else ():
        row = line.row or {}
        if row.get("error") is None:  # the disk may have refused that its answers are outdated
            kept.pop((str(example_id_of(row)), mapping(row.get("tui_eval")).get("rollout")), None)
    return [_saved(kept.values())] if kept else []


def _restore_answers(prepared: Prepared, place: int, answers: Sequence[Record]) -> None:
    tokens = tokens_of_trajectory(answers)
    if answers[-1].get("replays", 0) >= MOST_REPLAYS:
        judged = _sum([one for one in answers if "judge" in one])
        lost = plus(max(tokens, prepared.lost.get(place, tokens)), judged)
        prepared.lost[place] = prepared.started.lost[place] = lost
        which = f"{answers[0]['input'].get('example_id')} #{answers[0]['number']}"
        prepared.notices.append(
            warning(
                f"Example {which} restarts: {MOST_REPLAYS + 1} times the engine ended after its "
                "same answer"
            )
        )
        return
    replays = [{**one, "row": place, "replays": one.get("replays", 0) + 1} for one in answers]
    prepared.answers[place] = replays
    _count_with_its_row(prepared, place, tokens)


def _places(
    records: Mapping[int, Record], prepared: Prepared, positions: Mapping[Any, int]
) -> Iterator[tuple[int, Record]]:
    """The records and the places of their rollouts, also where groups have grown."""
    per_example = prepared.examples.per_example
    for row, record in records.items():
        id_, place = record["input"].get("example_id"), row
        if isinstance(id_, (int, str)) and not prepared.plan.given_inputs:
            position = positions.get(id_)
            if position is not None and record["number"] < per_example:
                place = position * per_example + record["number"]
        if place < prepared.started.total:
            yield place, record


def _count_with_its_row(prepared: Prepared, place: int, tokens: Tokens) -> None:
    """Takes out the tokens that a rollout's row will have; until it restarts they count as lost."""
    rest = tuple(max(left, 0) for left in minus(prepared.lost.pop(place, ()), tokens))
    if any(rest):
        prepared.lost[place] = rest
    if any(tokens):
        prepared.started.lost[place] = plus(rest, tokens)


def _saved(answers: Collection[Sequence[Record]]) -> Notice:
    """A notice of the answers that are not paid for again."""
    used = (one for rollout in answers for one in split_given_up(rollout)[0].values())
    all_answers = [one for one in used if "response" in one]
    tokens, count, rollouts = sum(_sum(all_answers)[:2]), len(all_answers), len(answers)
    saved = f": up to {tokens:,} tokens are not paid for again" if tokens else ""
    return Notice(
        f"{count:,} {'answer' if count == 1 else 'answers'} of {rollouts:,} "
        f"{'rollout' if rollouts == 1 else 'rollouts'} in flight are taken from the journal{saved}"
    )


def _sum(answers: Sequence[Mapping[str, Any]]) -> Tokens:
    tokens: Tokens = ()
    for one in answers:
        tokens = plus(tokens, tokens_of_answer(one))
    return tokens


def spent_on_disk(plan: RunPlan, run: RunDir) -> tuple[int, float | None]:
    """Tokens that a run has used, and US dollars for them; None where a price is not known."""
    state, _ = read_run(run)
    usage, prices = state.usage, run_prices(plan)
    return state.tokens, cost_of(usage.tokens_in, usage.tokens_out, prices, usage.kinds)


def budget_reached(plan: RunPlan, run: RunDir) -> bool:
    """Whether the budget of a plan is spent before anything of it begins."""
    if plan.max_cost is plan.max_total_tokens is None:
        return False
    tokens, cost = spent_on_disk(plan, run)
    max_cost, max_tokens = plan.max_cost, plan.max_total_tokens
    return bool(budget_spent(tokens, cost, max_cost=max_cost, max_total_tokens=max_tokens))


def spent_on_superseded(run: RunDir, places: RowPlaces) -> Iterator[tuple[int, Tokens]]:
    """Tokens that each row which was put aside had used, by its place in the run.

    A later one of the same place has those of the earlier ones in it.
    """
    for line in scan(run.superseded):
        place = places.place(line.row) if line.row is not None else None
        if place is not None:
            yield place[0], tokens_of_row(event_of(line, *place))


def tokens_of_row(row: RolloutFinished) -> Tokens:
    """The tokens of a row, in all its attempts."""
    own = row.input_tokens, row.output_tokens, *row.kinds
    return plus(own, (row.lost_input, row.lost_output, *row.lost_kinds))


def misplaced_rows(run: RunDir, examples: Iterable[Any], per_example: int) -> list[Fault]:
    """Rows that would have to leave the file: of no example, or more than there are rollouts.

    Args:
        examples: The ids of the examples that there are.
    """
    ids = set(examples)
    seen: Counter[int | str] = Counter()
    faults: list[Fault] = []
    for line in scan(run.results):
        if line.row is None:
            continue
        id_, where = example_id_of(line.row), f"{run.results}:{line.number}"
        if not isinstance(id_, int | str) or id_ not in ids:
            what = f"example {id_!r} is none of the {len(ids)} that the environment has here"
            faults.append(Fault(where, what, "Give -n and the arguments that the run had"))
            continue
        seen[id_] += 1
        if seen[id_] == per_example + 1:
            what = f"example {id_!r} has more than {per_example} rows"
            faults.append(Fault(where, what, "Give -r as the run had it"))
    more = len(faults) - MOST_NAMED
    return faults if more <= 1 else [*faults[:MOST_NAMED], Fault(where, f"{more} more like these")]
