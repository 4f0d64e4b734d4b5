"""`python -m tui_eval.engine`: one run in a process of its own, listening on a Unix socket."""

# ruff: noqa: E402
from __future__ import annotations

import gc

gc.disable()  # until everything is loaded: see `spare_collector`

import argparse
import asyncio
import contextlib
import os
import socket
import sys
import uuid
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tui_eval.clients.proxies import spare_loopback
from tui_eval.commands import Command, Stop
from tui_eval.config.plan import Request
from tui_eval.engine.execution.job import Job, let_listeners_read
from tui_eval.engine.execution.one_run import OneRun
from tui_eval.engine.logging.inherited_context import inherit_context
from tui_eval.engine.logging.run_log import early_output, set_up_logging
from tui_eval.engine.sampling import sample_engine
from tui_eval.engine.setup.prepare import check, prepare
from tui_eval.engine.stopping import TimelyEnd
from tui_eval.engine.suite.suite import Suite
from tui_eval.engine.suite.suite_preflight import expand_suite, survey
from tui_eval.engine.transport.hub import Hub
from tui_eval.engine.transport.server import listen
from tui_eval.engine.transport.sockets import (
    bind_socket,
    loopback_notices,
    loopback_of,
    remove_dead,
    socket_folder,
)
from tui_eval.errors import Notice, RefusedError
from tui_eval.events import Refused
from tui_eval.open_files import raise_limit
from tui_eval.runs.summary_json import VERSION, json_line
from tui_eval.runs.unsaved import prune

LAUNCHER_CONNECTS_WITHIN_S = 5.0


class Engine:
    """The process: its socket, its signals, and the job that it works on."""

    def __init__(
        self, request: Request, sock: socket.socket, socket_path: str, launched: bool
    ) -> None:
        self._request = request
        self._sock = sock
        self._socket_path = socket_path
        self._launched = launched
        self._hub = Hub()
        self._hub.pid = os.getpid()
        self._job: Job | None = None
        self._early: list[Command] = []
        self._notices: list[Notice] = []
        self._stopped = False
        self._code = 130

    async def main(self) -> int:
        """Prepares the job and works it through; returns the exit code."""
        self._end = TimelyEnd(asyncio.get_running_loop(), self._stop, self._emergency_close)
        loopback = loopback_of(self._sock, self._socket_path)
        self._notices = loopback_notices(loopback)
        server = await listen(self._sock, self._hub, self._handle, self._stop, loopback)
        try:
            if not self._launched or await self._launcher_connects():
                await self._prepare_and_work()
            await let_listeners_read(self._hub)
            server.close()
            self._remove_files()
        finally:
            self._end.over(self._code)
        return self._code

    async def _prepare_and_work(self) -> None:
        try:
            job = self._prepare()
        except RefusedError as error:
            self._code = 2
            self._refuse(error)
        else:
            await self._work(job)

    def _prepare(self) -> Job:
        """The job that the request amounts to.

        Raises:
            RefusedError: With everything that is wrong.
        """
        request = self._request
        set_up_logging(bool(request.raw.get("verbose")), [request.env_id or ""])
        several = expand_suite(request)
        if several is not None:
            found = survey(request, several)
            found.notices += self._notices
            return Suite(request, found, self._hub, self._socket_path)
        keep_errors = bool(request.raw.get("keep_errors"))
        with early_output():
            prepared = prepare(
                check(request), self._socket_path, keep_errors=keep_errors, again=request.again
            )
        prepared.notices += self._notices
        return OneRun(prepared, self._hub, self._end.count_down)

    async def _launcher_connects(self) -> bool:
        """Whether who started this process is still there: otherwise nobody wants the run."""
        with contextlib.suppress(TimeoutError):
            listens = self._hub.somebody_listens.wait()
            return await asyncio.wait_for(listens, LAUNCHER_CONNECTS_WITHIN_S)
        return False

    def _refuse(self, error: RefusedError) -> None:
        for fault in error.faults:
            sys.stderr.write(f"{fault}\n")
        self._hub.publish(Refused(0, [(f.where, f.what, f.hint) for f in error.faults]))
        self._hub.flush()

    async def _work(self, job: Job) -> None:
        self._job = job
        if self._stopped:
            job.stop()
        for command in self._early:
            job.handle(command)
        pruning = asyncio.create_task(asyncio.to_thread(prune))
        sampling = asyncio.create_task(sample_engine(self._hub, job.finished, job.hubs))
        self._code = await job.run()
        sampling.cancel()
        self._job = None
        await pruning

    def _stop(self) -> None:
        self._stopped = True
        self._end.count_down()
        if self._job is not None:
            self._job.stop()

    def _emergency_close(self) -> int:
        self._remove_files()
        return self._code if self._job is None else self._job.emergency_close()

    def _remove_files(self) -> None:
        """Removes the socket, and the early log that a launcher which is gone left there."""
        path = Path(self._socket_path)
        path.unlink(missing_ok=True)
        if self._launched:
            path.with_suffix(".log").unlink(missing_ok=True)

    def _handle(self, command: Command) -> None:
        if isinstance(command, Stop):
            self._stop()
        elif self._job is not None:
            self._job.handle(command)
        else:
            self._early.append(command)


