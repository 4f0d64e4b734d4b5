"""Files of evaluations: what they amount to, and everything that is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from setting_places import REGISTRY, expanded, faults, plan, plans, source, write

pytestmark = pytest.mark.usefixtures("here")


def test_every_table_is_an_evaluation_and_the_top_holds_for_all() -> None:
    path = write(
        "e.toml",
        'model = "mini"\nnum_examples = 50\n[[eval]]\nenv_id = "a"\nnum_examples = 100\n'
        '[[eval]]\nenv_id = "b"\nname = "second"\n',
    )
    first, second = plans(path)
    assert (first.env_id, first.num_examples, first.model) == ("a", 100, "org/mini")
    assert (second.env_id, second.num_examples, second.title) == ("b", 50, "second")
    assert first.title == "a"
    assert (first.varies, second.varies) == ({"num_examples": "100"}, {"num_examples": "50"})
    assert first.sources["num_examples"] == "e.toml:5"
    assert second.sources["num_examples"] == "e.toml:2"


def test_other_spellings_mean_the_same() -> None:
    path = write(
        "e.toml",
        '[[eval]]\nid = "a"\nendpoint_id = "mini"\nheader = ["X-One: 1"]\n'
        '[eval.args]\nsplit = "test"\n[eval.sampling]\ntop_p = 0.5\n',
    )
    one = plan(path)
    assert (one.env_id, one.env_args, one.sampling_args) == ("a", {"split": "test"}, {"top_p": 0.5})
    assert one.endpoints[0].headers == {"X-Team": "of the registry", "X-One": "1"}


def test_one_setting_in_two_spellings_is_reported() -> None:
    path = write("e.toml", '[[eval]]\nenv_id = "a"\nmodel = "mini"\nargs = {}\nenv_args = {}\n')
    assert faults(path) == ["e.toml:5: args and env_args are the same setting; keep one"]


def test_a_table_of_an_evaluation_replaces_that_of_the_top() -> None:
    path = write(
        "e.toml",
        'model = "mini"\n[env_args]\na = 1\n[[eval]]\nenv_id = "x"\n[eval.env_args]\nb = 2\n'
        '[[eval]]\nenv_id = "x"\n',
    )
    assert [one.env_args for one in plans(path)] == [{"b": 2}, {"a": 1}]


def test_a_file_without_tables_is_one_evaluation() -> None:
    assert plan(write("e.toml", 'env_id = "a"\nmodel = "mini"\n')).env_id == "a"


def test_everything_wrong_is_reported_at_once_with_its_line() -> None:
    path = write(
        "e.toml",
        'modle = "mini"\nnum_examples = "two"\ntemperature = nan\nsave_results = 1\n'
        "[env_args]\nwhen = 2020-01-01\n"
        "[[eval]]\nnum_examples = 0\nenv_id = 3\n"
        '[[eval]]\nrolouts_per_example = 3\nprovider = "acme"\ntimeout = 0\nresume = 1\n'
        '[[ablation]]\nenv_id = "x"\n',
    )
    reported = faults(path)
    for expected in (
        "e.toml:1: unknown key 'modle'. Did you mean model",
        "e.toml:2: num_examples: 'two' is not a whole number",
        "e.toml:3: temperature: 'nan' is not a number",
        "e.toml:4: save_results: 1 is not true or false",
        "e.toml:5: env_args: when: a date cannot be passed on; write it as text",
        "e.toml:8: num_examples: 0 is too small; expected 1 or more, or -1 for all",
        "e.toml:9: env_id: 3 is not text",
        "e.toml:10: env_id is missing. Name the environment",
        "e.toml:11: unknown key 'rolouts_per_example'. Did you mean rollouts_per_example",
        "e.toml:12: provider: 'acme' is not known. Known are openai, anthropic",
        "e.toml:13: timeout: 0 is too small; expected more than 0",
        "e.toml:14: resume: 1 is not text",
        "e.toml:15: there is nothing to sweep. Write lists of values into [ablation.sweep]",
    ):
        assert [fault for fault in reported if fault.startswith(expected)], (expected, reported)


def test_a_slip_in_the_key_of_the_model_says_nothing_of_the_default_model() -> None:
    path = write("e.toml", 'modle = "mini"\n[[eval]]\nenv_id = "a"\n')
    assert faults(path) == ["e.toml:1: unknown key 'modle'. Did you mean model?"]


def test_for_a_file_that_names_no_model_it_is_said_where_to_write_one() -> None:
    path = write("e.toml", '[[eval]]\nenv_id = "a"\n')
    (reported,) = faults(path)
    assert reported.startswith(
        "e.toml:2, model: nothing names a model, and the default is not there:"
    )
    assert "no endpoint is called 'gpt-4.1-mini'" in reported
    assert "--model" not in reported


def test_a_key_that_a_default_model_of_a_file_lacks_is_reported_at_the_file() -> None:
    write(
        "configs/endpoints.toml",
        REGISTRY.replace('"mini"', '"gpt-4.1-mini"').replace("EXAMPLE_KEY", "NO_KEY"),
    )
    (reported,) = faults(write("e.toml", 'num_examples = 1\n[[eval]]\nenv_id = "a"\n'))
    assert reported.startswith(
        "e.toml:3, model: nothing names a model, and the default, gpt-4.1-mini,"
    )
    assert "NO_KEY" in reported
    assert "--model" not in reported


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ('[eval]\nenv_id = "a"\n', "e.toml:1: [eval] is one table. Write [[eval]]"),
        ("eval = 3\n", "e.toml:1: eval is no table. Write [[eval]]"),
        ("eval = [3]\n", "e.toml:1: 3 is no table. Write [[eval]]"),
        ("eval = []\n", "e.toml: it has no evaluation. Write an [[eval]] table"),
        ("num_examples = 3\n", "e.toml: it has no [[eval]] table. Name the environment"),
        ("[[eval", "e.toml:1: this is no TOML"),
        ('[[eval]]\nenv_id = "a"\ndry_run = true\n', "e.toml:3: unknown key 'dry_run'"),
        (
            '[[eval]]\nenv_id = "a"\nmodel = "x"\nendpoint_id = "mini"\n',
            "e.toml:4: model and endpoint_id both name the model. Keep one",
        ),
        (
            '[[eval]]\nenv_id = "a"\nendpoint_id = "minni"\n',
            "e.toml:3, endpoint_id: no endpoint is called 'minni'",
        ),
        (
            '[[eval]]\nenv_id = "a"\nmodel = "mini"\nheartbeat_url = "status"\n',
            "e.toml:4, heartbeat_url: 'status' is no URL",
        ),
    ],
)
def test_what_is_no_file_of_evaluations_is_reported(text: str, reported: str) -> None:
    assert faults(write("e.toml", text))[0].startswith(reported)


def test_a_missing_file_is_reported() -> None:
    assert faults("no.toml") == ["no.toml: the file of evaluations cannot be read: No such file "
                                 "or directory"]  # fmt: skip


def test_the_same_fault_of_many_evaluations_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EXAMPLE_KEY")
    tables = "".join(f'[[eval]]\nenv_id = "e{number}"\n' for number in range(9))
    (fault,) = faults(write("e.toml", f'model = "mini"\n{tables}'))
    assert fault.startswith("e.toml:1, model: EXAMPLE_KEY: this variable")


def test_an_endpoint_of_an_evaluation_wins_over_the_model_of_the_top() -> None:
    path = write(
        "e.toml",
        'model = "mini"\n[[eval]]\nenv_id = "a"\nendpoint_id = "sonnet"\n[[eval]]\nenv_id = "a"\n',
    )
    assert [(one.model, one.varies) for one in plans(path)] == [
        ("claude", {"model": "sonnet"}),
        ("org/mini", {"model": "mini"}),
    ]


def test_the_registry_is_looked_for_beside_the_file_and_then_here(here: Path) -> None:
    text = 'endpoints_path = "{}"\nmodel = "mini"\n[[eval]]\nenv_id = "a"\n'
    write("sub/mine.toml", REGISTRY.replace("org/mini", "beside/mini"))
    assert plan(write("sub/e.toml", text.format("mine.toml"))).model == "beside/mini"
    elsewhere = write("sub/e.toml", text.format("./configs/endpoints.toml"))
    assert plan(elsewhere).model == "org/mini"
    write("sub/configs/endpoints.toml", REGISTRY.replace("org/mini", "both/mini"))
    assert plan(elsewhere).model == "both/mini"
    assert (
        "no.toml: the registry cannot be read"
        in faults(write("sub/e.toml", text.format("no.toml")))[0]
    )


def test_resume_of_an_evaluation_wins_over_that_of_the_top() -> None:
    path = write(
        "e.toml",
        'model = "mini"\nresume = true\n[[eval]]\nenv_id = "a"\nresume = false\n'
        '[[eval]]\nenv_id = "b"\nresume_path = "there"\n[[eval]]\nenv_id = "c"\n',
    )
    found = expanded(path)
    assert [one.resume for one in found.evaluations] == [None, "there", "newest"]
    typed = expanded(path, resume="newest").evaluations
    assert [one.resume for one in typed] == ["newest", "there", "newest"]


def test_flags_that_describe_an_evaluation_are_ignored_and_named_in_one_warning() -> None:
    path = write("e.toml", 'model = "mini"\n[[eval]]\nenv_id = "a"\n[[eval]]\nenv_id = "b"\n')
    found = expanded(path, num_examples="x", model="sonnet", verbose=True, heartbeat_url="http://h")
    assert found.faults == []
    (notice,) = found.notices
    assert notice.level == "warning"
    assert "e.toml these flags are ignored: -n/--num-examples, -m/--model." in notice.text
    assert "--set num_examples=..." in notice.text
    for one in found.evaluations:
        assert one.plan is not None
        assert (one.plan.model, one.plan.num_examples) == ("org/mini", 5)
        assert (one.plan.verbose, one.plan.heartbeat_url) == (True, "http://h")


def test_a_flag_of_the_command_wins_over_the_file() -> None:
    path = write(
        "e.toml",
        'max_cost = 5\nmax_total_tokens = 9\nmodel = "mini"\n[[eval]]\nenv_id = "a"\n',
    )
    assert (plan(path).max_cost, plan(path).max_total_tokens) == (5, 9)
    assert plan(path, max_cost="0.5").max_cost == 0.5
    assert source(expanded(path, max_cost="0.5"), "max_cost") == (0.5, "--max-cost")


def test_what_has_no_effect_is_said_once() -> None:
    path = write(
        "e.toml",
        'model = "mini"\ndisable_env_server = true\n[[eval]]\nenv_id = "a"\n[[eval]]\n'
        'env_id = "b"\nshuffle_seed = 3\n',
    )
    assert [notice.text for notice in expanded(path).notices] == [
        "e.toml:2, disable_env_server has no effect: there is no environment server",
        "e.toml:7, shuffle_seed has no effect without shuffle",
    ]
    assert expanded(model="mini", shuffle=True, shuffle_seed="3").notices == []


def test_examples_are_named_by_numbers_or_texts() -> None:
    path = write(
        "e.toml",
        'model = "mini"\nexamples = [7, "a,b"]\n[[eval]]\nenv_id = "a"\n'
        '[[ablation]]\nenv_id = "b"\n[ablation.sweep]\nexamples = [[3], ["x", 4]]\n',
    )
    assert [one.examples for one in plans(path)] == [["7", "a,b"], ["3"], ["x", "4"]]
    wrong = write(
        "w.toml", 'env_id = "a"\nmodel = "mini"\nexamples = [true]\nstate_columns = [1]\n'
    )
    assert faults(wrong) == [
        "w.toml:3: examples: true is not a list of texts or whole numbers",
        "w.toml:4: state_columns: 1 is not a list of texts",
    ]
