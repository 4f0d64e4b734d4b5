"""Rollouts of tasks, games and MCP servers that others wrote, printed as JSON.

Reads the name of the module that environments come from, this program's or verifiers, the tasks of
reasoning-gym, and for each MCP server its config and the calls of its tools.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from scripted_endpoint import Answer, Messages, endpoint
from server_folder import in_folder, new_folder, without

os.environ["KEY"] = "any"
SIZE = {"num_train_examples": 2, "num_eval_examples": 3, "seed": 11}
WORDS = ["crane", "house", "plant", "stone", "light", "grape"]


def outputs(vf: Any, env: Any, answer: Answer, repetitions: int = 1) -> list[Any]:
    """What the rollouts of all rows for evaluation give, in their order."""
    with endpoint(answer) as url:
        client = vf.ClientConfig(api_base_url=url, api_key_var="KEY")
        done = env.evaluate_sync(client, "m", rollouts_per_example=repetitions, max_concurrent=1)
    shown = ("example_id", "prompt", "completion", "reward", "metrics", "stop_condition", "error")
    return [
        {name: plain(rollout.get(name)) for name in (*shown, "answer", "task")}
        for rollout in sorted(done["outputs"], key=lambda rollout: rollout["example_id"])
    ]


def plain(part: Any) -> Any:
    """As JSON, and without what a message leaves out in one of the two."""
    if hasattr(part, "model_dump"):
        part = part.model_dump()
    if isinstance(part, dict):
        return {name: plain(one) for name, one in part.items() if one is not None}
    return [plain(one) for one in part] if isinstance(part, list | tuple) else part


def in_turn(*contents: str) -> Answer:
    """Answers one content after the other, whatever is asked."""
    left = iter(contents * 100)
    return lambda messages: {"content": next(left)}


def tasks(vf: Any, names: list[str]) -> dict[str, Any]:
    import reasoning_gym

    found: dict[str, Any] = {}
    for name in names:
        made = reasoning_gym.create_dataset(name, size=5, seed=11)
        said = [f"<answer>\n{made[0]['answer']}\n</answer>", "<answer>7</answer>"]
        right = [f"<answer> {made[place]['answer']} </answer>" for place in (2, 3, 4)]
        env = vf.ReasoningGymEnv(name, **SIZE)
        found[name] = outputs(vf, env, in_turn(*(one for r in right for one in (r, *said))), 3)
    both = [{"name": "gcd", "weight": 2, "config": {}}, "lcm"]
    found["gcd and lcm"] = outputs(vf, vf.ReasoningGymEnv(both, **SIZE), in_turn(*said))
    return found


def games(vf: Any) -> dict[str, Any]:
    """Wordle, whose words and tagger are small ones made here: it would download them."""
    words = Path("nltk/corpora/words")
    words.mkdir(parents=True)
    for name in ("en", "en-basic"):
        (words / name).write_text("\n".join(WORDS))
    (words / "README").touch()
    os.environ["NLTK_DATA"] = str(Path("nltk").absolute())
    import nltk

    nltk.download = lambda *_, **__: None
    nltk.pos_tag = lambda words: [(word, "NN") for word in words]

    def is_won(parser: Any, completion: Any, answer: str) -> float:
        return float(str(parser.parse_answer(completion)).strip("[]") == answer)

    async def turns(state: Any) -> float:
        return len(state["trajectory"])

    parser = vf.XMLParser(fields=["think", "guess"], answer_field="guess")
    rubric = vf.Rubric([is_won, turns], weights=[1.0, 0.1], parser=parser)
    env = vf.TextArenaEnv(
        game="Wordle-v0", **SIZE, system_prompt="Play.", parser=parser, rubric=rubric
    )
    guesses = [f"<think>hm</think>\n<guess>[{word}]</guess>" for word in WORDS]
    untagged, wrong = "[crane]", "<guess>[zzzzz]</guess>"
    return {
        "by tags": outputs(vf, env, by_turn(guesses)),
        "untagged": outputs(vf, env, by_turn([untagged, *guesses])),
        "no word": outputs(vf, env, by_turn([wrong, wrong, *guesses])),
    }


def by_turn(contents: list[str]) -> Answer:
    """Answers by how often the model has been asked before in this rollout."""
    return lambda messages: {"content": contents[turn(messages) % len(contents)]}


def turn(messages: Messages) -> int:
    return sum(message["role"] == "assistant" for message in messages)


def servers(vf: Any, given: dict[str, Any]) -> dict[str, Any]:
    return {name: calls_of(vf, name, **server) for name, server in given.items()}


def calls_of(vf: Any, name: str, config: dict[str, Any], calls: list[Any]) -> Any:
    """The tools of a server, and the results of all calls, one call a turn."""
    folder = new_folder(name)
    config, calls = in_folder(config, folder), in_folder(calls, folder)

    def answer(messages: Messages) -> dict[str, Any]:
        place = turn(messages)
        if place == len(calls):
            return {"content": "done"}
        tool, arguments = calls[place]
        function = {"name": tool, "arguments": json.dumps(arguments)}
        return {"tool_calls": [{"id": f"c{place}", "type": "function", "function": function}]}

    from datasets import Dataset

    table = Dataset.from_list([{"question": "q", "answer": ""}])
    env = mcp_env(vf)(
        mcp_servers=[config], max_turns=len(calls) + 1, dataset=table, rubric=vf.Rubric()
    )
    (rollout,) = outputs(vf, env, answer)
    results = [one["content"] for one in rollout["completion"] if one["role"] == "tool"]
    tools = {one.name: one.parameters for one in env.tool_defs}
    return [tools, *without(folder, results)]


def mcp_env(vf: Any) -> Any:
    """The class, which verifiers keeps beside its others."""
    if hasattr(vf, "MCPEnv"):
        return vf.MCPEnv
    return importlib.import_module("verifiers.envs.experimental.mcp_env").MCPEnv


def main() -> None:
    given = json.load(sys.stdin)
    vf = importlib.import_module(given["module"])
    found = {"tasks": tasks(vf, given["tasks"]), "games": games(vf)}
    found["servers"] = servers(vf, given["servers"])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
