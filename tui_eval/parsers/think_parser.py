"""A parser of answers that come after a model's reasoning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tui_eval.messages import Messages
from tui_eval.parsers.parser import Parser, said_text, unchanged

OPEN, CLOSE = "<think>", "</think>"


class ThinkParser(Parser):
    """Reads what stands after the last `</think>`; a text without one has no answer.

    It is for models that always think, and whose endpoint leaves the thoughts in the text. Where
    either may differ, `MaybeThinkParser` is the one.

    Args:
        extract_fn: Applied to what stands after the tag, without white space around it; to an
            empty text where there is no tag.
    """

    def __init__(self, extract_fn: Callable[[str], Any] = unchanged) -> None:
        super().__init__(extract_fn)
        self.logger.warning(
            "ThinkParser finds no answer in a text without </think>. Use MaybeThinkParser where "
            "the endpoint takes the reasoning out, or the model may not reason"
        )

    def parse(self, text: str) -> Any:
        """What `extract_fn` makes of the text after the last `</think>`."""
        _, found, answer = text.rpartition(CLOSE)
        return self.extract_fn(answer.strip() if found else "")

    def get_format_reward_func(self) -> Callable[..., float]:
        """A reward function for the format, 0 to 1.

        An assistant message scores 1 where it begins with `<think>`, has either tag exactly once,
        and does not end with `</think>`, white space after it included; 0 otherwise. The mean
        counts; 0 where there is no message.
        """

        def format_reward_func(completion: Messages, **kwargs: Any) -> float:
            said = [said_text(message) for message in self.get_assistant_messages(completion)]
            return sum(map(_keeps_format, said)) / len(said) if said else 0.0

        return format_reward_func


def _keeps_format(text: str) -> bool:
    once = text.count(OPEN) == text.count(CLOSE) == 1
    return once and text.strip().startswith(OPEN) and not text.endswith(CLOSE)


class MaybeThinkParser(Parser):
    """Reads what stands after the last `</think>`, or the whole text where there is none.

    Its format reward function gives 1.0 always: either form is right.

    Args:
        extract_fn: Applied to that text without white space around it.
    """

    def parse(self, text: str) -> Any:
        """What `extract_fn` makes of the text after the last `</think>`, or of all of it."""
        return self.extract_fn(text.rpartition(CLOSE)[2].strip())
