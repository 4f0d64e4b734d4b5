"""`python -m tui_eval` and the console script `tui-eval`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs the command line and exits with its code."""
    from tui_eval.cli.main import cli

    _ready_streams()
    sys.exit(cli())


def _ready_streams() -> None:
    """Streams that the caller closed lead nowhere; what the others cannot encode is replaced."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
        elif mode == "w":
            getattr(sys, name).reconfigure(errors="replace")


if __name__ == "__main__":
    main()
