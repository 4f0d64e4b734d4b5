"""Settings of clients: where models are, and how to talk to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypeAlias

from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from tui_eval.client_types import ClientType as ClientType
from tui_eval.client_types import ReasoningField, TokenLimit
from tui_eval.pasted import unwrapped

PRIME_KEY_VAR = "PRIME_API_KEY"


class EndpointClientConfig(BaseModel):
    """The settings of one endpoint: where it is, and how to talk to it.

    Args:
        client_idx: The place of this client among several, from 0.
        api_key_var: Name of the environment variable that holds the key; empty for no key. Where
            it is not given, Prime's key goes to Prime's hosts and no key to any other.
        api_base_url: With `/v1`, without, or with the whole path of a request.
        timeout: Seconds that one request may take.
        connect_timeout: Seconds to establish a connection.
        max_connections: Most connections open at once.
        max_keepalive_connections: 0 closes every connection after its request.
        max_retries: Retries of one request after passing faults. One that is
            refused because there is too much to do (429, 529, a 503 that names a time) does not
            count; 0 for no request, whatever it met.
        rate_limit_timeout: Seconds for which the endpoint may refuse everything before refused
            requests fail; as long as it answers any they wait for their turn.
        max_answer_mb: MB that one answer may have, decompressed; a longer one is given up.
        extra_headers: Sent with every request.
        stream: Whether answers are requested as streams, so that their text can be seen while it
            comes. What is answered is the same.
        token_limit: The name of the limit of answers in chat completions. Here and below None
            is what the provider is known to understand.
        reasoning_field: Under which name chat messages take reasoning back: `as_received`, `none`
            for not at all, or a name.
        encrypted_reasoning: Whether responses that are not stored carry encrypted reasoning.
    """

    client_idx: int = 0
    api_key_var: str = PRIME_KEY_VAR
    api_base_url: str = ""
    timeout: float = Field(default=3600.0, gt=0)
    connect_timeout: float = Field(default=5.0, gt=0)
    max_connections: int = Field(default=28000, ge=1)
    max_keepalive_connections: int = Field(default=28000, ge=0)
    max_retries: int = Field(default=10, ge=0)
    rate_limit_timeout: float = Field(default=900.0, gt=0)
    max_answer_mb: float = Field(default=256.0, gt=0)
    extra_headers: dict[str, str] = Field(default_factory=dict)
    stream: bool = False
    token_limit: TokenLimit | None = None
    reasoning_field: ReasoningField | None = None
    encrypted_reasoning: bool | None = None

    @field_validator("api_base_url")
    @classmethod
    def _unwrapped(cls, url: str) -> str:
        return unwrapped(url, "the URL of the endpoint")


class ClientConfig(EndpointClientConfig):
    """An endpoint and the protocol that it speaks, or several that take turns.

    Args:
        client_type: The protocol; of all endpoints where there are several.
        endpoint_configs: Replicas that serve the same model. Groups of rollouts are dealt out
            to them in turn. What one of them does not set is as it is here.

    Raises:
        ValueError: One of `endpoint_configs` has such of its own.
    """

    client_type: ClientType = "openai_chat_completions"
    endpoint_configs: list[EndpointClientConfig] = Field(default_factory=list)

    @field_validator("endpoint_configs", mode="before")
    @classmethod
    def validate_non_recursive_endpoints(cls, value: Any) -> Any:
        """Replicas without replicas of their own."""
        return [_replica(one) for one in value] if isinstance(value, list) else value

    def per_endpoint(self) -> list[ClientConfig]:
        """One config for each endpoint, in order: itself, where it has no replicas."""
        if not self.endpoint_configs:
            return [self]
        shared = self.model_dump(exclude={"endpoint_configs"}, exclude_unset=True)
        return [
            ClientConfig(**{**shared, **one.model_dump(exclude_unset=True)})
            for one in self.endpoint_configs
        ]


def _replica(value: Any) -> Any:
    if isinstance(value, ClientConfig):
        value = value.model_dump(exclude_unset=True)
    if isinstance(value, Mapping):
        if value.get("endpoint_configs"):
            raise ValueError("entries of endpoint_configs cannot include endpoint_configs")
        dropped = ("endpoint_configs", "client_type")
        return {key: item for key, item in value.items() if key not in dropped}
    return value


class Endpoint(TypedDict):
    """One way to reach a model; `key` is the name of the variable that holds the key."""

    key: str
    url: str
    model: str
    api_client_type: NotRequired[ClientType]


Endpoints: TypeAlias = dict[str, list[Endpoint]]
"""Endpoints by id; several of one id are replicas."""


class EvalConfig(BaseModel):
    """One evaluation: what runs, where, and how often.

    Args:
        num_examples: -1 for all.
        max_concurrent: Maximum number of concurrent rollouts; 0 or less for no limit.
        resume_path: Directory of the run to resume.
    """

    env_id: str
    env_args: dict[str, Any] = Field(default_factory=dict)
    env_dir_path: str = "./environments"
    endpoint_id: str | None = None
    model: str
    client_config: ClientConfig
    sampling_args: dict[str, Any] = Field(default_factory=dict)
    num_examples: int = Field(ge=-1)
    rollouts_per_example: int = Field(ge=1)
    max_concurrent: int = 32
    independent_scoring: bool = False
    extra_env_kwargs: dict[str, Any] = Field(default_factory=dict)
    max_retries: int = Field(default=0, ge=0)
    disable_env_server: bool = False
    verbose: bool = False
    debug: bool = False
    state_columns: list[str] | None = None
    save_results: bool = False
    resume_path: str | None = None
    save_to_hf_hub: bool = False
    hf_hub_dataset_name: str | None = None


class EvalRunConfig(BaseModel):
    """Several evaluations that run together.

    Args:
        heartbeat_url: Gets a GET after every finished group.
    """

    evals: list[EvalConfig]
    heartbeat_url: str | None = None
