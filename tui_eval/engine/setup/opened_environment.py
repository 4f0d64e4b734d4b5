"""An environment as an engine has it: its description, and the process that has loaded it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from tui_eval.config.settings import place_of
from tui_eval.engine.interpreters.interpreter import Interpreter
from tui_eval.engine.transport.worker import Worker, ended_at_load, loaded
from tui_eval.errors import Fault, Notice, RefusedError, WorkerEndedError
from tui_eval.install_commands import install_command_for
from tui_eval.worker.description.info import EnvironmentInfo, EnvironmentSettings
from tui_eval.worker.examples import Examples, Places
from tui_eval.worker.open_environment import Loaded, describe_loaded, load_environment


class OpenedEnvironment(msgspec.Struct, frozen=True):
    """An environment that was loaded, or the faults of loading it.

    Args:
        info: Its description; None where it could not be loaded.
        ids: Of its examples, where another process has them.
        loaded: The environment itself, where this process has it.
        worker: The process that has it otherwise.
    """

    info: EnvironmentInfo | None
    faults: list[Fault]
    ids: list[Any]
    loaded: Loaded | None
    worker: Worker | None = None

    @property
    def count(self) -> int:
        """Number of examples."""
        return len(self.loaded.table if self.loaded is not None else self.ids)

    def interpreter_notices(self, source: str) -> list[Notice]:
        """A notice of the interpreter that it runs in, where nobody has typed that.

        Args:
            source: Of the setting; empty for none.
        """
        one = self.worker.interpreter if self.worker is not None else None
        if one is None or self.info is None or source.startswith("-"):
            return []
        text = f"{self.info.env_id} runs in {one.path} (Python {one.info.version})"
        return [Notice(text)]

    def close(self) -> None:
        """Ends the process that has it, if no run uses it."""
        if self.worker is not None:
            self.worker.kill()

    @contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """Closes it where the block raises."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def places(self, per_example: int) -> Places:
        """Its rollouts, `per_example` of each example."""
        if self.loaded is not None:
            return Examples(self.loaded.table, per_example)
        return Places(len(self.ids), lambda: self.ids, per_example)


StartWorker: TypeAlias = Callable[[Interpreter | None], Awaitable[Worker]]
"""Starts a worker in an interpreter; None for this process's own."""

NOTHING = OpenedEnvironment(None, [], [], None)
"""No environment."""


async def chosen_interpreter(settings: EnvironmentSettings) -> Interpreter | None:
    """The interpreter that an environment is to run in; None for this process's own.

    Raises:
        RefusedError: See `interpreter_of`.
    """
    if not settings.python:
        return None
    from tui_eval.engine.interpreters.missing_packages import interpreter_of

    return await interpreter_of(settings.python, _named_at(settings))


def _named_at(settings: EnvironmentSettings) -> str:
    """The source of the interpreter: a flag, a line of a file, or the folder that it is of."""
    source = settings.sources.get("python", "--python")
    is_beside = ":" not in source and not source.startswith("-")
    return source if is_beside else place_of(settings.sources, "python", "--python")


def _not_started(worker: Worker, interpreter: Interpreter, settings: EnvironmentSettings) -> Fault:
    """The fault that a worker does not start: some package of its interpreter is broken."""
    from tui_eval.engine.interpreters.missing_packages import modules

    what = f"no worker starts in {interpreter.path}: {worker.last_line or 'it ends at once'}"
    has_pip = interpreter.info.has_pip
    install = install_command_for(interpreter.path, modules(), has_pip=has_pip)
    return Fault(_named_at(settings), what, f"Install again what it needs: {install}")


def open_for_a_look(settings: EnvironmentSettings | None) -> OpenedEnvironment:
    """Loads an environment to describe it: here, or in a process of its own interpreter.

    Args:
        settings: None where it is not known which one.

    Raises:
        WorkerEndedError: See `open_environment`.
    """
    if settings is None or not settings.python:
        return open_here(settings)

    async def look() -> OpenedEnvironment:
        opened = await open_environment(settings)
        opened.close()
        return opened

    return asyncio.run(look())


def open_here(settings: EnvironmentSettings | None) -> OpenedEnvironment:
    """Loads an environment in this process.

    Args:
        settings: None where it is not known which one.
    """
    if settings is None:
        return NOTHING
    loaded, faults = load_environment(settings)
    if loaded is None:
        return OpenedEnvironment(None, faults, [], None)
    info, more = describe_loaded(loaded, settings)
    return OpenedEnvironment(info, [*faults, *more], [], loaded)


async def open_environment(
    settings: EnvironmentSettings | None,
    start: StartWorker = Worker.start,
    slow: Callable[[str], None] = lambda text: None,
) -> OpenedEnvironment:
    """Has a worker load and describe an environment.

    Args:
        settings: None where it is not known which one.
        start: Gives the worker.
        slow: Gets a sentence where that takes long.

    Raises:
        WorkerEndedError: The environment ended that process, or there is none.
    """
    if settings is None:
        return NOTHING
    try:
        interpreter = await chosen_interpreter(settings)
    except RefusedError as error:
        return OpenedEnvironment(None, error.faults, [], None)
    try:
        worker = await start(interpreter)
    except OSError as error:
        raise WorkerEndedError(f"no worker could be started: {error}") from error
    worker.open(settings)
    try:
        described = await loaded(worker, worker.described, settings.env_id, slow)
        if described is None and not worker.has_started and interpreter is not None:
            await worker.lost
            return OpenedEnvironment(None, [_not_started(worker, interpreter, settings)], [], None)
        if described is None:
            raise await ended_at_load(worker, settings.env_id)
    except BaseException:
        worker.kill()
        raise
    if described.info is None:
        worker.kill()
        return OpenedEnvironment(None, described.faults, [], None)
    return OpenedEnvironment(described.info, described.faults, described.ids, None, worker)
