"""Reverse a sentence letter by letter: one turn, an answer in XML, partial credit."""

from __future__ import annotations

import difflib
from typing import Any

import tui_eval as vf

from .sentences import write_sentences

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
