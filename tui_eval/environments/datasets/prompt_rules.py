"""Makes prompts of examples, and finds the faults of rows that cannot be one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from pydantic import ValidationError

from tui_eval.errors import Fault, RefusedError
from tui_eval.messages import CustomBaseModel, to_message, to_tool_call

ROLES = ("system", "developer", "user", "assistant", "tool", "text")


def row_faults(row: Any) -> Iterable[tuple[str, str]]:
    """Faults of a row, each with what to do."""
    if not isinstance(row, Mapping):
        yield (
            f"it is of type {type(row).__name__}, not an object",
            "A row is an object with a question",
        )
        return
    prompt, question = row.get("prompt"), row.get("question")
    if prompt is None and question is None:
        columns = ", ".join(map(str, row)) or "none"
        yield "it has neither 'prompt' nor 'question'", f"Its columns: {columns}"
    elif prompt is not None:
        yield from _prompt_faults(prompt)
    elif fault := _content_fault(question, "its 'question'"):
        yield fault, "It must be text"
    info = row.get("info")
    if isinstance(info, str) and not is_json(info):
        yield "its 'info' is text that is no JSON", "It must be an object or a list, or JSON text"


def rule_faults(system_prompt: Any, few_shot: Sequence[Any]) -> Iterable[Fault]:
    """Faults of the messages that an environment puts before its questions."""
    if system_prompt and (fault := _content_fault(system_prompt, "it")):
        yield Fault("system_prompt", fault, "It must be text")
    for place, message in enumerate(few_shot):
        if fault := _message_fault(message, "the message"):
            yield Fault(f"few_shot[{place}]", fault, "It must be a message with role and content")


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _prompt_faults(prompt: Any) -> Iterable[tuple[str, str]]:
    hint = "It must be text, or a list of messages with role and content"
    if isinstance(prompt, str):
        return
    if not isinstance(prompt, (list, tuple)):
        yield f"its 'prompt' is of type {type(prompt).__name__}", hint
    elif not prompt:
        yield "its 'prompt' has no messages", hint
    else:
        for place, message in enumerate(prompt):
            if fault := _message_fault(message, f"message {place} of its 'prompt'"):
                yield fault, hint


def _message_fault(message: Any, name: str) -> str | None:
    if isinstance(message, (str, CustomBaseModel)):
        return None
    if not isinstance(message, Mapping) or str(message.get("role")) not in ROLES:
        return f"{name} has no known role"
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, (list, tuple)):
        return f"the tool calls of {name} are of type {type(calls).__name__}"
    for place, call in enumerate(calls or ()):
        if fault := _refusal(to_tool_call, call):
            return f"tool call {place} of {name}: {fault}"
    content = message.get("content")
    if content is None:
        if message["role"] != "assistant":
            return f"{name} has no content"
    elif fault := _content_fault(content, f"the content of {name}"):
        return fault
    fault = _refusal(to_message, message)
    return fault and f"{name}: {fault}"


def _refusal(read: Callable[[Any], Any], value: Any) -> str | None:
    """Faults of a value for the reader that a rollout uses, in one line."""
    try:
        read(value)
    except ValidationError as error:
        return "; ".join(
            f"{'.'.join(map(str, one['loc']))!r}: {one['msg']}" for one in error.errors()[:3]
        )
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def _content_fault(content: Any, name: str) -> str | None:
    if isinstance(content, str):
        return None
    if not isinstance(content, (list, tuple)):
        return f"{name} is of type {type(content).__name__}"
    for place, part in enumerate(content):
        if not isinstance(part, (str, Mapping, CustomBaseModel)):
            return f"part {place} of {name} is of type {type(part).__name__}"
    return None


class PromptRules(msgspec.Struct, frozen=True):
    """Rules for the prompt of a row.

    Args:
        system_prompt: The first message, unless it is empty or the row's own prompt begins with
            one.
        few_shot: Messages between it and the question; not used for rows with a prompt.
        task: The task of rows that name none.

    Raises:
        RefusedError: One of the messages cannot be sent.
    """

    system_prompt: str | None = None
    few_shot: Sequence[Any] = ()
    task: str = "default"

    def __post_init__(self) -> None:
        if faults := list(rule_faults(self.system_prompt, self.few_shot)):
            raise RefusedError(faults)

    def prompt_of(self, row: Mapping[str, Any]) -> Any:
        """The prompt of a row: a list of messages, or text."""
        prompt = row.get("prompt")
        if prompt is None:
            head = [self._system()] if self.system_prompt else []
            question = {"role": "user", "content": row["question"]}
            return [*head, *self.few_shot, question]
        if not self.system_prompt:
            return prompt
        if isinstance(prompt, str):
            return [self._system(), {"role": "user", "content": prompt}]
        first = prompt[0]
        if not isinstance(first, str) and first.get("role") in ("system", "developer"):
            return prompt
        return [self._system(), *prompt]

    def _system(self) -> dict[str, Any]:
        return {"role": "system", "content": self.system_prompt}
