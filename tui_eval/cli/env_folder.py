"""The option of commands about environments that says where local ones are."""

from __future__ import annotations

from pathlib import Path

import click

USUAL = Path("environments")

env_folder = click.option(
    "--env-dir-path",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=USUAL,
    show_default=True,
    help="Where local environments are.",
)
