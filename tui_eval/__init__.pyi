from tui_eval.cli.prime_plugin import PRIME_PLUGIN_API_VERSION as PRIME_PLUGIN_API_VERSION
from tui_eval.cli.prime_plugin import PrimeCLIPlugin as PrimeCLIPlugin
from tui_eval.cli.prime_plugin import get_plugin as get_plugin
from tui_eval.client_config import ClientConfig as ClientConfig
from tui_eval.client_config import ClientType as ClientType
from tui_eval.client_config import Endpoint as Endpoint
from tui_eval.client_config import EndpointClientConfig as EndpointClientConfig
from tui_eval.client_config import Endpoints as Endpoints
from tui_eval.client_config import EvalConfig as EvalConfig
from tui_eval.client_config import EvalRunConfig as EvalRunConfig
from tui_eval.clients.anthropic_messages import AnthropicMessagesClient as AnthropicMessagesClient
from tui_eval.clients.base import Client as Client
from tui_eval.clients.openai_chat_completions import (
    OpenAIChatCompletionsClient as OpenAIChatCompletionsClient,
)
from tui_eval.clients.openai_chat_completions_token import (
    OpenAIChatCompletionsTokenClient as OpenAIChatCompletionsTokenClient,
)
from tui_eval.clients.openai_completions import OpenAICompletionsClient as OpenAICompletionsClient
from tui_eval.clients.openai_responses import OpenAIResponsesClient as OpenAIResponsesClient
from tui_eval.compat.loader import load_environment as load_environment
from tui_eval.environments.adapters.gym_env import EpisodicSumRubric as EpisodicSumRubric
from tui_eval.environments.adapters.gym_env import GymEnv as GymEnv
from tui_eval.environments.adapters.mcp_env import MCPEnv as MCPEnv
from tui_eval.environments.adapters.openenv_env import OpenEnvEnv as OpenEnvEnv
from tui_eval.environments.adapters.reasoning_gym_env import ReasoningGymEnv as ReasoningGymEnv
from tui_eval.environments.adapters.textarena_env import TextArenaEnv as TextArenaEnv
from tui_eval.environments.author_logs import log_level as log_level
from tui_eval.environments.author_logs import quiet_verifiers as quiet_verifiers
from tui_eval.environments.author_logs import setup_logging as setup_logging
from tui_eval.environments.datasets.example_datasets import (
    load_example_dataset as load_example_dataset,
)
from tui_eval.environments.decorators import cleanup as cleanup
from tui_eval.environments.decorators import stop as stop
from tui_eval.environments.decorators import teardown as teardown
from tui_eval.environments.env_group import EnvGroup as EnvGroup
from tui_eval.environments.environment import Environment as Environment
from tui_eval.environments.keys import MissingKeyError as MissingKeyError
from tui_eval.environments.keys import ensure_keys as ensure_keys
from tui_eval.environments.multi_turn import MultiTurnEnv as MultiTurnEnv
from tui_eval.environments.outputs import (
    print_prompt_completions_sample as print_prompt_completions_sample,
)
from tui_eval.environments.recorded_results import record as record
from tui_eval.environments.recorded_results import tool as tool
from tui_eval.environments.single_turn import SingleTurnEnv as SingleTurnEnv
from tui_eval.environments.stateful_tool_env import StatefulToolEnv as StatefulToolEnv
from tui_eval.environments.tool_env import ToolEnv as ToolEnv
from tui_eval.errors import BrowserSandboxError as BrowserSandboxError
from tui_eval.errors import EmptyModelResponseError as EmptyModelResponseError
from tui_eval.errors import Error as Error
from tui_eval.errors import ErrorChain as ErrorChain
from tui_eval.errors import InfraError as InfraError
from tui_eval.errors import InvalidModelResponseError as InvalidModelResponseError
from tui_eval.errors import JudgeError as JudgeError
from tui_eval.errors import ModelError as ModelError
from tui_eval.errors import OverlongPromptError as OverlongPromptError
from tui_eval.errors import PromptRefusedError as PromptRefusedError
from tui_eval.errors import RefusedError as RefusedError
from tui_eval.errors import SandboxError as SandboxError
from tui_eval.errors import ScoringError as ScoringError
from tui_eval.errors import ToolCallError as ToolCallError
from tui_eval.errors import ToolError as ToolError
from tui_eval.errors import ToolParseError as ToolParseError
from tui_eval.errors import TunnelError as TunnelError
from tui_eval.messages import AssistantMessage as AssistantMessage
from tui_eval.messages import ChatMessage as ChatMessage
from tui_eval.messages import ContentPart as ContentPart
from tui_eval.messages import CustomBaseModel as CustomBaseModel
from tui_eval.messages import GenericContentPart as GenericContentPart
from tui_eval.messages import ImageUrlContentPart as ImageUrlContentPart
from tui_eval.messages import ImageUrlSource as ImageUrlSource
from tui_eval.messages import InputAudioContentPart as InputAudioContentPart
from tui_eval.messages import InputAudioSource as InputAudioSource
from tui_eval.messages import Message as Message
from tui_eval.messages import Messages as Messages
from tui_eval.messages import SystemMessage as SystemMessage
from tui_eval.messages import TextContentPart as TextContentPart
from tui_eval.messages import TextMessage as TextMessage
from tui_eval.messages import ToolCall as ToolCall
from tui_eval.messages import ToolMessage as ToolMessage
from tui_eval.messages import UserMessage as UserMessage
from tui_eval.parsers.answers import extract_boxed_answer as extract_boxed_answer
from tui_eval.parsers.answers import extract_hash_answer as extract_hash_answer
from tui_eval.parsers.parser import MaybeThinkParser as MaybeThinkParser
from tui_eval.parsers.parser import Parser as Parser
from tui_eval.parsers.parser import ThinkParser as ThinkParser
from tui_eval.parsers.xml_parser import XMLParser as XMLParser
from tui_eval.plain_calls.functions import thread_safe as thread_safe
from tui_eval.rollout_data import BaseRolloutInput as BaseRolloutInput
from tui_eval.rollout_data import DatasetBuilder as DatasetBuilder
from tui_eval.rollout_data import ErrorInfo as ErrorInfo
from tui_eval.rollout_data import FinishReason as FinishReason
from tui_eval.rollout_data import GenerateMetadata as GenerateMetadata
from tui_eval.rollout_data import GenerateOutputs as GenerateOutputs
from tui_eval.rollout_data import GroupRewardFunc as GroupRewardFunc
from tui_eval.rollout_data import IndividualRewardFunc as IndividualRewardFunc
from tui_eval.rollout_data import Info as Info
from tui_eval.rollout_data import JsonPrimitive as JsonPrimitive
from tui_eval.rollout_data import LogCallback as LogCallback
from tui_eval.rollout_data import MessageType as MessageType
from tui_eval.rollout_data import ProgressCallback as ProgressCallback
from tui_eval.rollout_data import Response as Response
from tui_eval.rollout_data import ResponseMessage as ResponseMessage
from tui_eval.rollout_data import ResponseTokens as ResponseTokens
from tui_eval.rollout_data import RewardFunc as RewardFunc
from tui_eval.rollout_data import RolloutInput as RolloutInput
from tui_eval.rollout_data import RolloutOutput as RolloutOutput
from tui_eval.rollout_data import RolloutScore as RolloutScore
from tui_eval.rollout_data import RolloutScores as RolloutScores
from tui_eval.rollout_data import RolloutTiming as RolloutTiming
from tui_eval.rollout_data import SamplingArgs as SamplingArgs
from tui_eval.rollout_data import StartCallback as StartCallback
from tui_eval.rollout_data import TokenUsage as TokenUsage
from tui_eval.rollout_data import Tool as Tool
from tui_eval.rollout_data import TrajectoryStep as TrajectoryStep
from tui_eval.rollout_data import TrajectoryStepTokens as TrajectoryStepTokens
from tui_eval.rollout_data import Usage as Usage
from tui_eval.rollout_data import VersionInfo as VersionInfo
from tui_eval.rubrics.judge_rubric import JudgeRubric as JudgeRubric
from tui_eval.rubrics.math_rubric import MathRubric as MathRubric
from tui_eval.rubrics.rubric import Rubric as Rubric
from tui_eval.rubrics.rubric_group import RubricGroup as RubricGroup
from tui_eval.state import State as State

__version__: str
