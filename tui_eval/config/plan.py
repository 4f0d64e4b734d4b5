"""One validated plan of a run, written to run.toml and read from it."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tui_eval.config.changes import Change
from tui_eval.config.secret_values import HIDDEN, masked, masked_url
from tui_eval.errors import Fault, RefusedError, nearest
from tui_eval.types import ClientType

AS_JSON = ("env_args", "sampling_args", "extra_env_kwargs")
"""Fields that are JSON text in run.toml where they contain null, which TOML does not have."""


class PlannedEndpoint(BaseModel):
    """One endpoint of a run, and what it is sent beside the requests.

    Args:
        key_var: Name of the environment variable with the key; empty for none.
        headers: Sent with every request.
        max_concurrent: Maximum number of concurrent rollouts at it; 0 for no limit of its own.
    """

    model_config = ConfigDict(extra="forbid")

    url: str
    key_var: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    max_concurrent: int = Field(default=0, ge=0)


class RunPlan(BaseModel):
    """Plan of a run: all of its settings, written to run.toml as they are."""

    model_config = ConfigDict(extra="forbid")

    env_id: str
    """Name of the environment."""
    name: str = ""
    """Name of the evaluation; empty for the environment's name."""
    varies: dict[str, str] = Field(default_factory=dict)
    """Differences from the other evaluations of its command: settings and their text."""
    env_args: dict[str, Any] = Field(default_factory=dict)
    """Arguments of its `load_environment`."""
    extra_env_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Settings of the environment that replace those of its constructor."""
    env_dir_path: str = "environments"
    """Folder of local environments."""
    python: str | None = None
    """The interpreter that it runs in; None for that of the program."""
    no_alias: bool = False
    """Whether `import verifiers` is left to the installed package."""
    alias: str
    """The model as it was requested."""
    model: str
    """The model's name at its endpoint."""
    base_url: str
    """URLs of the model, replicas with commas between them; `embedded:demo` is the program's own
    endpoint."""
    key_var: str = ""
    """Name of the environment variable with the key of the first endpoint; empty for none."""
    client_type: ClientType = "openai_chat_completions"
    """Protocol of the endpoints."""
    registry: str = ""
    """The endpoint registry in which `alias` stands; empty where none was read for it."""
    stream: bool = False
    """Whether answers are requested as streams, so that their text can be seen while it comes."""
    profile: dict[str, Any] = Field(default_factory=dict)
    """Profile of the endpoints, where it is not their provider's; as in a registry."""
    endpoints: list[PlannedEndpoint] = Field(default_factory=list)
    """The endpoints that take turns; empty where a program brought its own client."""
    input_price: float | None = Field(default=None, ge=0)
    """USD per million tokens of prompts; None where it is not known."""
    output_price: float | None = Field(default=None, ge=0)
    """USD per million tokens of answers; None where it is not known."""
    cached_input_price: float | None = Field(default=None, ge=0)
    """USD per million tokens of prompts that come from a cache; None for what others cost."""
    cache_write_price: float | None = Field(default=None, ge=0)
    """USD per million tokens of prompts that go into a cache; None for what others cost."""
    list_price: str = ""
    """Source of prices that no registry has, its date first; empty for a registry."""
    num_examples: int = Field(default=5, ge=-1)
    """Examples to run; -1 for all of the dataset."""
    examples: list[str] = Field(default_factory=list)
    """Ids of the only examples to run, in this order; empty for the first `num_examples`."""
    rollouts_per_example: int = Field(default=3, ge=1)
    """Rollouts of each."""
    shuffle: bool = False
    """Whether the examples are taken in the order that `shuffle_seed` gives."""
    shuffle_seed: int = 0
    """Seed of that order."""
    max_concurrent: int = 32
    """Maximum number of concurrent rollouts; 0 or less for no limit."""
    max_concurrent_generation: int = Field(default=0, ge=0)
    """Rollouts that are generated concurrently; 0 for no limit of its own."""
    max_concurrent_scoring: int = Field(default=0, ge=0)
    """Rollouts that are scored concurrently; 0 for no limit of its own."""
    num_workers: int = Field(default=1, ge=-1)
    """Processes that run the rollouts: -1 for more as cores are full, 0 for that of a program."""
    worker_memory: str | None = None
    """Memory that one of them may take, as `values.parse_size` reads it; None for any amount."""
    adaptive: bool = True
    """Whether the concurrency gives way where the endpoint says that it is too much."""
    sampling_args: dict[str, Any] = Field(default_factory=dict)
    """Parameters of every model call."""
    state_columns: list[str] = Field(default_factory=list)
    """Keys of the state that are saved with each rollout."""
    max_retries: int = Field(default=0, ge=0)
    """Retries of a rollout after a fault of endpoint or infrastructure."""
    timeout: float | None = Field(default=None, gt=0)
    """Seconds that one rollout may take; None for any time."""
    call_timeout: float | None = Field(default=None, gt=0)
    """Seconds that one call of people's code may take; None for any time."""
    max_cost: float | None = Field(default=None, gt=0)
    """USD after which the run stops softly."""
    max_total_tokens: int | None = Field(default=None, ge=1)
    """Tokens after which the run stops softly."""
    until: str | None = None
    """The condition on its rewards that stops the run early once it is true."""
    independent_scoring: bool = False
    """Whether rollouts are scored one by one whatever the rubric needs."""
    score_at_end: bool = False
    """Whether scoring begins when all rollouts are generated."""
    pass_threshold: float | None = None
    """Reward from which on a rollout passes; None for the environment's own."""
    save: bool = False
    """Whether the run goes where saved runs are."""
    output_dir: str | None = None
    """The folder that is in place of ./outputs."""
    scores_path: str = ""
    """The file to which the scores of an agent's run are written; empty for none."""
    save_to_hf_hub: bool = False
    """Whether the saved rollouts are pushed to the Hugging Face hub."""
    hf_hub_dataset_name: str | None = None
    """Name of the dataset there; None for one made of environment, model and sizes."""
    heartbeat_url: str | None = None
    """URL that gets a GET when a group is finished; None for nobody."""
    heartbeat_status: bool = False
    """Whether it is called at start and end as well."""
    verbose: bool = False
    """Whether the log says every request and answer."""
    no_preflight: bool = False
    """Whether it begins, and is resumed, without trying its endpoint."""
    folder: str = ""
    """The working directory in which it was begun; empty where it is not known."""
    session: str = ""
    """Name of the last session on the run, which no other one has; empty where it had none."""
    given_inputs: bool = False
    """Whether a program gave the inputs: then only a program can resume the run."""
    groups: str = ""
    """JSON text of (example id, rollouts) of every example, where not all have as many."""
    examples_taken: int = Field(default=0, ge=0)
    """Examples that the run has, which are fewer where the dataset has no more; 0 if not known."""
    examples_digest: str = ""
    """Digest of the examples of the run; empty where it is not known."""
    changes: list[Change] = Field(default_factory=list)
    """Accepted differences of resumes, oldest first."""
    sources: dict[str, str] = Field(default_factory=dict)
    """Source of each setting: `file:line` or a flag; those built in are left out."""

    @field_validator(*AS_JSON, mode="before")
    @classmethod
    def _from_json(cls, value: Any) -> Any:
        return json.loads(value) if isinstance(value, str) else value

    @property
    def title(self) -> str:
        """Name of the evaluation for people."""
        return self.name or self.env_id

    @property
    def served_at(self) -> list[PlannedEndpoint]:
        """Its endpoints, at least one."""
        return self.endpoints or [PlannedEndpoint(url=self.base_url, key_var=self.key_var)]

    @property
    def grows(self) -> bool:
        """Whether it gets more workers as it needs them, `worker_count` of them at most."""
        return self.num_workers < 0

    @property
    def worker_count(self) -> int:
        """Number of processes that run its rollouts; one where a program's own began it."""
        if self.num_workers >= 0:
            return max(self.num_workers, 1)
        allowed = getattr(os, "sched_getaffinity", None)  # not on macOS
        return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


