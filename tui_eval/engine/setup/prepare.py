"""Prepares a run that was checked: its directory, lock and plan, and the rollouts left to do.

This is the first step of a run that writes: a request with a fault leaves nothing on disk. The
lock is taken before files are repaired or replaced, so that no two engines write a run, and by the
process that will work on it, since the lock ends with that. Where a later step fails, the lock is
released and the directory of a new run is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui_eval import clock
from tui_eval.clients.credentials import credentials_of
from tui_eval.config.plan import RunPlan, plan_to_toml
from tui_eval.config.secret_values import masked, secret_texts, secrets_of_url
from tui_eval.engine.limits.limits import Phases
from tui_eval.engine.setup.plan_checks import MAKE_ROOM, elsewhere, root_of
from tui_eval.engine.setup.prepared import LoadedHere, Prepared
from tui_eval.engine.setup.resume import budget_reached, restore_progress
from tui_eval.errors import Fault, Notice, RefusedError, warning
from tui_eval.events import RunStarted
from tui_eval.runs.layout import RunDir, is_unsaved, new_run
from tui_eval.runs.lock import LockHeldError, RunLock
from tui_eval.runs.plain_json import Cleaner
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.repair import keep_damaged
from tui_eval.runs.rescue import take_in
from tui_eval.runs.run_info import limits_reached, read_metadata, refused_count
from tui_eval.runs.unsaved import save_run
from tui_eval.runs.versions import (
    DATASET,
    Installed,
    Versions,
    differing_versions,
    installed_now,
    installed_there,
    packages_in,
    read_versions,
    write_versions,
)
from tui_eval.runs.writer import write_atomically
from tui_eval.types import ClientConfig, EndpointClientConfig
from tui_eval.worker.description.info import EnvironmentInfo
from tui_eval.worker.examples import Examples, Places

if TYPE_CHECKING:
    from tui_eval.engine.setup.preflight import Checked

MOST_SHOWN = 6
"""Number of packages with differing versions that are named."""
SLOW_DISK_S = 5.0
"""Seconds of preparing a run after which the disk is reported."""


async def prepare_in_thread(
    checked: Checked, socket: str, slow: Callable[[str], None], *, is_spent: bool = False
) -> Prepared:
    """Does what `prepare` does while others are answered, as the disk may not answer.

    Where it fails the environment is closed; where it is cancelled a new run is removed as well,
    unless the disk takes long.

    Args:
        slow: Gets a sentence, once, where it takes long.

    Raises:
        RefusedError: See `prepare`.
    """
    call = asyncio.to_thread(prepare, checked, socket, is_spent=is_spent)
    preparing = asyncio.ensure_future(call)
    with checked.opened.closed_on_error():
        try:
            if not (await asyncio.wait([preparing], timeout=SLOW_DISK_S))[0]:
                place = checked.run.path if checked.run is not None else root_of(checked.plan)
                what = f"has not taken the files of the run for {SLOW_DISK_S:g} s"
                slow(f"The disk of {place} {what}")
                await asyncio.wait([preparing])
        except asyncio.CancelledError:
            ended, _ = await asyncio.wait([preparing], timeout=SLOW_DISK_S)
            if ended and not preparing.exception():
                prepared = preparing.result()
                _undo(prepared.run, prepared.lock, is_new=checked.before is None)
            raise
        return preparing.result()


def _undo(run: RunDir, lock: RunLock, *, is_new: bool) -> None:
    lock.release()
    if is_new:
        shutil.rmtree(run.path, ignore_errors=True)


def prepare(checked: Checked, socket: str, *, is_spent: bool = False) -> Prepared:
    """Makes or resumes the run's directory, and holds its lock.

    Args:
        is_spent: The budget that it shares with others is spent. Errored rollouts of earlier
            sessions stay as they are then, and where its own is, as they would not run again.

    Raises:
        RefusedError: Somebody else writes the run, or its files cannot be read or written.
    """
    plan, opened, info, run, before, notices, keeps_errors, again = checked
    keep_errors = keeps_errors or is_spent
    is_own_spent = run is not None and not keep_errors and budget_reached(plan, run)
    places = opened.places(plan.rollouts_per_example)
    run, lock = make_directory(plan, run, socket)
    try:
        started = run_started(plan, info, run, places)
        prepared = Prepared(plan, info, run, lock, places, started, worker=opened.worker)
        if opened.loaded is not None and isinstance(places, Examples):
            prepared.loaded = LoadedHere(opened.loaded.env, places)
        prepared.sampling_args = {**info.sampling_args, **plan.sampling_args}
        prepared.notices = [*notices, *lock.notices]
        prepared.again = again
        keep_errors = keep_errors or is_own_spent
        initialize_run(prepared, is_resumed=before is not None, keep_errors=keep_errors)
        if is_own_spent and any(event.error for event in prepared.done):
            prepared.notices.append(
                warning("The budget is spent, so errored rollouts stay as they are")
            )
    except BaseException as error:
        _undo(run, lock, is_new=before is None)
        if isinstance(error, OSError):
            hint = MAKE_ROOM if before is not None else elsewhere(plan)
            raise cannot_write(run, error, hint) from error
        raise
    return prepared


def initialize_run(prepared: Prepared, *, is_resumed: bool, keep_errors: bool) -> None:
    """Writes the plan, restores the progress of a resumed run, and finds the rollouts left to do.

    Args:
        keep_errors: Errored rollouts of earlier sessions stay as they are.

    Raises:
        OSError: The files cannot be read or written.
    """
    meta = read_metadata(prepared.run)
    if is_resumed:
        prepared.notices += map(Notice, take_in(prepared.run))  # by the session before this one
        prepared.notices += map(warning, keep_damaged(prepared.run))
    prepared.plan.session = uuid.uuid4().hex
    write_atomically(prepared.run.plan, plan_to_toml(prepared.plan).encode())
    _keep_versions(prepared, is_resumed=is_resumed)
    if is_resumed:
        prepared.time_before_ms = float(meta.get("time_ms") or 0.0)
        prepared.started.worked_ms = prepared.time_before_ms
        prepared.started.refused = refused_count(meta)
        prepared.started.limits = limits_reached(meta)
        restore_progress(prepared, keep_errors)
    done = {event.row for event in prepared.done} | prepared.journal.keys()
    rows = range(prepared.started.total) if prepared.again is None else sorted(prepared.again)
    prepared.todo = [row for row in rows if row not in done and row < prepared.started.total]


def _keep_versions(prepared: Prepared, *, is_resumed: bool) -> None:
    """Records versions of code and packages, where they changed, and the code's number.

    Packages that changed are reported.

    Raises:
        OSError: The file cannot be written.
    """
    versions = read_versions(prepared.run) if is_resumed else Versions()
    before = msgspec.json.encode(versions)
    prepared.info.code.parts.setdefault(DATASET, prepared.plan.examples_digest)
    prepared.code_number = versions.number_of(prepared.info.code)
    now = _installed(prepared)
    last = versions.installed[-1].versions if versions.installed else {}
    if now.versions != last:
        found = differing_versions([last, now.versions], prepared.info.code.imported)
        if found:
            prepared.notices.append(
                warning(f"Versions are not what they were: {_differing_text(found)}")
            )
        versions.installed.append(now)
    if msgspec.json.encode(versions) != before:
        write_versions(prepared.run, versions)


def _installed(prepared: Prepared) -> Installed:
    """The packages of the interpreter that the environment runs in."""
    interpreter = prepared.worker.interpreter if prepared.worker is not None else None
    if interpreter is None:
        return installed_now(prepared.info.version)
    found = interpreter.info
    packages = {**packages_in(interpreter.added_paths), **found.packages}
    return installed_there(prepared.info.version, found.version, packages)


def _differing_text(found: Mapping[str, Sequence[str | None]]) -> str:
    """Versions that differ, the first of them with their names."""
    texts = [
        f"{name} {' → '.join(one or 'none' for one in values)}"
        for name, values in list(found.items())[:MOST_SHOWN]
    ]
    more = len(found) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def make_directory(
    plan: RunPlan, run: RunDir | None, socket: str, hint: str = ""
) -> tuple[RunDir, RunLock]:
    """Makes the run's directory, where it is not there, and takes its lock.

    Args:
        run: Its directory; None for a new one under the outputs folder or the state directory. An
            unsaved run that the plan wants saved is moved.
        socket: Path of the engine's socket; empty where it has none.
        hint: Of the fault that the directory cannot be written, if it is not the usual one.

    Raises:
        RefusedError: Somebody else writes the run, or it cannot be written.
    """
    fresh = new_run(root_of(plan), plan.env_id, plan.model)
    hint = hint or (elsewhere(plan) if run is None else MAKE_ROOM)
    if run is None:
        run = fresh
    elif plan.save and is_unsaved(run):
        run = save_run(run, RunDir(fresh.path.with_name(run.path.name)))
    try:
        run.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = RunLock(run.lock, socket)
        run.results.touch(mode=0o600)
    except LockHeldError as error:
        raise RefusedError([error.held.fault(run.path)]) from None
    except OSError as error:
        raise cannot_write(run, error, hint) from None
    return RunDir(run.path.resolve()), lock


def cannot_write(run: RunDir, error: OSError, hint: str) -> RefusedError:
    """The refusal of a run whose files cannot be read or written."""
    what = f"the run cannot be written here: {error.strerror or error}"
    return RefusedError([Fault(str(run.path), what, hint)])


def run_started(plan: RunPlan, info: EnvironmentInfo, run: RunDir, examples: Places) -> RunStarted:
    """The run's first event."""
    threshold = info.pass_threshold
    return RunStarted(
        seq=0,
        at=clock.now(),
        path=str(run.path),
        env_id=plan.env_id,
        model=plan.model,
        base_url=plan.base_url,
        num_examples=examples.total // examples.per_example,
        rollouts_per_example=examples.per_example,
        total=examples.total,
        max_concurrent=Phases.of(plan, examples.total).each,
        saved=not is_unsaved(run),
        sampling_args=masked(Cleaner().clean({**info.sampling_args, **plan.sampling_args})),
        env_args=masked(plan.env_args),
        pass_threshold=threshold if plan.pass_threshold is None else plan.pass_threshold,
        input_price=plan.input_price,
        output_price=plan.output_price,
        cached_input_price=plan.cached_input_price,
        cache_write_price=plan.cache_write_price,
        list_price=plan.list_price,
        refused=0,
        until=plan.until or "",
    )


def client_config(plan: RunPlan) -> ClientConfig:
    """The settings of the run's client; replicas take turns."""
    configs = [
        EndpointClientConfig(
            api_key_var=one.key_var, api_base_url=one.url, extra_headers=one.headers
        )
        for one in plan.served_at
    ]
    return ClientConfig(
        client_type=plan.client_type, endpoint_configs=configs, stream=plan.stream, **plan.profile
    )


def redactor_of(plans: Iterable[RunPlan]) -> Redactor:
    """Takes out the secrets of plans that nobody checked yet, as far as they can be found."""
    found: list[str] = []
    for plan in plans:
        with contextlib.suppress(RefusedError, ValueError):
            found += key_of(plan)
    return Redactor.of_process(found)


def key_of(plan: RunPlan) -> list[str]:
    """The secrets of the run: keys, values of headers, and arguments named like a secret."""
    keys = [credentials_of(one).key for one in client_config(plan).per_endpoint()]
    reported = [text for one in plan.served_at for text in one.headers.values()]
    for given in (plan.env_args, plan.extra_env_kwargs, plan.sampling_args):
        reported += secret_texts(given)
    reported += secrets_of_url(plan.heartbeat_url or "")
    return [secret for secret in (*keys, *reported) if secret]
