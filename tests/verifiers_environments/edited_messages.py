"""Reward functions that change, copy, pickle and compare the messages that they are given."""

import copy
import json
import pickle

import verifiers as vf
from datasets import Dataset
from verifiers.types import AssistantMessage, Messages, State


def shouted(completion: Messages, answer: str) -> float:
    message = completion[-1]
    message.content = message.content.upper()
    return float(message["content"] == answer.upper())


def assigned(prompt: Messages) -> float:
    message = copy.copy(prompt[-1])
    message["content"] = "item"
    return 1.0


def sees_the_change(completion: Messages, **kwargs) -> float:
    return float(completion[-1]["content"].isupper())


def copied(prompt: Messages, completion: Messages, state: State) -> float:
    mine = copy.deepcopy(completion)
    mine[-1].content = "other"
    again = pickle.loads(pickle.dumps(completion))
    return float(again == completion and mine != completion) + 0.25 * float(prompt is not mine)


def as_plain(completion: Messages) -> float:
    plain = [message.model_dump(exclude_none=True) for message in completion]
    text = json.dumps(plain)
    says_who = float(plain[-1]["role"] == "assistant")
    return float(len(json.loads(text)[-1]["content"])) + 0.5 * says_who


def read_in_every_way(completion: Messages) -> float:
    last = completion[-1]
    assert isinstance(last, AssistantMessage)
    found = [last.get("content"), last["content"], last.content, dict(last)["content"]]
    return float(len(set(found))) + float("content" in last) + float(last.get("nowhere", 5))


def sets_new_keys(completion: Messages, state: State) -> float:
    state["seen"] = state.get("seen", 0) + 1
    state.setdefault("list", []).append(state["seen"])
    return float(len(state["list"]) + state["seen"])


def load_environment(**kwargs):
    rows = [
        {"question": "Say yes.", "answer": "yes", "info": {"kind": "short", "of": None}},
        {"question": "Say no.", "answer": "no", "info": {"kind": "long", "of": "x"}},
    ]
    funcs = [
        shouted,
        sees_the_change,
        copied,
        as_plain,
        read_in_every_way,
        sets_new_keys,
        assigned,
    ]
    rubric = vf.Rubric(funcs=funcs, weights=[1.0, 0.5, 0.1, 0.01, 0.001, 0.0, 0.0])
    return vf.SingleTurnEnv(dataset=Dataset.from_list(rows), rubric=rubric, **kwargs)
