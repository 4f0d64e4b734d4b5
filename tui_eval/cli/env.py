"""`tui-eval env`: commands about environments."""

from __future__ import annotations

import importlib

import click

_COMMANDS = {"check": "tui_eval.cli.env_check"}


class EnvCommands(click.Group):
    """Loads a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        home = _COMMANDS.get(cmd_name)
        found: click.Command | None = importlib.import_module(home).command if home else None
        return found


@click.command("env", cls=EnvCommands)
def command() -> None:
    """Look at an environment before it runs; `tui-eval new-env` writes one."""
