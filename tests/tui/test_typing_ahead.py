"""Keys typed faster than the screen takes them, on a real terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from program import Program
from terminal import Terminal
from tiers import first_always


@pytest.fixture
def terminal(program: Program) -> Iterator[Terminal]:
    program.run("reverse-text", "-m", "demo", "-n", "5", "-r", "1", "-s")
    terminal = Terminal(program.folder, program.env, "open", str(program.only_run().path))
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("keys", "seen"),
    first_always(
        [
            ("/example=3 exact", "/ example=3 exact"),  # else its x, e and space are commands
            ("/example=3\r/ or example=1", "2 of 5"),
            ("4/next x\r", "“next x”"),
            ("2/zzz x\r", "/zzz x"),
            (":to the light", "to the light"),
            ("aseen\tq", "seen"),
            ("Cfolder x", "-copyfolder x"),
            ("/x\x1b[200~yz q\x1b[201~", "/ xyz q"),
        ],
        3,
    ),
)
def test_every_key_meets_what_the_one_before_it_opened(
    terminal: Terminal, keys: str, seen: str
) -> None:
    terminal.wait_for("finished in")
    terminal.type(keys)
    terminal.wait_for(seen)
    assert terminal.process.poll() is None


def test_enter_counts_where_it_was_typed_before_the_program_had_the_terminal(
    program: Program,
) -> None:
    program.run("reverse-text", "-m", "demo", "-n", "5", "-r", "1", "-s")
    run = str(program.only_run().path)
    args = ("open", run)
    terminal = Terminal(program.folder, program.env, *args, typed="/example=3\r4", preloaded=False)
    try:
        terminal.wait_for("1 of 5")
    finally:
        terminal.close()
