"""The files and programs of the two users' manuals: TOML of several evaluations, Python, JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from manual import Manual
from manual_files import COMPARE, DETAILED, MULTI_MODEL, MY_BENCHMARK
from program import Program, chat_answer
from servers import FaultServer, Reply

PROJECTS = Path(__file__).parents[1] / "osmosis_projects"

READING = """
import json

# Load metadata
with open("metadata.json") as f:
    metadata = json.load(f)
    print(f"Reward: {metadata['reward']} ± {metadata['reward_std']}")

# Load individual rollouts
rollouts = []
with open("results.jsonl") as f:
    for line in f:
        rollouts.append(json.load(line))

# Analyze
for rollout in rollouts:
    print(f"Example {rollout['example_id']}: reward={rollout['reward']}")
    print(f"Completion: {rollout['completion'][-1]['content'][:100]}...")
""".replace("json.load(line)", "json.loads(line)")  # the manual's one slip

METRICS = """
import numpy as np

rewards = [r["reward"] for r in rollouts]
print(f"Mean reward: {np.mean(rewards):.3f}")
print(f"Median reward: {np.median(rewards):.3f}")
print(f"Min/Max: {np.min(rewards):.3f} / {np.max(rewards):.3f}")

# Pass@k
def pass_at_k(rollouts, k):
    examples = {}
    for r in rollouts:
        ex_id = r["example_id"]
        if ex_id not in examples:
            examples[ex_id] = []
        examples[ex_id].append(r["reward"])

    successes = sum(max(rewards[:k]) > 0.5 for rewards in examples.values())
    return successes / len(examples)

print(f"Pass@1: {pass_at_k(rollouts, 1):.3f}")
print(f"Pass@3: {pass_at_k(rollouts, 3):.3f}")
"""

EVAL_FUNCTIONS = '''
def exact_match(solution_str: str, ground_truth: str, extra_info: dict = None, **kwargs) -> float:
    """Score based on the last assistant message content."""
    return 1.0 if solution_str.strip() == ground_truth.strip() else 0.0

def conversation_quality(messages: list, ground_truth: str, metadata: dict, **kwargs) -> float:
    """Score based on the full conversation."""
    assistant_messages = [m for m in messages if m["role"] == "assistant"]
    return min(1.0, len(assistant_messages) / 3)
'''

RESULTS = """
{
  "config": {
    "model": "<your-model>",
    "n_runs": 5,
    "pass_threshold": 1.0,
    "eval_fns": ["rewards:compute_reward"]
  },
  "summary": {
    "total_rows": 100,
    "total_runs": 500,
    "eval_fns": {
      "rewards:compute_reward": {
        "mean": 0.72,
        "std": 0.45,
        "min": 0.0,
        "max": 1.0,
        "pass_at_1": 0.72,
        "pass_at_3": 0.94,
        "pass_at_5": 0.98
      }
    },
    "total_tokens": 625000,
    "total_duration_ms": 230500
  },
  "rows": [
    {
      "row_index": 0,
      "runs": [
        {
          "run_index": 0,
          "success": true,
          "scores": {"rewards:compute_reward": 1.0},
          "duration_ms": 450,
          "tokens": 200
        }
      ]
    }
  ]
}
"""


@pytest.fixture
def manual(program: Program, fault_server: FaultServer) -> Manual:
    return Manual(program, fault_server)


def models_requested(manual: Manual) -> dict[str, int]:
    return dict(Counter(body["model"] for body in manual.bodies))


@pytest.mark.slow
def test_a_benchmark_of_several_environments(manual: Manual) -> None:
    manual.write("configs/eval/my-benchmark.toml", MY_BENCHMARK)
    manual.works("prime eval run configs/eval/my-benchmark.toml")
    runs = {run.metadata["env_id"]: len(run.rows) for run in manual.program.runs()}
    assert runs == {"gsm8k": 300, "math-python": 150, "reverse-text": 250}
    assert models_requested(manual) == {"gpt-4.1-mini": 700}


def test_settings_of_each_environment(manual: Manual) -> None:
    manual.write("configs/eval/detailed.toml", DETAILED)
    manual.works("prime eval run configs/eval/detailed.toml")
    requested = Counter(body["messages"][-1]["content"] for body in manual.bodies)
    hard = {f"hard 42 test {n}": 3 for n in range(50)}
    assert requested == hard | {f"easy 42 15 gpt-4.1-mini {n}": 3 for n in range(30)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "text", "examples"),
    [("multi-model.toml", MULTI_MODEL, 100), ("compare.toml", COMPARE, 50)],
)
def test_one_environment_with_several_models(
    manual: Manual, path: str, text: str, examples: int
) -> None:
    manual.write(f"configs/eval/{path}", text)
    done = manual.works(f"prime eval run configs/eval/{path}")
    names = ["gpt-4.1-mini", "qwen/qwen3-235b-a22b-instruct-2507", "claude-sonnet-4-5-20250929"]
    assert models_requested(manual) == dict.fromkeys(names, examples * 3)
    for alias in ("gpt-4.1-mini", "qwen3-235b-i", "claude-sonnet"):
        assert alias in done.out


def test_reading_results_and_computing_metrics(manual: Manual) -> None:
    wrong = Reply(body=chat_answer("41"))
    manual.answer(*[wrong] * 3, Reply(body=chat_answer("42")))
    manual.works("prime eval run my-env -s -c 1")
    (run,) = manual.program.runs(manual.folder / "environments" / "my_env" / "outputs")
    done = subprocess.run(
        [sys.executable, "-c", READING + METRICS],
        cwd=run.path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"Reward: {run.metadata['reward']} ± {run.metadata['reward_std']}"
    assert lines[1:3] == ["Example 0: reward=0.0", "Completion: 41..."]
    assert lines[-5:] == [
        "Mean reward: 0.800", "Median reward: 1.000", "Min/Max: 0.000 / 1.000",
        "Pass@1: 0.800", "Pass@3: 0.800",
    ]  # fmt: skip


def same_shape(like: Any, found: Any, where: str = "results") -> None:
    """Whether every key of the manual's JSON is there, with a value of its type."""
    if isinstance(like, dict):
        for key, value in like.items():
            assert key in found, f"{where} has no {key}"
            same_shape(value, found[key], f"{where}.{key}")
    elif isinstance(like, list):
        assert isinstance(found, list) and found
        same_shape(like[0], found[0], f"{where}[0]")
    else:
        kinds = int | float if isinstance(like, int | float) else type(like)
        assert isinstance(found, kinds), f"{where} is {found!r}"


def test_eval_functions_and_results_of_the_second_manual(
    program: Program, fault_server: FaultServer
) -> None:
    """`osmosis eval` is `tui-eval agent`; its command lines are in test_agent_command.py."""
    shutil.copytree(PROJECTS / "calculator", program.folder, dirs_exist_ok=True)
    (program.folder / "scores.py").write_text(EVAL_FUNCTIONS)
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("7"))])
    line = (
        "agent -m server:agent_loop -d test_data.jsonl --eval-fn rewards:compute_reward --n 5 "
        "--eval-fn scores:exact_match --eval-fn scores:conversation_quality "
        f"--model org/my-model --base-url {fault_server.url}/v1 -o results.json"
    )
    done = program.run(*line.split())
    assert done.code == 0, done
    reported = json.loads((program.folder / "results.json").read_text())
    same_shape(json.loads(RESULTS), reported)
    means = {name: one["mean"] for name, one in reported["summary"]["eval_fns"].items()}
    assert means["scores:exact_match"] == pytest.approx(1 / 3)
    assert means["scores:conversation_quality"] == pytest.approx(1 / 3)
