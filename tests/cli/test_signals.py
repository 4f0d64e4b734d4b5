"""A signal ends the command as one, whatever its interrupt is turned into on the way."""

from __future__ import annotations

import subprocess
import sys

import pytest

TURNED = """
import os, signal
import tui_eval.cli.main as main
from tui_eval.cli.signals import interrupt_on_signals

class Turning:
    def main(self, *args, **options):
        if {signalled}:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
            except KeyboardInterrupt:
                pass
        raise TypeError("expected a message argument")

interrupt_on_signals()
main._commands = Turning()
print(main.cli([]))
"""


@pytest.mark.parametrize("signalled", [True, False])
def test_an_interrupt_that_a_module_being_loaded_turns_into_something_else(signalled: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TURNED.format(signalled=signalled)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    if signalled:
        assert (done.returncode, done.stdout) == (0, "130\n"), done.stderr
    else:
        assert "TypeError: expected a message argument" in done.stderr
