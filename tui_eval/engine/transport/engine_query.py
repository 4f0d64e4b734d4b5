"""Queries that an engine answers by printing JSON: a plan, an environment, a list."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Mapping
from typing import Any

from tui_eval.errors import Fault
from tui_eval.processes import signal_group
from tui_eval.runs.summary_json import refused_object

_GONE_WITHIN_S = 2.0


async def query_engine(
    *words: str, request: Mapping[str, Any] | None = None, within: float
) -> dict[str, Any]:
    """Runs an engine for the object that it prints; cancelled, it leaves no process behind.

    Args:
        words: Of its command line.
        request: Given to it on standard input (see `config.plan.Request`).
        within: Its time limit in seconds.

    Returns:
        Its object, or one with `faults` where it printed none.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tui_eval.engine", *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        return _fault(f"no process could be started: {error.strerror or error}")
    requested = b"" if request is None else json.dumps(request).encode()
    try:
        async with asyncio.timeout(within):
            out, _ = await process.communicate(requested)
        found: dict[str, Any] = json.loads(out)
    except TimeoutError:
        return _fault(f"the engine has not answered within {within:g} s")
    except ValueError:
        return _fault(f"the engine ended with {process.returncode} before it answered")
    finally:
        # It leads its own session, and people's code may have started more in it.
        signal_group(process.pid, signal.SIGKILL)
        # A loop that ends with its pipes open has them closed by the garbage collector, too late.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GONE_WITHIN_S):
                await process.communicate()
    return found


def _fault(what: str) -> dict[str, Any]:
    return refused_object([Fault("engine", what)])
