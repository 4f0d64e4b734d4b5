"""`python -m tui_eval.engine`: one run in a process of its own, listening on a Unix socket."""

# ruff: noqa: E402
from __future__ import annotations

import gc

gc.disable()  # until everything is loaded: see `tune_memory`

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.engine.transport.started_worker import StartedWorker, start_worker

if TYPE_CHECKING:
    from tui_eval.config.plan import Request


def _print_json(find: Callable[[], dict[str, Any]]) -> int:
    """Prints what `find` returns as JSON; output of people's code goes to stderr meanwhile."""
    from tui_eval.runs.summary_json import json_line

    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)
        found = find()
        out.write(json_line(found) + "\n")
    return int(found["exit_code"])


def _print_plan(request: Request) -> int:
    from tui_eval.engine.setup.dry_run import dry_run

    return _print_json(lambda: dry_run(request))


def _print_environment(env_id: str, folder: Path, *, no_alias: bool) -> int:
    from tui_eval.engine.setup.environment_info import describe_where_it_runs

    return _print_json(lambda: describe_where_it_runs(env_id, folder, no_alias=no_alias))


def _print_environments(folder: Path) -> int:
    from msgspec.structs import asdict

    from tui_eval.environments.listing import list_environments
    from tui_eval.runs.summary_json import VERSION

    return _print_json(
        lambda: {
            "version": VERSION,
            "exit_code": 0,
            "environments": [asdict(one) for one in list_environments(folder)],
        }
    )


def _first_worker(request: Mapping[str, Any]) -> StartedWorker | None:
    """The process of a worker, which loads what it needs while this one does.

    None where the request names another interpreter, or it cannot be started: that is reported
    once a worker is needed.
    """
    with contextlib.suppress(OSError):
        if not (request.get("raw") or {}).get("python"):
            return start_worker()
    return None


def _work(request: Request, args: argparse.Namespace, first: StartedWorker | None) -> int:
    import asyncio
    import socket
    import uuid

    from tui_eval.engine.process import Engine
    from tui_eval.engine.transport.sockets import bind_socket, remove_stale, socket_folder
    from tui_eval.worker.logging.inherited_context import inherit_context

    with contextlib.suppress(OSError):
        remove_stale(socket_folder())
    path = args.socket or str(socket_folder() / f"{uuid.uuid4().hex[:12]}.sock")
    sock = bind_socket(path) if args.socket_fd is None else socket.socket(fileno=args.socket_fd)
    inherit_context()
    return asyncio.run(Engine(request, sock, path, args.socket_fd is not None, first).main())


def main() -> None:
    """Reads the request from standard input, or resumes a run directory."""
    parser = argparse.ArgumentParser(prog="python -m tui_eval.engine", description=__doc__)
    run_help = "a run directory to resume, or - for a request on stdin"
    parser.add_argument("run", nargs="?", help=run_help)
    parser.add_argument("--socket", help="path of the socket")
    parser.add_argument("--socket-fd", type=int, help="inherited socket that already listens")
    parser.add_argument("--dry-run", action="store_true", help="print the plan as JSON, and end")
    parser.add_argument("--describe", metavar="ENV", help="print an environment as JSON, and end")
    parser.add_argument("--list", action="store_true", help="print the environments as JSON")
    parser.add_argument("--env-dir-path", type=Path, default=Path("environments"))
    parser.add_argument("--no-alias", action="store_true")
    args = parser.parse_args()
    describes = args.describe is not None or args.list
    if args.run is None and not describes:
        parser.error("name a run directory, or - for a request on stdin")
    is_sent = args.run == "-" and not describes
    # pydantic's own reader refuses deep JSON and half characters
    given = json.loads(sys.stdin.buffer.read()) if is_sent else {"resume_path": args.run}
    works = not describes and not args.dry_run
    first = _first_worker(given) if works else None

    from tui_eval.clients.proxies import spare_loopback
    from tui_eval.config.plan import Request
    from tui_eval.open_files import raise_limit

    raise_limit()
    spare_loopback()
    if args.describe is not None:
        sys.exit(_print_environment(args.describe, args.env_dir_path, no_alias=args.no_alias))
    if args.list:
        sys.exit(_print_environments(args.env_dir_path))
    request = Request(**given)
    sys.exit(_work(request, args, first) if works else _print_plan(request))


if __name__ == "__main__":
    main()
