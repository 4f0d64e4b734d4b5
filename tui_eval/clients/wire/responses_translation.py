"""OpenAI's responses in our types and ours in theirs; nothing here calls anybody."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from tui_eval.clients.faults import error_instead
from tui_eval.clients.sampling import CallOptions, split_sampling
from tui_eval.clients.wire.answer_struct import as_data
from tui_eval.clients.wire.failed_answers import check_sdk_answer
from tui_eval.clients.wire.finish_reasons import finish_reason
from tui_eval.clients.wire.responses_items import Item, from_items
from tui_eval.clients.wire.usage import from_responses_usage
from tui_eval.errors import EmptyModelResponseError, InvalidModelResponseError
from tui_eval.provider_profiles import ENCRYPTED
from tui_eval.types import FinishReason, Response, ResponseMessage, Tool

_DONE = ("completed", "incomplete", None)


def to_responses_tool(tool: Tool) -> Item:
    """One tool as a function on the wire.

    Here functions are strict unless they say otherwise; ours are where they say so.
    """
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": bool(tool.strict),
    }


def to_responses_body(
    prompt: list[Item],
    model: str,
    sampling_args: Mapping[str, Any],
    tools: list[Item] | None,
    encrypted_reasoning: bool = True,
) -> tuple[dict[str, Any], CallOptions]:
    """The whole request body; arguments named as chat completions name them are renamed.

    Nothing is stored at the endpoint unless `store` says so. Reasoning then comes encrypted, so
    that the model is shown its own thoughts again; `include` typed as null requests none.

    Args:
        encrypted_reasoning: Whether the endpoint knows such reasoning.

    Raises:
        ValueError: A sampling argument requests what cannot be had.
    """
    sampling, extra_body, options = split_sampling(sampling_args)
    sampling.pop("n", None)
    for name in ("max_completion_tokens", "max_tokens"):
        if name in sampling:
            sampling.setdefault("max_output_tokens", sampling.pop(name))
    if "reasoning_effort" in sampling:
        effort = sampling.pop("reasoning_effort")
        sampling["reasoning"] = {"effort": effort, **sampling.get("reasoning", {})}
    if "response_format" in sampling:
        wanted = _to_format(sampling.pop("response_format"))
        sampling["text"] = {"format": wanted, **sampling.get("text", {})}
    if "tool_choice" in sampling:
        sampling["tool_choice"] = _to_tool_choice(sampling["tool_choice"])
    if sampling.pop("logprobs", False):
        sampling["include"] = [*sampling.get("include", ()), "message.output_text.logprobs"]
    sampling.setdefault("store", False)
    body = {"model": model, "input": prompt, "stream": False, **sampling, **extra_body}
    if not body["store"]:
        body["input"] = [item for item in prompt if _is_self_contained(item)]
        is_refused = "include" in sampling_args and sampling_args["include"] is None
        if encrypted_reasoning and not is_refused and "include" not in extra_body:
            body["include"] = list(dict.fromkeys((*body.get("include", ()), ENCRYPTED)))
    if tools:
        body["tools"] = [*body.get("tools", ()), *tools]
    return body, options


def _is_self_contained(item: Item) -> bool:
    """Whether an item says all itself; reasoning may be no more than the id of a stored one."""
    if item.get("type") != "reasoning":
        return True
    return bool(item.get("encrypted_content") or item.get("content"))


def _to_format(wanted: Any) -> Any:
    if isinstance(wanted, Mapping) and isinstance(wanted.get("json_schema"), Mapping):
        return {"type": "json_schema", **wanted["json_schema"]}
    return wanted


def _to_tool_choice(choice: Any) -> Any:
    if isinstance(choice, Mapping) and isinstance(choice.get("function"), Mapping):
        return {"type": "function", **choice["function"]}
    return choice


def items_of(answer: Any) -> list[Item]:
    """The output items of an answer, ours or the SDK's, as plain data."""
    return [as_data(item) for item in answer.output]


def check_responses_answer(answer: Any) -> None:
    """Refuses what is no finished answer, of ours or the SDK's.

    Raises:
        ReportedError: It says that the call failed, with a status.
        InvalidModelResponseError: No response, a failed one, or one that is not done.
        EmptyModelResponseError: No item with something in it, and no reason why it ended.
    """
    check_sdk_answer(answer)
    failure = error_instead(answer, "response")
    if failure is None and not isinstance(getattr(answer, "output", None), list):
        failure = "the answer has no output"
    if failure is None and answer.status not in _DONE:
        failure = f"the answer is not done: its status is {answer.status!r}"
    if failure is not None:
        raise InvalidModelResponseError(failure)
    if answer.status is None and not any(_has_content(item) for item in items_of(answer)):
        raise EmptyModelResponseError("the answer has no text, reasoning or tool calls")


def _has_content(item: Item) -> bool:
    if item.get("type") != "message":
        return True
    return any(part.get("text") or part.get("refusal") for part in item.get("content") or ())


def from_responses_answer(answer: Any) -> Response:
    """A checked answer, ours or the SDK's, in our types.

    Log probabilities that were requested are in the message's `logprobs`, in the shape of chat
    completions.
    """
    items = items_of(answer)
    fields = from_items(items)
    logprobs = _logprobs(items)
    if logprobs:
        fields["logprobs"] = {"content": logprobs}
    reason = _finish_reason(answer, items, bool(fields["tool_calls"]))
    if fields["content"] is None and not fields["tool_calls"]:
        fields["content"] = ""
    return Response(
        id=answer.id or "",
        created=int(answer.created_at or time.time()),
        model=answer.model or "",
        usage=from_responses_usage(answer.usage),
        message=ResponseMessage(
            **fields,
            finish_reason=reason,
            is_truncated=reason == "length",
        ),
    )


def _finish_reason(answer: Any, items: list[Item], calls: bool) -> FinishReason:
    if answer.status == "incomplete":
        details = answer.incomplete_details
        return finish_reason(details.reason if details is not None else None) or "length"
    if calls:
        return "tool_calls"
    return "refusal" if any(map(_is_refusal, items)) else "stop"


def _is_refusal(item: Item) -> bool:
    parts = item.get("content") or () if item.get("type") == "message" else ()
    return any(part.get("refusal") for part in parts)


def _logprobs(items: list[Item]) -> list[Any]:
    parts = [part for item in items if item.get("type") == "message" for part in item["content"]]
    return [token for part in parts for token in part.get("logprobs") or ()]
