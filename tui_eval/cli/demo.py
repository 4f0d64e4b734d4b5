"""`tui-eval demo`: something to watch at once, without key or network."""

from __future__ import annotations

from typing import Any

import click

from tui_eval.cli.run import GroupedCommand, run, run_options, typed_of
from tui_eval.config.options import DEMO


@click.command("demo", cls=GroupedCommand)
@click.argument("environment", default="calculator")
@run_options
def command(environment: str, **raw: Any) -> int:
    """Run a bundled environment on the embedded endpoint, a scripted policy on this machine.

    ENVIRONMENT is calculator, reverse-text or word-guess. No key and no network are needed; the
    policy is no language model.
    """
    return run(environment, {**DEMO, **typed_of(raw)})
