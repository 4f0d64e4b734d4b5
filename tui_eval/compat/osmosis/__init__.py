"""Agent loops and eval functions that were written for the Osmosis SDK, run as an environment."""

from __future__ import annotations

from tui_eval.compat.osmosis.agent_loop import (
    CompletionsResult,
    RolloutAgentLoop,
    RolloutContext,
    RolloutResult,
    create_app,
)
from tui_eval.compat.osmosis.eval_functions import osmosis_reward, osmosis_rubric
from tui_eval.compat.osmosis.schemas import (
    AgentLoopNotFoundError,
    MessageDict,
    OpenAIFunctionParametersSchema,
    OpenAIFunctionPropertySchema,
    OpenAIFunctionSchema,
    OpenAIFunctionToolSchema,
    OsmosisRolloutError,
    OsmosisServerError,
    OsmosisTimeoutError,
    OsmosisTransportError,
    OsmosisValidationError,
    RolloutMetrics,
    RolloutRequest,
    RolloutStatus,
    SamplingParamsDict,
    ToolArgumentError,
    ToolExecutionError,
)
from tui_eval.compat.osmosis.tools import (
    create_tool_error_result,
    create_tool_result,
    execute_tool_calls,
    get_tool_call_info,
    parse_tool_arguments,
    serialize_tool_result,
)

__all__ = [
    "AgentLoopNotFoundError",
    "CompletionsResult",
    "MessageDict",
    "OpenAIFunctionParametersSchema",
    "OpenAIFunctionPropertySchema",
    "OpenAIFunctionSchema",
    "OpenAIFunctionToolSchema",
    "OsmosisRolloutError",
    "OsmosisServerError",
    "OsmosisTimeoutError",
    "OsmosisTransportError",
    "OsmosisValidationError",
    "RolloutAgentLoop",
    "RolloutContext",
    "RolloutMetrics",
    "RolloutRequest",
    "RolloutResult",
    "RolloutStatus",
    "SamplingParamsDict",
    "ToolArgumentError",
    "ToolExecutionError",
    "create_app",
    "create_tool_error_result",
    "create_tool_result",
    "execute_tool_calls",
    "get_tool_call_info",
    "osmosis_reward",
    "osmosis_rubric",
    "parse_tool_arguments",
    "serialize_tool_result",
]
