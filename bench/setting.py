"""Setting that all measurements share: a folder, an endpoint, variables."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from bench.endpoint import FastEndpoint

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / "bench" / "environments"


class Setting:
    """A temporary folder with the endpoint running; a context manager.

    Args:
        quick: Fewer repeats and shorter runs, for a first look.
    """

    def __init__(self, quick: bool = False) -> None:
        self.quick = quick
        self.folder = Path(tempfile.mkdtemp(prefix="tui-eval-bench-"))
        self.endpoint = FastEndpoint(self.folder)
        self._files = 0

    def __enter__(self) -> Setting:
        try:
            self.endpoint.__enter__()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.endpoint.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)

    def repeats(self, full: int, quick: int = 1) -> int:
        """Number of measurements."""
        return quick if self.quick else full

    def new_path(self, suffix: str) -> Path:
        """A path in the folder that nothing has used."""
        self._files += 1
        return self.folder / f"{self._files}{suffix}"

    def variables(self) -> dict[str, str]:
        """Environment variables for a child: its state apart, compiled modules kept."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        kept.pop("TUI_EVAL_PLAIN", None)
        return kept | {
            "PYTHONPATH": str(ROOT),
            "TUI_EVAL_STATE_DIR": str(self.folder / "state"),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }

    def raw_options(
        self,
        url: str,
        rollouts: int,
        max_concurrent: int = 256,
        env_args: str = "{}",
    ) -> dict[str, str]:
        """The options of a run of `bench-math`, by name, as text."""
        return {
            "model": "mock",
            "api_base_url": url,
            "num_examples": str(rollouts),
            "rollouts_per_example": "1",
            "max_concurrent": str(max_concurrent),
            "temperature": "0.7",
            "max_tokens": "128",
            "env_args": env_args,
            "env_dir_path": str(ENVIRONMENTS),
            "output_dir": str(self.folder / "outputs"),
        }
