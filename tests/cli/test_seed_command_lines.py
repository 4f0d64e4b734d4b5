"""The command lines of the users' manual of `prime eval run`, typed as they stand there.

Each must end well and do what its sentence in the manual says. Those that belong to other commands
(`prime env install`, `prime env push`) or to hosted runs are none of this command's.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator

import pytest
from hub_stand_in import HubStandIn
from manual import GOOD, Manual
from program import Program, chat_answer, wait_until
from servers import FaultServer, Reply
from terminal import Terminal

from tui_eval.cli.main import cli

HOSTED = ["--hosted", "--follow", "--poll-interval", "--timeout-minutes",
          "--allow-sandbox-access", "--allow-instances-access", "--custom-secrets",
          "--eval-name"]  # fmt: skip
"""Flags of the manuals of hosted runs, which are not of this command."""


@pytest.fixture
def manual(program: Program, fault_server: FaultServer) -> Manual:
    return Manual(program, fault_server)


def test_the_quick_start(manual: Manual) -> None:
    done = manual.works("prime eval run my-env -m gpt-4.1-mini -n 10")
    lines = done.out.splitlines()
    assert lines[:4] == [
        "Loading environment: my-env",
        "Dataset: 10 examples, 3 rollouts per example = 30 total rollouts",
        "Model: gpt-4.1-mini",
        "",
    ]
    assert "Progress: ████████████████████ 30/30 (100%)" in lines
    at = lines.index("Results:")
    assert lines[at + 1 : at + 5] == [
        "  Reward: 1.00 ± 0.00",
        "  correct_answer: 1.0 ± 0.0",
        "  response_length: 2.0 ± 0.0",
        "  num_turns: 1.0 ± 0.0",
    ]


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("prime eval run gsm8k -m gpt-4.1-mini -n 20", 60),
        ("# 50 examples × 5 rollouts = 250 total rollouts\nprime eval run my-env -n 50 -r 5", 250),
        ("# Fast sanity check during development\n"
         "prime eval run my-env -m gpt-4.1-mini -n 2 -r 1 -v", 2),
        ("prime eval run my-env -c 64 -r 1", 5),
        ("prime eval run my-env -c 16 -i", 15),
        ("prime eval run my-env -c 8 --max-retries 3", 15),
        ("prime eval run my-env -r 10 -T 0.0", 50),
    ],
)  # fmt: skip
def test_so_many_examples_and_rollouts(manual: Manual, line: str, count: int) -> None:
    manual.runs(line)
    assert len(manual.received) == count
    assert {body["model"] for body in manual.bodies} == {"gpt-4.1-mini"}
    assert {body.get("temperature") for body in manual.bodies} == {0.0 if "-T" in line else None}


def test_an_alias_of_the_registry(manual: Manual) -> None:
    manual.runs("prime eval run my-env -m qwen3-235b-i")
    (path,) = {one.path for one in manual.received}
    (auth,) = {one.headers["Authorization"] for one in manual.received}
    assert path == "/api.pinference.ai/api/v1/chat/completions"
    assert auth == "Bearer sk-of-PRIME_API_KEY"
    assert {body["model"] for body in manual.bodies} == {"qwen/qwen3-235b-a22b-instruct-2507"}


def test_direct_configuration(manual: Manual) -> None:
    manual.runs(r"""
        prime eval run my-env \
          -m custom-model \
          -b https://my-api.example.com/v1 \
          -k MY_API_KEY
    """)
    assert {one.path for one in manual.received} == {"/my-api.example.com/v1/chat/completions"}
    assert {one.headers["Authorization"] for one in manual.received} == {"Bearer sk-of-MY_API_KEY"}
    assert {body["model"] for body in manual.bodies} == {"custom-model"}


def test_sampling(manual: Manual) -> None:
    manual.runs(r"""
        # Temperature and max tokens
        prime eval run my-env -m gpt-4.1-mini -T 0.7 -t 1024

        # Additional parameters via JSON
        prime eval run my-env -m gpt-4.1-mini \
          -S '{"temperature": 0.7, "top_p": 0.9, "presence_penalty": 0.1}'
    """)
    first, second = manual.bodies[:15], manual.bodies[15:]
    assert {(one["temperature"], one["max_tokens"]) for one in first} == {(0.7, 1024)}
    names = ("temperature", "top_p", "presence_penalty")
    assert {tuple(one[name] for name in names) for one in second} == {(0.7, 0.9, 0.1)}


def test_arguments_of_load_environment(manual: Manual) -> None:
    manual.runs(r"""
        prime eval run my-env \
          -a '{"difficulty": "hard", "num_examples": 100, "seed": 123}'
    """)
    requested = {body["messages"][-1]["content"] for body in manual.bodies}
    assert requested == {f"hard 123 {n}" for n in range(5)}


def test_arguments_of_the_constructor(manual: Manual) -> None:
    manual.answer(Reply(body=chat_answer("more")))
    manual.runs(r"""
        # Override max_turns
        prime eval run my-env -x '{"max_turns": 20}'

        # Override multiple parameters
        prime eval run my-env \
          -x '{"max_turns": 15, "system_prompt": "Custom prompt"}'
    """)
    seen = Counter(body["messages"][0]["content"] for body in manual.bodies)
    assert seen == {"Standard prompt": 15 * 20, "Custom prompt": 15 * 15}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "most"),
    [
        ("# 64 concurrent requests\nprime eval run my-env -m gpt-4.1-mini -n 100 -c 64", 64),
        ("# Separate generation and scoring concurrency\nprime eval run my-env -n 100 \\\n"
         "  --max-concurrent-generation 32 \\\n  --max-concurrent-scoring 64", 32),
    ],
)  # fmt: skip
def test_so_many_at_once(manual: Manual, line: str, most: int) -> None:
    manual.answer(Reply(body=chat_answer("42"), delay=0.3))
    manual.works(line)
    assert manual.server.most_at_once == most
    assert len(manual.received) == 300


@pytest.mark.slow
def test_a_run_is_saved_where_the_manual_says_and_is_resumed(manual: Manual) -> None:
    registry = manual.folder / "configs" / "endpoints.toml"
    registry.write_text(
        registry.read_text().replace('model = "gpt-4.1-mini"', 'model = "openai/gpt-4.1-mini"')
    )
    manual.answer(*[GOOD] * 700, Reply(body=chat_answer("42"), delay=0.5))
    line = "prime eval run math-python -m gpt-4.1-mini -n 500 -r 3 -s"
    process = manual.program.start(*line.split()[3:])
    wait_until(lambda: len(manual.received) > 700, "the run is under way")
    process.send_signal(signal.SIGINT)
    assert manual.program.finish(process).code == 130
    place = "environments/math_python/outputs/evals/math-python--openai--gpt-4.1-mini"
    (kept,) = manual.program.runs(manual.folder / "environments" / "math_python" / "outputs")
    run = kept.path
    assert run.parent == manual.folder / place
    done, requested = len(kept.rows), len(manual.received)
    assert 0 < done < 1500
    manual.answer(GOOD)
    manual.works(f"# Auto-detect latest incomplete run\n{line} --resume")
    assert len(kept.places()) == 1500 == len(set(kept.places()))
    assert len(manual.received) <= requested + 1500 - done, "only incomplete rollouts are executed"
    requested = len(manual.received)
    manual.works(f"# Or specify exact path\n{line} \\\n  --resume ./{place}/{run.name}")
    assert len(manual.received) == requested, "if all rollouts are complete it returns immediately"
    assert {"results.jsonl", "metadata.json"} <= {one.name for one in run.iterdir()}
    assert [one.name for one in (manual.folder / place).iterdir()] == [run.name]


def test_state_columns(manual: Manual) -> None:
    manual.runs('prime eval run my-env -s -C "judge_response,parsed_answer,reasoning_trace"')
    (run,) = manual.program.runs(manual.folder / "environments" / "my_env" / "outputs")
    for row in run.rows:
        assert row["judge_response"] == "Correct"
        assert row["parsed_answer"] == "42"
        assert row["reasoning_trace"] == "First I..."
        assert {"example_id", "prompt", "completion", "answer", "reward", "error"} <= row.keys()


def test_verbose_mode(manual: Manual) -> None:
    """Of a bundled environment with tools, on the embedded endpoint."""
    line = "prime eval run my-env -m gpt-4.1-mini -n 2 -v"
    (manual.folder / "configs" / "endpoints.toml").unlink()
    done = manual.works(line.replace("my-env", "calculator").replace("gpt-4.1-mini", "demo"))
    assert "Maya buys 9 bags" in done.err, "model requests"
    assert "requests demo-scripted-policy, sampling {'n': 1" in done.err
    assert "tools add, subtract" in done.err
    assert "To begin with, I multiply" in done.err, "model responses"
    assert ": tool: " in done.err and "tool multiply took" in done.err, "tools"
    assert "exact_answer" in done.err, "reward functions"
    assert "generation_ms" in done.err, "timing"


def test_debug_mode(manual: Manual) -> None:
    done = manual.works("prime eval run my-env -m gpt-4.1-mini -n 10 -d")
    assert "Progress: ████████████████████ 30/30 (100%)" in done.out
    assert "\x1b" not in done.out + done.err


def test_tui_mode(manual: Manual) -> None:
    line = "prime eval run my-env -m gpt-4.1-mini -n 100 -u"
    terminal = Terminal(manual.folder, manual.program.env, *line.split()[3:], "-s")
    try:
        terminal.wait_for("finished in")
        assert b"\x1b[?1049h" in terminal.raw
        terminal.type("q")
        assert terminal.finish() == 0
        assert terminal.is_whole()
    finally:
        terminal.close()
    assert len(manual.received) == 300


@pytest.mark.parametrize("flag", ["-i", "-N"])
def test_scoring_modes(manual: Manual, flag: str) -> None:
    done = manual.runs(f"prime eval run my-env -m gpt-4.1-mini -n 10 {flag}")
    assert "Reward: 1.00 ± 0.00" in done.out
    assert len(manual.received) == 30


def test_automatic_retries(manual: Manual) -> None:
    bad = Reply(200, {"choices": []})
    manual.answer(*[bad] * 3, GOOD)
    done = manual.runs("prime eval run my-env -m gpt-4.1-mini -n 100 --max-retries 3")
    assert len(manual.received) == 303
    assert "Rollouts: 300 used, 0 errored, 0 missing of 300" in done.out


@pytest.mark.slow
def test_heartbeats(manual: Manual) -> None:
    manual.runs(r"""
        prime eval run my-env -m gpt-4.1-mini -n 1000 \
          --heartbeat-url https://status.example.com/ping/abc123
    """)
    assert len(manual.received) == 3000
    assert len(manual.server.requests) > 3000, "pings"


@pytest.fixture
def hub(manual: Manual) -> Iterator[HubStandIn]:
    with HubStandIn() as hub:
        manual.program.env |= hub.environment(str(manual.folder / "hf"))
        yield hub


@pytest.mark.slow
def test_rollouts_are_published_on_the_hub(manual: Manual, hub: HubStandIn) -> None:
    manual.works(r"""
        prime eval run my-env -m gpt-4.1-mini -n 100 -s \
          --save-to-hf-hub \
          --hf-hub-dataset-name my-org/my-env-results
    """)
    assert [(one["organization"], one["name"]) for one in hub.created] == [
        ("my-org", "my-env-results")
    ]
    assert any(name.endswith(".parquet") for name in hub.files)


@pytest.mark.slow
def test_workflows(manual: Manual) -> None:
    for number in (1, 2):
        (manual.folder / f"checkpoint_{number}.pt").touch()
    done = manual.type("""
        # Full evaluation with saves
        prime eval run my-env -m gpt-4.1-mini -n 100 -r 5 -s

        # Establish baseline before training
        prime eval run my-env -m my-model -n 200 -r 5 -s

        # Evaluate checkpoints
        for checkpoint in checkpoint_*.pt; do
            prime eval run my-env -m $checkpoint -n 100 -s
        done
    """)
    assert done.code == 0, done
    evals = manual.folder / "environments" / "my_env" / "outputs" / "evals"
    runs = manual.program.runs(evals.parent)
    assert {run.path.parent.name: len(run.rows) for run in runs} == {
        "my-env--gpt-4.1-mini": 500,
        "my-env--my-model": 1000,
        "my-env--checkpoint_1.pt": 300,
        "my-env--checkpoint_2.pt": 300,
    }


@pytest.mark.parametrize("flag", HOSTED)
def test_flags_of_hosted_runs_are_refused(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["my-env", flag]) == 2
    err = capsys.readouterr().err
    assert f"{flag}: hosted evaluations are not in this version" in err
    assert "Did you mean" not in err
