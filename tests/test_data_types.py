"""The data types that environments and programs read and write, by what they hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from pydantic import TypeAdapter, ValidationError

import tui_eval as vf

ANSWER = vf.ResponseMessage(content="4", finish_reason="stop", is_truncated=False)


class Says4:
    """A client that answers with 4."""

    async def get_response(self, *args: Any, **kwargs: Any) -> vf.Response:
        usage = vf.Usage(prompt_tokens=3, completion_tokens=1, total_tokens=4)
        return vf.Response(id="1", created=0, model="m", usage=usage, message=ANSWER)


class Fails:
    """A client that cannot answer."""

    async def get_response(self, *args: Any, **kwargs: Any) -> vf.Response:
        raise vf.ModelError("no") from TimeoutError("slow")


@pytest.fixture
def outputs(tmp_path: Path) -> Callable[[Any], Any]:
    env = vf.SingleTurnEnv(
        dataset=[{"question": "2+2?", "answer": "4", "info": {"n": 1}}],
        rubric=vf.Rubric([lambda completion, answer: completion[-1]["content"] == answer]),
    )

    def run(client: Any) -> Any:
        return env.evaluate_sync(client, "m", results_path=tmp_path / type(client).__name__)

    return run


def keys(kind: Any) -> set[str]:
    return set(get_type_hints(kind))


def test_what_a_run_gives_is_of_its_types(outputs: Callable[[Any], vf.GenerateOutputs]) -> None:
    got = outputs(Says4())
    assert set(got) == keys(vf.GenerateOutputs)
    [output] = got["outputs"]
    assert type(output) is vf.RolloutOutput
    assert json.loads(json.dumps(output)) == output
    assert (output["reward"], output["answer"], output["info"]) == (1.0, "4", {"n": 1})
    assert keys(vf.GenerateMetadata) <= set(got["metadata"])
    TypeAdapter(vf.GenerateMetadata).validate_python(got["metadata"])
    assert set(got["metadata"]["version_info"]) == keys(vf.VersionInfo)
    assert set(output["timing"]) == keys(vf.RolloutTiming)
    TypeAdapter(vf.RolloutTiming).validate_python(output["timing"])
    usage: vf.TokenUsage = output["token_usage"]
    assert usage == {"input_tokens": 3.0, "output_tokens": 1.0}


def test_an_error_is_saved_with_its_chain(outputs: Callable[[Any], vf.GenerateOutputs]) -> None:
    error: vf.ErrorInfo = outputs(Fails())["outputs"][0]["error"]
    assert error == {
        "error": "ModelError",
        "class": "endpoint",
        "error_chain_repr": "ModelError('no') -> TimeoutError('slow')",
        "error_chain_str": "ModelError -> TimeoutError",
    }
    assert set(error) == keys(vf.ErrorInfo)


async def test_a_state_holds_inputs_steps_and_timing_of_their_types() -> None:
    env = vf.SingleTurnEnv(dataset=[{"question": "2+2?", "answer": "4"}])
    row = env.get_dataset()[0]
    assert keys(vf.BaseRolloutInput) <= set(row)
    assert keys(vf.RolloutInput) - keys(vf.BaseRolloutInput) == {"answer", "info"}
    state = await env.run_rollout(None, row, Says4(), "m")
    assert [set(step) for step in state["trajectory"]] == [keys(vf.TrajectoryStep)]
    assert state["trajectory"][0]["response"].message is ANSWER
    assert set(state["timing"]) == keys(vf.RolloutTiming)
    assert state["usage"] == vf.TokenUsage(input_tokens=3, output_tokens=1)


def test_scores_are_a_reward_and_metrics() -> None:
    one = vf.RolloutScore(reward=1.0, metrics={"right": 1.0})
    several = vf.RolloutScores(reward=[1.0, 0.0], metrics={"right": [1.0, 0.0]})
    assert TypeAdapter(vf.RolloutScore).validate_python(dict(one)) == one
    assert TypeAdapter(vf.RolloutScores).validate_python(dict(several)) == several


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("FinishReason", ["stop", "length", "tool_calls", None], ["ended"]),
        ("MessageType", ["chat", "completion"], ["text"]),
        ("ClientType", ["openai_responses", "anthropic_messages"], ["openai"]),
        ("JsonPrimitive", ["a", 1, 1.5, True, None], [{}, []]),
        ("SamplingArgs", [{"temperature": 0, "stop": ["x"]}], ["hot"]),
        ("Info", [{"a": 1}], ["text"]),
        ("Endpoints", [{"a": [{"key": "K", "url": "u", "model": "m"}]}], [{"a": [{"key": "K"}]}]),
    ],
)
def test_aliases_take_what_they_say(name: str, good: list[Any], bad: list[Any]) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(getattr(vf, name))
    assert [adapter.validate_python(one) for one in good] == good
    for one in bad:
        with pytest.raises(ValidationError):
            adapter.validate_python(one)


@pytest.mark.parametrize(
    "name",
    [
        "DatasetBuilder",
        "GroupRewardFunc",
        "IndividualRewardFunc",
        "LogCallback",
        "ProgressCallback",
        "RewardFunc",
        "StartCallback",
    ],
)
def test_functions_are_called_by_these_names(name: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(getattr(vf, name))
    assert adapter.validate_python(len) is len
    with pytest.raises(ValidationError):
        adapter.validate_python("len")


def test_a_part_of_another_kind_keeps_what_it_says() -> None:
    part = {"type": "video", "video": {"url": "u"}}
    message = vf.UserMessage(content=[part, vf.TextContentPart(text="see")])
    assert isinstance(message.content[0], vf.GenericContentPart)
    assert message.content[0]["video"] == {"url": "u"}
    assert message.model_dump()["content"] == [part, {"type": "text", "text": "see"}]
    image = {"type": "image_url", "image_url": {"url": "u"}}
    assert type(TypeAdapter(vf.ContentPart).validate_python(image)) is vf.ImageUrlContentPart


def test_an_evaluation_is_described_as_in_the_seed() -> None:
    one = vf.EvalConfig(
        env_id="e",
        model="m",
        client_config=vf.ClientConfig(api_base_url="http://x/v1"),
        num_examples=-1,
        rollouts_per_example=2,
    )
    assert (one.max_concurrent, one.save_results, one.env_args) == (32, False, {})
    several = vf.EvalRunConfig(evals=[one, one.model_copy(update={"num_examples": 3})])
    assert [each.num_examples for each in several.evals] == [-1, 3]
    assert several.heartbeat_url is None
    with pytest.raises(ValidationError, match="rollouts_per_example"):
        vf.EvalConfig(**{**one.model_dump(), "rollouts_per_example": 0})


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        ("ModelError", "Error"),
        ("InvalidModelResponseError", "ModelError"),
        ("EmptyModelResponseError", "InvalidModelResponseError"),
        ("PromptRefusedError", "ModelError"),
        ("OverlongPromptError", "Error"),
        ("ToolError", "Error"),
        ("ToolParseError", "ToolError"),
        ("ToolCallError", "ToolError"),
        ("InfraError", "Error"),
        ("TunnelError", "InfraError"),
        ("SandboxError", "InfraError"),
        ("BrowserSandboxError", "SandboxError"),
        ("ScoringError", "Error"),
        ("Error", None),
    ],
)
def test_errors_are_of_their_kind(kind: str, base: str | None) -> None:
    parent = Exception if base is None else getattr(vf, base)
    assert getattr(vf, kind).__bases__ == (parent,)
    assert str(getattr(vf, kind)("why")) == "why"
