"""`verifiers.utils.save_utils`: states as rows, and rows as a run directory that we open."""

from __future__ import annotations

import json
import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from tui_eval.compat.verifiers.eval_utils import compute_pass_at_k
from tui_eval.compat.verifiers.path_utils import get_results_path
from tui_eval.compat.verifiers.version_utils import get_version_info
from tui_eval.environments.evaluation import Evaluating
from tui_eval.environments.outputs import is_json_serializable as is_json_serializable
from tui_eval.environments.outputs import make_serializable
from tui_eval.environments.outputs import state_to_output as state_to_output
from tui_eval.environments.outputs import states_to_outputs as states_to_outputs
from tui_eval.environments.usage import extract_usage_tokens as extract_usage_tokens
from tui_eval.types import (
    ClientConfig,
    GenerateMetadata,
    GenerateOutputs,
    RolloutOutput,
    TokenUsage,
)

logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class GenerateOutputsBuilder:
    """Gathers rows and sums them up.

    Args:
        env_id, env_args, model, num_examples, rollouts_per_example, state_columns,
        sampling_args: For the metadata.
        client: A config or an SDK's client; its URL goes into the metadata.
        results_path: The run's directory; a new one where it is None.
        pass_threshold: The reward from which on a rollout passes.
    """

    env_id: str
    env_args: dict[str, Any]
    model: str
    client: Any
    num_examples: int
    rollouts_per_example: int
    state_columns: list[str] | None
    sampling_args: dict[str, Any]
    results_path: Path | None
    pass_threshold: float = 0.5

    def __post_init__(self) -> None:
        self.state_columns = self.state_columns or []
        self.results_path = self.results_path or get_results_path(self.env_id, self.model)
        self.start_time = time.time()
        self.base_url = _urls_of(self.client)
        self.version_info = get_version_info(self.env_id)
        self.outputs: list[RolloutOutput] = []
        self.tools_list: list[Any] = []

    def add_outputs(self, new_outputs: list[RolloutOutput]) -> None:
        """Adds rows."""
        self.outputs += new_outputs
        self.tools_list += [output.get("tool_defs") for output in new_outputs]

    def build_metadata(self) -> GenerateMetadata:
        """Settings and summary of the rows so far; means are over all of them."""
        values: dict[str, list[float]] = defaultdict(list)
        for output in self.outputs:
            for name, value in (output.get("metrics") or {}).items():
                if isinstance(value, int | float):
                    values[name].append(value)
        rates = compute_pass_at_k(self.outputs, self.rollouts_per_example, self.pass_threshold)
        return GenerateMetadata(
            env_id=self.env_id,
            env_args=self.env_args,
            model=self.model,
            base_url=self.base_url,
            num_examples=self.num_examples,
            rollouts_per_example=self.rollouts_per_example,
            sampling_args=self.sampling_args,
            date=datetime.now().isoformat(),
            time_ms=(time.time() - self.start_time) * 1000,
            avg_reward=_mean([output.get("reward", 0.0) for output in self.outputs]),
            avg_metrics={name: _mean(of_all) for name, of_all in values.items()},
            avg_error=_mean([output.get("error") is not None for output in self.outputs]),
            pass_at_k=rates[0],
            pass_all_k=rates[1],
            pass_threshold=self.pass_threshold,
            usage=self._mean_usage(),
            version_info=self.version_info,
            state_columns=self.state_columns or [],
            path_to_save=self.results_path,  # type: ignore[typeddict-item]
            tools=self._tools(),
        )

    def build_outputs(self, sort_by_example_id: bool = False) -> list[RolloutOutput]:
        """The rows so far, in the order in which they came or by their examples."""
        if not sort_by_example_id:
            return self.outputs
        return sorted(self.outputs, key=lambda output: output.get("example_id", 0))

    def build(self, sort_by_example_id: bool = False) -> GenerateOutputs:
        """Rows and metadata."""
        rows = self.build_outputs(sort_by_example_id)
        return GenerateOutputs(outputs=rows, metadata=self.build_metadata())

    def _mean_usage(self) -> TokenUsage | None:
        reported = [
            one for output in self.outputs if isinstance(one := output.get("token_usage"), dict)
        ]
        if not reported:
            return None
        names = ("input_tokens", "output_tokens")
        read, written = (_mean([one.get(name, 0.0) for one in reported]) for name in names)
        return TokenUsage(input_tokens=read, output_tokens=written)

    def _tools(self) -> Any:
        """The tools of the rows, where all have those of the same names."""
        names = {str(sorted(map(_tool_name, tools or []))) for tools in self.tools_list}
        return next(filter(None, self.tools_list), None) if len(names) == 1 else None


def _urls_of(client: Any) -> str:
    if isinstance(client, ClientConfig):
        return ",".join(one.api_base_url for one in client.per_endpoint())
    return str(getattr(client, "base_url", ""))


