"""Chat messages as authors read and write them: pydantic models that also read like dicts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict


class CustomBaseModel(BaseModel):
    """A model that keeps unknown fields, and is read and written like a dict.

    What is deleted has its default again, or None; unknown fields are gone. `m | {...}` is a dict.
    """

    model_config = ConfigDict(extra="allow")

    def __getitem__(self, key: str) -> Any:
        try:
            return getattr(self, key)
        except AttributeError:
            raise KeyError(key) from None

    def get(self, key: str, default: Any = None) -> Any:
        """The field named `key`, or `default` where there is none."""
        fields = self.__dict__
        if key in fields:
            return fields[key]
        extra = self.__pydantic_extra__
        if extra and key in extra:
            return extra[key]
        # Looking in pydantic for what is not there costs as much as ten messages.
        return getattr(self, key, default) if key in _attributes_of(type(self)) else default

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and hasattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, value)

    def __delitem__(self, key: str) -> None:
        field = type(self).model_fields.get(key)
        if field is not None:
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            setattr(self, key, default)
        elif not (self.__pydantic_extra__ and key in self.__pydantic_extra__):
            raise KeyError(key)
        else:
            del self.__pydantic_extra__[key]

    def keys(self) -> list[str]:
        """The names of all fields, unknown ones last."""
        return [*self.__dict__, *(self.__pydantic_extra__ or ())]

    def items(self) -> list[tuple[str, Any]]:
        """Names and values of all fields."""
        return [(key, self[key]) for key in self.keys()]

    def values(self) -> list[Any]:
        """The values of all fields."""
        return [self[key] for key in self.keys()]

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The field named `key`, which is set where there is none or it is None."""
        if self.get(key) is None:
            self[key] = default
        return self[key]

    def update(self, other: Any = (), /, **values: Any) -> None:
        """Sets fields from a mapping or pairs."""
        for key, value in dict(other, **values).items():
            self[key] = value

    def pop(self, key: str, *default: Any) -> Any:
        """Deletes a field and returns what it was.

        Raises:
            KeyError: There is none, and no default was given.
        """
        if key not in self.keys():
            if default:
                return default[0]
            raise KeyError(key)
        value = self[key]
        del self[key]
        return value

    def __or__(self, other: Any) -> dict[str, Any]:
        return dict(self.items()) | dict(other)

    def __ror__(self, other: Any) -> dict[str, Any]:
        return dict(other) | dict(self.items())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):
            return self.model_dump() == dict(other)
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]


@functools.cache
def _attributes_of(kind: type) -> frozenset[str]:
    return frozenset(dir(kind))


class TextContentPart(CustomBaseModel):
    """A piece of text inside a message."""

    type: Literal["text"] = "text"
    text: str


class ImageUrlSource(CustomBaseModel):
    """The address of an image: an http(s) or data URL."""

    url: str


class ImageUrlContentPart(CustomBaseModel):
    """An image inside a message."""

    type: Literal["image_url"] = "image_url"
    image_url: ImageUrlSource


class InputAudioSource(CustomBaseModel):
    """Sound as base64 text and its format, `wav` or `mp3`."""

    data: str
    format: str


class InputAudioContentPart(CustomBaseModel):
    """Sound inside a message."""

    type: Literal["input_audio"] = "input_audio"
    input_audio: InputAudioSource


class GenericContentPart(CustomBaseModel):
    """A part of a kind that has no class of its own; its fields are kept."""

    type: str


ContentPart: TypeAlias = (
    TextContentPart
    | ImageUrlContentPart
    | InputAudioContentPart
    | GenericContentPart
    | dict[str, Any]
)
"""A part of a message that is more than text."""
MessageContent: TypeAlias = str | list[ContentPart]
"""The content of a message."""


class CalledFunction(CustomBaseModel):
    """The function of a tool call, as endpoints write it."""

    name: str
    arguments: str


class ToolCall(CustomBaseModel):
    """One call that the model requests; `arguments` is the JSON text as it was sent."""

    id: str
    name: str
    arguments: str

    @property
    def function(self) -> CalledFunction:
        """Name and arguments for code that reads a call in the shape of the wire; read only."""
        return CalledFunction(name=self.name, arguments=self.arguments)


class SystemMessage(CustomBaseModel):
    """Instructions at the head of the conversation."""

    role: Literal["system"] = "system"
    content: MessageContent


class UserMessage(CustomBaseModel):
    """A message of the user, or of the environment in the user's place."""

    role: Literal["user"] = "user"
    content: MessageContent


class AssistantMessage(CustomBaseModel):
    """A message of the model: text, reasoning, tool calls."""

    role: Literal["assistant"] = "assistant"
    content: MessageContent | None = None
    reasoning_content: str | None = None
    thinking_blocks: list[dict[str, Any]] | None = None
    tool_calls: list[ToolCall] | None = None


class ToolMessage(CustomBaseModel):
    """The result of one tool call."""

    role: Literal["tool"] = "tool"
    tool_call_id: str
    content: MessageContent


class TextMessage(CustomBaseModel):
    """Plain text without a role; it is sent as the user's."""

    role: Literal["text"] = "text"
    content: str


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage | TextMessage
"""One message of a conversation."""
ChatMessage: TypeAlias = Message | dict[str, Any]
"""A message as an object, or as a dict with role, content and what else it has."""
Messages: TypeAlias = list[Message]
"""A conversation."""

