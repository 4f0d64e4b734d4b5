"""Runs of one small environment, and how one that is refused before it costs anything is known."""

from __future__ import annotations

from program import Finished, Program, chat_answer
from run_here import run_here
from servers import FaultServer, Reply

CHAT, MODELS = "/v1/chat/completions", "/v1/models"

ECHO = """
    import tui_eval as vf
    {before}

    def load_environment():
        return vf.SingleTurnEnv(dataset=[{{"question": "a", "answer": "b"}}], rubric={rubric})
"""


def listed(*names: str) -> Reply:
    return Reply(body={"object": "list", "data": [{"id": name} for name in names]})


def echo(program: Program, rubric: str = "vf.Rubric()", before: str = "") -> None:
    program.environment("echo", ECHO.format(rubric=rubric, before=before))


def run(program: Program, server: FaultServer, *more: str) -> Finished:
    server.script(CHAT, [Reply(body=chat_answer("yes"))])
    url = f"{server.url}/v1"
    return run_here(program, "echo", "-m", "qwen3", "-b", url, "-n", "1", "-r", "1", *more)


def assert_refused_unpaid(done: Finished, server: FaultServer, *said: str) -> None:
    assert done.code == 2, done
    for text in said:
        assert text in done.err, done
    assert not [one for one in server.requests if one.path == CHAT]


def run_all(program: Program, *own: str) -> Finished:
    """One evaluation of one rollout for each text, as one run."""
    top = 'model = "qwen3"\nnum_examples = 1\nrollouts_per_example = 1\n'
    tables = "\n".join(f"[[eval]]\n{one}" for one in own)
    (program.folder / "all.toml").write_text(top + tables)
    return program.run("all.toml")