def _mean(values: list[Any]) -> float:
    return fmean(values) if values else 0.0


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return str(tool.name)
    function = tool.get("function")
    return str((function if isinstance(function, dict) else tool).get("name") or "")


def load_outputs(results_path: Path) -> list[RolloutOutput]:
    """The rows of a run directory; a last line that was torn is left out.

    Raises:
        JSONDecodeError: Another line is no JSON.
    """
    lines = (results_path / "results.jsonl").read_text(encoding="utf-8").splitlines()
    filled = [line for line in lines if line.strip()]
    outputs = []
    for place, line in enumerate(filled):
        try:
            outputs.append(RolloutOutput(json.loads(line)))
        except json.JSONDecodeError:
            if place + 1 < len(filled):
                raise
            logger.warning("%s: the last line was torn and is left out", results_path)
    return outputs


def save_outputs(outputs: list[RolloutOutput], results_path: Path, mode: str = "w") -> None:
    """Writes rows to `results.jsonl` in a directory; one that cannot be written is logged."""
    results_path.mkdir(parents=True, exist_ok=True)
    with (results_path / "results.jsonl").open(mode, encoding="utf-8") as file:
        for place, output in enumerate(outputs):
            try:
                line = json.dumps(output, default=make_serializable)
            except (TypeError, ValueError) as error:
                logger.error("Row %s cannot be saved: %s", place, error)
            else:
                file.write(f"{line}\n")


def save_new_outputs(new_outputs: list[RolloutOutput], results_path: Path) -> None:
    """Appends rows to `results.jsonl`, after a torn last line was taken out."""
    file = results_path / "results.jsonl"
    if file.is_file():
        _drop_torn_line(file)
    save_outputs(new_outputs, results_path, mode="a")


def _drop_torn_line(file: Path) -> None:
    content = file.read_bytes()
    kept = content.rstrip()
    start = kept.rfind(b"\n") + 1
    try:
        if kept:
            json.loads(kept[start:])
    except ValueError:
        logger.warning("%s: the last line was torn and is taken out", file)
        with file.open("r+b") as opened:
            opened.truncate(start)
    else:
        if kept and not content.endswith(b"\n"):
            file.write_bytes(kept + b"\n")


def sanitize_metadata(metadata: GenerateMetadata) -> dict[str, Any]:
    """Metadata as it is saved: without its own path and date."""
    return {key: value for key, value in metadata.items() if key not in ("path_to_save", "date")}


def save_metadata(metadata: GenerateMetadata, result_path: Path) -> None:
    """Writes `metadata.json` in a directory."""
    result_path.mkdir(parents=True, exist_ok=True)
    text = json.dumps(sanitize_metadata(metadata), default=make_serializable)
    (result_path / "metadata.json").write_text(text, encoding="utf-8")


def validate_resume_metadata(
    results_path: Path, env_id: str, model: str, num_examples: int, rollouts_per_example: int
) -> None:
    """Checks that a saved run is of these settings; it may have fewer examples.

    Raises:
        ValueError: It is not, or its metadata cannot be read; says what differs.
    """
    file = results_path / "metadata.json"
    where = f"Cannot resume from {results_path}"
    try:
        saved = json.loads(file.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"{where}: {file} is not valid JSON") from error
    if not isinstance(saved, dict):
        raise ValueError(f"{where}: {file} must be a JSON object")
    wanted: dict[str, Any] = {"env_id": env_id, "model": model}
    wanted["rollouts_per_example"] = rollouts_per_example
    found = {name: saved.get(name, "<missing>") for name in (*wanted, "num_examples")}
    differing = [name for name, value in wanted.items() if found[name] != value]
    if not isinstance(found["num_examples"], int) or found["num_examples"] > num_examples:
        differing.append("num_examples")
        wanted["num_examples"] = num_examples
    if differing:
        reported = "; ".join(f"{n}: saved={found[n]!r}, current={wanted[n]!r}" for n in differing)
        hint = "Use the run's settings, more examples, or another results path"
        raise ValueError(f"{where}: metadata mismatch ({reported}). {hint}")


def make_dataset(results: GenerateOutputs) -> Any:
    """The rows as a Hugging Face `Dataset` where `datasets` is installed, else as our table."""
    return Evaluating.make_dataset(results)


def get_hf_hub_dataset_name(outputs: GenerateOutputs) -> str:
    """The name of a dataset that nobody named."""
    metadata = outputs["metadata"]
    model = metadata["model"].replace("/", "_")
    size = f"n{metadata['num_examples']}_r{metadata['rollouts_per_example']}"
    return f"{metadata['env_id']}_{model}_{size}"


def push_results_to_hf_hub(results: GenerateOutputs, dataset_name: str | None = None) -> None:
    """Pushes the rows to the Hugging Face hub; what goes wrong is logged and no more."""
    name = dataset_name or get_hf_hub_dataset_name(results)
    try:
        make_dataset(results).push_to_hub(name)
    except Exception as error:
        logger.error("The rows were not pushed to %s: %s", name, error)
