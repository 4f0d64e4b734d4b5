"""CPU of a rollout, headless and saved, against a bare loop over the OpenAI SDK on aiohttp."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from bench.driving import run_bare, run_headless
from bench.figure import Figure, number, spread
from bench.setting import Setting

ROLLOUTS = 2000
LIMITS = {0: 0.55, 3: 0.4}


def measure(setting: Setting) -> Iterator[Figure]:
    """Single-turn rollouts, then such with three tool turns."""
    for tool_turns, limit in LIMITS.items():
        yield from _measure(setting, tool_turns, limit)


def _measure(setting: Setting, tool_turns: int, limit: float) -> Iterator[Figure]:
    """What a run of many costs beyond one of a single rollout, which pays start and imports."""
    url = setting.endpoint.url(tool_turns=tool_turns)
    env_args = '{"tools": true}' if tool_turns else "{}"
    run_headless(setting, url, 1, env_args=env_args)
    engines, consoles, bares = [], [], []
    for _ in range(setting.repeats(5, 2)):
        bare = run_bare(setting, "openai-aiohttp", url, ROLLOUTS, tool_turns)
        few = run_headless(setting, url, 1, env_args=env_args)
        many = run_headless(setting, url, ROLLOUTS, env_args=env_args)
        engines.append(1000 * (many.engine_cpu - few.engine_cpu) / (ROLLOUTS - 1))
        consoles.append(1000 * (many.console_cpu - few.console_cpu) / (ROLLOUTS - 1))
        bares.append(1000 * bare.cpu / ROLLOUTS)
    both = [
        (engine + console) / bare
        for engine, console, bare in zip(engines, consoles, bares, strict=True)
    ]
    name = f"{tool_turns} tool turns" if tool_turns else "single turn"
    yield Figure(
        f"CPU a rollout, {name}: engine and console / bare SDK",
        median(both),
        limit,
        "x",
        f"of {len(both)}: {spread(both)}; ms: engine {number(median(engines))}, console "
        f"{number(median(consoles))}, bare {number(median(bares))}",
    )
    alone = [engine / bare for engine, bare in zip(engines, bares, strict=True)]
    yield Figure(f"CPU a rollout, {name}: engine alone", median(alone), None, "x", spread(alone))
