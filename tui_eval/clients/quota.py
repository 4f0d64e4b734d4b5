"""Whether an endpoint refuses because nothing is left to spend there, which no waiting mends."""

from __future__ import annotations

import json
import re
from typing import Any

from tui_eval.clients.retry_after import asked_wait

_SPENT = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)"
    r"|billing[_ ]hard[_ ]limit|credit balance is too low|out of credits|credits? exhausted"
    r"|budget[_ ](?:has been )?exceeded|exceeded ?budget|over budget"
    r"|quotaid\W{1,8}\w*perday",
    re.IGNORECASE,
)
"""Codes and words that mean it, wherever a gateway puts them: as a code or in its message."""
_DOUBTFUL = re.compile(r"exceeded your current quota", re.IGNORECASE)
"""OpenAI's words for it; Google says the same for a minute's limit, and names the wait beside."""


def is_quota_spent(error: BaseException) -> bool:
    """Whether a refusal says that quota, credit or balance is used up.

    Args:
        error: Of an SDK, or of the same shape: its body is that of the answer.
    """
    status = getattr(error, "status_code", None)
    if status == 402:
        return True
    if status is None or status < 400:
        return False
    body = getattr(error, "body", None)
    text = f"{getattr(error, 'code', None)} {_as_text(body) if body else error}"
    if _SPENT.search(text):
        return True
    return bool(_DOUBTFUL.search(text)) and asked_wait({}, body) is None


def _as_text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=str)
