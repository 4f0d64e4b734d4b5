"""One run as `tui-eval run` has it, in the test's own process: same request, plan, run and lines.

An engine of its own takes half a second to start, so a test has one where it looks at what only
processes do: signals, engine.log, listeners, exits, several evaluations at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from unittest import mock

import click
from program import Finished, Program

from tui_eval.cli.console.report import ending_lines, opening_lines
from tui_eval.cli.console.summary_lines import result_lines
from tui_eval.cli.run import command, parse_request, typed_of
from tui_eval.config.expansion import Expander
from tui_eval.config.plan import Request
from tui_eval.engine.execution.host import Host
from tui_eval.engine.execution.job import RunJob
from tui_eval.engine.limits.limits import Limits
from tui_eval.engine.setup.expanded_request import ExpandedRequest, expand_request
from tui_eval.engine.setup.opened_environment import OpenedEnvironment, open_environment, open_here
from tui_eval.engine.setup.preflight import Preflight, preflight
from tui_eval.engine.setup.prepare import client_config, key_of, prepare
from tui_eval.engine.setup.prepared import Prepared
from tui_eval.engine.transport.hub import Hub
from tui_eval.errors import RefusedError, WorkerEndedError
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.redaction import Redactor
from tui_eval.runs.summary_json import json_line, refused_object, summary_object
from tui_eval.worker.replicas import ClientElsewhere, Replicas


def run_here(program: Program, *args: str) -> Finished:
    """Runs an evaluation to its end, or says why it cannot begin; a suite is only refused here."""
    return request_here(program, lambda: _request(args), "--json" if "--json" in args else "")


def request_here(
    program: Program,
    request: Callable[[], Request],
    prints: str = "",
    at_end: Callable[[RunDir], None] = lambda run: None,
) -> Finished:
    """Runs what a command asks for to its end, or says why it cannot begin.

    Args:
        prints: `--json` for one object, `--quiet` for nothing, else lines.
        at_end: Called with the run when it is over, in the program's folder.
    """
    as_json = prints == "--json"
    with inside(program):
        try:
            requested = request()
            state, run = asyncio.run(_run(requested))
        except click.UsageError as error:
            return Finished(2, "", f"Error: {error.format_message()}\n")
        except RefusedError as error:
            out = json_line(refused_object(error.faults)) if as_json else ""
            return Finished(2, out, _lines(f"error: {one}" for one in error.faults))
        except WorkerEndedError as error:
            return Finished(1, "", f"error: {error}\n")
        at_end(run)
    assert state.end is not None
    notices = [f"{level}: {text}" for level, text in state.notices]
    lines = [json_line(summary_object(state))] if as_json else []
    if not prints:
        results = result_lines(state, abbreviated=bool(requested.raw.get("abbreviated_summary")))
        lines = [*opening_lines(state), *results, *ending_lines(state)]
    return Finished(state.end.exit_code, _lines(lines), _lines(notices))


def resumed_here(program: Program, *args: str) -> list[Path | None]:
    """The run that each evaluation of a file would resume; None for those that would be new."""
    with inside(program):
        expanded = expand_request(Expander(_request(args)))
        assert expanded.is_suite, "the file has one evaluation"
        found = _preflight(expanded).evaluations
    return [one.run and program.folder / one.run.path for one in found]


async def open_in_worker(
    program: Program, args: Sequence[str], slow: Callable[[str], None]
) -> OpenedEnvironment:
    """Has a worker load the environment of a command.

    Args:
        slow: Gets a sentence where that takes long.
    """
    with inside(program):
        settings = expand_request(Expander(_request(tuple(args)))).to_open()[0]
        return await open_environment(settings, slow=slow)


def _lines(texts: Iterable[str]) -> str:
    return "".join(f"{one}\n" for one in texts)


def _request(args: tuple[str, ...]) -> Request:
    words = [*args[1:]] if args[0] == "run" else [*args]
    given = command.make_context("run", words).params
    environment = given.pop("environment")
    request, _ = parse_request({"env_id": environment, "raw": typed_of(given)})
    return Request(**json.loads(json.dumps(request)))


async def _run(request: Request) -> tuple[RunState, RunDir]:
    prepared = await _prepared(request)
    hub = Hub()
    hub.redact = Redactor(key_of(prepared.plan))
    replicas = Replicas([client_config(prepared.plan)], ClientElsewhere)
    host = Host(True, cancels_within_s=1.0)
    plan, total = prepared.plan, prepared.started.total
    limits = Limits.of(plan, total, len(plan.served_at), hub.publish)
    await RunJob(hub, prepared, replicas, host, limits).run()
    return hub.state, prepared.run


async def _prepared(request: Request) -> Prepared:
    expanded = expand_request(Expander(request))
    if expanded.is_suite:
        _preflight(expanded)
        raise AssertionError("a suite that is not refused needs an engine of its own")
    opened = {index: await open_environment(one) for index, one in expanded.to_open().items()}
    with contextlib.ExitStack() as stack:
        for one in opened.values():
            stack.enter_context(one.closed_on_error())
        found = preflight(expanded, opened)
        prepared = prepare(found.checked[0], "")
    prepared.notices = list(dict.fromkeys([*found.notices, *prepared.notices]))
    return prepared


def _preflight(expanded: ExpandedRequest) -> Preflight:
    opened = {index: open_here(one) for index, one in expanded.to_open().items()}
    return preflight(expanded, opened)


@contextlib.contextmanager
def inside(program: Program) -> Iterator[None]:
    """In the program's folder and environment, whose modules are forgotten afterwards."""
    path = [*sys.path]
    own = [one for one in program.env.get("PYTHONPATH", "").split(os.pathsep) if one]
    sys.path[:] = [str(program.folder), *own, *path]
    importlib.invalidate_caches()
    with (
        contextlib.chdir(program.folder),
        mock.patch.dict(os.environ, program.env, clear=True),
        # What is written and loaded twice in a second would be found as it was.
        mock.patch.object(sys, "dont_write_bytecode", True),
    ):
        try:
            yield
        finally:
            sys.path[:] = path
            for name, module in [*sys.modules.items()]:
                file = getattr(module, "__file__", None)
                if isinstance(file, str) and Path(file).is_relative_to(program.folder):
                    del sys.modules[name]
