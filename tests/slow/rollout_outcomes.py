"""Fifty ways in which a rollout goes, and what its row has to say of each.

Chat endpoints are played by a server of which every conversation gets the answers of its way. It is
a strict one: it refuses what real ones refuse (null properties, arguments that are no JSON).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web
from program import chat_answer, tool_call
from servers import FaultServer, Reply

JUDGE = "judge"
"""The model that reward functions ask."""
_WAY = re.compile(r"way:([\w-]+)#(\d+)")


@dataclass(frozen=True)
class Way:
    """One course of a rollout, and its right outcome.

    Args:
        replies: To its requests in order; the last one again and again.
        kind: Its error's class; None where there is no error: then it is in the mean.
        stop: Its stop condition.
        finish: Why its last answer ended.
        truncated: Whether it is counted as truncated.
        reward: 1 where the answer is `yes`, which only the last of the replies may say.
        judged: Replies to its judge.
    """

    replies: Sequence[Reply]
    kind: str | None = None
    stop: str = "no_tools_called"
    finish: str | None = "stop"
    truncated: bool = False
    reward: float = 1.0
    judged: Sequence[Reply] = field(default_factory=list)


def answer(content: Any, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """A chat answer that ended so."""
    made = chat_answer(content, **message)
    made["choices"][0]["finish_reason"] = finish
    return made


def error_body(message: str, **more: Any) -> dict[str, Any]:
    """A body that tells an error."""
    return {"error": {"message": message, **more}}


def thinking(made: dict[str, Any], tokens: int) -> dict[str, Any]:
    """An answer with so many tokens of thoughts that are not shown."""
    usage = {**made["usage"], "completion_tokens_details": {"reasoning_tokens": tokens}}
    return {**made, "usage": usage}


def calling(name: str, arguments: str) -> Reply:
    """An answer that calls a tool."""
    return Reply(body=chat_answer("", tool_calls=[tool_call(name, arguments)]))


YES = answer("yes")
GOOD = Reply(body=YES)
HTML = {"Content-Type": "text/html"}
SOON = {"Retry-After": "0.1"}
CUT = json.dumps(YES).encode()
IN_CHOICE = {
    **YES,
    "choices": [
        {"index": 0, "message": None, "finish_reason": None, **error_body("busy", code=503)}
    ],
}
TWICE = {**YES, "choices": [{**YES["choices"][0], "index": index} for index in (0, 1)]}


def passing(*replies: Reply) -> Way:
    """A fault that is retried: nothing of it is seen in the row."""
    return Way([*replies, GOOD])


def failing(reply: Reply, kind: str = "endpoint") -> Way:
    """A fault that stays: an error, in no mean."""
    return Way([reply], kind, "has_error", None, reward=0.0)


def answering(made: dict[str, Any], finish: str | None, reward: float = 0.0) -> Way:
    """An answer of the model, whatever it is like: scored as it is."""
    return Way([Reply(body=made)], None, "no_tools_called", finish, finish == "length", reward)


def overlong(status: int, body: dict[str, Any]) -> Way:
    """A prompt that outgrew the context, in somebody's words."""
    return Way([Reply(status, body)], None, "prompt_too_long", None, True, 0.0)


def scored(kind: str, *judged: Reply) -> Way:
    """A good answer whose scoring goes wrong."""
    return Way([GOOD], kind, "no_tools_called", "stop", reward=0.0, judged=judged)


def broken(kind: str, *replies: Reply, finish: str | None = "tool_calls") -> Way:
    """A fault of the environment's own code or machine."""
    return Way(replies or [GOOD], kind, "has_error", finish, reward=0.0)


