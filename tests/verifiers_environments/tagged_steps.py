"""XML fields with other names, their format, and answers that are read from several messages."""

import verifiers as vf
from datasets import Dataset
from verifiers.parsers.xml_parser import XMLParser
from verifiers.types import Messages, State

parser = XMLParser(fields=["think", ("code", "answer"), "sure"], answer_field="sure")


class AskAgainEnv(vf.MultiTurnEnv):
    async def env_response(self, messages: Messages, state: State, **kwargs) -> str | Messages:
        found = parser.parse(messages[-1]["content"], last=True)
        return "Sure?" if found.sure is None else f"You said {found.answer or found.code}."


def sure(completion, answer) -> float:
    return 1.0 if parser.parse_answer(completion) == answer else 0.0


def fields(completion) -> float:
    found = [parser.parse(m["content"]) for m in parser.get_assistant_messages(completion)]
    return float(sum(v is not None for one in found for v in (one.think, one.code, one.answer)))


def user_messages(completion) -> float:
    return float(len(parser.get_user_messages(completion)))


def form(completion) -> float:
    text = parser.format(think="a", answer="b", sure="c")
    return float(len(text)) + len(parser.get_format_str()) * 0 + len(parser.get_fields())


def load_environment(max_turns: int = 2):
    rubric = vf.Rubric(
        funcs=[sure, parser.get_format_reward_func(), fields, user_messages, form],
        weights=[1.0, 0.3, 0.0, 0.0, 0.0],
        parser=parser,
    )
    rows = [{"question": f"Case {n}", "answer": answer} for n, answer in enumerate(["yes", "no"])]
    return AskAgainEnv(
        dataset=Dataset.from_list(rows),
        system_prompt="Think, answer, say how sure you are.",
        few_shot=[
            {"role": "user", "content": "Case x"},
            {"role": "assistant", "content": "<think>t</think>"},
        ],
        parser=parser,
        rubric=rubric,
        max_turns=max_turns,
    )
