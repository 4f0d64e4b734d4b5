"""Plays word-guess: narrows the words down by the clues, and forgets some of them."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from tui_eval.demo.policy.dialogue import Dialogue, Dice, Reply

_OPENERS = ("crane", "slate", "stare", "house", "train", "about", "plant", "stone")
_CLUE = re.compile(r"^([a-z]{5}): ([GY-]{5})$", re.MULTILINE)
_REJECTED = re.compile(r"^Invalid guess", re.MULTILINE)
_VOWELS = re.compile(r"has (\d) vowel")
_ODD_GUESSES = ("letters", "word", "banana", "xylem1", "pencil", "cat")

Clue = tuple[str, str]


@functools.cache
def vocabulary() -> tuple[str, ...]:
    """The words that the player thinks of: those of the game but for every tenth."""
    path = Path(__file__).parents[1] / "environments" / "word_guess" / "words.txt"
    words = path.read_text(encoding="utf-8").split()
    return tuple(word for place, word in enumerate(words) if place % 10)


def plays(dialogue: Dialogue) -> bool:
    """Whether the instructions are those of word-guess."""
    return "<guess>" in dialogue.instructions and "five letters" in dialogue.instructions


def reply(dialogue: Dialogue, dice: Dice) -> Reply:
    """The next guess with a word of explanation."""
    clues = [found for text in dialogue.user_texts for found in _CLUE.findall(text)]
    if dice.slips(0.08):
        return Reply(f"<guess>{dice.pick(_ODD_GUESSES)}</guess>")
    remembered = [clue for clue in clues if not dice.slips(0.35)]
    candidates = _candidates(remembered, clues)
    vowels = _VOWELS.search(dialogue.question)
    if vowels and not dice.slips(0.6):
        wanted = int(vowels[1])
        alike = [one for one in candidates if sum(map(one.count, "aeiou")) == wanted]
        candidates = alike or candidates
    if dice.slips(0.12):
        candidates = list(vocabulary())
    openers = [word for word in candidates if word in _OPENERS] if not clues else []
    guess = dice.pick(openers or candidates)
    rejected = any(_REJECTED.search(text) for text in dialogue.user_texts[-1:])
    return _say(guess, clues, candidates, rejected, dice)


def fits(word: str, clue: Clue) -> bool:
    """Whether the secret can be `word` when `clue` was given."""
    guess, signs = clue
    open_letters = [letter for letter, sign in zip(word, signs, strict=True) if sign != "G"]
    for place, (letter, sign) in enumerate(zip(guess, signs, strict=True)):
        if (word[place] == letter) != (sign == "G"):
            return False
        if sign == "Y":
            if letter not in open_letters:
                return False
            open_letters.remove(letter)
    return not any(
        letter in open_letters for letter, sign in zip(guess, signs, strict=True) if sign == "-"
    )


def _candidates(remembered: list[Clue], clues: list[Clue]) -> list[str]:
    tried = {guess for guess, _ in clues}
    words = [word for word in vocabulary() if word not in tried]
    return [word for word in words if all(fits(word, clue) for clue in remembered)] or words


def _say(guess: str, clues: list[Clue], candidates: list[str], rejected: bool, dice: Dice) -> Reply:
    thought = _thought(clues, dice)
    if rejected:
        thought = "Sorry, that was not a valid guess. " + thought
    reasoning = ""
    if dice.chance(0.3):
        shown = ", ".join(candidates[:6])
        reasoning = (
            f"{thought} Words that could fit: {shown}"
            f"{', ...' if len(candidates) > 6 else ''} ({len(candidates)} in all). "
            f"I take {guess}."
        )
    if dice.slips(0.03):
        return Reply(f"{thought}\nMy guess is {guess}.", reasoning)
    return Reply(f"{thought}\n<guess>{guess}</guess>", reasoning)


def _thought(clues: list[Clue], dice: Dice) -> str:
    if not clues:
        return dice.pick(
            (
                "I start with a word of common letters.",
                "A good first word has frequent vowels and consonants.",
                "Let me open with something common.",
            )
        )
    placed = {
        place: letter
        for guess, signs in clues
        for place, letter in enumerate(guess)
        if signs[place] == "G"
    }
    elsewhere = {
        letter
        for guess, signs in clues
        for letter, sign in zip(guess, signs, strict=True)
        if sign == "Y"
    } - set(placed.values())
    pattern = "".join(placed.get(place, "_") for place in range(5))
    parts = [f"So far I have {pattern}" if placed else "No letter is placed yet"]
    if elsewhere:
        parts.append(f"and {', '.join(sorted(elsewhere))} must go somewhere")
    return ", ".join(parts) + "."
