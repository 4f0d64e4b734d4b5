"""Game over several turns: dict replies, info as JSON text, stop, cleanup and teardown."""

import json
import random
import re

import verifiers as vf
from datasets import Dataset
from verifiers.types import Messages, State


class GuessTheNumberEnv(vf.MultiTurnEnv):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.games = 0

    async def setup_state(self, state: State, **kwargs) -> State:
        state["low"], state["high"] = state["info"]["range"]
        state["phase"] = "guessing"
        state["guesses"] = []
        return await super().setup_state(state, **kwargs)

    @vf.stop(priority=10)
    async def gave_up(self, state: State) -> bool:
        last = state["trajectory"][-1]["completion"][-1]["content"] if state["trajectory"] else ""
        return "give up" in str(last).lower()

    @vf.stop
    async def too_many_guesses(self, state: State) -> bool:
        return len(state.get("guesses", [])) >= state["info"]["allowed"]

    async def env_response(self, messages: Messages, state: State, **kwargs) -> Messages:
        assert messages[-1]["role"] == "assistant"
        numbers = re.findall(r"\d+", messages[-1]["content"] or "")
        if not numbers:
            return [{"role": "user", "content": "Please say a number."}]
        guess = int(numbers[-1])
        state["guesses"].append(guess)
        if guess == int(state["answer"]):
            state["phase"] = "won"
            reply = [{"role": "user", "content": "Right!"}]
            state["final_env_response"] = reply
            return reply
        word = "higher" if guess < int(state["answer"]) else "lower"
        return [{"role": "user", "content": f"{guess} is wrong: go {word}."}]

    @vf.cleanup(priority=5)
    async def note_end(self, state: State):
        self.games += 1
        state["ended_in"] = state.get("phase")

    @vf.cleanup
    async def note_length(self, state: State):
        state["seen_at_cleanup"] = [state["ended_in"], state["completion"] is None]

    @vf.teardown(priority=1)
    async def a_last_word(self):
        print("The table is closed.")

    @vf.teardown(priority=2)
    async def count_games(self):
        print(f"Games: {self.games}")


async def won(state, **kwargs) -> float:
    return 1.0 if state["phase"] == "won" else 0.0


def guess_count(state) -> float:
    return float(len(state["guesses"]))


def load_environment(num_games: int = 6, allowed: int = 6, seed: int = 3):
    rng = random.Random(seed)
    games = [
        {
            "prompt": [
                {"role": "system", "content": "Guess the number. Say one number each time."},
                {"role": "user", "content": "I think of a number from 1 to 50."},
            ],
            "answer": str(rng.randint(1, 50)),
            "info": json.dumps({"range": [1, 50], "allowed": allowed}),
        }
        for _ in range(num_games)
    ]
    rubric = vf.Rubric(funcs=[won, guess_count], weights=[1.0, 0.0])
    return GuessTheNumberEnv(dataset=Dataset.from_list(games), rubric=rubric, max_turns=8)
