"""`tui-eval new-env NAME`: an environment to begin with, which runs at once."""

from __future__ import annotations

from pathlib import Path

import click

from tui_eval.cli.env import USUAL, env_folder
from tui_eval.cli.starting_environment import KINDS


@click.command("new-env")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    default="single",
    show_default=True,
    help="What the model does: answers once, calls tools, or takes turns.",
)
@env_folder
def command(name: str, kind: str, folder: Path) -> int:
    """Write an environment to begin with: module, dataset, README, and tests that pass.

    It runs at once: `tui-eval NAME -m demo`. Nothing that is there is overwritten.
    """
    import shlex

    from tui_eval.cli.report import print_stdout
    from tui_eval.cli.starting_environment import write_environment

    made = write_environment(name, kind, folder)
    where = "" if folder == USUAL else f" --env-dir-path {shlex.quote(str(folder))}"
    print_stdout(
        [
            f"Wrote {made.folder}: {', '.join(made.files)}",
            f"Run it:    tui-eval {made.name} -m demo{where}",
            f"Check it:  tui-eval env check {made.name}{where}",
            f"Test it:   pytest {shlex.quote(str(made.folder))}",
        ]
    )
    return 0
