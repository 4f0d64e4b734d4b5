"""Rewards by graders that others wrote: of 64 rollouts at once here, and one by one without us.

Reads the name of a grader from its standard input, and prints both lists as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import tui_eval as vf

TEXTS = [
    "The lamp stands on the table in the hall.",
    "Der Hund läuft heute schnell durch den Wald.",
    "Le chat dort sur le tapis rouge de la maison.",
    "El perro come una manzana verde en el jardín.",
]
ROLLOUTS = 64


def langdetect(text: str) -> float:
    import langdetect

    langdetect.DetectorFactory.seed = 0
    return float(["en", "de", "fr", "es"].index(langdetect.detect(text)))


def rouge(text: str) -> float:
    from rouge_score.rouge_scorer import RougeScorer

    return float(RougeScorer(["rougeL"]).score(TEXTS[0], text)["rougeL"].fmeasure)


def bleu(text: str) -> float:
    import sacrebleu

    return float(sacrebleu.sentence_bleu(text, [TEXTS[0]]).score)


def word_errors(text: str) -> float:
    import jiwer

    return float(jiwer.wer(TEXTS[0], text))


def fuzz(text: str) -> float:
    from rapidfuzz import fuzz

    return float(fuzz.token_sort_ratio(TEXTS[0], text))


def levenshtein(text: str) -> float:
    import Levenshtein

    return float(Levenshtein.ratio(TEXTS[0], text))


def readability(text: str) -> float:
    import textstat

    return float(textstat.automated_readability_index(text))


def math(text: str) -> float:
    import math_verify

    length = len(text)
    return float(math_verify.verify(math_verify.parse("$41$"), math_verify.parse(f"${length}$")))


GRADERS: dict[str, Callable[[str], float]] = {
    grader.__name__: grader
    for grader in (langdetect, rouge, bleu, word_errors, fuzz, levenshtein, readability, math)
}


class Sayer:
    """Says the text that the question names."""

    async def get_response(
        self, prompt: Any, model: str, sampling_args: Any, tools: Any = None, **_: Any
    ) -> Any:
        text = TEXTS[int(prompt[-1]["content"]) % len(TEXTS)]
        message = vf.ResponseMessage(content=text, finish_reason="stop", is_truncated=False)
        return vf.Response(id="r", created=1, model=model, usage=None, message=message)


def main() -> None:
    grader = GRADERS[json.load(sys.stdin)]

    def reward(completion: Any) -> float:
        return grader(completion[-1]["content"])

    env = vf.SingleTurnEnv(
        dataset=[{"question": str(number)} for number in range(ROLLOUTS)],
        rubric=vf.Rubric([reward]),
    )
    outputs = env.evaluate_sync(Sayer(), "m", max_concurrent=ROLLOUTS)["outputs"]
    ours = [
        [one["prompt"][-1]["content"], one["reward"], str(one.get("error") or "")]
        for one in outputs
    ]
    theirs = [grader(text) for text in TEXTS]
    print(json.dumps({"ours": ours, "theirs": theirs}))


if __name__ == "__main__":
    main()