class Request(BaseModel):
    """Unchecked request: an environment and the options that were typed, as text or as values.

    `env_id` may be the path of a TOML file; `resume_path` is the run to resume, once one is
    chosen, and `again` the places of the errored rollouts that alone are run then; `runs` are those
    that the evaluations of a file resume, empty for a new one; `faults` are (where, what, hint)
    of what a command has found already, reported with all others; `litellm_names` lets the model be
    named as LiteLLM does; `scores_path` is where scores of an agent's run are to go; `flags` are
    what the command calls options that `tui-eval run` has under other names; `text` is in place
    of what the TOML file holds, where it was changed and is not saved; `parsed` are the faults and
    what was pasted where a command has parsed `raw`, None where the engine does. In `raw` a value
    with a fault is still text.
    """

    env_id: str | None = None
    raw: dict[str, Any] = Field(default_factory=dict)
    resume_path: str | None = None
    again: list[int] | None = None
    runs: list[str] | None = None
    faults: list[tuple[str, str, str]] = Field(default_factory=list)
    litellm_names: bool = False
    scores_path: str = ""
    flags: dict[str, str] = Field(default_factory=dict)
    text: str | None = None
    parsed: tuple[list[tuple[str, str, str]], list[str]] | None = None

    @property
    def of_file(self) -> bool:
        """Whether a TOML file of evaluations was named."""
        return is_eval_file(self.env_id)


