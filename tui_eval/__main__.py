"""`python -m tui_eval` and the console script `tui-eval`."""

from __future__ import annotations

import sys


def main() -> None:
    """Runs the command line and exits with its code."""
    from tui_eval.cli.main import cli

    sys.exit(cli())


if __name__ == "__main__":
    main()
