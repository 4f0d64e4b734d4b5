"""CPU of a rollout, headless and saved, against a bare loop over the protocol's SDK on aiohttp."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from bench.driving import Bare, run_bare, run_bare_protocol, run_headless
from bench.figure import Figure, number, spread
from bench.setting import Setting

ROLLOUTS = 2000


@dataclass(frozen=True, slots=True)
class Case:
    """Rollouts of one kind over one protocol.

    Args:
        protocol: Protocol of the bare loop; empty for chat completions.
        limit: Limit of engine and console together, as a share of the bare loop's CPU.
    """

    client_type: str
    protocol: str
    tool_turns: int
    limit: float

    @property
    def name(self) -> str:
        """Name of the measurement."""
        kind = f"{self.tool_turns} tool turns" if self.tool_turns else "single turn"
        return f"{self.protocol or 'chat'}, {kind}"

    def run_bare(self, setting: Setting, url: str) -> Bare:
        """The bare loop."""
        if self.protocol:
            return run_bare_protocol(setting, self.protocol, url, ROLLOUTS, self.tool_turns)
        return run_bare(setting, "openai-aiohttp", url, ROLLOUTS, self.tool_turns)


CASES = (
    Case("openai_chat_completions", "", 0, 0.55),
    Case("openai_chat_completions", "", 3, 0.4),
    Case("openai_responses", "responses", 3, 0.4),
    Case("anthropic_messages", "messages", 3, 0.4),
    Case("openai_completions", "completions", 0, 0.55),
)


def measure(setting: Setting) -> Iterator[Figure]:
    """Every protocol with three tool turns, and single turns where there is no more."""
    for case in CASES:
        yield from _measure(setting, case)


def _measure(setting: Setting, case: Case) -> Iterator[Figure]:
    """Cost of a run of many beyond one of a single rollout, which pays start and imports."""
    url = setting.endpoint.url(tool_turns=case.tool_turns)
    env_args = '{"tool": "fast"}' if case.tool_turns else "{}"

    def headless(rollouts: int) -> tuple[float, float]:
        run = run_headless(setting, url, rollouts, env_args=env_args, client_type=case.client_type)
        return run.engine_cpu, run.console_cpu

    headless(1)
    engines, consoles, bares = [], [], []
    for _ in range(setting.repeats(5, 2)):
        bare = case.run_bare(setting, url)
        few, many = headless(1), headless(ROLLOUTS)
        engines.append(1000 * (many[0] - few[0]) / (ROLLOUTS - 1))
        consoles.append(1000 * (many[1] - few[1]) / (ROLLOUTS - 1))
        bares.append(1000 * bare.cpu / ROLLOUTS)
    both = [
        (engine + console) / bare
        for engine, console, bare in zip(engines, consoles, bares, strict=True)
    ]
    yield Figure(
        f"CPU a rollout, {case.name}: engine and console / bare SDK",
        median(both),
        case.limit,
        "x",
        f"of {len(both)}: {spread(both)}; ms: engine {number(median(engines))}, console "
        f"{number(median(consoles))}, bare {number(median(bares))}",
    )
    alone = [engine / bare for engine, bare in zip(engines, bares, strict=True)]
    yield Figure(
        f"CPU a rollout, {case.name}: engine alone", median(alone), None, "x", spread(alone)
    )
