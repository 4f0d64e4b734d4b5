"""`--dry-run`: what would run, as lines or as one JSON object."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tui_eval.cli.console.printing import print_faults, print_json, print_stdout, warn
from tui_eval.errors import Fault, Notice
from tui_eval.runs.summary_json import unstarted_object
from tui_eval.text.dry_run_words import ONCE, prompt_text, title_text
from tui_eval.text.figures import limit_text, money_text


def show_dry_run(request: Mapping[str, Any]) -> int:
    """Prints the plan of a request, made by an engine; returns the exit code."""
    as_json = bool((request.get("raw") or {}).get("json"))
    try:
        engine = subprocess.run(
            [sys.executable, "-m", "tui_eval.engine", "-", "--dry-run"],
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            check=False,
        )
        found = json.loads(engine.stdout)
    except KeyboardInterrupt:
        return 130
    except ValueError:
        text = f"the engine ended with {engine.returncode} before it reported the plan"
        warn(f"error: {text}")
        if as_json:
            print_json(unstarted_object("failed", 1, text))
        return 1
    faults = found.get("faults")
    if as_json:
        print_json(found)
    elif not faults:
        print_stdout(suite_lines(found) if "evaluations" in found else plan_lines(found))
    for notice in found.get("notices") or []:
        warn(str(Notice(**notice)))
    return print_faults(Fault(**fault) for fault in faults) if faults else 0


def plan_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """A plan for people."""
    yield f"Environment: {found['env_id']}"
    yield f"Model: {found['model']} at {found['base_url']}"
    yield (
        f"Rollouts: {found['examples']} examples x {found['rollouts_per_example']} "
        f"= {found['rollouts']}"
    )
    if found["goes_on"]:
        yield f"Resume: {found['goes_on']}, {found['left']} rollouts are left"
    yield from _settings(found["settings"])
    yield from ("", "First prompt:")
    for message in found["first_prompt"]:
        text = f"[{message.get('role')}] {prompt_text(message)}"
        yield from (f"  {line}" for line in text.splitlines())
    yield from ("", "Tools:" if found["tools"] else "Tools: none")
    for tool in found["tools"]:
        yield f"  {tool['name']}({', '.join(_parameters(tool['parameters']))})"
    yield from ("", "Reward functions:" if found["reward_functions"] else "Reward functions: none")
    for function in found["reward_functions"]:
        yield f"  {function['name']}, weight {function['weight']:g}"
    yield from ("", *_estimate(found["estimate"]), "", "Nothing was run: this is a dry run.")


def suite_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Plans of several evaluations for people: each in a few lines, then the totals."""
    plans = found["evaluations"]
    for number, plan in enumerate(plans, 1):
        yield f"[{number}/{len(plans)}] {title_text(plan)}"
        yield (
            f"  {plan['examples']} examples x {plan['rollouts_per_example']} = {plan['rollouts']} "
            f"rollouts with {plan['model']}"
        )
        if plan["goes_on"]:
            yield f"  resumes {plan['goes_on']}, {plan['left']} rollouts are left"
    yield ""
    limit = limit_text(found["max_concurrent"] or 0)
    yield f"Rollouts: {found['rollouts']}, max_concurrent {limit}"
    yield from (*_estimate(found["estimate"]), "", "Nothing was run: this is a dry run.")


def _settings(settings: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("", "Settings that are not the default:" if settings else "Settings: the default")
    width = max((len(one["name"]) for one in settings), default=0)
    for one in settings:
        value = one["value"]
        text = value if value and isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield f"  {one['name']:<{width}}  {text}  ({one['source']})"


def _parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required") or []
    for name, one in (schema.get("properties") or {}).items():
        kind = one.get("type") if isinstance(one, dict) else None
        shown = name if kind is None else f"{name}: {kind}"
        yield shown if name in required else f"{shown} (optional)"


def _estimate(estimate: Mapping[str, Any]) -> Iterator[str]:
    put, got, usd = (estimate[name] for name in ("input_tokens", "output_tokens", "usd"))
    answers = "answers unknown without max_tokens" if got is None else f"about {got:,} of answers"
    yield f"Tokens: about {put:,} of prompts, {answers}"
    listed = f" (list price of {reported})" if (reported := estimate.get("list_price")) else ""
    cost = "unknown" if usd is None else f"about {money_text(usd)}{ONCE}{listed}"
    yield f"Cost: {cost}"
    yield f"{estimate['how']}."
