"""`tui-eval run ENVIRONMENT`: rollouts on the screen, or as plain lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from tui_eval.config.options import BY_NAME, NEWEST, OPTIONS, Option
from tui_eval.config.values import parse_values
from tui_eval.errors import Fault, RefusedError
from tui_eval.pasted import collected

SCREEN_VAR = "TUI_EVAL_SCREEN"
"""Variable that, set to 0, requests lines in place of the screen."""

LAST_HEADING = "This command"
"""Heading of options that are not of a run: --help."""

MOST_FLAGS_WIDTH = 34
"""Columns of the help that flags may take beside their explanation."""

HOSTED = frozenset(
    {
        *("--hosted", "--follow", "--poll-interval", "--timeout-minutes", "--eval-name"),
        *("--allow-sandbox-access", "--allow-instances-access", "--custom-secrets"),
    }
)
"""Flags that people know from evaluations on other people's machines."""


def run_options(function: Any) -> Any:
    """Adds every option of a run to a command, as text: see `parse_request`."""
    for option in reversed(OPTIONS):
        if option.flags:
            function = click_option(option)(function)
    return function


class GroupedCommand(click.Command):
    """A command whose help shows the options of a run under their headings."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses as click does; faults name options of hosted evaluations as such.

        Raises:
            click.UsageError: The command line is wrong.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name not in HOSTED:
                raise
            text = f"{error.option_name}: hosted evaluations are not in this version"
            raise click.UsageError(text, ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes one section for each heading, in the order of the table of options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                option = BY_NAME.get(parameter.name or "")
                heading = option.group if option else LAST_HEADING
                sections.setdefault(heading, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=MOST_FLAGS_WIDTH)


def click_option(option: Option) -> Any:
    """A decorator that adds one option to a command."""
    names = (*option.flags, option.name)
    if option.kind == "flag":
        return click.option(*names, is_flag=True, default=None, help=option.help)
    extra: dict[str, Any] = {}
    if option.kind == "optional_path":
        extra = {"is_flag": False, "flag_value": NEWEST}
    if option.kind in ("headers", "sets"):
        extra = {"multiple": True}
    default = f"  [default: {option.default}]" if option.default is not None else ""
    return click.option(*names, metavar=option.metavar, help=option.help + default, **extra)


@click.command("run", cls=GroupedCommand)
@click.argument("environment", metavar="ENV_OR_CONFIG", required=False)
@run_options
def command(environment: str | None, **raw: Any) -> int:
    """Run an environment's examples with a model and watch the rollouts.

    ENV_OR_CONFIG is the name of a bundled environment, of one under ./environments, or of an
    installed one; or the path of a .toml file of evaluations. Leaving it out needs --resume.
    """
    return run(environment, typed_of(raw))


def typed_of(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Typed values by the names of the options: text, True, or a list of texts."""
    given = {name: value for name, value in raw.items() if value is not None and value != ()}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in given.items()}


def run(environment: str | None, raw: dict[str, Any]) -> int:
    """Runs a request and shows it; returns the exit code of the run.

    Args:
        raw: Text of the options that were typed, by name (see `config.options`).
    """
    if environment is None and not raw.get("resume"):
        raise click.UsageError("Name an environment, or a run to resume: --resume PATH")
    faults = not_text({"ENVIRONMENT": environment, **raw})
    if environment is None and raw.get("resume") == NEWEST and not faults:
        raw, faults = _name_newest(raw)
    if faults:
        raise RefusedError(faults)
    request, is_right = parse_request({"env_id": environment, "raw": raw})
    if raw.get("dry_run"):
        from tui_eval.cli.dry_run import show_dry_run

        return show_dry_run(request)
    from tui_eval.engine.transport.launcher import Launch

    if not is_right or prints_lines(environment, raw):
        from tui_eval.cli.console.console import run_in_console

        return run_in_console(Launch(request))
    from tui_eval.cli.screen import run_on_screen

    return run_on_screen(Launch(request))


def parse_request(request: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """A request with the values of its options, and whether all of them are right.

    What is wrong with one, and that something pasted was cleaned, is sent with it: the engine
    reports it together with what is wrong with the rest, also in its file.
    """
    with collected() as pasted:
        values, faults = parse_values(request["raw"])
    raw = {**request["raw"], **values}
    return {**request, "raw": raw, "parsed": (faults, pasted)}, not faults


def _name_newest(raw: dict[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """Typed options with the path of the newest incomplete run; a fault where there is none."""
    from tui_eval.cli.console.printing import warn
    from tui_eval.cli.resume_command import is_of_agent, newest_here

    one, another = newest_here(lambda env_id: not is_of_agent(env_id))
    if one is None:
        hint = f"Name the environment of a new one{another}"
        return raw, [Fault("--resume", "no incomplete run was begun in this folder", hint)]
    warn(one.resuming)
    return {**raw, "resume": str(one.run.path)}, []


def prints_lines(environment: str | None, raw: Mapping[str, Any]) -> bool:
    """Whether lines are printed in place of the screen; warns where the screen was requested.

    `TUI_EVAL_SCREEN=0` requests lines on a terminal too, unless the screen was requested.
    """
    from tui_eval.cli.screen import has_terminal

    if raw.get("debug") or raw.get("json"):
        return True
    if has_terminal():
        is_off = os.environ.get(SCREEN_VAR) == "0"
        return not raw.get("tui") and (is_off or _wants_lines(environment))
    if raw.get("tui"):
        from tui_eval.cli.console.printing import warn

        warn("warning: -u/--tui: there is no terminal, so lines are printed")
    return True


def _wants_lines(environment: str | None) -> bool:
    """Whether a TOML file of evaluations says `debug`; the engine says what is wrong with it."""
    if environment is None or not environment.endswith(".toml"):
        return False
    from tui_eval.config.toml_files import read_toml

    file, _ = read_toml(Path(environment), "the file of evaluations")
    own = file.tables.get("eval") if file else None
    tables = [file.tables if file else {}, *(own if isinstance(own, list) else [])]
    return any(isinstance(table, dict) and table.get("debug") is True for table in tables)


def not_text(typed: Mapping[str, Any]) -> list[Fault]:
    """Arguments that are no text: their bytes could not be kept in any file of ours."""
    flags = {name: option.shown for name, option in BY_NAME.items()}
    return [
        Fault(flags.get(name, name), f"{text!r} is not UTF-8 text")
        for name, given in typed.items()
        for text in (given if isinstance(given, list) else [given])
        if isinstance(text, str) and text != text.encode("utf-8", "replace").decode()
    ]
