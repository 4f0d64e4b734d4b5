"""Plays calculator: plans which tool gets which number, calls them, and makes slips on the way."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from tui_eval.demo.policy.dialogue import Call, Dialogue, Dice, Reply


class Result(msgspec.Struct, frozen=True):
    """Result of an earlier step, counted from 0."""

    step: int


class Step(msgspec.Struct, frozen=True):
    """One tool call: numbers, names of constants, or results of earlier steps."""

    tool: str
    operands: tuple[float | str | Result, ...]


Plan: TypeAlias = list[Step]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def _step(tool: str, *operands: float | str | Result) -> Step:
    return Step(tool, operands)


_BY_PHRASE: dict[str, Callable[..., Plan]] = {
    "How much change": lambda count, price, note: [
        _step("multiply", count, price),
        _step("subtract", note, Result(0)),
    ],
    "percent off": lambda price, off, extra: [
        _step("percent_of", off, price),
        _step("subtract", price, Result(0)),
        _step("add", Result(1), extra),
    ],
    "share a dinner bill": lambda friends, bill, tip: [
        _step("percent_of", tip, bill),
        _step("add", bill, Result(0)),
        _step("divide", Result(1), friends),
    ],
    "circular pond": lambda laps, radius: [
        _step("look_up_constant", "pi"),
        _step("multiply", 2, radius),
        _step("multiply", Result(0), Result(1)),
        _step("multiply", Result(2), laps),
    ],
    "How many kilometres is the whole trip": lambda miles, more: [
        _step("look_up_constant", "km_per_mile"),
        _step("multiply", miles, Result(0)),
        _step("add", Result(1), more),
    ],
    "average per day": lambda first, second, third: [
        _step("add", first, second),
        _step("add", Result(0), third),
        _step("divide", Result(1), 3),
    ],
    "rectangular garden": lambda length, width: [
        _step("multiply", length, length),
        _step("multiply", width, width),
        _step("add", Result(0), Result(1)),
        _step("square_root", Result(2)),
    ],
    "of flour": lambda people, grams, guests: [
        _step("divide", grams, people),
        _step("multiply", Result(0), guests),
    ],
    "chocolate bars": lambda bars, ounces: [
        _step("look_up_constant", "grams_per_ounce"),
        _step("multiply", bars, ounces),
        _step("multiply", Result(0), Result(1)),
    ],
    "litres of fuel": lambda use, per, distance, price: [
        _step("divide", distance, per),
        _step("multiply", Result(0), use),
        _step("multiply", Result(1), price),
    ],
    "at double pay": lambda wage, hours, extra: [
        _step("multiply", wage, hours),
        _step("multiply", wage, 2),
        _step("multiply", Result(1), extra),
        _step("add", Result(0), Result(2)),
    ],
    "does light need": lambda millions: [
        _step("look_up_constant", "speed_of_light_km_s"),
        _step("multiply", millions, 1_000_000),
        _step("divide", Result(1), Result(0)),
    ],
}
"""Solutions by a text of the problem, from the numbers in it in their order."""


def make_plan(question: str) -> Plan | None:
    """The steps that solve a problem of the calculator environment; None for any other text."""
    numbers = [float(number) for number in _NUMBER.findall(question)]
    for phrase, plan in _BY_PHRASE.items():
        if phrase in question:
            try:
                return plan(*numbers)
            except TypeError:
                return None
    return None


_ARGUMENTS = {
    "add": ("a", "b"),
    "subtract": ("a", "b"),
    "multiply": ("a", "b"),
    "divide": ("a", "b"),
    "percent_of": ("percent", "amount"),
    "square_root": ("x",),
    "look_up_constant": ("name",),
}
_FROM_MEMORY = {
    "pi": 3.14,
    "km_per_mile": 1.6,
    "grams_per_ounce": 28.0,
    "speed_of_light_km_s": 300_000.0,
}
_WRONG_NAMES = {
    "pi": "PI",
    "km_per_mile": "kilometres_per_mile",
    "grams_per_ounce": "ounce_in_grams",
    "speed_of_light_km_s": "speed_of_light",
}
_MOST_TURNS = 8
_STEP = re.compile(r"^call_[0-9a-f]{20}(\d\d)$")


def plays(dialogue: Dialogue) -> bool:
    """Whether the tools and the question are those of calculator."""
    return set(_ARGUMENTS) <= set(dialogue.functions) and make_plan(dialogue.question) is not None


def reply(dialogue: Dialogue, dice: Dice) -> Reply:
    """The next tool calls, or the final answer."""
    plan = make_plan(dialogue.question) or []
    values, failed = _read_results(dialogue)
    ready = [
        step for step in range(len(plan)) if step not in values and _is_ready(plan, step, values)
    ]
    turn = len(dialogue.answers)
    hurried = dice.slips(0.05 if turn == 0 else 0.04 * len(values))
    if not ready or hurried or turn >= _MOST_TURNS:
        return _finish(plan, values, dice)
    steps = ready if len(ready) > 1 and dice.chance(0.6) else ready[:1]
    calls = [_call(step, plan, values, careful=step in failed, dice=dice) for step in steps]
    return Reply(_explain(calls, failed, turn, dice), _reason(plan, turn, dice), calls)


def _read_results(dialogue: Dialogue) -> tuple[dict[int, float], set[int]]:
    """Values of the steps that were done, and the steps whose last call failed."""
    values: dict[int, float] = {}
    failed: set[int] = set()
    for call_id, text in dialogue.tool_results:
        match = _STEP.match(call_id)
        if match is None:
            continue
        step = int(match[1])
        try:
            values[step] = float(text)
            failed.discard(step)
        except ValueError:
            failed.add(step)
    return values, failed


def _is_ready(plan: Plan, step: int, values: dict[int, float]) -> bool:
    return all(
        operand.step in values for operand in plan[step].operands if isinstance(operand, Result)
    )


def _call(step: int, plan: Plan, values: dict[int, float], careful: bool, dice: Dice) -> Call:
    what = plan[step]
    operands = [values[o.step] if isinstance(o, Result) else o for o in what.operands]
    if not careful:
        operands = _slip(what.tool, operands, dice)
    arguments = dict(zip(_ARGUMENTS[what.tool], map(_plain, operands), strict=True))
    return Call(dice.call_id(step), what.tool, arguments)


def _slip(tool: str, operands: list[float | str], dice: Dice) -> list[float | str]:
    if tool == "look_up_constant":
        return [_WRONG_NAMES[str(operands[0])]] if dice.slips(0.2) else operands
    if tool == "divide" and dice.slips(0.09):
        return [operands[0], 0]
    if tool == "subtract" and dice.slips(0.05):
        return operands[::-1]
    if tool == "square_root" and dice.slips(0.06):
        return [-float(operands[0])]
    if dice.slips(0.05):
        place = dice.random.randrange(len(operands))
        return [
            _misread(float(operand), dice) if at == place else operand
            for at, operand in enumerate(operands)
        ]
    return operands


def _misread(number: float, dice: Dice) -> float:
    digits = list(f"{number:g}")
    places = [
        place
        for place in range(len(digits) - 1)
        if digits[place].isdigit() and digits[place + 1].isdigit()
    ]
    if places and dice.chance(0.5):
        place = dice.pick(places)
        digits[place], digits[place + 1] = digits[place + 1], digits[place]
        return float("".join(digits))
    return number + dice.pick((-1, 1, 10))


def _plain(operand: float | str) -> float | str:
    if isinstance(operand, float) and operand.is_integer() and abs(operand) < 1e15:
        return int(operand)
    return operand


def _finish(plan: Plan, values: dict[int, float], dice: Dice) -> Reply:
    done = len(values) == len(plan)
    if not done and values and dice.chance(0.5):
        number = values[max(values)]
    else:
        number = _in_the_head(plan, values)
    if dice.slips(0.06 if done else 0.35):
        number = _misread(round(number, 2), dice)
    text = f"{number:.1f}" if dice.slips(0.05) else f"{number:.2f}"
    sentence = dice.pick(
        (
            "So the result is {}.",
            "That makes {}.",
            "The answer comes to {}.",
            "Result: {}.",
        )
    ).format(text)
    if not done:
        sentence = "This is easy enough to do without more tools. " + sentence
    if dice.slips(0.05):
        return Reply(sentence)
    return Reply(f"{sentence}\n<answer>{text}</answer>")


def _in_the_head(plan: Plan, values: dict[int, float]) -> float:
    """The result of the plan, worked out without tools from the values that are known."""
    known = dict(values)
    for number, step in enumerate(plan):
        if number not in known:
            known[number] = _work_out(step, known)
    return known[len(plan) - 1]


def _work_out(step: Step, known: dict[int, float]) -> float:
    if step.tool == "look_up_constant":
        return _FROM_MEMORY[str(step.operands[0])]
    numbers = [float(known[o.step] if isinstance(o, Result) else o) for o in step.operands]
    first, last = numbers[0], numbers[-1]
    results: dict[str, Any] = {
        "add": lambda: first + last,
        "subtract": lambda: first - last,
        "multiply": lambda: first * last,
        "divide": lambda: first / last if last else 0.0,
        "percent_of": lambda: first * last / 100,
        "square_root": lambda: math.sqrt(abs(first)),
    }
    return float(results[step.tool]())


_SAYINGS = {
    "add": "I add {a} and {b}",
    "subtract": "I take {b} from {a}",
    "multiply": "I multiply {a} by {b}",
    "divide": "I divide {a} by {b}",
    "percent_of": "I work out {percent} percent of {amount}",
    "square_root": "I take the square root of {x}",
    "look_up_constant": "I look up {name}",
}


def _explain(calls: list[Call], failed: set[int], turn: int, dice: Dice) -> str:
    if turn and not failed and dice.chance(0.4):
        return ""
    sayings = [_SAYINGS[call.name].format(**call.arguments) for call in calls]
    opening = (
        dice.pick(("First, ", "To begin with, ")) if turn == 0 else dice.pick(("Then ", "Next, "))
    )
    if failed:
        opening = dice.pick(
            ("That call failed, so once more: ", "My mistake; let me correct that: ")
        )
    return opening + " and ".join(sayings) + "."


def _reason(plan: Plan, turn: int, dice: Dice) -> str:
    if not dice.chance(0.6 if turn == 0 else 0.12):
        return ""
    tools = ", then ".join(step.tool.replace("_", " ") for step in plan)
    if turn == 0:
        return f"The problem takes {len(plan)} steps: {tools}. I keep every digit until the end."
    return f"The plan is still: {tools}. I continue with what is missing."
