"""A client that is made at import, and two judges in a group of rubrics."""

import os

import verifiers as vf
from datasets import Dataset
from openai import AsyncOpenAI
from verifiers.rubrics.judge_rubric import JudgeRubric

CLIENT = AsyncOpenAI(
    base_url=os.environ.get("LOOPBACK_JUDGE", "http://127.0.0.1:9/v1"), api_key="sk-none"
)
PROMPT = "Question: {question}\nExpected: {answer}\nSaid: {response}\nScore from 0 to 10."


async def score(judge, prompt, completion, answer, state) -> float:
    text = await judge(prompt, completion, answer, state)
    return float(text.split()[-1]) / 10


async def asked_by_hand(judge_client, judge_model, judge_sampling_args, completion, **kwargs):
    done = await judge_client.chat.completions.create(
        model=judge_model,
        messages=[{"role": "user", "content": f"Is it kind? {completion[-1]['content']}"}],
        **judge_sampling_args,
    )
    return 1.0 if done.choices[0].message.content.startswith("Yes") else 0.0


def cached(state) -> float:
    return float(len(state.get("judge_response") or {}))


def load_environment(judge_model: str = "import-time-judge/judge"):
    parser = vf.XMLParser(["answer"])
    first = JudgeRubric(
        parser=parser,
        judge_client=CLIENT,
        judge_model=judge_model,
        judge_prompt=PROMPT,
        judge_sampling_args={"max_tokens": 9, "temperature": 0.5, "seed": None},
    )
    first.add_reward_func(score, weight=0.5)
    second = vf.JudgeRubric(judge_client=CLIENT, judge_model=judge_model)
    second.add_reward_func(asked_by_hand)
    plain = vf.Rubric(funcs=[cached], weights=[0.0])
    dataset = Dataset.from_list(
        [
            {"question": "What to say to a friend?", "answer": "hello"},
            {"question": "What to say to a foe?", "answer": "peace"},
        ]
    )
    rubric = vf.RubricGroup(rubrics=[first, second, plain])
    return vf.SingleTurnEnv(dataset=dataset, parser=parser, rubric=rubric)
