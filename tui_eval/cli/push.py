"""`tui-eval push RUN`: a saved run as a dataset on the Hugging Face hub."""

from __future__ import annotations

import os
from pathlib import Path

import click

QUIET = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "DATASETS_VERBOSITY": "error",
}


@click.command("push")
@click.argument("path", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "-D",
    "--hf-hub-dataset-name",
    "name",
    metavar="OWNER/NAME",
    help="Name of the dataset; the one of the run, or one "
    "from its environment and model, if left out.",
)
@click.option("--private", is_flag=True, help="A new dataset is yours alone.")
def command(path: Path, name: str | None, private: bool) -> int:
    """Push a run's rollouts to the Hugging Face hub as a dataset.

    RUN is the directory that holds its results.jsonl. Log in before with `hf auth login`, or set
    HF_TOKEN.
    """
    from tui_eval.cli.console.printing import print_faults, print_stdout, warn
    from tui_eval.errors import RefusedError
    from tui_eval.runs.hub_push import push_run, retry
    from tui_eval.runs.run_info import read_requested
    from tui_eval.runs.saved_run import find_run

    run = find_run(path)
    name = name or read_requested(run).get("hf_hub_dataset_name")
    os.environ |= QUIET
    try:
        pushed, rows = push_run(run, name, private=private)
    except RefusedError as error:
        print_faults(error.faults)
        warn(f"The rollouts are in {run.path}. Try again: {retry(run, name)}")
        return 1
    print_stdout([f"Pushed {rows:,} rollouts to the dataset {pushed}"])
    return 0
