"""Going on with an interrupted run: which one, and what of it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tui_eval.config.changes import Change, change, changes, misfits, same_size
from tui_eval.config.options import NEWEST
from tui_eval.config.plan import Request, RunPlan
from tui_eval.config.planning import draft_plan, make_plan, resume_asked
from tui_eval.config.values import parse_values
from tui_eval.engine.limiting.spending import spent_on_superseded
from tui_eval.engine.preparing.examples import Examples
from tui_eval.engine.preparing.prepared import Prepared
from tui_eval.engine.resuming.code_parts import code_changes
from tui_eval.engine.resuming.digests import digest_now, version_of
from tui_eval.engine.suites.own_runs import plan_of, roots_of, rows_key
from tui_eval.errors import Notice, RefusedError, warning
from tui_eval.messages import to_messages
from tui_eval.runs.facts import read_metadata
from tui_eval.runs.journal import read_journal, tokens_in_journal
from tui_eval.runs.layout import RunDir, saved_roots
from tui_eval.runs.lock import holder
from tui_eval.runs.opening import find_run
from tui_eval.runs.places import RowPlaces
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.runs.repair import Repaired, repair
from tui_eval.runs.scan import scan
from tui_eval.runs.unfinished import unfinished_tokens
from tui_eval.runs.unsaved import Incomplete, incomplete_runs
from tui_eval.runs.versions import DATASET, CodeVersion, read_versions
from tui_eval.runs.writer import write_atomically
from tui_eval.state import State
from tui_eval.token_kinds import Tokens, minus

MOST_TOLD = 5
"""Incomplete runs that are named where none matches."""


def run_to_resume(request: Request, notices: list[Notice]) -> RunDir | None:
    """The run that a request goes on with; None for a new one.

    Args:
        notices: Gets sentences that say which it is, or which there are.

    Raises:
        RefusedError: A path was given and there is no run, or an engine is at work on it.
    """
    asked = resume_asked(request)
    if not asked:
        return None
    if asked != NEWEST:
        return _free(find_run(Path(asked)))
    plan, _ = make_plan(request)
    every = incomplete_runs(roots_of(plan) if plan else saved_roots(), all_of_them=True)
    one = _choose(every, request, plan, notices) if plan is not None else None
    if one is not None:
        notices.insert(0, Notice(one.resuming))
        return _free(one.run)
    notices.append(Notice("No incomplete run matches; starting a new one."))
    others = [one for one in every if not one.is_complete and not one.at_work]
    for one in others[:MOST_TOLD]:
        kind = ", unsaved" if one.unsaved else ""
        which = f"{one.env_id} with {one.model}, {one.progress}{kind}"
        notices.append(Notice(f"Incomplete: {which}: {one.run.path}"))
    return None


def _choose(
    every: Sequence[Incomplete],
    request: Request,
    plan: RunPlan,
    notices: list[Notice],
) -> Incomplete | None:
    """The newest run of the same settings, also one that is complete; else one to go on with.

    Saved ones come before unsaved ones, and one that has what is asked for before those that would
    be extended to it.

    Args:
        every: Incomplete ones first, the newest first.
        plan: That of a new run.
        notices: Gets the settings that stay another run's own, where none has the same.
    """
    sizes = _sizes_asked(request, plan)
    named = [
        (one, before)
        for one in every
        if (one.env_id, one.model) == (plan.env_id, plan.model) and (before := plan_of(one))
    ]
    same = [(one, before) for one, before in named if rows_key(before) == rows_key(plan)]
    fitting = [(one, before) for one, before in same if _fits(before, sizes)]
    if fitting:
        return min(fitting, key=lambda found: (found[0].unsaved, _is_more(found[1], sizes)))[0]
    for one, before in sorted(named, key=lambda found: found[0].unsaved):
        if _fits(before, sizes) and (_is_more(before, sizes) or not one.is_complete):
            gone_on, _ = draft_plan(request, before)
            found = changes(plan.model_dump(), gone_on.model_dump()) if gone_on else []
            notices += [Notice(f"It keeps its own {own.name}: {own.before}") for own in found]
            return one
    return None


def _free(run: RunDir) -> RunDir:
    """A run that nobody is at work on.

    Raises:
        RefusedError: An engine is.
    """
    held = holder(run.lock)
    if held is not None:
        raise RefusedError([held.fault(run.path)])
    return run


def _sizes_asked(request: Request, plan: RunPlan) -> dict[str, int]:
    """Examples (-1 for all) and rollouts of each, where somebody named them."""
    named = set(request.raw) | (plan.sources.keys() if request.of_file else set())
    named |= {".".join(path) for path, _ in parse_values(request.raw)[0].get("sets", [])}
    return plan.model_dump(include=named & {"num_examples", "rollouts_per_example"})


def _fits(before: RunPlan, sizes: Mapping[str, int]) -> bool:
    """Whether a run has what is asked for, or can be extended to it."""
    return not misfits(None, sizes, before.model_dump(), "--resume")


def _is_more(before: RunPlan, sizes: Mapping[str, int]) -> bool:
    """Whether a run that fits would be extended."""
    return not same_size(sizes, before.model_dump())


def content_changes(
    run: RunDir,
    before: RunPlan,
    plan: RunPlan,
    examples: Iterable[Mapping[str, Any]],
    code: CodeVersion,
) -> list[Change]:
    """How dataset, package, code and prices of a run that goes on differ from what they were.

    Args:
        plan: As it goes on.
        examples: Those of the environment as it is now, in order.
        code: Of the environment as it is now; it gets the dataset as a part.
    """
    versions = read_versions(run)
    found = []
    digest = digest_now(before.examples_digest, examples)
    if digest != before.examples_digest:
        found.append(change("dataset", _digest(before.examples_digest), _digest(digest)))
    else:
        digest = versions.parts.get(DATASET, digest)
    code.parts[DATASET] = digest
    told = read_metadata(run).get("version_info")
    if isinstance(told, dict) and "env_version" in told:
        then, now = told["env_version"], version_of(before.env_id, Path(before.env_dir_path))
        if then != now:
            found.append(change("env_version", then, now))
    if versions.parts and not versions.knows(code):
        found += code_changes(versions.parts, code.parts)
    return found + _price_changes(before, plan)


def _price_changes(before: RunPlan, plan: RunPlan) -> list[Change]:
    """Prices that were known and are others now: the cost is that of all rows together."""
    names = [name for name in RunPlan.model_fields if name.endswith("_price")]
    pairs = {name: (getattr(before, name), getattr(plan, name)) for name in names}
    return [
        change(name, then, now)
        for name, (then, now) in pairs.items()
        if None not in (then, now) and then != now
    ]


def _digest(digest: str) -> str:
    count, _, content = digest.partition(":")
    return f"{count} examples with the hash {content}"


def take_up(prepared: Prepared, keep_errors: bool) -> None:
    """Makes the run's files whole and fills in what is done and what waits for its group.

    Where `prepared.again` names rows, only those of the errored ones run again.

    Raises:
        OSError: The files cannot be read or replaced.
    """
    repaired = repair_run(prepared, keep_errors=keep_errors, again=prepared.again)
    prepared.done = repaired.kept
    shape = prepared.started.rollouts_per_example, prepared.started.num_examples
    places = RowPlaces(*shape, _positions(prepared.examples))
    done = {event.row for event in prepared.done}
    prepared.started.lost = prepared.lost = _lost(prepared.run, places, done)
    prepared.notices += map(warning, repaired.dropped)
    prepared.journal = {
        row: record
        for row, record in _at_their_places(read_journal(prepared.run), prepared).items()
        if row not in done and row < prepared.started.total
    }
    for row, record in prepared.journal.items():
        _count_with_its_row(prepared.lost, row, record)
    if not prepared.journal:
        prepared.run.journal.unlink(missing_ok=True)
    if prepared.grouped:
        _take_up_members(prepared)


def _lost(run: RunDir, places: RowPlaces, done: Collection[int]) -> dict[int, Tokens]:
    """Tokens of attempts of the rollouts that are not done, by place."""
    lost = dict(spent_on_superseded(run, places))
    for row, tokens in unfinished_tokens(read_metadata(run), places).items():
        lost[row] = max(tokens, lost.get(row, tokens))  # it has those of the rows put aside in it
    return {row: tokens for row, tokens in lost.items() if row not in done}


def _count_with_its_row(lost: dict[int, Tokens], row: int, record: Mapping[str, Any]) -> None:
    """Takes out what the row of a generated rollout will tell."""
    rest = minus(lost.pop(row, ()), tokens_in_journal(record))
    if any(left > 0 for left in rest):
        lost[row] = tuple(max(left, 0) for left in rest)


def repair_run(prepared: Prepared, *, keep_errors: bool, again: Collection[int] | None) -> Repaired:
    """Makes the run's files whole, and takes out what is to run again: see `runs.repair.repair`."""
    return repair(
        prepared.run,
        rollouts_per_example=prepared.started.rollouts_per_example,
        examples=prepared.started.num_examples,
        positions=_positions(prepared.examples),
        keep_errors=keep_errors,
        again=again,
    )


