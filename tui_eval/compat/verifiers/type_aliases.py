"""Types of `verifiers.types` that only hints name."""

from __future__ import annotations

from typing import Any, TypeAlias

from tui_eval.messages import ContentPart

MessageContent: TypeAlias = str | list[ContentPart]
ThinkingBlock: TypeAlias = dict[str, Any]
