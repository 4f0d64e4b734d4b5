"""`verifiers.utils.metric_utils`: pass@k and pass^k of saved outputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tui_eval.stats.passk import pass_at_k, pass_hat_k


def compute_pass_at_k(
    outputs: Sequence[Mapping[str, Any]], rollouts_per_example: int, threshold: float = 0.5
) -> tuple[dict[str, float], dict[str, float]]:
    """pass@k and pass^k by k, averaged over the examples that have all their rollouts.

    Args:
        outputs: Rows with `example_id` and `reward`.
        rollouts_per_example: n; k is every power of 2 up to it. Both are empty for 1 or less.
        threshold: The reward from which on a rollout passes.
    """
    n = rollouts_per_example
    passing: dict[Any, list[bool]] = defaultdict(list)
    for output in outputs:
        passing[output.get("example_id", 0)].append(output.get("reward", 0.0) >= threshold)
    counts = [sum(each) for each in passing.values() if len(each) == n]
    if n <= 1 or not counts:
        return {}, {}
    ks = [1 << power for power in range(n.bit_length()) if 1 << power <= n]
    return tuple(  # type: ignore[return-value]
        {str(k): sum(rate(n, c, k) for c in counts) / len(counts) for k in ks}
        for rate in (pass_at_k, pass_hat_k)
    )
