"""Types of an agent loop, by the SDK's names: tools, the request, exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from pydantic import BaseModel, Field

MessageDict: TypeAlias = dict[str, Any]
"""A message in the shape of OpenAI's chat completions."""
SamplingParamsDict: TypeAlias = dict[str, Any]
"""Parameters of a model call, such as temperature and max_tokens."""


class OpenAIFunctionPropertySchema(BaseModel):
    """One parameter of a tool; `type` is JSON Schema's."""

    type: str
    description: str | None = None
    enum: list[str] | None = None


class OpenAIFunctionParametersSchema(BaseModel):
    """The parameters of a tool; `type` must be `object`."""

    type: str
    properties: dict[str, OpenAIFunctionPropertySchema]
    required: list[str]


def _no_parameters() -> OpenAIFunctionParametersSchema:
    return OpenAIFunctionParametersSchema(type="object", properties={}, required=[])


class OpenAIFunctionSchema(BaseModel):
    """A tool as a function."""

    name: str
    description: str
    parameters: OpenAIFunctionParametersSchema = Field(default_factory=_no_parameters)
    strict: bool = False


class OpenAIFunctionToolSchema(BaseModel):
    """A tool as it goes to the model."""

    type: str
    function: OpenAIFunctionSchema


class RolloutStatus(StrEnum):
    """The status of a rollout at its end."""

    COMPLETED = "COMPLETED"
    ERROR = "ERROR"


class RolloutMetrics(BaseModel):
    """Metrics of a rollout: times in milliseconds, and counts."""

    total_latency_ms: float = 0.0
    llm_latency_ms: float = 0.0
    tool_latency_ms: float = 0.0
    num_llm_calls: int = 0
    num_tool_calls: int = 0
    prompt_tokens: int = 0
    response_tokens: int = 0
    max_context_tokens: int = 0


class RolloutRequest(BaseModel):
    """The task of one rollout of an agent loop.

    `messages` is the system prompt and the user's message of a row, `completion_params` the
    requested sampling parameters, `metadata` the row's other columns with
    `ground_truth`, `row_index`, `run_index` and `execution_mode`. `max_turns` and
    `max_tokens_total` are for the agent to keep.
    """

    rollout_id: str = Field(min_length=1, max_length=256)
    server_url: str
    messages: list[MessageDict]
    completion_params: SamplingParamsDict
    tool_server_url: str | None = None
    max_turns: int = 10
    max_tokens_total: int = 8192
    metadata: dict[str, Any] = Field(default_factory=dict)
    api_key: str | None = None
    idempotency_key: str | None = None


class OsmosisRolloutError(Exception):
    """Base of everything that goes wrong in a rollout."""


class OsmosisTransportError(OsmosisRolloutError):
    """The network failed."""


class OsmosisTimeoutError(OsmosisRolloutError):
    """Something took too long."""


class _StatusError(OsmosisRolloutError):
    """An endpoint refused; `status_code` is HTTP's."""

    def __init__(self, message: str, status_code: int) -> None:
        super().__init__(message)
        self.status_code = status_code


class OsmosisServerError(_StatusError):
    """An endpoint failed (5xx)."""


class OsmosisValidationError(_StatusError):
    """An endpoint did not accept a request (4xx)."""


class AgentLoopNotFoundError(OsmosisRolloutError):
    """There is no agent loop of a name."""

    def __init__(self, name: str, available: Sequence[str]) -> None:
        super().__init__(f"There is no agent loop {name!r}; there are: {', '.join(available)}")
        self.name = name
        self.available = available


class ToolExecutionError(OsmosisRolloutError):
    """A tool failed; says which call of which tool, where that is known."""

    def __init__(self, message: str, tool_call_id: str = "", tool_name: str = "") -> None:
        super().__init__(message)
        self.tool_call_id = tool_call_id
        self.tool_name = tool_name


class ToolArgumentError(ToolExecutionError):
    """The arguments of a call are no JSON object."""
