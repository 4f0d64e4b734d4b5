"""Environments that a program evaluates, and their requests."""

from __future__ import annotations

from typing import Any

from program import chat_answer
from servers import FaultServer, Reply

import tui_eval as vf

CHAT = "/v1/chat/completions"
GOOD = Reply(body=chat_answer("yes"))
EXAMPLES = [{"question": f"q{n}", "answer": "yes", "info": {"n": n}} for n in range(3)]


def right(completion: Any, answer: str) -> float:
    return float(completion[-1]["content"] == answer)


def environment(*funcs: Any, **kwargs: Any) -> vf.SingleTurnEnv:
    settings = {"dataset": EXAMPLES, "rubric": vf.Rubric(list(funcs or [right])), **kwargs}
    return vf.SingleTurnEnv(**settings)


def config(server: FaultServer, **kwargs: Any) -> vf.ClientConfig:
    return vf.ClientConfig(api_base_url=f"{server.url}/v1", api_key_var="", **kwargs)
