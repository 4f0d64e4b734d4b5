"""An environment of three turns, and how it is run at a server whose answers are scripted."""

from __future__ import annotations

from program import chat_answer
from servers import FaultServer, Reply

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))

TALK = """
    import tui_eval as vf

    class Talk(vf.MultiTurnEnv):
        def __init__(self, size=12, own=None, **kwargs):
            self.own = own
            rows = [{"question": str(n)} for n in range(size)]
            super().__init__(dataset=rows, **kwargs)

        async def env_response(self, messages, state):
            return [{"role": "user", "content": "go on"}]

    def together(completions):
        return [1.0] * len(completions)

    def load_environment(grouped=False):
        funcs = [together] if grouped else [lambda completion: 1.0]
        return Talk(max_turns=3, system_prompt="old", rubric=vf.Rubric(funcs=funcs))
"""


def at(server: FaultServer, *args: str) -> list[str]:
    return ["talk", "-m", "m", "-b", f"{server.url}/v1", "-s", *args]