def is_eval_file(target: str | None) -> bool:
    """Whether what stands where an environment's name may stand is a TOML file of evaluations."""
    return target is not None and target.endswith(".toml")


def plan_to_toml(plan: RunPlan) -> str:
    """run.toml: the plan as TOML, without what was left unset and without secrets."""
    import tomlkit

    values = {name: value for name, value in plan.model_dump().items() if value is not None}
    for endpoint in values["endpoints"]:
        endpoint["headers"] = dict.fromkeys(endpoint["headers"], HIDDEN)
    if plan.heartbeat_url:
        values["heartbeat_url"] = masked_url(plan.heartbeat_url)
    for name in AS_JSON:
        values[name] = masked(values[name])
        if _holds_null(values[name]):
            values[name] = json.dumps(values[name])
    return tomlkit.dumps(values)


def _holds_null(value: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return any(map(_holds_null, value)) if isinstance(value, list) else value is None


def read_plan(path: Path) -> RunPlan:
    """The plan in a run.toml; `RefusedError` with all its faults where it is missing or none."""
    import tomllib

    from pydantic import ValidationError

    try:
        values = tomllib.loads(path.read_text("utf-8-sig"))
        plan = RunPlan(**values)
    except OSError:
        what = "the run has no run.toml, so it cannot be resumed; tui-eval open shows it"
        raise RefusedError([Fault(str(path.parent), what)]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        what = f"this is no TOML: {error}"
        raise RefusedError([Fault(str(path), what, _without(path))]) from None
    except ValidationError as error:
        if "sources" in values or any(one["type"] != "missing" for one in error.errors()):
            raise RefusedError(_plan_fault(path, one) for one in error.errors()) from None
    else:
        if "sources" in values:  # the last of all
            return plan
    raise RefusedError([Fault(str(path), "it is cut off", _without(path))])


def _without(path: Path) -> str:
    """Advice for a run whose plan is damaged."""
    away = shlex.join(["mv", str(path), f"{path}.damaged"])
    return f"Move it away, and metadata.json says what it can: {away}"


def _plan_fault(path: Path, error: Mapping[str, Any]) -> Fault:
    name = ".".join(map(str, error["loc"]))
    if error["type"] == "extra_forbidden":
        return Fault(str(path), f"unknown key {name!r}", nearest(name, RunPlan.model_fields))
    return Fault(str(path), f"{name}: {error['msg']}")
