"""A scripted model for `verifiers_cases`, and what rows and requests say in one form for both."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from program import tool_call
from servers import LoopbackServer
from verifiers_cases import Case, Turn

JUDGE = "/judge"
"""The end of the name of a judge's model."""
SETTINGS_OF_A_CLIENT = {"stream", "stream_options"}
"""Keys of a request that say how an answer travels, not what is requested."""

Results = dict[str, Any]


class ScriptedModels(LoopbackServer):
    """Answers every model by its case; `bodies` holds the requests to each."""

    def __init__(self, cases: Iterable[Case]) -> None:
        super().__init__()
        self.bodies: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._cases = {case.env_id: case for case in cases}
        self._turns: Counter[str] = Counter()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=404)
        body = await request.json()
        model = body["model"]
        case = self._cases[model.removesuffix(JUDGE)]
        self.bodies[case.env_id].append({"path": request.path, **body})
        if model.endswith(JUDGE):
            text = json.dumps(body["messages"], ensure_ascii=False)
            said: Turn = next(answer for part, answer in case.judge.items() if part in text)
        else:
            said = self._turn(case, body)
        answer = _text if "prompt" in body else _chat
        return web.json_response(answer(said, model, len(body.get("messages", []))))

    def _turn(self, case: Case, body: dict[str, Any]) -> Turn:
        said = body["prompt"] if "prompt" in body else body["messages"]
        text = json.dumps(said, ensure_ascii=False)
        turns = next(turns for part, turns in case.answers.items() if part in text)
        before = 0
        if "messages" in body:
            before = sum(m["role"] == "assistant" for m in body["messages"]) - case.shown
        turn = turns[min(before, len(turns) - 1)]
        if isinstance(turn, tuple):
            key = case.env_id + text
            turn = turn[self._turns[key] % len(turn)]
            self._turns[key] += 1
        return turn


def _chat(said: Turn, model: str, place: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said}
    if isinstance(said, list):
        calls = [tool_call(name, args, f"call_{place}_{i}") for i, (name, args) in enumerate(said)]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    end = "tool_calls" if "tool_calls" in message else "stop"
    return _answer(model, "chat.completion", {"message": message, "finish_reason": end})


def _text(said: Turn, model: str, place: int) -> dict[str, Any]:
    return _answer(model, "text_completion", {"text": f" {said}", "finish_reason": "stop"})


def _answer(model: str, kind: str, choice: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "answer-1",
        "object": kind,
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "logprobs": None, **choice}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def results_of(case: Case, rows: list[dict[str, Any]], bodies: list[dict[str, Any]]) -> Results:
    """Rows and requests of a case in an order and a form that do not depend on the library."""
    found = {
        "rows": sorted((_row(row) for row in rows), key=_order),
        "requests": sorted((_request(body) for body in bodies), key=json.dumps),
    }
    return found if case.says_own_words else _without_words(found)


def _without_words(value: Any) -> Any:
    """The same without the content of messages of the user."""
    if isinstance(value, list):
        return [_without_words(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_words(one) for key, one in value.items()}
    return kept | {"content": "..."} if kept.get("role") == "user" else kept


def _order(row: Results) -> str:
    return json.dumps([f"{row['example_id']:06}", row["completion"], row["reward"]])


def _row(row: dict[str, Any]) -> Results:
    error = row.get("error")
    return {
        "example_id": row["example_id"],
        "task": row["task"],
        "answer": row.get("answer") or "",
        "info": row.get("info") or {},
        "reward": row["reward"],
        "metrics": dict(sorted((row["metrics"] or {}).items())),
        "stop_condition": row["stop_condition"],
        "is_truncated": row["is_truncated"],
        "error": error["error"] if isinstance(error, dict) else error,
        "prompt": _messages(row["prompt"]),
        "completion": _messages(row["completion"]),
    }


def _messages(messages: Any) -> Any:
    if not isinstance(messages, list):
        return messages
    return [_message(message) for message in messages]


def _message(message: dict[str, Any]) -> dict[str, Any]:
    kept = {key: message.get(key) for key in ("role", "content", "tool_call_id")}
    calls = message.get("tool_calls") or []
    kept["tool_calls"] = [_call(json.loads(c) if isinstance(c, str) else c) for c in calls]
    return {key: value for key, value in kept.items() if value or key in ("role", "content")}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    inner = call.get("function", call)
    return {"id": call["id"], "name": inner["name"], "arguments": inner["arguments"]}


def _request(body: dict[str, Any]) -> Results:
    kept = {key: value for key, value in body.items() if key not in SETTINGS_OF_A_CLIENT}
    if kept.get("n") == 1:
        del kept["n"]
    if "messages" in kept:
        kept["messages"] = _messages(kept["messages"])
    return dict(sorted(kept.items()))


@dataclass(frozen=True)
class Difference:
    """A place whose value is not the same, without the numbers of rows and messages."""

    where: str
    ours: Any
    theirs: Any


def differences(ours: Any, theirs: Any, where: str = "") -> list[Difference]:
    """Every place where two results are not the same."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = [*theirs, *(key for key in ours if key not in theirs)]
        inside = ((f"{where}.{key}".lstrip("."), ours.get(key), theirs.get(key)) for key in keys)
        return [one for at, a, b in inside for one in differences(a, b, at)]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = zip(ours, theirs, strict=True)
        return [one for a, b in pairs for one in differences(a, b, where)]
    if type(ours) is type(theirs) and ours == theirs:
        return []
    return [Difference(where, ours, theirs)]
