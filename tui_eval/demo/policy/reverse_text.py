"""Plays reverse-text: writes backwards, and now and then loses a letter or the tag."""

from __future__ import annotations

from tui_eval.demo.policy.dialogue import Dialogue, Dice, Reply

_OPENINGS = (
    "",
    "",
    "Here is the text reversed:\n",
    "Reading from the last character to the first:\n",
    "Sure! Going letter by letter from the end:\n",
)


def plays(dialogue: Dialogue) -> bool:
    """Whether the instructions are those of reverse-text."""
    return "<reversed_text>" in dialogue.instructions and bool(_text(dialogue))


def reply(dialogue: Dialogue, dice: Dice) -> Reply:
    """The reversed text, as well as the dice allow."""
    text = _text(dialogue)
    reversed_text = _reverse(text, dice)
    reasoning = ""
    if dice.chance(0.25):
        words = text.split()
        reasoning = (
            f"The text has {len(words)} words and {len(text)} characters. It ends with "
            f"{text[-1]!r}, so the answer begins with it; then comes {words[-1][:-1][::-1]!r}."
        )
    return Reply(_wrap(reversed_text, dice), reasoning)


def _text(dialogue: Dialogue) -> str:
    return dialogue.user_texts[-1].strip() if dialogue.user_texts else ""


def _reverse(text: str, dice: Dice) -> str:
    if dice.slips(0.05):
        return " ".join(reversed(text.split()))
    if dice.slips(0.04):
        return " ".join(word[::-1] for word in text.split())
    letters = list(text[::-1])
    place = 0
    while place < len(letters) - 1:
        if dice.slips(0.013):
            _smudge(letters, place, dice)
        place += 1
    if dice.slips(0.06):
        del letters[len(letters) * 2 // 3 :]
    return "".join(letters)


def _smudge(letters: list[str], place: int, dice: Dice) -> None:
    kind = dice.pick(("drop", "swap", "swap", "double", "case"))
    if kind == "drop":
        del letters[place]
    elif kind == "swap":
        letters[place], letters[place + 1] = letters[place + 1], letters[place]
    elif kind == "double":
        letters.insert(place, letters[place])
    else:
        letters[place] = letters[place].swapcase()


def _wrap(reversed_text: str, dice: Dice) -> str:
    if dice.slips(0.07):
        return f"The reversed text is: {reversed_text}"
    opening = dice.pick(_OPENINGS)
    if dice.slips(0.04):
        return f"{opening}<reversed_text>{reversed_text}"
    closing = "\nLet me know if you need another one." if dice.slips(0.06) else ""
    return f"{opening}<reversed_text>{reversed_text}</reversed_text>{closing}"
