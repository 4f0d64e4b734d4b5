"""`tui-eval`: finds the command, and nothing else."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import click

from tui_eval import __version__
from tui_eval.cli.signals import was_interrupted

_MODULES = {
    "agent": "agent.agent",
    "compare": "compare.compare",
    "gate": "compare.gate",
    "report": "report_runs",
    "serve": "serve.serve",
}
"""Modules of commands that are not called like them."""
COMMANDS = {
    name: f"tui_eval.cli.{_MODULES.get(name, name.replace('-', '_'))}"
    for name in (
        *("home", "run", "agent", "new", "new-env", "env", "demo", "open", "status", "save"),
        *("config", "report", "ls", "compare", "gate", "plan", "export", "note", "push", "serve"),
    )
}
"""The modules of the commands, in the order of the help."""

NO_MOUSE = "--no-mouse"


class Commands(click.Group):
    """Loads a command when it is used; what is no command is an environment to run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home = COMMANDS.get(cmd_name)
        if home is None:
            return None
        command: click.Command = importlib.import_module(home).command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {"--help", "-h", "--version"}
        if not args:
            from tui_eval.cli.screen import has_terminal

            args = ["home"] if has_terminal() else args
        if args and args[0] not in COMMANDS and args[0] not in own:
            args = [command_of(args[0]), *args]
        return super().parse_args(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], *rest: Any, **extra: Any
    ) -> click.Context:
        """Removes the option that every command has."""
        end = args.index("--") if "--" in args else len(args)
        if NO_MOUSE in args[:end]:
            os.environ["TUI_EVAL_NO_MOUSE"] = "1"
            args = [one for one in args[:end] if one != NO_MOUSE] + args[end:]
        return super().make_context(info_name, args, *rest, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Refuses a working directory that is gone: all paths are looked up from it."""
        try:
            Path.cwd()
        except FileNotFoundError:
            raise click.UsageError("the working directory was removed; cd to another one") from None
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from tui_eval.tui.base.terminal.starting import erase_start

            erase_start()  # click ends the line
            raise


def command_of(word: str) -> str:
    """The command for a word that is none: a run is opened, all else is run.

    A folder of results is opened where it is named as a path: as `name` it may be an environment.
    An environment's own folder, which may have data in such files, is none.
    So is a file with an ending, which says what it is where it is no run.
    """
    from tui_eval.runs.layout import EVALS, RunDir, runs_below

    path = Path(word)
    try:
        path.lstat()
    except OSError:
        return "run"
    if path.suffix not in ("", ".toml", ".py") and path.is_file():
        return "open"
    if RunDir(path).is_run():
        return "open"
    below = runs_below(path.resolve()) if os.sep in word else []
    return "open" if any(one.path.parents[1].name == EVALS for one in below) else "run"


@click.command(
    cls=Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="tui-eval ENV_OR_CONFIG is short for tui-eval run ENV_OR_CONFIG, tui-eval RUN for "
    "tui-eval open. tui-eval alone on a "
    "terminal is tui-eval home.",
)
@click.version_option(__version__, prog_name="tui-eval")
@click.option(
    NO_MOUSE,
    is_flag=True,
    expose_value=False,
    help="Leave the mouse to the terminal, which then selects text without Shift; "
    "with every command that has a screen. TUI_EVAL_NO_MOUSE=1 does the same.",
)
def _commands() -> None:
    """Watch, steer and keep the rollouts of language-model evaluations."""


def cli(args: list[str] | None = None) -> int:
    """Runs a command; returns its exit code.

    Wrong usage and what is refused are reported on stderr and give 2, a file that the system
    refuses gives 1.
    """
    try:
        code: Any = _commands.main(args, prog_name="tui-eval", standalone_mode=False)
    except click.ClickException as error:
        if _wants_json(args):
            from tui_eval.cli.console.printing import print_json
            from tui_eval.errors import Fault
            from tui_eval.runs.summary_json import refused_object

            print_json(refused_object([Fault("command line", error.format_message())]))
        error.show()
        return error.exit_code
    except Exception as error:
        return _reported(error, _wants_json(args))
    return code if isinstance(code, int) else 0


def _reported(error: Exception, as_json: bool) -> int:
    """Reports why a command ended early; returns the exit code. Raises unexpected errors again."""
    from tui_eval.errors import RefusedError

    if isinstance(error, RefusedError):
        from tui_eval.cli.console.printing import refuse

        return refuse(error.faults, as_json=as_json, code=error.exit_code)
    from tui_eval import clock
    from tui_eval.runs.outcome import UNSTARTED, failed, interrupted

    end = interrupted(clock.now(), UNSTARTED)
    if isinstance(error, click.Abort) or was_interrupted(error):
        _hide_loop_warnings()
    elif isinstance(error, OSError) and error.filename:
        from tui_eval.cli.console.printing import warn

        end = failed(clock.now(), f"{error.filename}: {error.strerror}")
        warn(f"error: {end.text}")
    else:
        raise error
    if as_json:
        from tui_eval.cli.console.printing import print_json
        from tui_eval.runs.summary_json import unstarted_object

        print_json(unstarted_object(end.status, end.exit_code, end.text))
    return end.exit_code


def _hide_loop_warnings() -> None:
    """Hides the warnings of an event loop that a signal interrupted while it was created."""
    import warnings

    sys.unraisablehook = lambda _: None
    warnings.simplefilter("ignore")


def _wants_json(args: list[str] | None) -> bool:
    return "--json" in (sys.argv[1:] if args is None else args)
