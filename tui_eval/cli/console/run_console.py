"""The plain listener: the screen's events as lines, for CI, pipes and logs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tui_eval import clock
from tui_eval.cli.console.lines import ErrorLines, ProgressLines
from tui_eval.cli.console.log_tail import RunLogs
from tui_eval.cli.console.printing import print_json, print_stderr, print_stdout, refuse, warn
from tui_eval.cli.console.report import (
    ending_lines,
    gives_way,
    opening_lines,
    progress_line,
    report_held,
)
from tui_eval.cli.console.suite_console import SuiteConsole
from tui_eval.cli.console.summary_lines import result_lines
from tui_eval.cli.pushing import code_with_pushes, push_requested
from tui_eval.cli.signals import ending_signals, interrupt_on_signals
from tui_eval.engine.transport.launcher import (
    STOPS_WITHIN_S,
    STOPS_WITHOUT_DISK_S,
    EngineProcess,
)
from tui_eval.errors import Fault
from tui_eval.events import Event, Noticed, RolloutFinished, RunStarted
from tui_eval.feeds.live_feed import LiveFeed
from tui_eval.fold.run_state import RunState
from tui_eval.runs.layout import RunDir
from tui_eval.runs.outcome import interrupted
from tui_eval.runs.summary_json import summary_object, unstarted_object

TICK_S = 0.05
UNSTARTED = "stopped before the run began"


def run_in_console(
    request: Mapping[str, Any],
    at_end: Callable[[RunDir], None] = lambda run: None,
    more: Callable[[RunDir], Mapping[str, Any]] = lambda run: {},
    *,
    quiet: bool = False,
) -> int:
    """Runs a request with plain lines; returns the exit code of the run.

    With `json` among the options, stdout gets one JSON object and nothing else.

    Args:
        at_end: Called with the run when it is over, however it ended.
        more: Keys of a run's JSON object beside its summary.
        quiet: Progress is not printed.
    """
    _warn_of_settings()
    console = Console(request, quiet=quiet)
    asyncio.run(console.main())
    interrupt_on_signals()
    code = console.sum_up(more)
    if console.state.run is not None and console.held is None:
        at_end(RunDir(Path(console.state.run.path)))
    return code


def _warn_of_settings() -> None:
    """Warns of faults in people's own settings, which lines do not use."""
    from tui_eval.config.user_settings import user_file

    if os.path.lexists(user_file()):
        from tui_eval.tui.base.preferences import Preferences

        if warning := Preferences.read().warning:
            warn(f"warning: {warning}")


