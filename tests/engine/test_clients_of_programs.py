"""Clients that a test of an environment puts in place, and runs of a program that cannot begin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tui_eval as vf


def right(completion: Any, answer: str) -> float:
    return float(completion[-1]["content"] == answer)


def environment() -> vf.SingleTurnEnv:
    rows = [{"question": "q", "answer": "yes"}]
    return vf.SingleTurnEnv(dataset=rows, rubric=vf.Rubric([right]))


CONFIG = vf.ClientConfig(api_base_url="http://127.0.0.1:9/v1", api_key_var="")


class StandIn:
    """A client that answers by itself."""

    is_closed = False

    async def get_response(self, *args: Any, **kwargs: Any) -> vf.Response:
        message = vf.ResponseMessage(content="yes", finish_reason="stop", is_truncated=False)
        return vf.Response(id="1", created=0, model="m", usage=None, message=message)

    async def close(self) -> None:
        self.is_closed = True


async def test_a_client_that_a_test_puts_in_place_answers_and_is_closed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[StandIn] = []

    def resolve(config: Any) -> StandIn:
        if len(made) == 2:
            raise RuntimeError("no third client")
        made.append(StandIn())
        return made[-1]

    monkeypatch.setattr("tui_eval.environments.environment.resolve_client", resolve)
    got = await environment().evaluate(CONFIG, "m")
    assert [output["reward"] for output in got["outputs"]] == [1.0]
    assert [one.is_closed for one in made] == [True]
    two = vf.ClientConfig(endpoint_configs=[CONFIG, CONFIG], api_key_var="")
    with pytest.raises(RuntimeError, match="no third client"):
        await environment().evaluate(two, "m")
    assert [one.is_closed for one in made] == [True, True]


async def test_what_cannot_begin_is_a_wrong_value(folder: Path) -> None:
    with pytest.raises(ValueError, match="rollouts_per_example"):
        await environment().evaluate(CONFIG, "m", rollouts_per_example=0)
