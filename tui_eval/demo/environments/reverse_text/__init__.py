"""Reverse a sentence letter by letter: one turn, an answer in XML, partial credit."""

from __future__ import annotations

import difflib
import random
from typing import Any

import tui_eval as vf

SYSTEM_PROMPT = (
    "Reverse the text that you are given, character by character: the last character comes "
    "first. Keep spaces, punctuation and capitals as they are. Give the result as "
    "<reversed_text>...</reversed_text> and write nothing after it."
)


def exact(completion: vf.Messages, answer: str, parser: vf.Parser) -> float:
    """1.0 when every character is right."""
    return float(parser.parse_answer(completion) == answer)


def similarity(completion: vf.Messages, answer: str, parser: vf.Parser) -> float:
    """Partial credit, 0 to 1: how much of the answer is there, in the right order."""
    given = parser.parse_answer(completion) or ""
    return difflib.SequenceMatcher(None, given, answer, autojunk=False).ratio()


def length_error(completion: vf.Messages, answer: str, parser: vf.Parser) -> float:
    """A metric: how many characters the answer is too long or too short."""
    given = parser.parse_answer(completion) or ""
    return float(abs(len(given) - len(answer)))


_WHO = (
    *("the old sailor", "my neighbour", "a young violinist", "the baker", "our teacher"),
    *("the night nurse", "her grandmother", "the tall plumber", "a lost tourist"),
    *("the museum guard", "his little sister", "the train driver", "a retired judge"),
    *("the florist", "our goalkeeper", "the new intern"),
)
_DID = (
    *("mended", "painted", "borrowed", "photographed", "hid", "cleaned", "sold", "found"),
    *("described", "carried", "repaired", "lost", "measured", "drew", "forgot", "admired"),
)
_WHAT = (
    *("a torn net", "the blue bicycle", "three silver spoons", "an empty birdcage"),
    *("the garden gate", "two jars of honey", "a wooden clock", "the village map"),
    *("his best umbrella", "a box of letters", "the kitchen window", "an antique lamp"),
    *("the wrong suitcase", "a bowl of cherries", "the station bell", "one red glove"),
)
_WHEN = (
    *("before breakfast", "after the storm", "on Tuesday", "last winter", "during the break"),
    *("in the rain", "at midnight", "without a word", "near the harbour", "for the whole street"),
    *("by candlelight", "just in time"),
)
_ASIDE = (
    *("nobody knew why", "it took all day", "everyone laughed", "the dog watched"),
    *("we were amazed", "it was a gift", "the tea went cold", "no one noticed"),
)


def _sentence(dice: random.Random) -> str:
    who, did, what, when, aside = (dice.choice(part) for part in (_WHO, _DID, _WHAT, _WHEN, _ASIDE))
    shape = dice.choice(
        (
            f"{who} {did} {what}.",
            f"{who} {did} {what} {when}.",
            f"{when}, {who} {did} {what}.",
            f"{who} {did} {what}, and {aside}.",
            f"is it true that {who} {did} {what}?",
        )
    )
    return shape[0].upper() + shape[1:]


def write_sentences(count: int, seed: int, max_words: int) -> list[str]:
    """Distinct sentences of at most `max_words` words; the same seed gives the same ones.

    Raises:
        ValueError: `count` is not 1 to 2,000, or `max_words` leaves too few sentences.
    """
    if not 1 <= count <= 2000:
        raise ValueError(f"num_examples must be 1 to 2000, not {count}")
    dice = random.Random(seed)
    sentences: dict[str, None] = {}
    for _ in range(200 * count):
        sentence = _sentence(dice)
        if len(sentence.split()) <= max_words:
            sentences[sentence] = None
        if len(sentences) == count:
            return list(sentences)
    raise ValueError(
        f"found {len(sentences)} sentences of at most {max_words} words, not {count}; "
        "raise max_words (the shortest have 6) or lower num_examples"
    )


def make_dataset(num_examples: int, seed: int, max_words: int) -> list[dict[str, Any]]:
    """Rows of a dataset: `question` is sent to the model, `answer` only reaches the rewards."""
    return [
        {
            "question": sentence,
            "answer": sentence[::-1],
            "info": {"words": len(sentence.split())},
        }
        for sentence in write_sentences(num_examples, seed, max_words)
    ]


def load_environment(
    num_examples: int = 120, seed: int = 0, max_words: int = 12
) -> vf.SingleTurnEnv:
    """The environment.

    Args:
        num_examples: How many sentences to write, 1 to 2,000.
        seed: The same seed writes the same sentences.
        max_words: Longest sentence; the shortest have 6 words.
    """
    parser = vf.XMLParser(["reversed_text"], answer_field="reversed_text")
    rubric = vf.Rubric(
        funcs=[exact, similarity, parser.get_format_reward_func()],
        weights=[0.5, 0.4, 0.1],
        parser=parser,
    )
    rubric.add_metric(length_error)
    return vf.SingleTurnEnv(
        eval_dataset=make_dataset(num_examples, seed, max_words),
        system_prompt=SYSTEM_PROMPT,
        parser=parser,
        rubric=rubric,
    )
