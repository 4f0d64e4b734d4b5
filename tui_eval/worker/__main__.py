"""`python -m tui_eval.worker`: a worker process, which an engine starts."""

# ruff: noqa: E402
from __future__ import annotations

import gc

gc.disable()  # until everything is loaded: see `tune_memory`

import argparse
import asyncio
import os
import signal
import socket
import threading
import time

from tui_eval.clients.proxies import spare_loopback
from tui_eval.errors import ctrl_c_raises_nothing
from tui_eval.open_files import raise_limit
from tui_eval.processes import has_ended
from tui_eval.worker.logging.inherited_context import inherit_context
from tui_eval.worker.logging.run_log import end_output
from tui_eval.worker.process import LEAVES_WITHIN_S, WorkerProcess
from tui_eval.worker.vital_signs import VitalSigns

POLL_INTERVAL_S = 0.5


def _end_after(parent: int) -> None:
    """Ends this process once its engine is gone, also while people's code holds the loop.

    A killed engine stays where a thread of it hangs in a call of its disk: it is over all the same.
    """
    while os.getppid() == parent and not has_ended(parent):
        time.sleep(POLL_INTERVAL_S)
    time.sleep(LEAVES_WITHIN_S + POLL_INTERVAL_S)
    os._exit(1)


def main() -> None:
    """Works for the engine at the other end of a socket, until it has this end or is gone."""
    parser = argparse.ArgumentParser(prog="python -m tui_eval.worker", description=__doc__)
    parser.add_argument("--socket-fd", type=int, required=True, help="connected to the engine")
    parser.add_argument("--signs-fd", type=int, required=True, help="see `VitalSigns`")
    args = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine decides about the end
    ctrl_c_raises_nothing()
    raise_limit()
    spare_loopback()
    inherit_context()
    threading.Thread(target=_end_after, args=[os.getppid()], daemon=True).start()
    signs = VitalSigns(args.signs_fd)
    signs.answer_where()
    asyncio.run(_work(signs, socket.socket(fileno=args.socket_fd)))


async def _work(signs: VitalSigns, sock: socket.socket) -> None:
    await WorkerProcess(signs).main(sock)
    end_output()
    os._exit(0)  # `asyncio.run` would wait for tasks and threads that people's code left running


if __name__ == "__main__":
    main()
