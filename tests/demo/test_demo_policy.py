"""Answers of the scripted policy to conversations that it has no script for."""

from __future__ import annotations

import random
import re
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.demo.endpoint import Repetitions, answer, latency
from tui_eval.demo.policy.dialogue import Dialogue, Dice
from tui_eval.demo.policy.word_guess import fits

TOOL = {
    "type": "function",
    "function": {"name": "search", "parameters": {"properties": {"query": {"type": "string"}}}},
}


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize("seed", range(30))
def test_an_unknown_tool_task_comes_to_an_end(seed: int) -> None:
    messages = user("Find out who painted the ceiling.")
    turns = 0
    while (reply := answer(Dialogue(messages, [TOOL]), Dice(f"{seed} {turns}", 2.0))).calls:
        turns += 1
        calls = [{"id": call.id, "function": {"name": call.name}} for call in reply.calls]
        messages.append({"role": "assistant", "content": reply.content, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": c.id, "content": "m"} for c in reply.calls]
    assert turns <= 2
    assert reply.content


def test_a_tool_is_called_sometimes_but_not_always() -> None:
    called = [
        bool(answer(Dialogue(user("Look it up."), [TOOL]), Dice(seed, 1.0)).calls)
        for seed in range(60)
    ]
    assert 10 < sum(called) < 60


def test_the_tags_that_are_requested_are_filled() -> None:
    prompt = "Think in <reasoning> tags, then answer in <answer>. What is 17 + 25?"
    replies = [answer(Dialogue(user(prompt)), Dice(seed, 1.0)).content for seed in range(60)]
    numbers = [re.search(r"<answer>(.*)</answer>", reply) for reply in replies]
    found = [number[1] for number in numbers if number]
    assert len(found) > 45
    assert 30 < found.count("42") < len(found)
    tagged = [reply for reply in replies if "<answer>" in reply]
    assert all("</reasoning>" in reply for reply in tagged)


@given(text=st.text(), temperature=st.floats(0, 2))
def test_any_text_gets_an_answer(text: str, temperature: float) -> None:
    for system in ("", "Put it into <answer>.", "Use <reversed_text>.", "<guess> five letters"):
        messages = [{"role": "system", "content": system}, *user(text)]
        assert answer(Dialogue(messages, [TOOL] * (not system)), Dice(text, temperature))


def test_reasoning_is_shown_now_and_then() -> None:
    thought = [answer(Dialogue(user("Why?")), Dice(seed, 1.0)).reasoning for seed in range(80)]
    assert 5 < sum(map(bool, thought)) < 60


def test_a_clue_rules_words_out_as_the_game_means_it() -> None:
    assert fits("about", ("house", "-YY--"))
    assert not fits("block", ("house", "-YY--"))
    assert not fits("house", ("house", "-YY--"))
    assert fits("geese", ("eerie", "YY--G")) is False
    assert fits("fleet", ("eaten", "Y-YG-"))
    assert not fits("fleet", ("eaten", "--YG-"))


def test_latency_is_believable_and_grows_with_the_answer() -> None:
    dice = random.Random(0)
    short = [latency(dice, 10, 1.0) for _ in range(3000)]
    long = [latency(dice, 120, 1.0) for _ in range(3000)]
    assert min(short) >= 0.3 and max(short) <= 5.0
    assert statistics.median(short) + 0.5 < statistics.median(long) < 2.5
    assert 5 < sum(seconds > 2.5 for seconds in short) < 80
    assert latency(dice, 120, 0.0) == 0.0


def test_the_count_of_repetitions_forgets_the_oldest() -> None:
    repetitions = Repetitions(most=3)
    assert [repetitions.count(b"a") for _ in range(3)] == [0, 1, 2]
    for content in (b"b", b"c", b"d", b"e"):
        repetitions.count(content)
    assert len(repetitions) == 3
    assert repetitions.count(b"a") == 0
    assert repetitions.count(b"e") == 1


@pytest.mark.parametrize("secret", [1, 37, 100])
def test_a_number_in_a_range_is_found_by_what_each_guess_rules_out(secret: int) -> None:
    messages = user("Guess my number, from 1 to 100.")
    for _ in range(16):  # each leaves at most three quarters of the range
        said = answer(Dialogue(messages), Dice(0, 0.0)).content
        guess = int(re.findall(r"\d+", said)[-1])
        if guess == secret:
            return
        hint = "higher" if guess < secret else "lower"
        messages += [{"role": "assistant", "content": said}, *user(f"No, {hint}.")]
    raise AssertionError("not found in sixteen guesses")


def test_a_tool_of_the_questions_words_is_called_more_often_and_number_words_are_numbers() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    names = ("look_up", "throw_dice", "order", "paint")
    tools = [{"function": {"name": name, "parameters": schema}} for name in names]
    replies = [answer(Dialogue(user("Throw it twice."), tools), Dice(s, 1.0)) for s in range(100)]
    calls = [call for reply in replies for call in reply.calls]
    assert sum(call.name == "throw_dice" for call in calls) > len(calls) / 2
    assert sum(call.arguments == {"n": 2} for call in calls) > len(calls) / 2


def test_one_of_four_repetitions_is_answered_without_a_tool() -> None:
    dialogue = Dialogue(user("Look it up."), [TOOL])
    assert not any(answer(dialogue, Dice(seed, 1.0, 3)).calls for seed in range(20))
    assert any(answer(dialogue, Dice(seed, 1.0, 4)).calls for seed in range(20))
