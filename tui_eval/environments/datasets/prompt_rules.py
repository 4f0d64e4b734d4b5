"""How the prompt of an example is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tui_eval.environments.datasets.row_faults import rule_faults
from tui_eval.errors import RefusedError


class PromptRules(msgspec.Struct, frozen=True):
    """How the prompt of a row is made.

    Args:
        system_prompt: Stands first, unless it is empty or the row's own prompt begins with a system
            message.
        few_shot: Messages between it and the question; not used for rows with a prompt.
        task: The task of rows that name none.

    Raises:
        RefusedError: One of the messages cannot be sent.
    """

    system_prompt: str | None = None
    few_shot: Sequence[Any] = ()
    task: str = "default"

    def __post_init__(self) -> None:
        if faults := list(rule_faults(self.system_prompt, self.few_shot)):
            raise RefusedError(faults)

    def prompt_of(self, row: Mapping[str, Any]) -> Any:
        """The prompt of a row: a list of messages, or text."""
        prompt = row.get("prompt")
        if prompt is None:
            head = [self._system()] if self.system_prompt else []
            question = {"role": "user", "content": row["question"]}
            return [*head, *self.few_shot, question]
        if not self.system_prompt:
            return prompt
        if isinstance(prompt, str):
            return [self._system(), {"role": "user", "content": prompt}]
        first = prompt[0]
        if not isinstance(first, str) and first.get("role") in ("system", "developer"):
            return prompt
        return [self._system(), *prompt]

    def _system(self) -> dict[str, Any]:
        return {"role": "system", "content": self.system_prompt}
