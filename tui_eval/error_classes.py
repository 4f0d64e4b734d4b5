"""Classes of errors: eight kinds of failing part, of an exception or of its saved names.

A mean is over rollouts without an error, so that it depends on what is left out. The class says
what that is: only `model` is the model's own doing. It is in a row as `error.class`.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tui_eval.errors import ErrorChain, JudgeError, ModelError, ScoringError
from tui_eval.open_files import is_out_of_files

if TYPE_CHECKING:
    from tui_eval.events import Stage

ERROR_CLASSES = {
    "model": "the model: its conversation was refused for what it holds",
    "environment": "the environment's own code",
    "tool": "a tool that ends the rollout when it fails",
    "scoring": "a reward function or a rubric",
    "judge": "the judge that a reward function called",
    "endpoint": "the model's endpoint, or the way to it",
    "sandbox": "a sandbox, or the tunnel to it",
    "engine": "the machine of the run is out of descriptors or disk space, or somebody cancelled",
}
"""Every class of error, and what failed."""

_SLEEPING, _HELD, _MODEL, _TOOL, _SCORING = 1, 4, 5, 6, 7
"""Stages as numbers, in the order of `tui_eval.events.Stage`, which takes longer to load."""

_OF_STAGE = {
    **dict.fromkeys((_SLEEPING, _HELD, _MODEL), "endpoint"),
    **{_TOOL: "tool", _SCORING: "scoring"},
}
"""The class of an exception of people's code at a stage; else the environment."""

_MACHINE = frozenset((errno.ENOSPC, errno.EDQUOT))

_NAMES = {
    "endpoint": (
        *("ModelError", "InvalidModelResponseError", "EmptyModelResponseError", "APIError"),
        *("APIConnectionError", "APITimeoutError", "APIStatusError", "APIResponseValidationError"),
        *("BadRequestError", "AuthenticationError", "PermissionDeniedError", "NotFoundError"),
        *("RateLimitError", "InternalServerError", "ServiceUnavailableError"),
    ),
    "model": (
        *("PromptRefusedError", "OverlongPromptError"),
        *("ContentPolicyViolationError", "ContextWindowExceededError"),
    ),
    "tool": ("ToolError", "ToolParseError", "ToolCallError", "MCPToolError"),
    "sandbox": ("TunnelError", "SandboxError", "BrowserSandboxError"),
    "scoring": ("ScoringError",),
    "judge": ("JudgeError",),
    "engine": ("CancelledByUserError",),
}
_OF_NAME = {name: kind for kind, names in _NAMES.items() for name in names}
"""The class by the name of an exception: ours, verifiers', and the providers' SDKs'."""
_WORD = re.compile(r"\w+")


def class_of(error: BaseException, stage: Stage | None = None) -> str:
    """The class of an error, one of `ERROR_CLASSES`.

    An exception with an `error_class` of its own says it; that of people's code is reported by
    where it came out.

    Args:
        stage: The stage in which it was raised; None where nothing is known to have been.
    """
    links = ErrorChain(error).chain
    is_full = any(isinstance(link, OSError) and link.errno in _MACHINE for link in links)
    if is_full or is_out_of_files(error):
        return "engine"
    if isinstance(error, ScoringError) or stage == _SCORING:
        requested = any(isinstance(link, (JudgeError, ModelError)) for link in links)
        return "judge" if requested else "scoring"
    own = getattr(error, "error_class", None)
    if isinstance(own, str) and own in ERROR_CLASSES:
        return own
    return class_at(stage)


def class_at(stage: Stage | None) -> str:
    """The class of a rollout that ends at a stage; the environment where it is None."""
    return "environment" if stage is None else _OF_STAGE.get(stage, "environment")


def reported_class(error: Any) -> str | None:
    """The class that the error of a saved row names; None where it names none."""
    reported = error.get("class") if isinstance(error, Mapping) else None
    return reported if isinstance(reported, str) and reported in ERROR_CLASSES else None


@lru_cache(1024)
def class_of_names(names: str) -> str:
    """The class of an error whose row names none, from the names of its exceptions.

    Args:
        names: As `ErrorChain` has them, outermost first, or a text with them.
    """
    found = [_OF_NAME[word] for word in _WORD.findall(names) if word in _OF_NAME]
    if not found:
        return "environment"
    if found[0] == "scoring":
        return "judge" if {"judge", "endpoint"}.intersection(found) else "scoring"
    return found[0]
