"""The plain parser: takes the text of an answer as it is."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from tui_eval.messages import Messages


def unchanged(text: str) -> Any:
    """The text as it is."""
    return text


class Parser:
    """Reads the answer out of what a model said.

    Args:
        extract_fn: Applied to the text; the text itself where none is given.

    Attributes:
        logger: The parser's logger.
    """

    def __init__(self, extract_fn: Callable[[str], Any] = unchanged) -> None:
        self.logger = logging.getLogger(f"{__name__}.{type(self).__name__}")
        self.extract_fn = extract_fn

    def parse(self, text: str) -> Any:
        """The result of `extract_fn` for the text."""
        return self.extract_fn(text)

    def parse_answer(self, completion: Messages | str) -> Any:
        """The answer in a text, or in the last assistant message of a conversation.

        Returns:
            None where no assistant message exists.
        """
        if isinstance(completion, str):
            return self.parse(completion)
        answers = self.get_assistant_messages(completion)
        return self.parse(answer_text(answers[-1])) if answers else None

    def get_assistant_messages(self, completion: Messages) -> Messages:
        """The messages of the model."""
        return _with_role(completion, "assistant")

    def get_system_messages(self, completion: Messages) -> Messages:
        """The system messages."""
        return _with_role(completion, "system")

    def get_user_messages(self, completion: Messages) -> Messages:
        """The messages of the user."""
        return _with_role(completion, "user")

    def get_tool_messages(self, completion: Messages) -> Messages:
        """The results of tool calls."""
        return _with_role(completion, "tool")

    def get_format_reward_func(self) -> Callable[..., float]:
        """A reward function for the format of an answer; any format is right here."""

        def format_reward_func(completion: Messages, **kwargs: Any) -> float:
            return 1.0

        return format_reward_func


def answer_text(message: Any) -> str:
    """The text of a message, parts of a list joined by spaces; images and sound are left out.

    White space around parts that are joined is left out, that of a text stays.
    """
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    texts = (
        part if isinstance(part, str) else str(part.get("text") or "")
        for part in content
        if isinstance(part, str) or part.get("type") == "text"
    )
    return " ".join(texts).strip()


def _with_role(messages: Messages, role: str) -> Messages:
    return [message for message in messages if message.get("role") == role]


OPEN, CLOSE = "<think>", "</think>"


class ThinkParser(Parser):
    """Reads the text after the last `</think>`; a text without one has no answer.

    It is for models that always think, and whose endpoint leaves the thoughts in the text. Where
    either may differ, `MaybeThinkParser` is the one.

    Args:
        extract_fn: Applied to the text after the tag, without white space around it; to an
            empty text where there is no tag.
    """

    def __init__(self, extract_fn: Callable[[str], Any] = unchanged) -> None:
        super().__init__(extract_fn)
        self.logger.warning(
            "ThinkParser finds no answer in a text without </think>. Use MaybeThinkParser where "
            "the endpoint takes the reasoning out, or the model may not reason"
        )

    def parse(self, text: str) -> Any:
        """The result of `extract_fn` for the text after the last `</think>`."""
        _, found, answer = text.rpartition(CLOSE)
        return self.extract_fn(answer.strip() if found else "")

    def get_format_reward_func(self) -> Callable[..., float]:
        """A reward function for the format, 0 to 1.

        An assistant message scores 1 where it begins with `<think>`, has either tag exactly once,
        and does not end with `</think>`, white space after it included; 0 otherwise. The mean
        counts; 0 where there is no message.
        """

        def format_reward_func(completion: Messages, **kwargs: Any) -> float:
            answers = [answer_text(message) for message in self.get_assistant_messages(completion)]
            return sum(map(_keeps_format, answers)) / len(answers) if answers else 0.0

        return format_reward_func


def _keeps_format(text: str) -> bool:
    once = text.count(OPEN) == text.count(CLOSE) == 1
    return once and text.strip().startswith(OPEN) and not text.endswith(CLOSE)


class MaybeThinkParser(Parser):
    """Reads the text after the last `</think>`, or the whole text where there is none.

    Its format reward function gives 1.0 always: either form is right.

    Args:
        extract_fn: Applied to that text without white space around it.
    """

    def parse(self, text: str) -> Any:
        """The result of `extract_fn` for the text after the last `</think>`, or for all of it."""
        return self.extract_fn(text.rpartition(CLOSE)[2].strip())