_THE_MODELS = {
    "good": answering(YES, "stop", 1.0),
    "length": answering(answer("ye", "length"), "length"),
    "empty": answering(thinking(answer(""), 0), "stop"),
    "empty-length": answering(answer("", "length"), "length"),
    "null-length": answering(answer(None, "length"), "length"),
    "hidden-thoughts": answering(thinking(answer(""), 512), "stop"),
    "hidden-thoughts-length": answering(thinking(answer("", "length"), 512), "length"),
    "refusal": answering(answer(None, refusal="I will not."), "refusal"),
    "refusal-beside-empty": answering(answer("", refusal="I will not."), "refusal"),
    "filtered": answering(answer("", "content_filter"), "content_filter"),
    "filtered-midway": answering(answer("ye", "content_filter"), "content_filter"),
    "malformed-arguments": passing(calling("look", '{"where": "he')),
    "arguments-no-object": passing(calling("look", '"here"')),
    "unknown-tool": passing(calling("fly", "{}")),
    "raising-tool": passing(calling("slip", "{}")),
    "good-tool": passing(calling("look", '{"where": "here"}')),
    "overlong": overlong(400, error_body("too long", code="context_length_exceeded")),
    "overlong-llama": overlong(
        400,
        error_body(
            "the request exceeds the available context size", type="exceed_context_size_error"
        ),
    ),
    "overlong-claude": overlong(400, error_body("prompt is too long: 9 tokens > 8 maximum")),
    "overlong-gateway": overlong(
        400, error_body("litellm.ContextWindowExceededError: litellm.BadRequestError: no")
    ),
}
_PASSING = {
    "408": passing(Reply(408, error_body("late"))),
    "409": passing(Reply(409, error_body("conflict"))),
    "429": passing(Reply(429, error_body("slowly"), SOON)),
    "429-in-ms": passing(Reply(429, error_body("slowly"), {"retry-after-ms": "50"})),
    "500": passing(Reply(500, error_body("oops")), Reply(500, error_body("oops"))),
    "502-html": passing(Reply(502, b"<html>bad gateway</html>", HTML)),
    "503": passing(Reply(503, error_body("loading"))),
    "529": passing(Reply(529, error_body("overloaded", type="overloaded_error"), SOON)),
    "reset": passing(Reply(reset=True)),
    "cut-off": passing(Reply(body=CUT, cut=40)),
    "429-in-200": passing(Reply(body=error_body("slowly", code=429))),
    "500-in-200": passing(Reply(body={**error_body("oops", code=500), "choices": []})),
    "error-in-choice": passing(Reply(body=IN_CHOICE)),
    "finish-error": passing(Reply(body=answer("ye", "error"))),
}
_THE_ENDPOINTS = {
    "400": failing(Reply(400, error_body("Unsupported parameter: 'foo'", param="foo"))),
    "401": failing(Reply(401, error_body("no such key"))),
    "402": failing(Reply(402, error_body("pay first"))),
    "403": failing(Reply(403, error_body("not for you"))),
    "404": failing(Reply(404, error_body("no such model", code="model_not_found"))),
    "413": failing(Reply(413, b"<html>413 Request Entity Too Large</html>", HTML)),
    "422": failing(Reply(422, {"detail": [{"loc": ["body", "foo"], "msg": "extra"}]})),
    "quota": failing(
        Reply(429, error_body("exceeded your current quota", code="insufficient_quota"))
    ),
    "quota-gateway": failing(
        Reply(429, error_body("RateLimitError: You exceeded your current quota", code="429"))
    ),
    "500-stays": failing(Reply(500, error_body("oops"))),
    "502-stays": failing(Reply(502, b"<html>bad gateway</html>", HTML)),
    "401-in-200": failing(Reply(body=error_body("no such key", code=401))),
    "reset-stays": failing(Reply(reset=True)),
    "empty-without-reason": failing(Reply(body=thinking(answer("", None), 0))),
    "no-body": failing(Reply(body=b"")),
    "half-a-json": failing(Reply(body=CUT[:60])),
    "html": failing(Reply(body=b"<html>sign in</html>", headers=HTML)),
    "no-utf8": failing(Reply(body=CUT.replace(b"yes", b"y\xff\xfes"))),
    "no-choices": failing(Reply(body={**YES, "choices": []})),
    "two-choices": failing(Reply(body=TWICE)),
    "content-filter-400": failing(
        Reply(400, error_body("filtered by our policy", code="content_filter")), "model"
    ),
    "hang": Way([Reply(hang=True)], "endpoint", "timeout_reached", None, reward=0.0),
}
_OURS = {
    "setup-raises": broken("environment", finish=None),
    "response-raises": broken("environment", calling("look", '{"where": "here"}')),
    "sandbox": broken("sandbox", finish=None),
    "disk-full": broken("engine", finish=None),
    "fatal-tool": broken("tool", calling("fail", "{}")),
    "hanging-tool": replace(
        broken("tool", calling("hang", "{}")), stop="timeout_reached", finish="tool_calls"
    ),
    "reward-raises": scored("scoring"),
    "reward-no-number": scored("scoring"),
    "judge-fails": scored("judge", Reply(400, error_body("no"))),
    "judge-fails-in-200": scored("judge", Reply(body=error_body("no", code=400))),
    "judge-cut-off": scored("judge", Reply(body=answer("ye", "length"))),
    "judge-empty": scored("judge", Reply(body=answer(""))),
    "judge-good": Way([GOOD], judged=[GOOD]),
}
WAYS: dict[str, Way] = {**_THE_MODELS, **_PASSING, **_THE_ENDPOINTS, **_OURS}
"""Each way by its name."""

