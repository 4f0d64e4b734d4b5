"""The plain data of rollouts, by the names that authors know."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict  # that of `typing` is refused by pydantic before 3.12

from tui_eval.messages import AssistantMessage, CustomBaseModel, Messages

FinishReason: TypeAlias = (
    Literal["stop", "length", "tool_calls", "refusal", "content_filter"] | None
)
"""The reason why an answer ended; None where the endpoint gives another."""
JsonPrimitive: TypeAlias = str | int | float | bool | None
"""Values of JSON beside arrays and objects."""
Info: TypeAlias = dict[str, Any]
"""Data of a dataset's row for tools and graders."""
SamplingArgs: TypeAlias = dict[str, Any]
"""Parameters of a model call, such as `temperature`, `top_p`, `max_tokens`."""
MessageType: TypeAlias = Literal["chat", "completion"]
"""Deprecated: whether an environment talks in messages or completes a text."""

IndividualRewardFunc: TypeAlias = Callable[..., float | Awaitable[float]]
"""Scores one rollout; requests what it needs by parameter name."""
GroupRewardFunc: TypeAlias = Callable[..., list[float] | Awaitable[list[float]]]
"""Scores all rollouts of one example at once, one number each, in their order."""
RewardFunc: TypeAlias = IndividualRewardFunc | GroupRewardFunc
"""Scores rollouts; see `Rubric`."""
DatasetBuilder: TypeAlias = Callable[[], Any]
"""Makes a dataset when it is needed."""
StartCallback: TypeAlias = Callable[[list[Any], list[Any]], None]
"""Gets all inputs of a run, then those that are left to do."""
ProgressCallback: TypeAlias = Callable[[list[Any], list[Any], Any], None]
"""Gets all outputs so far, the new ones among them, and the metadata."""
LogCallback: TypeAlias = Callable[[str], None]
"""Gets a sentence for people."""


class Tool(CustomBaseModel):
    """One tool as a model sees it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool | None = None


class Usage(CustomBaseModel):
    """Tokens of one answer, as the endpoint counted them.

    `prompt_tokens` is all that was read and `completion_tokens` all that was written, whatever the
    protocol. The others are parts of them: of what was read those from a cache, those written to
    one and those of sound, of what was written those of thoughts and those of sound.
    """

    prompt_tokens: int = 0
    reasoning_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_prompt_tokens: int = 0
    cache_write_tokens: int = 0
    audio_prompt_tokens: int = 0
    audio_completion_tokens: int = 0


class ResponseTokens(CustomBaseModel):
    """Token ids of one answer, where the endpoint says them.

    All lists that belong to the prompt have its length in tokens, all that belong to the completion
    have its; a mask is 1 where a token counts. `completion_logprobs` are natural logarithms.
    """

    prompt_ids: list[int]
    prompt_mask: list[int]
    completion_ids: list[int]
    completion_mask: list[int]
    completion_logprobs: list[float]
    routed_experts: Any = None


class ResponseMessage(AssistantMessage):
    """The assistant's message of an answer, with the reason why it ended."""

    finish_reason: FinishReason
    is_truncated: bool | None
    tokens: ResponseTokens | None = None


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
    """The score of one reward function; `raw` is None where it failed, `error` says how it did.

    `output` is what it printed and logged.
    """

    name: str
    raw: float | None
    weight: float
    error: str | None
    output: NotRequired[str]


class ToolRecord(TypedDict):
    """One tool call as it went; `error` is None where it did, and `traceback` says where it failed.

    `output` is what it printed and logged.
    """

    id: str
    name: str
    ms: float
    error: str | None
    traceback: NotRequired[str]
    output: NotRequired[str]


class StepRecord(TypedDict):
    """One model call: `started` in unix seconds, `model_ms` of the try that was answered.

    `model` is the name of the one that answered, where it is not that of the one requested.
    `token_kinds` has what of its tokens was `cached`, `cache_write`, `reasoning`, `audio_input`
    or `audio_output`; it is there where any was.
    """

    started: float
    model_ms: float
    input_tokens: int
    output_tokens: int
    finish_reason: str | None
    token_kinds: NotRequired[dict[str, int]]
    model: NotRequired[str]


class TrajectoryStepTokens(TypedDict):
    """Token ids of one step; see `ResponseTokens`.

    `overlong_prompt` says that the prompt alone was longer than the longest sequence,
    `is_truncated` that something had to be cut off to keep to it.
    """

    prompt_ids: list[int]
    prompt_mask: list[int]
    completion_ids: list[int]
    completion_mask: list[int]
    completion_logprobs: list[float]
    overlong_prompt: bool
    is_truncated: bool
    routed_experts: NotRequired[Any]


class TrajectoryStep(TypedDict):
    """One model call: what was sent, what came back."""

    prompt: Messages
    completion: Messages
    response: Response
    tokens: TrajectoryStepTokens | None
    reward: float | None
    advantage: float | None
    is_truncated: bool
    trajectory_id: str
    extras: dict[str, Any]


class BaseRolloutInput(TypedDict):
    """Fields of every row that is ready to run."""

    prompt: Messages
    example_id: int
    task: str


class RolloutInput(BaseRolloutInput):
    """One row of a dataset, ready to run."""

    answer: NotRequired[str]
    info: NotRequired[Info | str]


ErrorInfo = TypedDict(
    "ErrorInfo",
    {
        "error": str,
        "class": NotRequired[str],
        "error_chain_repr": str,
        "error_chain_str": str,
    },
)
"""An error of a rollout as it is saved: its name, what failed, its chain of causes in two forms."""


class RolloutOutput(dict[str, Any]):
    """One finished rollout as it is saved: plain JSON data.

    `example_id`, `task`, `prompt`, `completion`, `answer`, `info`, `reward`, `metrics`, `timing`,
    `is_completed`, `is_truncated`, `stop_condition`, `error`, `tool_defs` and `token_usage` as
    `docs/results.md` says, every metric under its own name, and the requested state columns.
    """


class RolloutScore(TypedDict):
    """The scores of one rollout."""

    reward: float
    metrics: dict[str, float]


class RolloutScores(TypedDict):
    """The scores of several rollouts: all lists have one number per rollout, in their order."""

    reward: list[float]
    metrics: dict[str, list[float]]


class VersionInfo(TypedDict):
    """Versions of what produced a result; None where it is not known.

    `vf_version` and `vf_commit` are those of verifiers, where that is what ran.
    """

    vf_version: str | None
    vf_commit: str | None
    env_version: str | None
    env_commit: str | None
    tui_eval_version: NotRequired[str]


class GenerateMetadata(TypedDict):
    """Settings and summary of a run; `time_ms` in milliseconds, `date` in ISO 8601.

    Means and pass rates are over rollouts without an error; a mean of nothing is None. `usage` is
    the mean of tokens per rollout. `base_url` lists several endpoints with commas between.
    """

    env_id: str
    env_args: dict[str, Any]
    model: str
    base_url: str
    num_examples: int
    rollouts_per_example: int
    sampling_args: SamplingArgs
    date: str
    time_ms: float
    avg_reward: float | None
    avg_metrics: dict[str, float]
    avg_error: float | None
    pass_at_k: dict[str, float]
    pass_all_k: dict[str, float]
    pass_threshold: float
    usage: TokenUsage | None
    version_info: VersionInfo
    state_columns: list[str]
    path_to_save: str
    tools: list[dict[str, Any]] | None


class GenerateOutputs(TypedDict):
    """The result of `Environment.generate`: one output a rollout, sorted by example."""

    outputs: list[RolloutOutput]
    metadata: GenerateMetadata
