"""Ablations: every combination of what is swept, in the order of the file."""

from __future__ import annotations

import pytest
from setting_places import faults, plans, write

from tui_eval.config.expansion import expand
from tui_eval.config.plan import Request

pytestmark = pytest.mark.usefixtures("here")

TOP = 'model = "mini"\n'


def test_the_first_sweep_varies_slowest_and_arguments_fastest() -> None:
    path = write(
        "e.toml",
        TOP + '[[ablation]]\nenv_id = "x"\n[ablation.sweep.env_args]\n'
        'difficulty = ["easy", "hard"]\n[ablation.sweep]\ntemperature = [0.0, 0.5]\n',
    )
    assert [one.varies for one in plans(path)] == [
        {"temperature": "0.0", "env_args.difficulty": '"easy"'.strip('"')},
        {"temperature": "0.0", "env_args.difficulty": "hard"},
        {"temperature": "0.5", "env_args.difficulty": "easy"},
        {"temperature": "0.5", "env_args.difficulty": "hard"},
    ]


def test_ablations_come_after_all_evaluations() -> None:
    path = write(
        "e.toml",
        TOP + '[[ablation]]\n[ablation.sweep]\nenv_id = ["b", "c"]\n[[eval]]\nenv_id = "a"\n',
    )
    assert [one.env_id for one in plans(path)] == ["a", "b", "c"]


def test_swept_arguments_are_added_to_fixed_ones_else_to_those_of_the_top() -> None:
    path = write(
        "e.toml",
        TOP + '[env_args]\nsplit = "test"\n'
        '[[ablation]]\nenv_id = "x"\n[ablation.sweep.env_args]\nk = [1]\n'
        '[[ablation]]\nenv_id = "y"\nenv_args = { n = 2 }\n[ablation.sweep.env_args]\nk = [1]\n',
    )
    assert [one.env_args for one in plans(path)] == [{"split": "test", "k": 1}, {"n": 2, "k": 1}]


def test_whole_tables_and_single_sampling_parameters_can_be_swept() -> None:
    path = write(
        "e.toml",
        TOP + '[[ablation]]\nenv_id = "x"\n[ablation.sweep]\n'
        "env_args = [{ a = 1 }, { b = 2 }]\n[ablation.sweep.sampling]\ntop_p = [0.5, 1.0]\n",
    )
    found = plans(path)
    assert [one.env_args for one in found] == [{"a": 1}, {"a": 1}, {"b": 2}, {"b": 2}]
    assert [one.sampling_args["top_p"] for one in found] == [0.5, 1.0] * 2
    assert found[0].varies == {"top_p": "0.5", "env_args.a": "1"}


def test_a_swept_temperature_wins_over_the_sampling_table_of_the_top() -> None:
    path = write(
        "e.toml",
        TOP + "[sampling]\ntemperature = 0.9\ntop_p = 0.5\n[[ablation]]\n"
        'env_id = "x"\n[ablation.sweep]\ntemperature = [0.0, 1]\n',
    )
    assert [one.sampling_args for one in plans(path)] == [
        {"temperature": 0.0, "top_p": 0.5},
        {"temperature": 1, "top_p": 0.5},
    ]


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        ("temperature = 0.5", "e.toml:5: temperature is swept, but 0.5 is no list of values"),
        ("temperature = []", "e.toml:5: temperature is swept, but [] is no list of values"),
        ("temperature = [0, -1]", "e.toml:5: temperature: -1 is too small"),
        ("env_args = { k = 3 }", "e.toml:5: env_args.k is swept, but 3 is no list of values"),
        ("temprature = [1]", "e.toml:5: unknown key 'temprature'. Did you mean temperature?"),
        ("name = ['a']", "e.toml:5: name cannot be swept"),
        ("num_examples = [3]", "e.toml:5: num_examples is fixed and swept. Keep one"),
        ("args = { n = [1] }", "e.toml:5: env_args.n is fixed and swept. Keep one"),
        ("model = ['a']\nendpoint_id = ['b']", "e.toml:5: model and endpoint_id both name"),
        ("args = [{ k = 1 }]\nenv_args = { k = [2] }", "e.toml:5: env_args is fixed and swept"),
        ("", "e.toml:4: there is nothing to sweep"),
    ],
)
def test_what_is_wrong_with_a_sweep_is_reported(sweep: str, expected: str) -> None:
    fixed = "[[ablation]]\nenv_args = { n = 2 }\nnum_examples = 9\n[ablation.sweep]\n"
    assert [one for one in faults(write("e.toml", fixed + sweep)) if one.startswith(expected)]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            "sampling_args = { temperature = 0.5 }\n[ablation.sweep]\ntemperature = [0, 1]\n",
            "e.toml:6: temperature is fixed and swept. Keep one",
        ),
        (
            "[ablation.sweep]\ntemperature = [0, 1]\nsampling = { temperature = [2] }\n",
            "e.toml:6: sampling_args.temperature is swept twice. Keep one",
        ),
    ],
)
def test_a_sampling_parameter_is_swept_in_one_place(table: str, expected: str) -> None:
    assert faults(write("e.toml", f'{TOP}[[ablation]]\nenv_id = "x"\n{table}')) == [expected]


def test_an_ablation_without_environment_is_reported() -> None:
    path = write("e.toml", TOP + "[[ablation]]\n[ablation.sweep]\ntemperature = [0, 1]\n")
    assert faults(path) == ['e.toml:2: env_id is missing. Name the environment: env_id = "my-env"']


def test_a_sweep_of_five_hundred_evaluations_expands() -> None:
    numbers = list(range(10))
    path = write(
        "e.toml",
        TOP + f'[[ablation]]\nenv_id = "reverse-text"\n[ablation.sweep]\ntemperature = {numbers}\n'
        f"max_tokens = [1, 2, 3, 4, 5]\n[ablation.sweep.env_args]\nmax_words = {numbers}\n",
    )
    found = expand(Request(env_id=path))
    assert (len(found.evaluations), found.faults) == (500, [])
    assert len({str(one.plan and one.plan.varies) for one in found.evaluations}) == 500