MESSAGE_TYPES = frozenset((SystemMessage, UserMessage, AssistantMessage, ToolMessage, TextMessage))
"""Looked up first: to let pydantic find what a message is costs as much as all else."""

_TYPES_OF_OURS = MESSAGE_TYPES | {ToolCall}

_BY_ROLE: dict[str, type[CustomBaseModel]] = {
    "system": SystemMessage,
    "developer": SystemMessage,
    "user": UserMessage,
    "assistant": AssistantMessage,
    "tool": ToolMessage,
    "text": TextMessage,
}


def to_message(value: Any) -> Message:
    """One message from a message object, a dict with a role, or a string (a text message).

    Tool calls may come flat (`id, name, arguments`), in the wire's shape (`id, function`), or as
    JSON text of either.

    Raises:
        TypeError: The value is none of these.
        ValueError: The role is missing or unknown, or a field has the wrong type.
    """
    if type(value) in MESSAGE_TYPES or isinstance(value, CustomBaseModel):
        message: Message = value
        return message
    if isinstance(value, str):
        return TextMessage(content=value)
    if not isinstance(value, Mapping):
        raise TypeError(f"a message is an object with a role, not {type(value).__name__}")
    kind = _BY_ROLE.get(str(value.get("role")))
    if kind is None:
        raise ValueError(f"a message has the role {value.get('role')!r}; expected {list(_BY_ROLE)}")
    fields = {key: item for key, item in value.items() if key != "role"}
    if fields.get("tool_calls") is not None:
        fields["tool_calls"] = [to_tool_call(call) for call in fields["tool_calls"]]
    return kind(**fields)  # type: ignore[return-value]


def to_tool_call(value: Any) -> ToolCall:
    """One tool call from any of the shapes that saved runs and endpoints use; extra fields stay.

    Raises:
        TypeError: The value is no object, nor JSON text of one.
        ValueError: A field is missing or has the wrong type.
    """
    if isinstance(value, ToolCall):
        return value
    if isinstance(value, str):
        import json

        value = json.loads(value)
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if not isinstance(value, Mapping):
        raise TypeError(f"a tool call is an object, not {type(value).__name__}")
    function = value.get("function")
    if isinstance(function, Mapping):
        value = {**value, **function}
    arguments = value.get("arguments")
    if not isinstance(arguments, str):
        import json

        arguments = json.dumps(arguments if arguments is not None else {})
    known = ("id", "name", "arguments", "function", "type", "index")
    extra = {key: item for key, item in value.items() if key not in known}
    call_id, name = value.get("id") or "", value.get("name") or ""
    return ToolCall(id=call_id, name=name, arguments=arguments, **extra)


def to_messages(value: Any) -> Messages:
    """A conversation from a list of messages in any accepted shape, or from a single one."""
    if isinstance(value, str):
        return [TextMessage(content=value)]
    if isinstance(value, (dict, CustomBaseModel)):
        return [to_message(value)]
    value = list(value)
    return value if MESSAGE_TYPES.issuperset(map(type, value)) else list(map(to_message, value))


def normalize_messages(value: Any, *, field_name: str = "messages") -> Messages:
    """A conversation as `to_messages` reads it, with errors that say where it came from.

    Args:
        value: A list of messages in any accepted shape, a single one, or text.
        field_name: Its name in errors.

    Raises:
        TypeError: It is no conversation, or one of its messages is no message.
        ValueError: A role is missing or unknown, or a field has the wrong type.
    """
    if isinstance(value, (str, Mapping, CustomBaseModel)):
        value = [value]
    elif not isinstance(value, (list, tuple)):
        raise TypeError(f"{field_name}: a list of messages, not {type(value).__name__}")
    if MESSAGE_TYPES.issuperset(map(type, value)):
        return list(value)
    read: Messages = []
    for place, message in enumerate(value):
        try:
            read.append(to_message(message))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{field_name}[{place}]: {error}") from error
    return read


def note_reasoning_origin(message: AssistantMessage, endpoint: str, field: str) -> None:
    """Notes on an answer which endpoint its reasoning came from, and under which name.

    Only such an answer has the note, so that no other message costs anything for it.
    """
    message.reasoning_origin = {"endpoint": endpoint, "field": field}  # type: ignore[attr-defined]


def keep_reasoning_origin(answer: Any, message: Any) -> None:
    """Gives a message with the reasoning of an answer the note that the answer has."""
    origin = answer.get("reasoning_origin")
    if origin is not None:
        message.reasoning_origin = origin


def fields_of(value: Any) -> Any:
    """A message or a tool call as a dict of its fields, for reading; any other value as it is.

    A dict is read in a tenth of the time.
    """
    if type(value) not in _TYPES_OF_OURS:
        return value
    extra = value.__pydantic_extra__
    return {**value.__dict__, **extra} if extra else value.__dict__


def field_of(thing: object, name: str) -> Any:
    """A field of an object, or of a dict with the same; None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def text_of(content: Any) -> str:
    """The text of a message's content: a string as it is, the text parts of a list joined.

    Images and sound become `[image]` and `[audio]`, as result files show them; `None` is empty.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable):
        return str(content)
    return " ".join(_part_text(part) for part in content)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not hasattr(part, "get"):
        return str(part)
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text") or "")
    if kind in ("image_url", "image"):
        return "[image]"
    return "[audio]" if kind == "input_audio" else f"[{kind}]"
