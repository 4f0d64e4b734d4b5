"""Answers of every protocol that ended for a reason, and how they are requested and read."""

from __future__ import annotations

from typing import Any

from endpoint_scripts import ANSWERS, PATHS, Connect, take
from servers import FaultServer, Reply
from streamed_answers import SSE, events_of, sent

from tui_eval.messages import UserMessage
from tui_eval.types import Response

CHAT = "openai_chat_completions"
TOKEN = "openai_chat_completions_token"
COMPLETIONS = "openai_completions"
RESPONSES = "openai_responses"
MESSAGES = "anthropic_messages"
PROTOCOLS = [CHAT, TOKEN, COMPLETIONS, RESPONSES, MESSAGES]
WAYS = ["whole", "streamed", "SDK's way"]
PROMPT = [UserMessage(content="hi")]

Body = dict[str, Any]


def ended(protocol: str, text: str | None, reason: str, **message: Any) -> Body:
    """An answer with this text that ended for this reason, in the words of its protocol."""
    body = {**ANSWERS[protocol]}
    if protocol == MESSAGES:
        names = {"stop": "end_turn", "length": "max_tokens"}
        blocks = [{"type": "text", "text": text}] if text else []
        return {**body, "content": blocks, "stop_reason": names.get(reason, reason)}
    if protocol == RESPONSES:
        item = {**body["output"][0], "content": [{"type": "output_text", "text": text}]}
        output = [item] if text else []
        if reason == "stop":
            return {**body, "output": output}
        details = {"reason": {"length": "max_output_tokens"}.get(reason, reason)}
        return {**body, "output": output, "status": "incomplete", "incomplete_details": details}
    choice = {**body["choices"][0], "finish_reason": reason}
    if protocol == COMPLETIONS:
        return {**body, "choices": [{**choice, "text": text or ""}]}
    said = {"role": "assistant", "content": text, **message}
    return {**body, "choices": [{**choice, "message": said}]}


def reply(protocol: str, way: str, body: Body) -> Reply:
    if way != "streamed":
        return Reply(body=body)
    return Reply(body=sent(events_of(protocol, body)), headers=SSE)


async def ask(
    connect: Connect, server: FaultServer, protocol: str, way: str, *replies: Reply, **settings: Any
) -> Response:
    server.script(PATHS[protocol], replies)
    async with connect(protocol, stream=way == "streamed", **settings) as client:
        response: Response = await take(way, client).get_response(PROMPT, "m", {"max_tokens": 5})
        return response


def outcome(response: Response) -> tuple[Any, ...]:
    message = response.message
    return message.content, message.finish_reason, message.is_truncated