def _print_json(find: Callable[[], dict[str, Any]]) -> int:
    """Prints what is found; what people's code prints goes to stderr meanwhile."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        found = find()
        out.write(json_line(found) + "\n")
    return int(found["exit_code"])


def _print_plan(request: Request) -> int:
    from tui_eval.engine.suite.dry_run import dry_run

    return _print_json(lambda: dry_run(request))


def _print_environment(env_id: str, folder: Path, *, no_alias: bool) -> int:
    from tui_eval.engine.setup.environment_info import describe_environment

    return _print_json(lambda: describe_environment(env_id, folder, no_alias=no_alias))


def _print_environments(folder: Path) -> int:
    from tui_eval.environments.listing import list_environments

    return _print_json(
        lambda: {
            "version": VERSION,
            "exit_code": 0,
            "environments": [asdict(one) for one in list_environments(folder)],
        }
    )


def main() -> None:
    """Reads the request from standard input, or resumes a run directory."""
    parser = argparse.ArgumentParser(prog="python -m tui_eval.engine", description=__doc__)
    run_help = "a run directory to go on with, or - for a request on stdin"
    parser.add_argument("run", nargs="?", help=run_help)
    parser.add_argument("--socket", help="path of the socket")
    parser.add_argument("--socket-fd", type=int, help="inherited socket that already listens")
    parser.add_argument("--dry-run", action="store_true", help="print the plan as JSON, and end")
    parser.add_argument("--describe", metavar="ENV", help="print an environment as JSON, and end")
    parser.add_argument("--list", action="store_true", help="print the environments as JSON")
    parser.add_argument("--env-dir-path", type=Path, default=Path("environments"))
    parser.add_argument("--no-alias", action="store_true")
    args = parser.parse_args()
    raise_limit()
    spare_loopback()
    if args.describe is not None:
        sys.exit(_print_environment(args.describe, args.env_dir_path, no_alias=args.no_alias))
    if args.list:
        sys.exit(_print_environments(args.env_dir_path))
    if args.run is None:
        parser.error("name a run directory, or - for a request on stdin")
    if args.run == "-":
        request = Request.model_validate_json(sys.stdin.buffer.read())
    else:
        request = Request(resume_path=args.run)
    if args.dry_run:
        sys.exit(_print_plan(request))
    with contextlib.suppress(OSError):
        remove_dead(socket_folder())
    path = args.socket or str(socket_folder() / f"{uuid.uuid4().hex[:12]}.sock")
    sock = bind_socket(path) if args.socket_fd is None else socket.socket(fileno=args.socket_fd)
    inherit_context()
    sys.exit(asyncio.run(Engine(request, sock, path, args.socket_fd is not None).main()))


if __name__ == "__main__":
    main()
