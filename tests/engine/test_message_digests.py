"""Digests of messages: the same in every version, or journals of before would not be replayed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import tui_eval as vf
from tui_eval.runs.plain_json import encode_model
from tui_eval.worker.request_digests import digest_of, digest_of_message


@given(st.text(st.characters()), st.text(st.characters()))
def test_the_digest_of_a_message_is_that_of_its_json(text: str, call: str) -> None:
    messages = (
        vf.SystemMessage(content=text),
        vf.UserMessage(content=text),
        vf.AssistantMessage(content=text),
        vf.ToolMessage(tool_call_id=call, content=text),
    )
    for message in messages:
        assert digest_of_message(message).startswith(digest_of(encode_model(message)))
