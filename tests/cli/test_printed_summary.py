"""The summary that people read: the lines they know first, at 80 columns, nothing raw."""

from __future__ import annotations

import re
from typing import Any

import pytest
from program import Program, chat_answer
from run_events import finished, staged, started
from servers import FaultServer, Reply

from tui_eval.cli.console.summary_lines import money_text, result_lines
from tui_eval.events import Event, RunFinished, Stage
from tui_eval.fold.run_state import RunState
from tui_eval.runs.summary_json import summary_object


def folded(*events: Event) -> RunState:
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def text_of(*events: Event, **how: Any) -> str:
    return "\n".join(result_lines(folded(*events), **how))


def test_the_lines_that_everybody_knows_come_first(
    program: Program, fault_server: FaultServer
) -> None:
    program.environment(
        "scored",
        """
        import tui_eval as vf

        def correct_answer(answer):
            return float(answer)

        def response_length(completion):
            return float(len(completion[-1]["content"]))

        def load_environment():
            rubric = vf.Rubric(funcs=[correct_answer, response_length], weights=[1.0, 0.0])
            rows = [{"question": "?", "answer": str(i % 2)} for i in range(4)]
            return vf.SingleTurnEnv(dataset=rows, rubric=rubric)
        """,
    )
    fault_server.script("/v1/chat/completions", [Reply(body=chat_answer("yes" * 50))])
    arguments = ("-m", "m", "-b", f"{fault_server.url}/v1", "-n", "4", "-r", "2")
    done = program.run("scored", *arguments)
    assert done.code == 0, done
    lines = done.out.splitlines()
    at = lines.index("Results:")
    assert lines[at + 1 : at + 4] == [
        "  Reward: 0.50 ± 0.50",
        "  correct_answer: 0.50 ± 0.50",
        "  response_length: 150.0 ± 0.0",
    ]
    assert "Reward, 95% interval: 0.15 to 0.85 (Wilson, n_eff 4, 4 examples, 8 rollouts)" in lines
    assert "Rollouts: 8 used, 0 errored, 0 missing of 8" in lines
    assert "pass@k: 1=0.50 [0.15, 0.85], 2=0.50 [0.15, 0.85]" in lines
    assert "pass^k: 1=0.50 [0.15, 0.85], 2=0.50 [0.15, 0.85]" in lines
    assert "  [95%: Wilson, by the spread between examples]" in lines
    assert [line.split() for line in lines if line.startswith("  correct_answer  ")] == [
        ["correct_answer", "0.15", "0.85", "8", "Wilson,", "n_eff", "4"]
    ]
    assert "Complete examples: 4 of 4" in lines
    assert "Examples with all rewards equal: 4 of 4" in lines
    assert "Tokens: 80 in, 40 out, 120 in all; a rollout 10 in, 5 out" in lines
    assert any(line.startswith("Latency") for line in lines)
    assert any(line.startswith("Examples, worst first") for line in lines)


def test_an_abbreviated_summary_has_no_tables(program: Program) -> None:
    done = program.run("calculator", "-m", "demo", "-n", "2", "-r", "2", "-A")
    assert "Results:" in done.out and "Tokens:" in done.out
    for title in ("Latency", "Tools", "Examples, worst", "95% intervals"):
        assert title not in done.out, title


def test_what_is_small_does_not_read_as_nothing() -> None:
    rewards = (0.0004, 0.0008, 0.0, 0.0)
    text = text_of(
        started(2, 2),
        *(finished(row, value, metrics={"bias": 5 + value}) for row, value in enumerate(rewards)),
        RunFinished(0, 2000.0, "finished", 0),
    )
    assert "Reward: 3e-04 ± 3e-04" in text and "bias: 5.0 ± 3e-04" in text
    assert "95% interval: 0.00 to 0.004 (t, 1 df, 2 examples, 4" in text


def test_errored_and_missing_rollouts_stand_beside_the_mean() -> None:
    text = text_of(
        started(2, 3),
        finished(0, 1.0, per_example=3),
        finished(1, None, per_example=3, error="ModelError -> BadRequestError"),
        finished(3, 0.0, per_example=3, stop_condition="no_tools_called", truncated=True),
        RunFinished(0, 2000.0, "interrupted", 130),
    )
    assert "Rollouts: 2 used, 1 errored, 3 missing of 6" in text
    assert "  ModelError -> BadRequestError: 1" in text
    assert "Stopped by: max_turns_reached 2, no_tools_called 1" in text
    assert "Truncated: 1 of 3 (33%)" in text
    assert "Complete examples: 0 of 2" in text


def test_groups_of_different_sizes_have_two_means_and_each_is_named() -> None:
    rewards = [finished(row, reward) for row, reward in ((0, 1), (1, 1), (2, 0))]
    lines = text_of(started(2, 2), *rewards).splitlines()
    assert "  Reward: 0.67 ± 0.47" in lines
    assert "Mean of the examples' means: 0.50; the reward above is over all rollouts" in lines
    assert "examples' means" not in text_of(started(2, 2), *rewards, finished(3, 0))


def test_what_the_mean_is_without_stands_beside_what_it_would_be_with_it() -> None:
    lines = text_of(
        started(5, 2),
        *(finished(row, 1.0) for row in range(7)),
        finished(7, None, error="ModelError"),
        finished(8, None, error="ModelError"),
        finished(9, None, error="KeyError", error_class="tool"),
    ).splitlines()
    assert "  Reward: 1.00 ± 0.00" in lines
    reported = " ".join(line.strip() for line in lines)
    without = "3 of 10 not in the mean: 2 endpoint, 1 tool error"
    assert f"Reward with errors as 0: 0.70 ({without})" in reported
    assert not any("errors as 0" in line for line in text_of(started(), finished(0)).splitlines())


