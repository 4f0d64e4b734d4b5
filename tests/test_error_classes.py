"""Error classes of exceptions, and of names of exceptions that were saved."""

from __future__ import annotations

import errno

import pytest

import tui_eval as vf
from tui_eval.error_classes import ERROR_CLASSES, class_of, class_of_names
from tui_eval.errors import CancelledByUserError, ErrorChain, RolloutTimeoutError
from tui_eval.events import Stage


def caused(error: BaseException, *causes: BaseException) -> BaseException:
    link = error
    for cause in causes:
        link.__cause__ = cause
        link = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (vf.Error("x"), "environment"),
        (vf.ModelError("x"), "endpoint"),
        (vf.InvalidModelResponseError("x"), "endpoint"),
        (vf.EmptyModelResponseError("x"), "endpoint"),
        (vf.PromptRefusedError("x"), "model"),
        (vf.OverlongPromptError("x"), "model"),
        (vf.ToolError("x"), "tool"),
        (vf.ToolParseError("x"), "tool"),
        (vf.ToolCallError("x"), "tool"),
        (vf.InfraError("x"), "environment"),
        (vf.TunnelError("x"), "sandbox"),
        (vf.BrowserSandboxError("x"), "sandbox"),
        (vf.ScoringError("x"), "scoring"),
        (vf.JudgeError("x"), "judge"),
        (CancelledByUserError("x"), "engine"),
        (KeyError("x"), "environment"),
        (caused(vf.ScoringError("x"), KeyError("y")), "scoring"),
        (caused(vf.ScoringError("x"), vf.JudgeError("y"), KeyError("z")), "judge"),
        (caused(vf.ScoringError("x"), vf.ModelError("y")), "judge"),
        (caused(vf.ToolCallError("x"), vf.ModelError("y")), "tool"),
        (caused(vf.ModelError("x"), OSError(errno.EMFILE, "Too many open files")), "engine"),
        (caused(vf.ToolCallError("x"), OSError(errno.ENOSPC, "No space left")), "engine"),
        (OSError(errno.ENOENT, "No such file"), "environment"),
    ],
)
def test_an_exception_says_what_failed(error: BaseException, kind: str) -> None:
    assert class_of(error) == kind
    assert kind in ERROR_CLASSES


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        (None, "environment"),
        (Stage.SETUP, "environment"),
        (Stage.MODEL, "endpoint"),
        (Stage.SLEEPING, "endpoint"),
        (Stage.TOOL, "tool"),
        (Stage.SCORING, "scoring"),
    ],
)
def test_peoples_exceptions_have_the_class_of_where_they_came_out(
    stage: Stage | None, kind: str
) -> None:
    assert class_of(KeyError("x"), stage) == kind


def test_what_has_a_class_of_its_own_keeps_it_wherever_it_came_out() -> None:
    assert class_of(vf.SandboxError("x"), Stage.TOOL) == "sandbox"
    timeout = RolloutTimeoutError("too long")
    timeout.error_class = "tool"
    assert class_of(timeout, Stage.MODEL) == "tool"
    assert RolloutTimeoutError.error_class == "environment"


def test_a_class_that_nobody_knows_is_none() -> None:
    error = KeyError("x")
    error.error_class = "weather"  # type: ignore[attr-defined]
    assert class_of(error) == "environment"


def test_a_model_that_a_rubric_calls_is_a_judge() -> None:
    assert class_of(vf.ModelError("x"), Stage.SCORING) == "judge"


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("ModelError -> APITimeoutError", "endpoint"),
        ("RateLimitError", "endpoint"),
        ("ScoringError -> KeyError", "scoring"),
        ("ScoringError -> JudgeError -> APITimeoutError", "judge"),
        ("ScoringError -> APITimeoutError", "judge"),
        ("JudgeError", "judge"),
        ("ToolCallError -> APITimeoutError", "tool"),
        ("SandboxError -> APIError", "sandbox"),
        ("OverlongPromptError -> BadRequestError", "model"),
        ("KeyError", "environment"),
        ("litellm.RateLimitError: RateLimitError: OpenAIException - slow down", "endpoint"),
        ("it rained", "environment"),
        ("", "environment"),
    ],
)
def test_names_of_saved_exceptions_say_what_failed(names: str, kind: str) -> None:
    assert class_of_names(names) == kind


def test_names_say_the_same_as_the_exceptions_did() -> None:
    for name in dir(vf):
        error = getattr(vf, name, None)
        if isinstance(error, type) and issubclass(error, vf.Error):
            assert class_of_names(str(ErrorChain(error("x")))) == class_of(error("x")), name
