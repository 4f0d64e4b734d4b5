"""`tui-eval agent`: an agent loop of the Osmosis SDK over a dataset, scored by eval functions."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui_eval.cli.run import click_option
from tui_eval.config.options import BY_NAME

if TYPE_CHECKING:
    from tui_eval.cli.agent.agent_results import AgentResults
    from tui_eval.engine.transport.launcher import Launch
    from tui_eval.runs.layout import RunDir

DEBUG_DIR = "local_debug"
DEBUG_VAR = "TUI_EVAL_AGENT_DEBUG"

F = TypeVar("F", bound=Callable[..., Any])
_text = click.option


def _flag(*names: str, help: str) -> Callable[[F], F]:
    return click.option(*names, is_flag=True, default=None, help=help)


def _as_in_run(*names: str) -> Callable[[F], F]:
    """Options shared with `tui-eval run`, in this order."""

    def add(function: F) -> F:
        for name in reversed(names):
            function = click_option(BY_NAME[name])(function)
        return function

    return add


@click.command("agent")
@_text("-m", "--module", metavar="MODULE:NAME", help="The agent loop: an object or its class.")
@_text("-d", "--dataset", metavar="FILE", help="Examples, one a row: .jsonl, .json, .csv or "
       ".parquet.")  # fmt: skip
@_text("--eval-fn", metavar="MODULE:NAME", multiple=True, help="A function that scores; may be "
       "given several times. The first one gives the reward.")  # fmt: skip
@_text("--model", metavar="NAME", help="Alias in the endpoint registry, provider/model such as "
       "openai/gpt-5-mini, or with --base-url the model's own name.")  # fmt: skip
@_text("-b", "--base-url", "--api-base-url", "base_url", metavar="URL", help="Where an "
       "OpenAI-compatible server is.")  # fmt: skip
@_text("--api-key", metavar="KEY", help="The key itself; it is written nowhere.")
@_as_in_run("api_key_var", "headers", "endpoints_path", "temperature", "max_tokens")
@_text("--n", "n", metavar="N", help="Rollouts of each example.  [default: 1]")
@_text("--pass-threshold", metavar="X", help="Score from which on a rollout passes.  "
       "[default: 1.0]")  # fmt: skip
@_text("--batch-size", metavar="N", help="Maximum number of concurrent rollouts.  [default: 1]")
@_text("--max-turns", metavar="N", help="Most turns, as passed to the agent.  "
       "[default: 10]")  # fmt: skip
@_text("--limit", metavar="N", help="Examples to run at most.  [default: all]")
@_text("--offset", metavar="N", help="Examples to leave out at the begin.  [default: 0]")
@_as_in_run("max_retries", "timeout", "max_cost", "max_total_tokens")
@_text("-o", "--output", metavar="FILE", help="Write scores as JSON; -s keeps the run as well.")
@_as_in_run("save_results", "resume", "keep_errors", "accept_changes", "verbose")
@_flag("--debug", help=f"Plain lines in place of the screen; what agents log goes to "
       f"./{DEBUG_DIR}.")  # fmt: skip
@_flag("--no-screen", help="Plain lines in place of the screen.")
@_as_in_run("tui")
@_flag("-q", "--quiet", help="Print nothing but errors and the scores.")
@_as_in_run("abbreviated_summary", "json", "dry_run", "no_preflight", "heartbeat_url",
            "heartbeat_status")  # fmt: skip
def command(**typed: Any) -> int:
    """Run an agent loop of the Osmosis SDK on a dataset and score what it does.

    Agent loops written for osmosis_ai.rollout and functions decorated with @osmosis_reward run as
    they are, without the SDK. It is a run like any other: watch it, stop it, resume it with
    --resume, open it again.
    """
    from tui_eval.cli.agent.agent_request import make_request, missing, name_newest
    from tui_eval.cli.console.printing import warn
    from tui_eval.config.options import TYPED_KEY_VAR
    from tui_eval.errors import RefusedError

    typed, which = name_newest(typed)
    if faults := missing(typed):
        raise RefusedError(faults)
    if which and not typed["quiet"]:
        warn(which)
    if typed["api_key"]:
        os.environ[TYPED_KEY_VAR] = typed["api_key"]  # the engine inherits it
    if typed["debug"]:
        os.environ[DEBUG_VAR] = DEBUG_DIR
    request = make_request(typed)
    report = ScoreReport(request["scores_path"], typed)
    code = _run(request, report, typed)
    if report.problem:
        warn(f"error: {report.problem}")
        return code or 1
    return code


def _run(request: dict[str, Any], report: ScoreReport, typed: Mapping[str, Any]) -> int:
    from tui_eval.cli.run import parse_request, prints_lines

    request, is_right = parse_request(request)
    if typed["dry_run"]:
        from tui_eval.cli.dry_run import show_dry_run

        return show_dry_run(request)
    is_wrong = request["faults"] or not is_right
    lines = is_wrong or any(typed[flag] for flag in ("debug", "no_screen", "quiet"))
    from tui_eval.engine.transport.launcher import Launch

    if lines or prints_lines(None, request["raw"]):
        return _in_console(Launch(request), report, typed)
    from tui_eval.cli.screen import run_on_screen

    return run_on_screen(Launch(request), report)


def _in_console(launch: Launch, report: ScoreReport, typed: Mapping[str, Any]) -> int:
    from tui_eval.cli.console.console import run_in_console

    quiet = bool(typed["quiet"])
    if typed["json"] or not quiet:
        return run_in_console(launch, report, report.for_json, quiet=quiet)
    run: list[RunDir] = []
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        code = run_in_console(launch, run.append)
    for one in run:
        report(one)
    return code


class ScoreReport:
    """Writes and prints the scores of a run that is over, however it ended.

    `problem` says what failed.

    Args:
        output: File for scores as JSON, if any.
        typed: The typed options.
    """

    def __init__(self, output: str, typed: Mapping[str, Any]) -> None:
        self._output = output
        self._shown = typed["output"] or output
        self._model = typed["model"]
        self._as_json = bool(typed["json"])
        self._results: AgentResults | None = None
        self.problem = ""

    def for_json(self, run: RunDir) -> dict[str, Any]:
        """The scores as they are in the JSON summary."""
        results = self._read(run)
        scores = results.functions.items() if results else ()
        return {"eval_fns": {name: one.to_dict() for name, one in scores}}

    def _read(self, run: RunDir) -> AgentResults | None:
        from tui_eval.cli.agent.agent_results import read_results
        from tui_eval.errors import RefusedError

        try:
            self._results = self._results or read_results(run)
        except RefusedError as error:
            self.problem = f"no scores: {error}"
        return self._results

    def __call__(self, run: RunDir) -> None:
        from tui_eval.cli.agent.agent_results import score_lines
        from tui_eval.cli.console.printing import print_stderr, print_stdout
        from tui_eval.runs.file_writing import new_file
        from tui_eval.runs.lock import holder

        say = print_stderr if self._as_json else print_stdout
        if holder(run.lock) is not None:
            if self._output:
                again = f"tui-eval agent --resume {shlex.quote(str(run.path))}"
                say([f"Scores are written when the run is over: {again}"])
            return
        results = self._read(run)
        if results is None:
            return
        if not self._as_json:
            print_stdout(score_lines(results))
        if not self._output:
            return
        try:
            with new_file(Path(self._output)) as file:
                file.write(results.to_json(self._model))
        except OSError as error:
            self.problem = f"{self._shown} cannot be written: {error.strerror or error}"
            return
        say(["", f"Scores written to: {self._shown}"])
