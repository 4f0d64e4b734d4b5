"""A parser of answers in XML-like tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from tui_eval.messages import Messages
from tui_eval.parsers.parser import Parser, answer_text, unchanged


class XMLParser(Parser):
    """Reads fields such as `<answer>42</answer>` out of a text.

    Args:
        fields: The tags in their order. A tuple names alternatives for one field; its first name
            is the canonical one.
        answer_field: The tag that `parse_answer` returns.
        extract_fn: Kept in the attribute of that name; `parse_answer` does not apply it.

    Raises:
        TypeError: No list was given, or a field is neither a string nor a tuple of strings.
        ValueError: A tuple is empty, or two fields have one canonical name.
    """

    def __init__(
        self,
        fields: Sequence[str | tuple[str, ...]],
        answer_field: str = "answer",
        extract_fn: Callable[[str], Any] = unchanged,
    ) -> None:
        super().__init__(extract_fn)
        self.answer_field = answer_field
        if isinstance(fields, str):
            raise TypeError(f"The fields are a list, such as [{fields!r}], not {fields!r}")
        self._fields = [_alternatives(field) for field in fields]
        for name in (names := self.get_fields()):
            if names.count(name) > 1:
                raise ValueError(f"Two fields are called {name!r}; each name may be used once")
        self._names = [name for field in self._fields for name in field]

    def parse(self, text: str, strip: bool = True, last: bool = False) -> Any:
        """The fields of a text.

        Args:
            strip: For those who pass it: white space around a value is never part of it.
            last: Take the last occurrence of each tag instead of the first.

        Returns:
            An object with one attribute per name, alternatives included; None where the tag is
            missing.
        """
        found = SimpleNamespace()
        for name in self._names:
            values = _values(name, text)
            value = next(values, None)
            if last:
                for value in values:  # noqa: B007
                    pass
            setattr(found, name, None if value is None else value.strip())
        return found

    def parse_answer(self, completion: Messages | str) -> Any:
        """The answer field of a text (its last one), or of the newest message that has it.

        Returns:
            None where no assistant message has the field.
        """
        if isinstance(completion, str):
            texts, last = [completion], True
        else:
            answers = self.get_assistant_messages(completion)
            texts, last = [answer_text(message) for message in reversed(answers)], False
        for text in texts:
            answer = getattr(self.parse(text, last=last), self.answer_field, None)
            if answer is not None:
                return answer
        return None

    def get_fields(self) -> list[str]:
        """The canonical names of the fields, in order."""
        return [field[0] for field in self._fields]

    def get_format_str(self) -> str:
        """The expected format, to be shown to a model."""
        tags = [
            field[0] if len(field) == 1 else f"[ {' | '.join(field)} ]" for field in self._fields
        ]
        return "\n".join(f"<{tag}>\n...\n</{tag}>" for tag in tags)

    def format(self, **values: Any) -> str:
        """A text with these values in their tags, each tag on a line of its own.

        Args:
            values: One value per field, under any of its names; others are left out.

        Raises:
            ValueError: A field has no value.
        """
        lines = []
        for field in self._fields:
            value = next((values[name] for name in field if name in values), None)
            if value is None:
                raise ValueError(f"Missing value for field {field[0]!r} (names: {list(field)})")
            lines.append(f"<{field[0]}>\n{value}\n</{field[0]}>")
        return "\n".join(lines)

    def get_format_reward_func(self) -> Callable[..., float]:
        """A reward function for how well messages keep the format, 0.2 to 1.

        Each assistant message scores 0.4 times the share of fields of which a tag is there, if one
        of them is whole, 0.2 for beginning with the first field, 0.2 for ending with the last, and
        0.2 always, so that scores are those of verifiers. The mean counts; 0 where there is no
        message.
        """

        def format_reward_func(completion: Messages, **kwargs: Any) -> float:
            scores = [
                self._format_score(answer_text(message))
                for message in self.get_assistant_messages(completion)
            ]
            return sum(scores) / len(scores) if scores else 0.0

        return format_reward_func

    def _format_score(self, text: str) -> float:
        if not self._fields:
            return 1.0
        found = self.parse(text)
        is_any_whole = any(getattr(found, name) is not None for name in self._names)
        present = sum(any(_has_tag(name, text) for name in field) for field in self._fields)
        body = text.strip()
        begins = body.startswith(tuple(f"<{name}>" for name in self._fields[0]))
        ends = body.endswith(tuple(f"</{name}>" for name in self._fields[-1]))
        share = present / len(self._fields) if is_any_whole else 0.0
        return 0.4 * share + 0.2 + 0.2 * begins + 0.2 * ends


def _alternatives(field: Any) -> tuple[str, ...]:
    names = (field,) if isinstance(field, str) else field
    if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"A field is a string or a tuple of strings, not {field!r}")
    if not names:
        raise ValueError("A tuple of alternatives needs at least one name")
    return names


def _has_tag(name: str, text: str) -> bool:
    return f"<{name}>" in text or f"</{name}>" in text


def _values(name: str, text: str) -> Iterator[str]:
    """The text of each pair of tags; time grows with the text, however many are left open."""
    begins, ends, place = f"<{name}>", f"</{name}>", 0
    while (begin := text.find(begins, place)) >= 0:
        begin += len(begins)
        end = text.find(ends, begin)
        if end < 0:
            return
        yield text[begin:end]
        place = end + len(ends)