def test_how_answers_ended_and_which_tools_failed_is_counted() -> None:
    lines = text_of(
        started(5, 2),
        *(finished(row, 1.0, truncated=True, finish_reason="length") for row in range(2)),
        finished(2, 0.0, finish_reason="refusal"),
        finished(3, 0.0, finish_reason="content_filter", models={"small": 3}),
        finished(4, 1.0, tools={"look": (2, 1)}),
    ).splitlines()
    assert "Truncated: 2 of 5 (40%)" in lines
    assert "Refused: 1 of 5 (20%)" in lines
    assert "Filtered: 1 of 5 (20%)" in lines
    assert "With a tool call that went wrong: 1 of 5 (20%)" in lines
    assert "Answered by other models than requested: small 3 calls" in lines


def test_a_run_in_which_nothing_succeeded_names_the_last_cause() -> None:
    waits = staged(1, Stage.SLEEPING, note="status 500, again in 4s", again_at=1005.0)
    end = RunFinished(0, 2000.0, "interrupted", 130)
    reported = "No rollout succeeded; the last one to be tried again met status 500"
    assert reported in text_of(started(2, 1), waits, end)
    assert reported in text_of(started(2, 1), finished(0, None, per_example=1), waits, end)
    assert "tried again" not in text_of(started(2, 1), finished(0, per_example=1), waits, end)
    assert "No rollout succeeded" not in text_of(started(2, 1), end)
    object_ = summary_object(folded(started(2, 1), waits, end))
    assert object_["last_cause"] == "status 500"
    assert summary_object(folded(started(2, 1), end))["last_cause"] is None


def test_the_examples_that_a_pass_rate_leaves_out_are_counted() -> None:
    text = text_of(started(2, 2), finished(0, 1.0), finished(1, 0.0), finished(2, 1.0))
    assert "pass@k: 1=0.75 [0.20, 0.97], 2=1.00 [0.21, 1.00]\n" in text
    assert "Examples left out, with too few rewards: 1 at k=2" in text
    assert "Complete examples: 1 of 2" in text
    text = text_of(started(2, 4), *(finished(row, 1.0, per_example=4) for row in (0, 1, 4)))
    assert "pass@k: 1=1.00 [0.34, 1.00], 2=1.00 [0.21, 1.00]\n" in text
    assert "Examples left out, with too few rewards: 1 at k=2, 2 at k=4" in text


def test_a_run_without_any_reward_has_a_dash_and_no_number() -> None:
    text = text_of(started(1, 1), finished(0, None))
    assert "  Reward: –" in text
    assert "interval" not in text
    assert "nan" not in text.lower()


def test_the_cost_is_reported_where_prices_are_known_and_only_there() -> None:
    events = (started(1, 1, input_price=0.4, output_price=1.6), finished(0, input_tokens=1_000_000))
    assert "Cost: $0.4000 ($0.4 in, $1.6 out a million tokens)" in text_of(*events)
    assert "Cost: not known" in text_of(started(1, 1), finished(0))
    assert "Cost" not in text_of(started(1, 1), finished(0, input_tokens=0, output_tokens=0))


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (None, "–"),
        (0.0, "$0.00"),
        (0.01234, "$0.0123"),
        (0.00005, "$0.000050"),
        (1.005, "$1.00"),
        (1234.5, "$1,234.50"),
    ],
)
def test_money_has_the_digits_that_matter(dollars: float | None, text: str) -> None:
    assert money_text(dollars) == text


def test_the_worst_examples_come_first_and_equal_ones_are_marked() -> None:
    rewards = {0: (1.0, 1.0), 1: (0.0, 1.0), 2: (0.0, 0.0)}
    events = [finished(2 * e + i, r) for e, pair in rewards.items() for i, r in enumerate(pair)]
    lines = text_of(started(3, 2), *events).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("Examples, worst first"))
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["2", "0.00", "0.00", "2", "0", "0", "="],
        ["1", "0.50", "0.50", "2", "0", "1"],
        ["0", "1.00", "0.00", "2", "0", "2", "="],
    ]
    assert "The worst 1 of 3" in text_of(started(3, 2), *events, examples=1)
    assert "worst" not in text_of(started(3, 2), *events, examples=0)


def test_the_summary_of_an_ordinary_run_is_short(program: Program) -> None:
    done = program.run("word-guess", "-m", "demo", "-n", "20", "-r", "3")
    lines = done.out[done.out.index("Results:") :].splitlines()
    assert len(lines) <= 43, done.out
    assert max(map(len, lines[:-2])) <= 80, "but for the path"


def test_any_names_keep_to_80_columns_and_steer_no_terminal() -> None:
    evil = "\x1b]52;c;aGk=\x07[/bold]" + "long" * 40
    state = folded(
        started(40, 3),
        *(
            finished(
                row,
                row / 120,
                per_example=3,
                metrics={f"{evil}{i}": 1e300 * row for i in range(12)},
                stop_condition=f"{evil}{row % 15}",
                tools={f"{evil}{i}": (10**9, 7) for i in range(12)},
                model_ms=[1e9],
                example_id=f"{evil}{row // 3}",
                input_tokens=10**12,
            )
            for row in range(80)
        ),
        *(finished(row, None, per_example=3, error=f"{evil}{row}") for row in range(80, 100)),
    )
    lines = list(result_lines(state))
    assert max(map(len, lines)) <= 80
    assert not re.search("[\x00-\x1f\x7f-\x9f]", "".join(lines))
    assert len(lines) < 80
