"""Answers of a responses endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openai.types.responses import Response as SdkResponse

from tui_eval.clients.wire.answer_struct import decode_answer
from tui_eval.clients.wire.responses_answer import ResponsesAnswer
from tui_eval.clients.wire.responses_translation import (
    check_responses_answer,
    from_responses_answer,
)
from tui_eval.types import Response

PAYLOADS = Path(__file__).parent / "payloads"


def text_item(text: str, kind: str = "output_text") -> dict[str, Any]:
    part = {"type": kind, "refusal" if kind == "refusal" else "text": text}
    return {"type": "message", "role": "assistant", "content": [part]}


def read(name: str, sdk: bool = False) -> Response:
    content = (PAYLOADS / name).read_bytes()
    answer: Any = (
        SdkResponse.model_validate_json(content) if sdk else decode_answer(content, ResponsesAnswer)
    )
    check_responses_answer(answer)
    return from_responses_answer(answer)
