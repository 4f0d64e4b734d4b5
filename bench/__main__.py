"""`python -m bench [NAME...]`: prints each figure with its limit; 1 where one is missed."""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
from pathlib import Path

from bench.figure import Figure, NotMeasuredError, exit_code
from bench.setting import Setting

MEASUREMENTS = (
    "imports",
    "first_frame",
    "first_start",
    "cpu_per_rollout",
    "instructions",
    "steady_cost",
    "sweep_start",
    "keeping_up",
    "limits_kept",
    "token_bucket",
    "rate_limit",
    "screen_attached",
    "slow_lines",
    "blocking_tools",
    "mcp_calls",
    "large_table",
    "filtering",
    "comparison",
    "opening",
    "long_trajectory",
    "rollout_list",
    "large_run",
    "interval_coverage",
    "false_verdicts",
    "gate_power",
    "scheduling",
    "workers",
    "journal",
)
ONLY_NAMED = ("kills", "soak")
"""Measurements that take hours: run where they are named, not with everything else."""


def main(arguments: list[str] | None = None) -> int:
    """Measures what was named, or everything; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to measure; see --list")
    parser.add_argument("--list", action="store_true", help="say what can be measured")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, shorter runs")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MEASUREMENTS + ONLY_NAMED]
    if unknown:
        parser.error(f"{', '.join(unknown)}: see --list")
    if options.list:
        for name in MEASUREMENTS + ONLY_NAMED:
            print(f"{name:<18}{_purpose(name)}")
        return 0
    try:
        with Setting(options.quick) as setting:
            return _measure(options.names or MEASUREMENTS, setting)
    except NotMeasuredError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _purpose(name: str) -> str:
    source = Path(__file__).with_name(f"{name}.py").read_text()
    return (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]


def _measure(names: tuple[str, ...] | list[str], setting: Setting) -> int:
    """Prints every figure as it comes; what could not be measured counts as missed."""
    figures: list[Figure] = []
    failed = False
    for name in names:
        print(f"{name}: {_purpose(name)}", flush=True)
        try:
            for figure in importlib.import_module(f"bench.{name}").measure(setting):
                figures.append(figure)
                print(f"  {figure}", flush=True)
        except NotMeasuredError as error:
            failed = True
            print(f"  FAIL {error}", flush=True)
    return 1 if failed else exit_code(figures)


if __name__ == "__main__":
    sys.exit(main())
