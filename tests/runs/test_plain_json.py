"""JSON of messages and answers, whose bytes are digested: another version must write the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tui_eval.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from tui_eval.runs.plain_json import encode_model
from tui_eval.types import Response, ResponseMessage, Usage

TEXT = st.text(st.characters(codec="utf-8"))
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
MORE = st.dictionaries(st.sampled_from(["extra_content", "phase"]), DATA)
"""Fields that our types do not know."""
CALLS = st.builds(
    lambda texts, more: ToolCall(
        **dict(zip(("id", "name", "arguments"), texts, strict=True)), **more
    ),
    st.tuples(TEXT, TEXT, TEXT),
    MORE,
)
PARTS = st.lists(
    st.builds(lambda text: {"type": "text", "text": text, "cache": None}, TEXT), max_size=2
)
SAID = st.fixed_dictionaries(
    {
        "content": st.none() | TEXT | PARTS,
        "reasoning_content": st.none() | TEXT,
        "thinking_blocks": st.none() | st.lists(st.dictionaries(TEXT, DATA), max_size=2),
        "tool_calls": st.none() | st.lists(CALLS, max_size=2),
    }
)
MESSAGES = (
    st.builds(lambda said, more: AssistantMessage(**said, **more), SAID, MORE)
    | st.builds(UserMessage, content=TEXT | PARTS)
    | st.builds(ToolMessage, tool_call_id=TEXT, content=TEXT)
)
ANSWERS = st.builds(
    lambda said, tokens: Response(
        id="a",
        created=0,
        model="m",
        usage=tokens,
        message=ResponseMessage(**said, finish_reason=None, is_truncated=False),
    ),
    SAID,
    st.none() | st.builds(Usage, prompt_tokens=st.integers(0, 10**9)),
)


@given(MESSAGES | ANSWERS)
def test_models_are_written_as_pydantic_writes_them(model: Any) -> None:
    assert bytes(encode_model(model)).decode() == model.model_dump_json(exclude_none=True)
