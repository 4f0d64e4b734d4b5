"""Errored rollouts that run again after their environment was mended, on a real terminal."""

from __future__ import annotations

import pytest
from program import Program, chat_answer
from servers import FaultServer, Reply
from terminal import Terminal
from tiers import first_always

CHAT = "/v1/chat/completions"
ENV = """
    import tui_eval as vf

    def kept(completion):
        BODY

    def load_environment():
        return vf.SingleTurnEnv(dataset=[{"question": "q"}], rubric=vf.Rubric([kept]))
"""


@pytest.mark.parametrize("words", first_always([["open"], ["home"]]))
def test_mended_code_is_named_and_accepted_on_the_screen(
    program: Program, fault_server: FaultServer, words: list[str]
) -> None:
    program.environment("own", ENV.replace("BODY", "return 1 / 0"))
    fault_server.script(CHAT, [Reply(body=chat_answer("yes"))])
    requested = ("-m", "m", "-b", f"{fault_server.url}/v1", "-k", "", "-n", "1", "-r", "1", "-s")
    program.run("own", *requested)
    program.environment("own", ENV.replace("BODY", "return 1.0"))
    path = [str(program.only_run().path)] if words == ["open"] else []
    terminal = Terminal(program.folder, program.env, *words, *path)
    try:
        if not path:
            terminal.wait_for("1 Runs")
            terminal.wait_for("own")
            terminal.type("\r")
        terminal.wait_for("stopped by max_turns_reached")
        terminal.type_until("R", "Run again?")
        terminal.type("a")
        terminal.wait_for(" run was not resumed")
        terminal.wait_for("code.own.py is hash")
        terminal.type("a")
        terminal.wait_for("finished in")
        terminal.wait_for(lambda: "1 error" not in terminal.text)
        terminal.type("q" if path else "qq")
        if path:
            assert terminal.finish() == 0
    finally:
        terminal.close()
    (row,) = program.only_run().rows
    assert (row["reward"], row["tui_eval"]["code"]) == (1.0, 2)
