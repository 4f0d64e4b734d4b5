"""Finished rollouts as a program gets them: rows in verifiers' own format, and lines to look at."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tui_eval.environments.usage import StateUsageTracker, extract_usage_tokens
from tui_eval.errors import ErrorChain
from tui_eval.messages import field_of, text_of, to_tool_call
from tui_eval.printable import printable
from tui_eval.types import ErrorInfo, RolloutOutput, State, TokenUsage

_CONVERTED = (BaseModel, date, Path, BaseException)
_SHOWN = frozenset(("text", "image_url", "input_audio", "audio"))


def is_json_serializable(value: object) -> bool:
    """Whether a value is JSON, or of a type that `make_serializable` knows, all the way down."""
    if isinstance(value, list | tuple):
        return all(map(is_json_serializable, value))
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_json_serializable(one) for key, one in value.items())
    return value is None or isinstance(value, (str, int, float, bool, *_CONVERTED))


def make_serializable(value: object) -> Any:
    """The JSON value for one of another type, for `json.dumps(..., default=...)`."""
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, BaseException):
        return repr(value)
    return dict(value) if isinstance(value, Mapping) else str(value)


def state_to_output(state: State, state_columns: list[str] | None = None) -> RolloutOutput:
    """The row of a rollout, in verifiers' own format, with further keys of its state.

    Raises:
        ValueError: Such a key has a value that JSON cannot carry.
    """
    error, metrics = state.get("error"), state.get("metrics") or {}
    output = RolloutOutput(
        example_id=state.get("example_id", 0),
        prompt=_conversation(state.get("prompt")),
        completion=_conversation(state.get("completion")),
        answer=state.get("answer", ""),
        task=state.get("task", "default"),
        info=state.get("info", {}),
        reward=state.get("reward", 0.0),
        error=None,
        timing=state.get("timing", {}),
        is_completed=state.get("is_completed", False),
        is_truncated=state.get("is_truncated", False),
        stop_condition=state.get("stop_condition"),
        metrics=state.get("metrics", {}),
        tool_defs=state.get("tool_defs"),
    )
    if (usage := _usage_of(state)) is not None:
        output["token_usage"] = usage
    if error is not None:
        text, names = repr(ErrorChain(error)), str(ErrorChain(error))
        output |= {"error_chain": text, "long_error_chain": names}
        output["error"] = ErrorInfo(
            error=type(error).__name__, error_chain_repr=text, error_chain_str=names
        )
    for optional in ("answer", "info"):
        if not output[optional]:
            del output[optional]
    output |= metrics
    output |= _columns(state, state_columns or ())
    return output


def _columns(state: State, names: Iterable[str]) -> dict[str, Any]:
    """Further keys of a state; `ValueError` where JSON cannot carry a value."""
    found = {name: state.get(name) for name in names}
    for name, value in found.items():
        if not is_json_serializable(value):
            kind = type(value).__name__
            raise ValueError(f"state_columns: {name!r} is a {kind}, which is not JSON-serializable")
    return found


def states_to_outputs(
    states: list[State], state_columns: list[str] | None = None
) -> list[RolloutOutput]:
    """The rows of several rollouts."""
    return [state_to_output(state, state_columns) for state in states]


def _conversation(messages: Any) -> Any:
    return None if messages is None else sanitize_tool_calls(messages_to_printable(messages))


def _usage_of(state: State) -> TokenUsage | None:
    """The tokens of a rollout: as its tracker, its own keys or else its answers say them."""
    tracker = state.get("usage_tracker")
    if isinstance(tracker, StateUsageTracker):
        return tracker.snapshot() or _tokens(state.get("token_usage"))
    if (reported := _tokens(state.get("token_usage")) or _tokens(state.get("usage"))) is not None:
        return reported
    answers = [step.get("response") for step in state.get("trajectory", [])]
    counted = [extract_usage_tokens(one) for one in answers if getattr(one, "usage", None)]
    if not counted:
        return None
    read, written = map(sum, zip(*counted, strict=True))
    return TokenUsage(input_tokens=float(read), output_tokens=float(written))


def _tokens(value: Any) -> TokenUsage | None:
    if not isinstance(value, Mapping):
        return None
    try:
        read, written = (float(value.get(f"{kind}_tokens") or 0) for kind in ("input", "output"))
    except (TypeError, ValueError):
        return None
    return TokenUsage(input_tokens=read, output_tokens=written)


def message_to_printable(message: Any) -> Any:
    """A message whose content is text: `[image]` and `[audio]` replace what is none.

    Args:
        message: An object, or a dict, of which role, reasoning and tool calls stay too. One whose
            content is text already is given back as it is.
    """
    is_dict = isinstance(message, dict)
    content = message.get("content") if is_dict else getattr(message, "content", None)
    if not isinstance(content, list):
        return message
    parts = [part for part in content if _is_shown(part)]
    text = text_of(parts).strip()
    if not is_dict:
        return message.model_copy(update={"content": text})
    found: dict[str, Any] = {"role": message.get("role"), "content": text}
    if isinstance(message.get("reasoning_content"), str):
        found["reasoning_content"] = message["reasoning_content"]
    if message.get("tool_calls") is not None:
        found["tool_calls"] = message["tool_calls"]
    return found


def messages_to_printable(messages: Any) -> Any:
    """A conversation of such messages; text is given back as it is."""
    if isinstance(messages, str):
        return messages
    return [message_to_printable(message) for message in messages or []]


def sanitize_tool_calls(messages: Any) -> Any:
    """A conversation whose tool calls are JSON texts, as result files have them.

    Messages with tool calls become dicts; all others, and what is no list, are given back.
    """
    if not isinstance(messages, list):
        return messages
    return [_with_call_texts(message) for message in messages]


def _is_shown(part: Any) -> bool:
    return isinstance(part, Mapping | BaseModel) and field_of(part, "type") in _SHOWN


def _with_call_texts(message: Any) -> Any:
    calls = field_of(message, "tool_calls")
    if not calls:
        return message
    found = {
        "role": field_of(message, "role"),
        "content": field_of(message, "content") or "",
        "tool_calls": [_call_text(call) for call in calls],
    }
    if isinstance(field_of(message, "reasoning_content"), str):
        found["reasoning_content"] = field_of(message, "reasoning_content")
    return found


def _call_text(call: Any) -> str:
    if isinstance(call, str):
        call = json.loads(call)
    elif hasattr(call, "model_dump"):
        call = call.model_dump(exclude_none=True)
    return json.dumps(call)


_PART_WIDTH = 12
_ROLE_WIDTH = 11


def print_prompt_completions_sample(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    errors: Sequence[Any],
    rewards: Sequence[float | None],
    step: int,
    num_samples: int = 1,
) -> None:
    """Prints the first rollouts to standard output, as plain text that cannot steer a terminal.

    Args:
        prompts, completions: For each rollout a text or a list of messages, as objects or dicts.
        errors: For each an exception, the `error` of a saved rollout, text, or None.
        rewards: For each a number or None.
        step: Number of the training step or the evaluation, shown above.
        num_samples: Most rollouts to show.

    Raises:
        ValueError: The four are not of the same length.
    """
    given = {"prompts": prompts, "completions": completions, "errors": errors, "rewards": rewards}
    lengths = {name: len(values) for name, values in given.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"there must be as many of each: {lengths}")
    shown = min(max(num_samples, 0), len(prompts))
    lines = [f"Step {step}: {shown} of {len(prompts)} rollouts"]
    for place in range(shown):
        reward = rewards[place]
        lines += ["", f"rollout {place}, reward {'none' if reward is None else f'{reward:.3f}'}"]
        lines += _part("prompt", _spoken(prompts[place]))
        lines += _part("completion", _spoken(completions[place]))
        if errors[place]:
            lines += _part("error", [("", _error_text(errors[place]))])
    sys.stdout.write("\n".join(lines) + "\n")


def _part(name: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """The lines of a table of three columns: part, who says it, what is said."""
    for place, (role, text) in enumerate(rows or [("", "(nothing)")]):
        head = f"{'' if place else name:<{_PART_WIDTH}}{printable(role):<{_ROLE_WIDTH}}"
        for line in printable(text).split("\n"):
            yield f"{head}{line}".rstrip()
            head = " " * (_PART_WIDTH + _ROLE_WIDTH)


def _spoken(conversation: Any) -> list[tuple[str, str]]:
    """Roles and texts of a conversation, one entry for each message."""
    if conversation is None:
        return []
    if isinstance(conversation, str):
        return [("", conversation)]
    return [_message(message) for message in conversation]


def _message(message: Any) -> tuple[str, str]:
    if isinstance(message, str):
        return "", message
    thought = message.get("reasoning_content")
    lines = [f"(thinks) {thought}"] if thought else []
    lines += [text] if (text := text_of(message.get("content"))) else []
    for given in message.get("tool_calls") or []:
        call = to_tool_call(given)
        lines.append(f"(calls) {call.name} {call.arguments}")
    return str(message.get("role") or ""), "\n".join(lines)


def _error_text(error: Any) -> str:
    if isinstance(error, BaseException):
        return repr(ErrorChain(error))
    if isinstance(error, Mapping):
        return str(error.get("error_chain_repr") or error.get("error") or dict(error))
    return str(error)
