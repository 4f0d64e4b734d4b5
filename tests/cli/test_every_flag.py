"""Every flag has a test that shows what it does: a table, held against program and tests."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import click
import pytest

from tui_eval.cli.agent.agent import command as agent_command
from tui_eval.config.options import OPTIONS

TESTS = Path(__file__).parents[1]

RUN: dict[str, list[str]] = {
    "model": ["everyday_flags"],
    "provider": ["a_provider_brings_its_protocol"],
    "api_base_url": ["everyday_flags"],
    "api_key_var": ["everyday_flags"],
    "api_client_type": ["a_client_type_is_the_protocol"],
    "stream": ["answers_are_streamed_where_endpoint_or_run_say_so"],
    "no_stream": ["answers_are_streamed_where_endpoint_or_run_say_so"],
    "headers": ["replicas_take_turns_and_get_their_headers"],
    "endpoints_path": ["everyday_flags"],
    "temperature": ["everyday_flags"],
    "max_tokens": ["everyday_flags"],
    "sampling_args": ["everyday_flags"],
    "env_args": ["everyday_flags"],
    "extra_env_kwargs": [
        "everyday_flags",
        "settings_of_the_environment_replace_those_of_its_constructor",
    ],
    "env_dir_path": ["environments_are_where_the_flag_says"],
    "python": ["an_environment_runs_in_the_interpreter_that_is_named_with_what_is_there"],
    "no_alias": ["no_alias_leaves_the_name_to_the_installed_package"],
    "disable_env_server": ["no_environment_server_is_said_to_be_nothing_new"],
    "num_examples": ["everyday_flags"],
    "rollouts_per_example": ["everyday_flags"],
    "examples": ["only_the_examples_that_are_named_run_in_that_order"],
    "shuffle": ["examples_are_taken_in_the_order_of_the_seed"],
    "shuffle_seed": ["examples_are_taken_in_the_order_of_the_seed"],
    "max_concurrent": ["everyday_flags"],
    "max_concurrent_generation": ["max_concurrent_generation_holds"],
    "max_concurrent_scoring": ["max_concurrent_scoring_holds"],
    "num_workers": ["rows_are_those_of_a_run_without_workers"],
    "worker_memory": ["a_rollout_that_takes_its_worker_past_the_limit_twice_says_so"],
    "no_adaptive": ["concurrency_that_is_not_to_change_stays"],
    "max_retries": ["a_rollout_is_run_again_as_often_as_requested"],
    "timeout": ["a_rollout_that_takes_too_long_ends_with_what_was_said"],
    "call_timeout": ["a_call_that_waits_too_long_is_the_error_of_its_rollout"],
    "max_cost": ["a_spent_budget_stops_softly_and_the_run_is_resumed_with_another"],
    "max_total_tokens": ["a_spent_budget_stops_softly_and_the_run_is_resumed_with_another"],
    "until": [
        "a_run_stops_early_with_whole_examples_and_says_so",
        "every_evaluation_of_a_file_has_its_own_condition",
    ],
    "independent_scoring": [
        "independent_rollouts_are_finished_one_by_one",
        "independent_scoring_without_a_look_beforehand_lets_group_functions_fail_visibly",
    ],
    "no_interleave_scoring": ["scoring_waits_for_the_last_answer"],
    "pass_threshold": ["a_threshold_decides_what_passes"],
    "save_results": ["everyday_flags"],
    "output_dir": ["a_run_is_kept_under_the_folder_that_is_named"],
    "state_columns": ["everyday_flags"],
    "resume": ["an_interrupted_run_is_resumed", "resume_alone_takes_the_newest_run_that_matches"],
    "keep_errors": ["errored_rollouts_run_again_unless_they_are_to_be_kept"],
    "accept_changes": ["every_difference_is_listed_refused_and_accepted_only_on_request"],
    "save_to_hf_hub": [
        "a_run_pushes_its_rollouts_once_it_is_finished",
        "a_run_that_is_resumed_is_pushed_as_it_was_requested",
    ],
    "hf_hub_dataset_name": [
        "a_run_pushes_its_rollouts_once_it_is_finished",
        "rollouts_are_published_on_the_hub",
    ],
    "verbose": ["everyday_flags"],
    "debug": [
        "debug_prints_lines_where_there_is_a_terminal",
        "a_loop_of_a_shell_gets_lines_though_it_has_a_terminal",
    ],
    "tui": [
        "the_screen_comes_where_a_file_says_lines",
        "a_screen_without_a_terminal_is_reported_and_lines_come",
    ],
    "abbreviated_summary": ["everyday_flags"],
    "json": ["a_finished_run_has_all_its_numbers"],
    "dry_run": ["the_plan_is_reported_to_people"],
    "no_preflight": ["without_preflight_a_dead_endpoint_is_met_by_the_rollouts"],
    "heartbeat_url": ["every_finished_group_beats_once_and_plainly"],
    "heartbeat_status": ["start_and_end_are_sent_where_that_is_requested"],
    "sets": ["a_file_with_one_evaluation_runs"],
}
"""Tests by the name of the option, without their test_."""

AGENT: dict[str, list[str]] = {
    "module": ["agent_everyday_flags"],
    "dataset": ["agent_everyday_flags"],
    "eval_fn": ["registry_and_scores"],
    "model": ["agent_everyday_flags", "registry_and_scores"],
    "base_url": ["agent_everyday_flags", "an_agent_gets_its_turns"],
    "api_key": ["an_endpoint_that_refuses_is_an_error_of_each_run"],
    "api_key_var": ["agent_everyday_flags"],
    "endpoints_path": ["registry_and_scores"],
    "n": ["registry_and_scores"],
    "pass_threshold": ["registry_and_scores"],
    "batch_size": ["the_batch_size_is_how_many_runs_are_in_flight"],
    "max_turns": ["an_agent_gets_its_turns"],
    "headers": ["an_agents_json_is_all_of_stdout"],
    "temperature": [
        "an_agents_json_is_all_of_stdout",
        "tools_of_an_agent_are_offered_called_and_recorded",
    ],
    "max_tokens": [
        "an_agents_json_is_all_of_stdout",
        "tools_of_an_agent_are_offered_called_and_recorded",
    ],
    "timeout": ["an_agents_json_is_all_of_stdout"],
    "max_cost": ["an_agents_budget_stops_softly_and_a_short_summary_has_no_tables"],
    "max_total_tokens": ["an_agents_budget_stops_softly_and_a_short_summary_has_no_tables"],
    "limit": ["offset_and_limit_choose_rows_by_their_place"],
    "offset": ["offset_and_limit_choose_rows_by_their_place"],
    "max_retries": ["a_run_that_failed_is_run_again"],
    "output": ["registry_and_scores"],
    "save_results": ["agent_everyday_flags"],
    "resume": ["a_run_is_resumed"],
    "keep_errors": ["a_run_is_resumed"],
    "accept_changes": ["a_run_is_resumed"],
    "no_preflight": ["a_model_that_is_not_listed_is_warned_of_and_requested"],
    "verbose": ["agent_everyday_flags"],
    "debug": ["tools_of_an_agent_are_offered_called_and_recorded"],
    "quiet": ["agent_everyday_flags"],
    "no_screen": ["lines_on_a_terminal_where_no_screen_is_wanted"],
    "tui": ["an_agents_screen_is_requested_and_reported_where_there_is_no_terminal"],
    "abbreviated_summary": ["an_agents_budget_stops_softly_and_a_short_summary_has_no_tables"],
    "json": ["an_agents_json_is_all_of_stdout"],
    "dry_run": ["an_agents_dry_run_reports_and_runs_nothing"],
    "heartbeat_url": ["an_agents_json_is_all_of_stdout"],
    "heartbeat_status": ["an_agents_json_is_all_of_stdout"],
}

RUN_FLAGS = {one.name: one.flags for one in OPTIONS if one.flags}
FLAGS_OF_AGENT = {
    str(one.name): tuple(one.opts) for one in agent_command.params if isinstance(one, click.Option)
}


def test_no_flag_is_without_a_test() -> None:
    assert RUN.keys() == RUN_FLAGS.keys()
    assert AGENT.keys() == FLAGS_OF_AGENT.keys()


NAMED = {name for table in (RUN, AGENT) for names in table.values() for name in names}


@pytest.fixture(scope="module")
def homes() -> dict[str, Path]:
    """The file of each test that is named above."""
    found: dict[str, Path] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        here = set(re.findall(r"def test_(\w+)\(", path.read_text())) & NAMED
        assert not here & found.keys(), "two tests have one name"
        found |= dict.fromkeys(here, path)
    return found


@pytest.mark.slow
def test_every_test_that_is_named_is_collected(
    homes: dict[str, Path], request: pytest.FixtureRequest
) -> None:
    """Another collection is for those that this one has left out."""
    assert homes.keys() == NAMED
    here = "\n".join(item.nodeid for item in request.session.items)
    elsewhere = NAMED - set(re.findall(r"::test_(\w+)", here))
    if elsewhere:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0",
             *sorted({str(homes[name]) for name in elsewhere})],
            cwd=TESTS, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        collected = set(re.findall(r"::test_(\w+)", done.stdout))
        assert collected >= elsewhere, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("flags", "tests"),
    [(flags[name], tests[name]) for flags, tests in ((RUN_FLAGS, RUN), (FLAGS_OF_AGENT, AGENT))
     for name in flags if name in tests],
    ids=lambda value: "/".join(value) if isinstance(value, tuple) else "",
)  # fmt: skip
def test_the_tests_of_a_flag_write_each_of_its_spellings(
    flags: Iterable[str], tests: Iterable[str], homes: dict[str, Path]
) -> None:
    text = "".join(homes[test].read_text() for test in tests)
    words = set(text.replace('"', " ").replace("'", " ").split())
    assert set(flags) <= words
