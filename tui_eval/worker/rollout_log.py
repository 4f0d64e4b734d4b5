"""Records of single rollouts in the log: errors, requests, messages, changed state."""

from __future__ import annotations

import logging
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any

from tui_eval import cuts
from tui_eval.config.secret_values import masked
from tui_eval.fold.trajectory import Rollout
from tui_eval.printable import one_line, printable
from tui_eval.rubrics.scored_state import NOT_CALLED
from tui_eval.runs.row import message_dict
from tui_eval.state import State


class _Short(reprlib.Repr):
    """Short text of a value."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 200
        self.maxdict = self.maxlist = 20

    def repr_str(self, x: str, level: int) -> str:
        return repr(cuts.middle(x, self.maxstring))

    def repr_instance(self, x: object, level: int) -> str:
        try:
            return cuts.middle(repr(x), self.maxother)
        except Exception:  # people's own
            return f"<{type(x).__name__} instance at {id(x):#x}>"


_SHORT = _Short()


class StateLog:
    """The last logged values of the environment's own keys.

    Args:
        state: At the beginning of the rollout: its keys are those of every state.
    """

    def __init__(self, state: State) -> None:
        self._of_every_state = frozenset(state)
        self._logged: dict[str, str] = {}

    def changes(self, state: State) -> Iterator[tuple[str, str]]:
        """Keys with a new value, and that value as short text."""
        for key, value in list(state.items()):
            if key in self._of_every_state:
                continue
            text = _SHORT.repr(value)
            if self._logged.get(key) != text:
                self._logged[key] = text
                yield key, text


log = logging.getLogger("tui_eval.rollout")

CLASSES_OF_CODE = ("environment", "tool", "scoring")
LOGGED = 1000
"""Characters of an error in the log; its row has all of it."""


def log_errors(observer: object, rollout: Rollout) -> None:
    """Logs why a rollout errored, where it was people's code with its traceback; of several reward
    functions that failed, each.

    Args:
        rollout: As it was written: without secrets.
    """
    failed = [one for one in rollout.scores if one.error and one.error != NOT_CALLED]
    in_code = rollout.error_class in CLASSES_OF_CODE and rollout.traceback
    texts = [(rollout.error or "", f"\n{rollout.traceback}".rstrip() if in_code else "")]
    for one in failed[1:]:  # the first one is the rollout's error
        head, _, frames = (one.error or "").partition("\n")
        where = f"\n{indent(frames, '  ')}" if frames else ""
        texts.append((f"Reward function {one.name!r} failed: {head}", where))
    for text, where in texts:
        log.error("%s: %s%s", observer, one_line(text, LOGGED), where)


def request_text(model: str, sampling_args: Mapping[str, Any], tools: Sequence[Any]) -> str:
    """The model, arguments and tools of a request, for the log."""
    parts = [model]
    if sampling_args:
        parts.append(f"sampling {masked(sampling_args)}")
    if names := ", ".join(tool.name for tool in tools):
        parts.append(f"tools {names}")
    return ", ".join(parts)


def message_text(message: Any) -> str:
    """A message on one line: its role, text, reasoning and tool calls."""
    shown = message_dict(message)
    parts = [f"{shown.get('role', '?')}: {shown['content']}"]
    if thought := shown.get("reasoning_content"):
        parts.append(f"thinks {thought}")
    if calls := shown.get("tool_calls"):
        parts.append(f"calls {', '.join(calls)}")
    return printable("; ".join(parts)).replace("\n", "\\n")
