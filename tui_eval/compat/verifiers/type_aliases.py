"""Types of `verifiers.types` and `verifiers.envs.environment` that only hints name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from tui_eval.messages import ContentPart
from tui_eval.state import State

MessageContent: TypeAlias = str | list[ContentPart]
ThinkingBlock: TypeAlias = dict[str, Any]
StopCondition: TypeAlias = Callable[[State], Awaitable[bool]]
RolloutCleanup: TypeAlias = Callable[[State], Awaitable[None]]
EnvironmentTeardown: TypeAlias = Callable[[], Awaitable[None]]
