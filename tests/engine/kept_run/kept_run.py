"""A finished run that every test finds as it was, and commands on its folder."""

from __future__ import annotations

from program import Finished, Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
ENV = """
    import tui_eval as vf

    def load_environment(level=1):
        rows = [{"question": f"q{n}WORD", "answer": "a"} for n in range(10)]
        return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric(funcs=[FUNCTION]))
"""


def write(program: Program, word: str = "", function: str = "lambda answer: 1.0") -> None:
    program.environment("kept", ENV.replace("WORD", word).replace("FUNCTION", function))


def evaluate(program: Program, server: FaultServer, *more: str) -> Finished:
    return run_here(program, "kept", "-m", "m", "-b", f"{server.url}/v1", "-r", "1", *more)