class Console:
    """Prints a run's state: the start, progress now and then, errors, the summary.

    With `json` among the options the summary is one JSON object on stdout; all else goes to stderr.

    Args:
        quiet: Neither the start nor progress is printed.
    """

    def __init__(self, request: Mapping[str, Any], *, quiet: bool) -> None:
        raw = request.get("raw") or {}
        as_json = bool(raw.get("json"))
        self.state = RunState(keeps_texts=False)
        self.suite = SuiteConsole(as_json=as_json)
        self._feed = LiveFeed(request)
        self._as_json = as_json
        say = print_stderr if as_json else print_stdout
        self._say: Callable[[Iterable[str]], None] = (lambda lines: None) if quiet else say
        self._env_id = request.get("env_id")
        self._abbreviated = bool(raw.get("abbreviated_summary"))
        self._logs = RunLogs(verbose=bool(raw.get("verbose")))
        self._errors = ErrorLines()
        self._progress = ProgressLines()
        self._signals = 0

    async def main(self) -> None:
        """Follows the engine to its end, or a signal's; forwards signals to it."""
        loop = asyncio.get_running_loop()
        for number in ending_signals():
            loop.add_signal_handler(number, self._signalled)
        if self._env_id:
            kind = "evaluations" if self._env_id.endswith(".toml") else "environment"
            self._say([f"Loading {kind}: {self._env_id}"])
        await self._feed.start()
        if self._signals and self._feed.engine is not None:
            self._feed.engine.kill()  # nothing has begun yet
            await self._close()
            return
        state = self.state
        while state.end is None and not state.refused and self.held is None:
            await asyncio.sleep(TICK_S)
            for event in self._feed.drain():
                finished = state.finished
                state.apply(event)
                if isinstance(event, RolloutFinished) and state.finished == finished:
                    continue  # known already
                self.suite.handle(event)
                self._publish(event)
                self._logs.handle(event)
            self.suite.print_progress()
            self._logs.show()
            self._print_progress()
        await self._close()

    @property
    def held(self) -> EngineProcess | None:
        """The engine, where a disk keeps it from ending."""
        engine = self._feed.engine
        return engine if engine is not None and engine.is_held else None

    async def _close(self) -> None:
        await self._feed.close()
        if (engine := self._feed.engine) is not None:
            if self.state.refusal is not None:
                engine.stop()  # its end is reported, and its last call to the disk may never return
            await asyncio.to_thread(engine.wait)
            engine.clean_up()
        if self.held is None:
            self._logs.show_rest()

    def _signalled(self) -> None:
        self._signals += 1
        engine = self._feed.engine
        if engine is None:
            return  # `main` looks once there is one
        if self._signals > 1:
            engine.kill()
        else:
            warn("Stopping; finished rollouts are kept.")
            engine.stop(STOPS_WITHIN_S if self.state.refusal is None else STOPS_WITHOUT_DISK_S)
            asyncio.get_running_loop().run_in_executor(None, engine.wait)

    def _publish(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._say([*opening_lines(self.state), ""])
        elif isinstance(event, Noticed):
            warn(f"{event.level}: {event.text}")
        elif isinstance(event, RolloutFinished) and event.error is not None:
            self._errors.print(
                event.error,
                f"example {event.example_id}, rollout {event.number}",
                self.state.run.env_id if self.state.run else "",
                lambda: self._feed.saved(event.row, event.offset, event.length),
            )

    def _print_progress(self) -> None:
        state = self.state
        if state.refusal is not None:
            line = self._progress.refusal_line(state.refusal)
        elif self._progress.is_due(state.finished, state.total):
            line = progress_line(state.finished, state.total)
        else:
            waiting = state.sleeping, state.last_cause, state.next_try_at
            line = self._progress.waiting_line(*waiting)
        if line:
            self._say([line + gives_way(state)])

    def sum_up(self, more: Callable[[RunDir], Mapping[str, Any]]) -> int:
        """Pushes runs and prints the results of all; returns the exit code."""
        state = self.state
        if self.held is not None:
            return report_held(self.held, state, as_json=self._as_json)
        if self.suite.state.started is not None:
            return self.suite.sum_up(abbreviated=self._abbreviated)
        if state.refused:
            return refuse((Fault(*fault) for fault in state.refused), as_json=self._as_json)
        end = state.end or interrupted(clock.now(), UNSTARTED)
        run = RunDir(Path(state.run.path)) if state.run is not None else None
        pushes = push_requested({0: (run, end.status)}) if run is not None else {}
        code = code_with_pushes(end.exit_code, pushes.values())
        beside = {"hub": pushes[0]} if pushes else {}
        if end.status == "failed":
            warn(f"error: {end.text}")
        if self._as_json and run is None:
            print_json(unstarted_object(end.status, end.exit_code, end.text))
        elif self._as_json and run is not None:
            print_json({**summary_object(state), **beside, **more(run), "exit_code": code})
            print_stderr(ending_lines(state) if end.status != "finished" else ())
        elif run is not None:
            results = result_lines(state, abbreviated=self._abbreviated)
            print_stdout([*results, *ending_lines(state)])
        elif end.status == "interrupted":
            warn(f"{UNSTARTED.capitalize()}.")
        return code
