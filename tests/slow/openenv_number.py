"""An environment written with the package openenv-core: a number is guessed."""

from __future__ import annotations

import random
from typing import Any

from openenv.core.env_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class Guess(Action):
    number: int


class Seen(Observation):
    text: str


class Number(Environment[Guess, Seen, State]):
    def __init__(self) -> None:
        super().__init__()
        self._secret = self._steps = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **more: Any) -> Seen:
        self._secret, self._steps = random.Random(seed).randint(1, 9), 0
        return Seen(text="Guess a number from 1 to 9.", done=False, reward=0.0)

    def step(self, action: Guess, timeout_s: float | None = None, **more: Any) -> Seen:
        self._steps += 1
        found = action.number == self._secret
        hint = "Right." if found else "Higher." if action.number < self._secret else "Lower."
        return Seen(text=hint, done=found, reward=1.0 / self._steps if found else -0.125)

    @property
    def state(self) -> State:
        return State(step_count=self._steps)


app = create_fastapi_app(Number, Guess, Seen)
