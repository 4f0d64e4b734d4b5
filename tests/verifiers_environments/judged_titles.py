"""A judge on another endpoint decides; its answer is read twice and asked once."""

import verifiers as vf
from datasets import Dataset
from openai import AsyncOpenAI

PROMPT = """Does the title fit the story?

Story: {question}
Example of a good title: {answer}
Title: {response}

Answer yes or no."""


def load_environment(
    judge_base_url: str,
    judge_model: str = "judge-small",
    judge_key_var: str = "JUDGE_API_KEY",
    **kwargs,
) -> vf.Environment:
    import os

    vf.ensure_keys([judge_key_var])
    client = AsyncOpenAI(base_url=judge_base_url, api_key=os.environ[judge_key_var])
    parser = vf.Parser()
    rubric = vf.JudgeRubric(
        parser=parser, judge_client=client, judge_model=judge_model, judge_prompt=PROMPT
    )

    async def fits(judge, prompt, completion, answer, state, **kwargs) -> float:
        verdict = await judge(prompt, completion, answer, state)
        return 1.0 if "yes" in verdict.lower() else 0.0

    async def said_something(judge, prompt, completion, answer, state) -> float:
        return float(bool(await judge(prompt, completion, answer, state)))

    rubric.add_reward_func(fits, weight=1.0)
    rubric.add_reward_func(said_something, weight=0.0)
    stories = ["A fox crosses a frozen lake.", "Two sisters repair an old radio."]
    dataset = [{"question": story, "answer": f"{story.split()[1].title()}"} for story in stories]
    return vf.SingleTurnEnv(
        dataset=Dataset.from_list(dataset), parser=parser, rubric=rubric, **kwargs
    )
