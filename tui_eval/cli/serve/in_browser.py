"""The process behind one tab of a browser: the command line, ended with the server."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time

from tui_eval.processes import signal_group

LEAVES_WITHIN_S = 5.0
POLL_INTERVAL_S = 0.1


def main() -> None:
    """Runs the command line; it ends once the other end of stdin is closed."""
    threading.Thread(target=_end_with_stdin, args=(sys.stdin.fileno(),), daemon=True).start()
    from tui_eval.__main__ import main as program

    program()


def _end_with_stdin(fd: int) -> None:
    """Ends the process with stdin, as with a terminal, also if the server was killed."""
    poll = select.poll()
    poll.register(fd, select.POLLHUP)  # of the end only; what comes in is the driver's
    while not poll.poll():
        time.sleep(POLL_INTERVAL_S)  # a Mac's poll comes back while there is something to read
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(LEAVES_WITHIN_S)
    signal_group(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
