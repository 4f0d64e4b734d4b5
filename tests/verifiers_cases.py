"""Environments of `verifiers_environments` with the answers that a scripted model gives them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ENVIRONMENTS = Path(__file__).with_name("verifiers_environments")
RECORDED_RESULTS = ENVIRONMENTS / "recorded_results.json"
"""Results of verifiers 0.1.11 for every case: rows and request bodies."""

Call = tuple[str, str]
Turn = str | list[Call] | tuple[str, ...]
"""A text, calls of tools (name and arguments as they are sent), or a text for each rollout."""


@dataclass(frozen=True)
class Case:
    """One evaluation; the model's name is the environment's, so that the answers find it.

    Args:
        env_id: The environment.
        answers: What the conversation holds, and what is said then, turn by turn; the last
            turn is said again.
        examples: How many.
        rollouts: Of each example.
        env_args: For `load_environment`; a judge's base URL is filled in for `URL`.
        sampling: What is sampled with.
        judge: What the judge's prompt holds, and its answer.
        shown: Assistant messages that every prompt begins with.
        client_type: Protocol.
        says_own_words: Whether what the user says comes from the environment alone. Sentences of
            the library are not recorded.
    """

    env_id: str
    answers: dict[str, list[Turn]]
    examples: int = 2
    rollouts: int = 1
    env_args: dict[str, Any] = field(default_factory=dict)
    sampling: dict[str, Any] = field(default_factory=lambda: {"temperature": 0.0})
    judge: dict[str, str] = field(default_factory=dict)
    shown: int = 0
    client_type: str = "openai_chat_completions"
    says_own_words: bool = True


CASES = [
    Case(
        "typed-desk",
        {
            "Price a lamp": [
                [("quote", '{"item": "lamp", "size": "large", "currency": "SEK"}')],
                [("quote", '{"item": "rope"}'), ("total", '{"prices": [1.5, 2], "discount": 0.1}')],
                "It is 92.",
            ],
            "Break it": [
                [("broken", '{"reason": "it fell"}'), ("nothing", "{}")],
                [("broken", '{"reason": "x"'), ("quote", '{"price": 1}')],
                "Broken.",
            ],
            "Count stock": [
                [("stock", '{"names": ["a", "bb", "ccc", "dddd"], "detailed": true}')],
                [("stock", '{"names": ["tent"], "limit": null}'), ("total", '{"prices": []}')],
                "Done.",
            ],
        },
        examples=3,
        sampling={"temperature": 0.3, "max_tokens": 50},
    ),
    Case(
        "own-scoring",
        {
            "green": [("A green pear, here.", "An apple", "I do not know what pears are.")],
            "blue": [("jay", "a blue jay by the tree", "wren")],
        },
        rollouts=3,
    ),
    Case("edited-messages", {"Say yes": ["Yes"], "Say no": ["maybe \u00e9"]}),
    Case(
        "wrapped-rubric",
        {"tea": [("Tea, please?", "I want tea")], "jam": [("jam", "PLEASE give me ham?")]},
        rollouts=2,
    ),
    Case(
        "boxed-roots",
        {
            "Half of three": ["<think>1</think> \\boxed{1.5}"],
            "Roots": ["First \\boxed{3}, no: \\boxed{\\{2, -2\\}}"],
            "One third": ["It is \\boxed{0.333}"],
            "Twelve": ["\\boxed{1{,}200}"],
        },
        examples=4,
    ),
    Case(
        "relay-suite",
        {
            "tea": ["Tea or tea please?"],
            "jam": ["jam"],
            "Say yes": ["yes"],
            "Say no": ["No"],
            "Echo": ["Echo this."],
        },
        examples=-1,
    ),
    Case(
        "river-names",
        {"Torne": ["522 km"], "Lule": ["Around 400."], "Ume": ["It has 1 or 470"]},
        env_args={"above": 455},
        sampling={"temperature": 0.2, "max_tokens": 5, "extra_body": {"min_p": 0.1}},
    ),
    Case(
        "locked-door",
        {
            "red": ["11", "12"],
            "blue": ["33", "33"],
            "jammed": ["kick"],
            "endless": ["1", "2", "3", "4", "5"],
        },
        examples=4,
    ),
    Case(
        "import-time-judge",
        {
            "friend": ["<answer>hello you</answer>"],
            "foe": ["<answer>go away</answer> and more"],
        },
        judge={
            "Said: hello you": "I say 9",
            "Said: go away": "Perhaps 2.5",
            "kind? <answer>hello": "Yes.",
            "kind? <answer>go": "No.",
        },
    ),
    Case(
        "tagged-steps",
        {
            "Case 0": [
                "<think>hm</think><code>1+1</code>",
                "<think>x</think>\n<answer>2</answer>\n<sure>yes</sure>",
            ],
            "Case 1": [
                "<sure> maybe </sure><answer>a</answer>",
                "<sure>yes</sure> <sure>no</sure> <think>open",
            ],
        },
        shown=1,
    ),
    Case(
        "ledger-accounts",
        {
            "save": [
                [("move", '{"amount": 5, "note": "pay"}'), ("move", '{"amount": -1.5}')],
                [("rules", "{}"), ("move", '{"amount": 0.25, "accounts": 7}')],
                "Saved.",
            ],
            "spend": [[("move", '{"amount": -50, "note": "boat"}')], "Spent."],
            "confuse": [
                [("move", "{not json"), ("move", "[1]"), ("gone", '{"why": "x"}')],
                [("move", '{"sum": 3}')],
                "Confused.",
            ],
        },
        examples=3,
    ),
    Case("plain-text-lines", {"Roses": ["blue"], "One, two": ["four"]}),
    Case(
        "lift-gym",
        {"Floor 2": ["up"], "Floor 0": ["Up please", "sideways"], "Floor 1": ["down"]},
        examples=3,
        says_own_words=False,
    ),
    Case(
        "reverse-letters",
        {
            "orange": ["<reasoning>r</reasoning>\n<answer>egnaro</answer>"],
            "lantern": ["<answer>nretnal"],
            "cobble": ["elbboc"],
        },
        examples=3,
    ),
    Case(
        "guess-the-number",
        {"I think of": ["25", "no idea", "10", "give up"]},
        examples=3,
    ),
    Case("private-hooks", {"a lot": ["one", "two", "three"], "little": ["first", "enough"]}),
    Case(
        "notebook-session",
        {
            "tide": [[("write_note", '{"text": "high"}'), ("read_notes", "{}")], "Read."],
            "lighthouse": ["There is none."],
        },
    ),
    Case(
        "mixed-sums",
        {"5 + 3": ["8"], "14 + 5": ["20"], "5 - 3": ["It is 2"], "14 - 5": ["9"]},
        examples=4,
    ),
    Case(
        "judged-titles",
        {"fox": ["The Ice"], "sisters": ["Waves"]},
        env_args={"judge_base_url": "URL", "judge_model": "judged-titles/judge"},
        judge={"The Ice": "Yes", "Waves": "no"},
    ),
    Case(
        "original-names",
        {"old": [("Ida", "Bo", "Ida")], "fast": [("Swift.", "Arrow")], "tiny": [("Pip", "Pip")]},
        examples=3,
        rollouts=3,
        shown=1,
    ),
    Case(
        "thinking-quiz",
        {"fish": ["<think>fins</think> B."], "floats": ["A"]},
        env_args={"use_think": True},
    ),
    Case("serial-story", {"Ida": ["Ida sailed.", "She came home."], "Bo": ["Bo slept."]}),
    Case(
        "counting-gym",
        {"Say something": ["one", "two", "three"]},
        examples=3,
        says_own_words=False,
    ),
]
