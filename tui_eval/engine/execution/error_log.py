"""Errors of rollouts in the log of their run."""

from __future__ import annotations

import logging
from textwrap import indent

from tui_eval.fold.transcript import Rollout
from tui_eval.printable import one_line
from tui_eval.rubrics.scored_state import NOT_CALLED

log = logging.getLogger("tui_eval.rollout")

CLASSES_OF_CODE = ("environment", "tool", "scoring")
LOGGED = 1000
"""Characters of an error in the log; its row has all of it."""


def log_errors(watch: object, rollout: Rollout) -> None:
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
        log.error("%s: %s%s", watch, one_line(text, LOGGED), where)
