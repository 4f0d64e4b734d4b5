"""`python -m tui_eval` and the console script `tui-eval`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs the command line and exits with its code; 130 where a signal ends it."""
    from tui_eval.cli.interrupting import interrupt_on_signals

    try:
        interrupt_on_signals()
        from tui_eval.cli.main import cli

        _ready_streams()
        sys.exit(cli())
    except KeyboardInterrupt:
        sys.exit(130)


def _ready_streams() -> None:
    """Streams that the caller closed lead nowhere; what the others cannot encode is replaced."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
        elif mode == "w":
            getattr(sys, name).reconfigure(errors="replace")


if __name__ == "__main__":
    main()
