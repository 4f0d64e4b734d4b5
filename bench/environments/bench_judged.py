"""Single-turn questions whose reward calls an endpoint of its own."""

from __future__ import annotations

import aiohttp

import tui_eval as vf


def load_environment(judge_url: str, num_examples: int = 20000) -> vf.Environment:
    """Questions that a judge at `judge_url` finds right if it answers at all."""
    sessions: list[aiohttp.ClientSession] = []

    async def judged(completion: vf.Messages) -> float:
        """1 where the judge answered."""
        if not sessions:
            sessions.append(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        body = {"model": "judge", "messages": []}
        async with sessions[0].post(f"{judge_url}/chat/completions", json=body) as answer:
            await answer.read()
            return float(answer.status == 200)

    class Judged(vf.SingleTurnEnv):
        @vf.teardown
        async def close(self) -> None:
            for session in sessions:
                await session.close()

    dataset = [{"question": f"What is {i} + 2?", "answer": "42"} for i in range(num_examples)]
    return Judged(dataset=dataset, rubric=vf.Rubric(funcs=[judged]))