def _positions(examples: Examples) -> dict[Any, int]:
    return {id_: place for place, id_ in enumerate(examples.ids())}


def _at_their_places(
    records: dict[int, dict[str, Any]], prepared: Prepared
) -> dict[int, dict[str, Any]]:
    """The records of a journal by the places of their rollouts, also where groups have grown."""
    if prepared.plan.given_inputs:
        return records
    examples = prepared.examples
    positions = _positions(examples)
    moved = {}
    for row, record in records.items():
        position = positions.get(_key(record["input"].get("example_id")))
        place = row
        if position is not None and record["number"] < examples.per_example:
            place = position * examples.per_example + record["number"]
        moved[place] = {**record, "row": place}
    if moved.keys() != records.keys():
        lines = [encode_whatever(record) + b"\n" for record in moved.values()]
        write_atomically(prepared.run.journal, b"".join(lines))
    return moved


def _key(example_id: Any) -> Any:
    return example_id if isinstance(example_id, (int, str)) else None


def _take_up_members(prepared: Prepared) -> None:
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
        prepared.saved_members[row] = saved_member(prepared, row, line.row)


def saved_member(prepared: Prepared, row: int, values: dict[str, Any]) -> State:
    """The state of a rollout that is on disk, to compare others of its group with.

    Args:
        values: Its line of results.jsonl.
    """
    state = prepared.fresh_state(row)
    _fill_in(state, values, prepared.plan.state_columns)
    return state


def _fill_in(state: State, row: dict[str, Any], columns: list[str]) -> None:
    """Gives a state what the row of its rollout tells, for functions that look at it again."""
    completion = to_messages(row.get("completion") or [])
    state["completion"] = completion
    for key in ("metrics", "timing", "is_completed", "is_truncated", "stop_condition"):
        state[key] = row.get(key)
    state["trajectory"] = [
        {
            "prompt": [*state["prompt"], *completion[:place]],
            "completion": [message],
            "response": None,
            "tokens": None,
            "reward": None,
            "advantage": None,
            "is_truncated": False,
            "trajectory_id": (row.get("tui_eval") or {}).get("trajectory_id"),
            "extras": {},
        }
        for place, message in enumerate(completion)
        if message.get("role") == "assistant"
    ]
    for column in columns:
        if column in row:
            state[column] = row[column]
    if row.get("error"):
        state["error"] = RuntimeError("errored in an earlier session")
