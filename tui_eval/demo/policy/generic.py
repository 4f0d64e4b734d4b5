"""Answers anything else: briefly, in the form that was requested, with a tool now and then."""

from __future__ import annotations

import re

from tui_eval.demo.policy.dialogue import Call, Dialogue, Dice, Reply, text_of
from tui_eval.demo.policy.schema import make_value

_TAG = re.compile(r"<([A-Za-z][\w-]*)>")
_SUM = re.compile(r"(-?\d+(?:\.\d+)?)\s*([-+*/x×÷])\s*(-?\d+(?:\.\d+)?)")
_RANGE = re.compile(r"\b(?:from|between) (\d{1,9}) (?:to|and) (\d{1,9})\b")
_CHOICE = re.compile(r"^\s*\(?([A-H])[).:]\s+\S", re.MULTILINE)
_THINKING_TAGS = {"think", "thinking", "reasoning", "thought", "thoughts", "scratchpad", "analysis"}
_MOST_TOOL_TURNS = 2
_TOKEN = re.compile(r"-?\d+(?:\.\d+)?|[^\W_][\w'-]*")
_NUMBERS = {"one": "1", "once": "1", "two": "2", "twice": "2", "three": "3", "four": "4"}
_NUMBERS |= {"five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10"}
_WORD = re.compile(r"[^\W_][\w'-]*")


def reply(dialogue: Dialogue, dice: Dice) -> Reply:
    """A short answer, or a tool call while fewer than two turns have made one."""
    requested = dialogue.user_texts[-1] if dialogue.user_texts else dialogue.instructions
    tool_turns = sum(bool(answer.get("tool_calls")) for answer in dialogue.answers)
    if dialogue.functions and _wants_a_tool(tool_turns, dice):
        name = dice.pick(_mentioned(list(dialogue.functions), requested, dice))
        arguments = make_value(dialogue.functions[name], dice, _words(dialogue))
        if isinstance(arguments, dict):
            call = Call(dice.call_id(), name, arguments)
            return Reply(f"Let me use {name} for that.", "", [call])
    thought = f"The question is about {_topic(requested, dice)}. A short answer will do."
    answer = _guess(dialogue, dice) or _short_answer(requested, dice)
    reasoning = thought if dice.chance(0.25) else ""
    return Reply(_dress(answer, thought, dialogue, dice), reasoning)


def _wants_a_tool(tool_turns: int, dice: Dice) -> bool:
    """Every fourth repetition of a question is answered without: not all rollouts end alike."""
    if tool_turns >= _MOST_TOOL_TURNS or dice.repetition % 4 == 3:
        return False
    return dice.chance(0.9 - 0.3 * tool_turns)


def _mentioned(names: list[str], question: str, dice: Dice) -> list[str]:
    """At half of the calls the functions with a word of the question in their names, else all."""
    words = {word.lower() for word in _WORD.findall(question[:2000])} if dice.chance(0.5) else set()
    return [name for name in names if words & set(name.lower().split("_"))] or names


def _words(dialogue: Dialogue) -> list[str]:
    """Words that arguments are taken from: of the last tool result, else of the question."""
    texts = [result for _, result in dialogue.tool_results[-1:]] + dialogue.user_texts[-1:]
    words = [word for text in texts for word in _TOKEN.findall(text[:2000])][:60]
    return words + [_NUMBERS[word.lower()] for word in words if word.lower() in _NUMBERS]


def _guess(dialogue: Dialogue, dice: Dice) -> str | None:
    """About the middle of what "higher" and "lower" have left of a range that is named."""
    found = _RANGE.search(dialogue.question)
    if found is None:
        return None
    low, high = int(found[1]), int(found[2])
    for answer, hint in zip(dialogue.answers, dialogue.user_texts[1:], strict=False):
        numbers = re.findall(r"-?\d+", text_of(answer))
        if numbers and "higher" in hint:
            low = max(low, int(numbers[-1]) + 1)
        elif numbers and "lower" in hint:
            high = min(high, int(numbers[-1]) - 1)
    middle, aside = (low + high) // 2, max(high - low, 0) // 4
    return str(dice.random.randint(middle - aside, middle + aside))


def _short_answer(question: str, dice: Dice) -> str:
    found = _SUM.search(question)
    if found:
        return _calculate(float(found[1]), found[2], float(found[3]), dice)
    choices = _CHOICE.findall(question)
    if len(choices) > 1:
        return str(dice.pick(choices))
    if re.match(
        r"\s*(is|are|was|were|do|does|did|can|could|will|should|has|have)\b", question, re.I
    ):
        return dice.pick(("yes", "no"))
    if re.search(r"\bhow (many|much|old|far|long)\b", question, re.I):
        numbers = re.findall(r"\d+", question)
        return dice.pick(numbers) if numbers else str(dice.random.randint(2, 40))
    return _topic(question, dice)


def _calculate(first: float, sign: str, last: float, dice: Dice) -> str:
    if sign == "+":
        result = first + last
    elif sign == "-":
        result = first - last
    elif sign in "*x×":
        result = first * last
    elif last:
        result = first / last
    else:
        return "undefined"
    if dice.slips(0.2):
        result += dice.pick((-10, -1, 1, 10))
    return f"{result:.10g}"


def _topic(text: str, dice: Dice) -> str:
    """A few neighbouring words of the text, the longest one among them."""
    words = _WORD.findall(text[:2000])
    if not words:
        return "this"
    middle = words.index(max(words, key=len))
    return " ".join(words[max(0, middle - dice.random.randint(0, 1)) : middle + 2])


def _dress(answer: str, thought: str, dialogue: Dialogue, dice: Dice) -> str:
    """The answer in the XML tags or the box that the prompt requests, or in a sentence."""
    prompt = f"{dialogue.instructions}\n{dialogue.question}"
    tags = list(dict.fromkeys(_TAG.findall(prompt)))
    if tags and not dice.slips(0.08):
        return "\n".join(
            f"<{tag}>{thought if tag.lower() in _THINKING_TAGS else answer}</{tag}>"
            for tag in tags[:6]
        )
    if "\\boxed" in prompt:
        return f"So the answer is \\boxed{{{answer}}}."
    if dialogue.tool_results:
        _, result = dialogue.tool_results[-1]
        return f"The tool says {result[:80]!r}, so my answer is {answer}."
    return dice.pick(("{}", "I would say {}.", "The answer is {}.", "My answer: {}.")).format(
        answer
    )
