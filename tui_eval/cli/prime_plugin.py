"""Plugin for the `prime` program: the Python modules that run its commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

PRIME_PLUGIN_API_VERSION = 1
"""Version of the contract between `prime` and the library."""

_ABSENT = "tui_eval.cli.prime_plugin"


@dataclass(frozen=True)
class PrimeCLIPlugin:
    """The module that runs each command of `prime`.

    Args:
        api_version: Version of this contract.
        eval_module: Runs an evaluation: `python -m tui_eval ENVIRONMENT ...`.
        gepa_module, install_module, init_module, setup_module, build_module: Commands that we do
            not have: a module that says so and ends with exit code 2.
    """

    api_version: int = PRIME_PLUGIN_API_VERSION
    eval_module: str = "tui_eval"
    gepa_module: str = _ABSENT
    install_module: str = _ABSENT
    init_module: str = _ABSENT
    setup_module: str = _ABSENT
    build_module: str = _ABSENT

    def build_module_command(
        self, module_name: str, args: Sequence[str] | None = None
    ) -> list[str]:
        """The command that runs a module in this Python.

        Args:
            module_name: One of the modules above.
            args: Its arguments.
        """
        return [sys.executable, "-m", module_name, *(args or ())]


def get_plugin() -> PrimeCLIPlugin:
    """The plugin that `prime` uses."""
    return PrimeCLIPlugin()


def main() -> int:
    """Says that a command is not ours; returns the exit code."""
    print(
        "tui-eval runs evaluations (prime eval run). It has no gepa, install, init, setup or "
        "build: for these, install verifiers in the workspace of prime.",
        file=sys.stderr,
    )
    return 2


if __name__ == "__main__":
    sys.exit(main())
