"""The conversation of a rollout of the scripted run; all its figures follow from it."""

from __future__ import annotations

import json
import random
import re
from typing import Any

BY_ZERO = "ZeroDivisionError: cannot divide 108 by 0; b must not be zero"
EXPECTED = 2493
MAX_TURNS = 6

SYSTEM = {
    "role": "system",
    "content": (
        "You are a careful calculator. Work in small steps and use the tools for every "
        "operation: never compute in your head.\n\n"
        "Tools\n"
        "- add(a, b), subtract(a, b), multiply(a, b), divide(a, b)\n"
        "- power(base, exponent)\n"
        "- note(text) keeps an intermediate result\n\n"
        "When you are done, answer with the number alone inside <answer></answer>."
    ),
}
USER = {
    "role": "user",
    "content": (
        "A workshop makes 14 boxes of 36 candles a day. On Friday 3 boxes fall and every "
        "fourth candle in them breaks. How many whole candles does it have after five days?"
    ),
}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": call_id, "name": name, "arguments": json.dumps(arguments)}


def turn(content: str, *calls: tuple[str, str], **more: Any) -> list[dict[str, Any]]:
    """An answer that calls tools, each with its result."""
    called = [call for call, _ in calls]
    results = [
        {"role": "tool", "tool_call_id": one["id"], "content": result} for one, result in calls
    ]
    return [{"role": "assistant", "content": content, **more, "tool_calls": called}, *results]


def beginning(*, slips: bool) -> list[list[dict[str, Any]]]:
    """The first two turns, the second with or without a division by zero."""
    slip = [(call("c4", "divide", a=108, b=0), BY_ZERO)] if slips else []
    return [
        turn(
            "First the candles of one day, and those of five.",
            (call("c1", "multiply", a=14, b=36), "504"),
            (call("c2", "multiply", a=504, b=5), "2520"),
            reasoning_content=(
                "14 boxes of 36 is the daily number. Five days of it, then take away a quarter "
                "of three boxes. I should use the tools for each step."
            ),
        ),
        turn(
            "Now what broke: a quarter of three boxes.",
            (call("c3", "multiply", a=3, b=36), "108"),
            *slip,
            (call("c5", "note", text="per day 504\nfive days 2520\nfallen 108"), "noted"),
        ),
    ]


def conversation() -> list[dict[str, Any]]:
    """A prompt and two turns, with tool calls of several kinds."""
    first, second = beginning(slips=True)
    return [SYSTEM, USER, *first, *second]


def subtraction(divisor: int, *, slips: bool) -> list[dict[str, Any]]:
    broken = 108 // divisor
    return turn(
        f"The divisor was wrong, it is {divisor}." if slips else "And now what is left.",
        (call("c6", "divide", a=108, b=divisor), str(broken)),
        (call("c7", "subtract", a=2520, b=broken), str(2520 - broken)),
    )


def last_words(answer: int, *, tagged: bool) -> list[dict[str, Any]]:
    said = f"It has {answer} whole candles after five days."
    tag = f"\n\n<answer>{answer}</answer>" if tagged else ""
    return [{"role": "assistant", "content": said + tag}]


def ending_messages() -> list[dict[str, Any]]:
    return [*subtraction(4, slips=True), *last_words(EXPECTED, tagged=True)]


def completion(row: int) -> list[dict[str, Any]]:
    """What is said in a row: some divide by zero first, some by a wrong number, and some of these
    check it until they have no turn left.
    """
    dice = random.Random(row * 7919)
    divisor = 4 if dice.random() < 0.68 else 1 + int(3 * dice.random())
    tagged = dice.random() < 0.85
    slips = row % 10 < 2
    turns = 4 if slips else dice.randint(2, 5)
    answer = 2520 - 108 // divisor
    work = [*beginning(slips=slips), subtraction(divisor, slips=slips)]
    for number in range(8, 11):
        check = (call(f"c{number}", "add", a=answer, b=108 // divisor), "2520")
        work.append(turn("Let me check that.", check))
    if answer != EXPECTED and not tagged:  # its last call has no result
        return [message for one in work for message in one][:-1]
    work = [*work[: turns - 1], last_words(answer, tagged=tagged)]
    return [message for one in work for message in one]


def used(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Our records of the tool calls of a conversation that have a result."""
    called = [one for message in said for one in message.get("tool_calls", ())]
    results = {one["tool_call_id"]: one["content"] for one in said if one["role"] == "tool"}
    return [
        {
            "id": one["id"],
            "name": one["name"],
            "ms": 1.0 + 2 * int(one["id"][1:]),
            "error": "ToolCallError" if results[one["id"]] == BY_ZERO else None,
        }
        for one in called
        if one["id"] in results
    ]


def measured(said: list[dict[str, Any]]) -> dict[str, float]:
    """Scores of the reward functions for a conversation."""
    last = said[-1]["content"]
    found = re.match(r"It has (\d+)", last)
    off = abs(int(found[1]) - EXPECTED) if found else 100
    return {
        "exact_match": float(off == 0),
        "closeness": round(1 - off / 100, 2),
        "answer_format": float("<answer>" in last),
        "num_turns": float(sum(one["role"] == "assistant" for one in said)),
    }
