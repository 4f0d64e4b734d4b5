"""Sampling arguments as people write them, made ready for a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class CallOptions(msgspec.Struct, frozen=True):
    """Options of one call beside its body; the names are those of the SDK's `create()`."""

    extra_headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    extra_query: Mapping[str, Any] = msgspec.field(default_factory=dict)
    timeout: float | None = None


PLAIN = CallOptions()

_OPTIONS = frozenset(("extra_headers", "extra_query", "timeout"))


def split_sampling(
    sampling_args: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], CallOptions]:
    """Sampling arguments as those that may be renamed, `extra_body`, and what is beside the body.

    Arguments that are None are left out; what is in `extra_body` goes out as it is.

    Raises:
        ValueError: An argument requests a stream or several answers.
    """
    body = {key: value for key, value in sampling_args.items() if value is not None}
    if body.pop("stream", False):
        raise ValueError(
            "the sampling argument `stream` cannot be used: it is a setting of endpoint and run"
        )
    if body.get("n", 1) != 1:
        raise ValueError("the sampling argument `n` is 1; set more rollouts an example instead")
    options = PLAIN
    if not _OPTIONS.isdisjoint(body):
        options = CallOptions(**{name: body.pop(name) for name in _OPTIONS if name in body})
    extra_body = body.pop("extra_body", {})
    return body, extra_body, options
