"""Guess a hidden five-letter word from clues: a multi-turn game with state."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import tui_eval as vf

WORDS = tuple(Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split())

SYSTEM_PROMPT = (
    "We play a word game. I think of a common English word of five letters, and you guess it. "
    "Give one guess each turn as <guess>word</guess>. I answer with your guess and a clue of "
    "five signs, one for each letter: G is the right letter in the right place, Y a letter "
    "that is in the word at another place, and - a letter that is not in the word. An invalid "
    "guess is lost."
)


def clue(guess: str, secret: str) -> str:
    """Five signs, `G`, `Y` or `-`; a letter is not marked more often than the secret has it."""
    signs = ["G" if mine == theirs else "-" for mine, theirs in zip(guess, secret, strict=True)]
    unplaced = [letter for letter, sign in zip(secret, signs, strict=True) if sign != "G"]
    for place, letter in enumerate(guess):
        if signs[place] == "-" and letter in unplaced:
            signs[place] = "Y"
            unplaced.remove(letter)
    return "".join(signs)


class WordGuessEnv(vf.MultiTurnEnv):
    """One game: every answer of the model is a guess, the environment answers with a clue."""

    def __init__(self, max_guesses: int = 6, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_guesses = max_guesses

    async def setup_state(self, state: vf.State) -> vf.State:
        """Before the first turn: what the game remembers, kept apart for every rollout."""
        state["guesses"] = []
        state["invalid"] = 0
        state["places"] = []
        return state

    @vf.stop(priority=20)
    async def word_found(self, state: vf.State) -> bool:
        """The secret word was guessed; its priority puts it before `out_of_guesses`."""
        return state["answer"] in state["guesses"]

    @vf.stop(priority=10)
    async def out_of_guesses(self, state: vf.State) -> bool:
        """No guess is left."""
        return len(state["guesses"]) >= self.max_guesses

    async def env_response(
        self, messages: vf.Messages, state: vf.State, **kwargs: Any
    ) -> list[dict[str, Any]]:
        """The clue to the guess that the model has just made."""
        guess = (self.parser.parse_answer(messages[-1:]) or "").lower()
        verdict = self._judge(guess, state)
        left = self.max_guesses - len(state["guesses"])
        over = guess == state["answer"] or left == 0
        if not over:
            verdict += f"\n{left} {'guess' if left == 1 else 'guesses'} left."
        elif guess != state["answer"]:
            verdict += f"\nNo guess is left. The word was {state['answer']}."
        reply = [{"role": "user", "content": verdict}]
        if over:
            state["final_env_response"] = reply
        return reply

    def _judge(self, guess: str, state: vf.State) -> str:
        repeated = guess in state["guesses"]
        state["guesses"].append(guess)
        if not re.fullmatch("[a-z]{5}", guess) or repeated:
            state["invalid"] += 1
            why = "you have guessed it before" if repeated else "it takes one word of five letters"
            return f"Invalid guess {guess!r}: {why}."
        signs = clue(guess, state["answer"])
        known = {place for place, sign in enumerate(signs, start=1) if sign == "G"}
        state["places"] = sorted(known.union(state["places"]))
        return f"{guess}: {signs}" + ("\nThat is it!" if guess == state["answer"] else "")


def solved(state: vf.State) -> float:
    """1.0 when the word was found."""
    return float(state["answer"] in state["guesses"])


def efficiency(state: vf.State, info: dict[str, Any]) -> float:
    """From 1 for the first guess down to 0 for the last one, and 0 when the word was not found."""
    if not solved(state):
        return 0.0
    most = int(info["max_guesses"])
    return (most - len(state["guesses"])) / max(most - 1, 1)


def letters_found(state: vf.State) -> float:
    """A metric: places of the word that were known in the end, 0 to 5."""
    return float(len(state["places"]))


def invalid_guesses(state: vf.State) -> float:
    """A metric: guesses that were lost."""
    return float(state["invalid"])


def make_dataset(num_examples: int, seed: int, max_guesses: int) -> list[dict[str, Any]]:
    """Rows of a dataset; the secret is the `answer`, which the model never sees."""
    if not 1 <= num_examples <= len(WORDS):
        raise ValueError(f"num_examples must be 1 to {len(WORDS)}, not {num_examples}")
    rows = []
    for number, secret in enumerate(random.Random(seed).sample(WORDS, num_examples), start=1):
        vowels = sum(letter in "aeiou" for letter in secret)
        hint = f"{vowels} {'vowel' if vowels == 1 else 'vowels'}"
        if len(set(secret)) < len(secret):
            hint += " and a letter that comes twice"
        question = f"Game {number}. My word has {hint}. You have {max_guesses} guesses."
        rows.append({"question": question, "answer": secret, "info": {"max_guesses": max_guesses}})
    return rows


def load_environment(num_examples: int = 120, seed: int = 0, max_guesses: int = 6) -> WordGuessEnv:
    """The environment.

    Args:
        num_examples: How many games, 1 to the number of words in `words.txt`.
        seed: The same seed picks the same words.
        max_guesses: Guesses in one game, 1 or more.
    """
    if max_guesses < 1:
        raise ValueError(f"max_guesses must be 1 or more, not {max_guesses}")
    parser = vf.XMLParser(["guess"], answer_field="guess")
    rubric = vf.Rubric(funcs=[solved, efficiency], weights=[0.6, 0.4], parser=parser)
    rubric.add_metric(letters_found)
    rubric.add_metric(invalid_guesses)
    return WordGuessEnv(
        max_guesses=max_guesses,
        eval_dataset=make_dataset(num_examples, seed, max_guesses),
        system_prompt=SYSTEM_PROMPT,
        parser=parser,
        rubric=rubric,
    )
