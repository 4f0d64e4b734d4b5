"""Which policy answers which conversation."""

from __future__ import annotations

from collections.abc import Callable

from tui_eval.demo.policy import calculator, generic, reverse_text, word_guess
from tui_eval.demo.policy.dialogue import Dialogue, Dice, Reply

_PLAYERS: tuple[tuple[Callable[[Dialogue], bool], Callable[[Dialogue, Dice], Reply]], ...] = (
    (reverse_text.recognises, reverse_text.reply),
    (calculator.recognises, calculator.reply),
    (word_guess.recognises, word_guess.reply),
)


def answer(dialogue: Dialogue, dice: Dice) -> Reply:
    """The next message of the assistant."""
    for recognises, reply in _PLAYERS:
        if recognises(dialogue):
            return reply(dialogue, dice)
    return generic.reply(dialogue, dice)
