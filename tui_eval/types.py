"""The plain data of rollouts and the settings of clients, by the names that authors know."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from pydantic import BaseModel, Field

from tui_eval.messages import AssistantMessage, CustomBaseModel, Messages

ClientType: TypeAlias = Literal["openai_chat_completions", "anthropic_messages"]
FinishReason: TypeAlias = Literal["stop", "length", "tool_calls"] | None
Info: TypeAlias = dict[str, Any]
SamplingArgs: TypeAlias = dict[str, Any]

IndividualRewardFunc: TypeAlias = Callable[..., float | Awaitable[float]]
GroupRewardFunc: TypeAlias = Callable[..., list[float] | Awaitable[list[float]]]
RewardFunc: TypeAlias = IndividualRewardFunc | GroupRewardFunc
DatasetBuilder: TypeAlias = Callable[[], Any]


class Tool(CustomBaseModel):
    """What a model is told about one tool; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool | None = None


class Usage(CustomBaseModel):
    """Tokens of one answer, as the endpoint counted them."""

    prompt_tokens: int = 0
    reasoning_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class ResponseMessage(AssistantMessage):
    """The assistant's message of an answer, with the reason why it ended."""

    finish_reason: FinishReason
    is_truncated: bool | None
    tokens: Any = None


class Response(CustomBaseModel):
    """One answer of a model; `created` is in unix seconds."""

    id: str
    created: int
    model: str
    usage: Usage | None = None
    message: ResponseMessage


class TokenUsage(TypedDict):
    """Tokens of a rollout, summed over its model calls."""

    input_tokens: float
    output_tokens: float


class RolloutTiming(TypedDict, total=False):
    """Milliseconds of a rollout; `start_time` is in unix seconds."""

    start_time: float
    generation_ms: float
    scoring_ms: float
    total_ms: float


class ScoreRecord(TypedDict):
    """What one reward function gave; `raw` is None where it failed, `error` says how it did."""

    name: str
    raw: float | None
    weight: float
    error: str | None


class ToolRecord(TypedDict):
    """One tool call as it went; `error` is None where it did."""

    id: str
    name: str
    ms: float
    error: str | None


class StepRecord(TypedDict):
    """One model call as it went; `started` is in unix seconds."""

    started: float
    model_ms: float
    input_tokens: int
    output_tokens: int
    finish_reason: str | None


class TrajectoryStep(TypedDict):
    """One model call: what was sent, what came back."""

    prompt: Messages
    completion: Messages
    response: Response
    tokens: Any
    reward: float | None
    advantage: float | None
    is_truncated: bool
    trajectory_id: str
    extras: dict[str, Any]


class RolloutInput(TypedDict):
    """One row of a dataset, ready to run."""

    prompt: Messages
    example_id: int
    task: str
    answer: NotRequired[str]
    info: NotRequired[Info | str]


class EndpointClientConfig(BaseModel):
    """Where one endpoint is and how to talk to it.

    Args:
        api_key_var: Name of the environment variable that holds the key; empty for no key.
        api_base_url: URL up to and without `/chat/completions` or `/v1/messages`.
        timeout: Seconds that one request may take.
        connect_timeout: Seconds to establish a connection.
        max_connections: Most connections open at once.
        max_retries: How often one request is tried again after a passing fault.
        extra_headers: Sent with every request.
    """

    api_key_var: str = ""
    api_base_url: str = ""
    timeout: float = Field(default=3600.0, gt=0)
    connect_timeout: float = Field(default=5.0, gt=0)
    max_connections: int = Field(default=28000, ge=1)
    max_keepalive_connections: int = Field(default=28000, ge=0)
    max_retries: int = Field(default=10, ge=0)
    extra_headers: dict[str, str] = Field(default_factory=dict)


class ClientConfig(EndpointClientConfig):
    """An endpoint and the protocol that it speaks."""

    client_idx: int = 0
    client_type: ClientType = "openai_chat_completions"
