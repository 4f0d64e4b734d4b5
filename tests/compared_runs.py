"""Saved runs to compare, written as another program writes them."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

from scripted_conversation import SYSTEM, USER, call
from scripted_run import NOW

from tui_eval.tui.compare.comparing import Reading

EACH = 3
CANDLES = "How many whole candles does the workshop have after five days?"
QUESTIONS = (
    "Which is greater: 3 to the power of 7, or 7 to the power of 4?",
    "A train leaves at 9:40 and travels 210 km at 84 km/h. When does it arrive?",
    "What is 17 % of 2,350, rounded to the nearest whole number?",
    "Three painters need 12 hours for a fence. How long do eight of them need?",
    CANDLES,
    "A tank loses an eighth of what it holds every hour. What is left of 512 litres after 3 hours?",
    "How many minutes are there in a leap year?",
    "What is the sum of all odd numbers below 100?",
    "A recipe for 4 takes 350 g of flour. How much is it for 7?",
    "Two numbers have the sum 31 and the product 234. Which are they?",
    "How many diagonals does a polygon with 14 sides have?",
    "What is the least common multiple of 18, 24 and 40?",
)
PASSES = {
    "A": (1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 1),
    "B": (1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1),
    "C": (1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0),
}
CAREFUL = str(SYSTEM["content"])
SHORT = "You are a calculator. Use the tools, then answer with the number inside <answer></answer>."


def completion(passes: bool, number: int) -> list[dict[str, Any]]:
    """A conversation that goes another way in its second turn where it does not pass."""
    first = [
        {
            "role": "assistant",
            "content": "First the candles of one day.",
            "tool_calls": [call("c1", "multiply", a=14, b=36)],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "504"},
    ]
    if passes:
        second = [
            {
                "role": "assistant",
                "content": "Now those of five days, and a quarter of three boxes away from them.",
                "reasoning_content": "A quarter of 3 boxes of 36 is 27.",
                "tool_calls": [
                    call("c2", "multiply", a=504, b=5),
                    call("c3", "subtract", a=2520, b=27),
                ],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "2520"},
            {"role": "tool", "tool_call_id": "c3", "content": "2493"},
        ]
    else:
        second = [
            {
                "role": "assistant",
                "content": "Three boxes fall, so they are lost: 11 boxes are left on Friday.",
                "tool_calls": [
                    call("c2", "multiply", a=504, b=4),
                    call("c3", "add", a=2016, b=396),
                ],
            },
            {"role": "tool", "tool_call_id": "c2", "content": "2016"},
            {"role": "tool", "tool_call_id": "c3", "content": "2412"},
            {"role": "assistant", "content": "Let me check that once more.", "tool_calls": []},
        ]
    answer = 2493 if passes else 2412 + number
    last = f"It has {answer} whole candles after five days.\n\n<answer>{answer}</answer>"
    return [*first, *second, {"role": "assistant", "content": last}]


def write_run(
    folder: Path,
    name: str,
    passes: tuple[int, ...],
    *,
    system: str = CAREFUL,
    each: int = EACH,
    questions: tuple[str, ...] = QUESTIONS,
    age_s: float = 7200.0,
    **meta: Any,
) -> Path:
    """A run; an example that passes does so in all rollouts but perhaps one."""
    dice = random.Random(name)
    path = folder / name
    path.mkdir(parents=True)
    lines = []
    for example, (question, right) in enumerate(zip(questions, passes, strict=False)):
        for number in range(each):
            good = bool(right) != (dice.random() < 0.12)
            text = str(USER["content"]) if question == CANDLES else question
            ms = 9_000 * dice.uniform(0.6, 1.4) * (0.7 if system == SHORT else 1.0)
            lines.append(
                {
                    "example_id": example,
                    "prompt": [
                        {"role": "system", "content": system},
                        {"role": "user", "content": text},
                    ],
                    "completion": completion(good, number),
                    "answer": "2493",
                    "reward": 0.9 * good + 0.1,
                    "metrics": {"exact_match": float(good), "num_tool_calls": 3.0},
                    "timing": {"generation_ms": ms, "scoring_ms": 40.0, "total_ms": ms + 40},
                }
            )
    results = path / "results.jsonl"
    results.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    metadata = {
        "env_id": "calculator",
        "model": "gpt-4.1-mini",
        "num_examples": min(len(questions), len(passes)),
        "rollouts_per_example": each,
        "sampling_args": {"temperature": 0.7},
        **meta,
    }
    (path / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    for file in (results, path / "metadata.json"):
        os.utime(file, (NOW - age_s, NOW - age_s))
    return path


def two_runs(folder: Path) -> list[Path]:
    """A prompt and a shorter one, that fixes three examples and breaks one."""
    return [
        write_run(folder, "careful-prompt", PASSES["A"], age_s=93_000),
        write_run(
            folder, "short-prompt", PASSES["B"], system=SHORT, sampling_args={"temperature": 0.2}
        ),
    ]


def three_runs(folder: Path) -> list[Path]:
    """The two, and another model that breaks what it can."""
    third = write_run(folder, "nano", PASSES["C"], model="gpt-4.1-nano", age_s=400)
    return [*two_runs(folder), third]


def strangers(folder: Path) -> list[Path]:
    """Two runs without an example in common."""
    other = tuple(f"What is the capital of country {number}?" for number in range(12))
    return [
        write_run(folder, "careful-prompt", PASSES["A"], age_s=93_000),
        write_run(folder, "capitals", PASSES["B"], questions=other, env_id="geography"),
    ]


class Stuck(Reading):
    """Never gets further than this."""

    def start(self) -> None:
        self.place, self.share = 1, 0.41