ENVIRONMENT = '''
    import errno
    import time

    import openai
    import tui_eval as vf

    class Fatal(Exception):
        """Ends a rollout."""

    def look(where: str) -> str:
        """Looks somewhere."""
        return "nothing"

    def slip() -> str:
        """Slips."""
        raise ValueError("slipped")

    def fail() -> str:
        """Fails for good."""
        raise Fatal("it is over")

    def hang() -> str:
        """Takes very long."""
        time.sleep(40)
        return "at last"

    class Ways(vf.ToolEnv):
        async def setup_state(self, state, **kwargs):
            way = state["info"]["way"]
            if way == "setup-raises":
                raise KeyError("setup")
            if way == "sandbox":
                raise vf.SandboxError("no sandbox left")
            if way == "disk-full":
                raise OSError(errno.ENOSPC, "No space left on device")
            return await super().setup_state(state, **kwargs)

        async def env_response(self, messages, state, **kwargs):
            if state["info"]["way"] == "response-raises":
                raise KeyError("response")
            return await super().env_response(messages, state, **kwargs)

    async def right(prompt, completion, answer, state, judge):
        way = state["info"]["way"]
        if way == "reward-raises":
            raise ValueError("no idea")
        if way == "reward-no-number":
            return float("nan")
        if way.startswith("judge"):
            return float(await judge(prompt, completion, answer, state) == "yes")
        return float(completion[-1]["content"] == "yes") if completion else 0.0

    def load_environment(url, ways, each=1):
        client = openai.AsyncOpenAI(base_url=url, api_key="sk-any", max_retries=0)
        rubric = vf.JudgeRubric(judge_client=client, judge_model="judge")
        rubric.add_reward_func(right)
        questions = [
            {"question": f"way:{way}#{n}", "answer": "yes", "info": {"way": way}}
            for n in range(each)
            for way in ways
        ]
        return Ways(
            tools=[look, slip, fail, hang],
            stop_errors=[Fatal],
            max_turns=5,
            dataset=questions,
            rubric=rubric,
        )
'''


class WaysServer(FaultServer):
    """Answers each conversation as its way has it, whole or as a stream."""

    def __init__(self) -> None:
        super().__init__()
        self._turns: dict[tuple[str, str], int] = {}

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if not request.path.endswith("/chat/completions"):
            return web.Response(status=404)
        text = await request.text()
        body = json.loads(text)
        found = _WAY.search(text)
        assert found is not None
        fault = what_strict_servers_refuse(body)
        if fault:
            return web.json_response(error_body(fault), status=400)
        who = "judged" if body["model"] == JUDGE else "replies"
        script = getattr(WAYS[found[1]], who)
        turn = self._turns.get((found[0], who), 0)
        self._turns[found[0], who] = turn + 1
        reply = script[min(turn, len(script) - 1)]
        if body.get("stream"):
            reply = streamed(reply)
        return await self._answer(request, reply)


def what_strict_servers_refuse(body: dict[str, Any]) -> str:
    """Why vLLM's, llama.cpp's or somebody else's server would refuse a request; empty if not."""
    for message in body["messages"]:
        for name, value in message.items():
            if value is None and name != "content":
                return f"null property {name}"
        for call in message.get("tool_calls", []):
            try:
                is_object = isinstance(json.loads(call["function"]["arguments"]), dict)
            except ValueError:
                is_object = False
            if not is_object:
                return "arguments are no JSON object"
    return ""


def streamed(reply: Reply) -> Reply:
    """The same reply as a stream; what is no answer in JSON stays as it is."""
    if reply.status != 200 or reply.hang or reply.reset:
        return reply
    body = json.loads(CUT) if reply.body is CUT else reply.body
    if not isinstance(body, dict):
        return reply
    events = events_of(body)
    cut = None if reply.cut is None else len(events) // 3
    return replace(reply, body=events, headers={"Content-Type": "text/event-stream"}, cut=cut)


def events_of(body: dict[str, Any]) -> bytes:
    """A whole answer as events: what it says, then why it ended, then the end."""
    chunks = [body]
    if "choices" in body:
        head = {**body, "object": "chat.completion.chunk", "usage": None}
        first_chunk = [{**one, "delta": one["message"], "message": None} for one in body["choices"]]
        ended = [{**one, "delta": {}, "message": None} for one in body["choices"]]
        for one in first_chunk:
            one["finish_reason"] = None
        chunks = [{**head, "choices": first_chunk}, {**head, "choices": ended}]
        chunks.append({**head, "choices": [], "usage": body.get("usage")})
    lines = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
    return "".join(f"data: {line}\n\n" for line in lines).encode()
