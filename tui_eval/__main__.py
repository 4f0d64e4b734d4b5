"""`python -m tui_eval` and the console script `tui-eval`."""

from __future__ import annotations

import sys

NOT_ON_WINDOWS = (
    "error: tui-eval does not run on Windows itself, but in WSL, Windows' own Linux: run "
    "`wsl --install` once, then install and start tui-eval in there"
)


def main() -> None:
    """Runs the command line and exits with its code; 130 where a signal ends it."""
    if sys.platform == "win32":
        sys.exit(NOT_ON_WINDOWS)
    from tui_eval.cli.signals import interrupt_on_signals

    try:
        interrupt_on_signals()
        from tui_eval.open_files import raise_limit

        raise_limit()
        from tui_eval.cli.main import cli
        from tui_eval.cli.output import last_code, ready_streams

        ready_streams()
        sys.exit(last_code(cli()))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
