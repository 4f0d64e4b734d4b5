"""Conversations of every shape, for translation tests."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from tui_eval.messages import (
    AssistantMessage,
    ImageUrlContentPart,
    ImageUrlSource,
    SystemMessage,
    TextContentPart,
    TextMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

texts = st.text(min_size=1, max_size=20).filter(lambda text: not text.isspace())
names = st.from_regex(r"[a-z_]{1,10}", fullmatch=True)
values = st.none() | st.booleans() | st.integers(-9, 9) | texts
objects = st.dictionaries(texts, values | st.lists(values, max_size=2), max_size=3)
parts = st.one_of(
    st.builds(TextContentPart, text=texts),
    st.builds(
        ImageUrlContentPart,
        image_url=st.builds(
            ImageUrlSource,
            url=st.sampled_from(["data:image/png;base64,iVBORw0K", "https://example.org/cat.png"]),
        ),
    ),
)
contents = texts | st.lists(parts, min_size=1, max_size=3)
calls = st.builds(ToolCall, id=names, name=names, arguments=objects.map(json.dumps))
thinking = st.fixed_dictionaries(
    {"type": st.just("thinking"), "thinking": texts, "signature": texts}
)
systems = st.builds(SystemMessage, content=texts)
users = st.builds(UserMessage, content=contents) | st.builds(TextMessage, content=texts)
tool_results = st.builds(ToolMessage, tool_call_id=names, content=contents)


def assistants(*, with_blocks: bool) -> st.SearchStrategy[AssistantMessage]:
    """Assistant messages that say something; reasoning is in blocks or in a text of its own."""
    blocks = st.lists(thinking, min_size=1, max_size=2)
    made = st.builds(
        AssistantMessage,
        content=st.none() | texts,
        reasoning_content=st.none() if with_blocks else st.none() | texts,
        thinking_blocks=st.none() | blocks if with_blocks else st.none(),
        tool_calls=st.none() | st.lists(calls, min_size=1, max_size=3),
    )
    return made.filter(lambda message: message.content is not None or bool(message.tool_calls))
