"""Six turns of text whose rollouts of an example are scored together."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import tui_eval as vf

TURNS = 6
FAULTS = 0.005
ASPECTS = ("good", "short", "true", "polite")


class SixTurns(vf.MultiTurnEnv):
    """Puts every answer into the next question, so that each request depends on all before it."""

    async def env_response(
        self, messages: vf.Messages, state: vf.State, **kwargs: Any
    ) -> vf.Messages:
        """The next question."""
        if state["info"].get("faulty") and random.random() < FAULTS:
            raise RuntimeError("the environment has a bad day")
        answer = messages[-1]["content"]
        return [vf.UserMessage(content=f"{len(messages)}: {answer} What follows?")]


def drawn(completion: vf.Messages) -> float:
    """A number between 0 and 1 that the last answer stands for."""
    return int(completion[-1]["content"], 16) % 1000 / 999


async def above_the_least(states: list[vf.State]) -> list[float]:
    """Distance of each rollout of an example from the least of them."""
    all_drawn = [drawn(state["completion"]) for state in states]
    return [one - min(all_drawn) for one in all_drawn]


def judges(url: str) -> list[Any]:
    """Reward functions that call a judge about each rollout, and about all of an example.

    Args:
        url: URL of the judge's endpoint.
    """
    client = vf.OpenAIChatCompletionsClient(
        vf.ClientConfig(api_base_url=url, api_key_var=""), api_key="none"
    )

    async def verdict(question: str) -> float:
        said = await client.get_response([vf.UserMessage(content=question)], "judge", {})
        return int(str(said.message.content), 16) % 1000 / 999

    async def judged(completion: vf.Messages) -> float:
        """Verdict of the judge on the last answer, one aspect after the other."""
        last = completion[-1]["content"]
        return sum([await verdict(f"How {aspect} is {last}?") for aspect in ASPECTS])

    async def judged_together(states: list[vf.State]) -> list[float]:
        """Verdict of the judge on all last answers, requested once for each rollout."""
        last = sorted(str(state["completion"][-1]["content"]) for state in states)
        question = f"How alike are {', '.join(last)}?"
        return list(await asyncio.gather(*(verdict(question) for _ in states)))

    return [judged, judged_together]


def load_environment(
    num_examples: int = 15, turns: int = TURNS, faulty: bool = False, judge_url: str = ""
) -> vf.Environment:
    """Questions with so many turns each.

    Args:
        faulty: Some of the answers to the model are exceptions.
        judge_url: URL of an endpoint that judges the model's answers; empty for none.
    """
    return SixTurns(
        dataset=[
            {"question": f"What is the number of item {i}?", "info": {"faulty": faulty}}
            for i in range(num_examples)
        ],
        rubric=vf.Rubric(funcs=[drawn, above_the_least, *(judges(judge_url) if judge_url else ())]),
        max_turns=turns,
    )
