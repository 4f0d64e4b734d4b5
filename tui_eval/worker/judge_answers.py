"""What judges answered to a rollout, or to the members of its group, before an interruption.

Reward functions ask beside each other and each request stands for itself. So an answer is found by
its request alone, in whatever order they come, and one that differs leaves the others as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tui_eval.runs.journal_records import tokens_of_answer
from tui_eval.runs.plain_json import encode_whatever
from tui_eval.token_kinds import Tokens, plus

_DIGEST_BYTES = 16


def judge_digest(request: Sequence[Any]) -> str:
    """The digest of a request, as a record of its answer has it."""
    return hashlib.blake2b(encode_whatever(list(request)), digest_size=_DIGEST_BYTES).hexdigest()


class JudgeAnswers:
    """Records of answers that were not given again so far; threads may take them.

    Args:
        records: In the order in which they came.
    """

    def __init__(self, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self._by_request: dict[str, list[Mapping[str, Any]]] = {}
        self.join(records)

    def join(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Takes in what other members of a group have."""
        for one in records:
            self._by_request.setdefault(one["judge"], []).append(one)

    def take(self, digest: str) -> Mapping[str, Any] | None:
        """The record of the first answer to a request that is left; None where there is none."""
        found = self._by_request.get(digest)
        try:
            return found.pop(0) if found else None
        except IndexError:  # another thread was faster
            return None

    def take_all(self, row: int | None = None) -> list[Mapping[str, Any]]:
        """Takes out what is left of one rollout, or by default of all."""
        taken: list[Mapping[str, Any]] = []
        for records in self._by_request.values():
            own = [one for one in records if row in (None, one["row"])]
            records[:] = [one for one in records if one not in own]
            taken += own
        return taken


def tokens_of_answers(records: Iterable[Mapping[str, Any]]) -> Tokens:
    """The tokens of recorded answers together."""
    tokens: Tokens = ()
    for one in records:
        tokens = plus(tokens, tokens_of_answer(one))
    return tokens
