"""A form that was loaded from a file changes nothing in it but what was typed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from declared_arguments import described, parameter

from tui_eval.config.draft import Draft
from tui_eval.config.expansion import expand
from tui_eval.config.plan import Request

COMMENTED = """\
# What we run on Mondays.
model = "demo"            # cheap

[sampling]
temperature = 0.7  # as the paper

# The first.
[[eval]]
rollouts_per_example = 4   # four
num_examples = 8
timeout = 60
pass_threshold = 0.50
env_id = "reverse-text"

[eval.env_args]
seed = 7      # lucky
max_words = 20

[[eval]]
id = "calculator"
"""


def test_one_change_leaves_comments_order_and_spellings_as_they_are() -> None:
    draft = Draft(COMMENTED)
    draft.form.put("num_examples", "9")
    assert draft.toml() == COMMENTED.replace("num_examples = 8", "num_examples = 9")


def test_an_argument_of_a_loaded_file_is_changed_in_its_table() -> None:
    draft = Draft(COMMENTED)
    draft.form.describe(described(parameter("seed", "int", 0), parameter("max_words", "int", 12)))
    assert draft.form.text("env_args.seed") == "7"
    draft.form.put("env_args.seed", "8")
    assert draft.toml() == COMMENTED.replace("seed = 7 ", "seed = 8 ")


def test_a_setting_that_is_new_goes_into_the_table_that_is_shown() -> None:
    draft = Draft(COMMENTED)
    draft.select(1)
    draft.form.put("timeout", "60")
    draft.form.put("env_args", '{"a": {"b": [1, {"c": 2}]}}')
    tables = tomllib.loads(draft.toml())
    assert tables["eval"][1] == {
        "id": "calculator",
        "timeout": 60.0,
        "env_args": {"a": {"b": [1, {"c": 2}]}},
    }
    assert tables["eval"][0] == tomllib.loads(COMMENTED)["eval"][0]


def test_what_is_cleared_is_taken_out() -> None:
    draft = Draft(COMMENTED)
    draft.form.put("num_examples", "")
    assert draft.toml() == COMMENTED.replace("num_examples = 8\n", "")


def test_changes_of_one_table_are_kept_when_another_is_shown() -> None:
    draft = Draft(COMMENTED)
    draft.form.put("num_examples", "9")
    draft.select(None)
    draft.form.put("model", "other")
    draft.select(0)
    assert draft.form.text("num_examples") == "9"
    assert draft.form.default("model") == ("other", "the top of the file")
    assert draft.request()["text"] == draft.toml()


def test_a_file_of_one_evaluation_amounts_to_flags() -> None:
    text = COMMENTED[: COMMENTED.index('\n[[eval]]\nid = "')]
    draft = Draft(text, Path("monday.toml"))
    assert draft.request() == {
        "env_id": "reverse-text",
        "raw": {
            "model": "demo",
            "sampling_args": '{"temperature": 0.7}',
            "env_args": '{"seed": 7, "max_words": 20}',
            "num_examples": "8",
            "rollouts_per_example": "4",
            "timeout": "60",
            "pass_threshold": "0.5",
        },
    }
    assert draft.command().startswith('tui-eval run reverse-text -m demo -S \'{"temperature"')


def test_a_wrong_text_stays_out_of_request_and_file() -> None:
    draft = Draft(COMMENTED)
    draft.form.put("num_examples", "many")
    assert draft.form.faults() == {"num_examples": "'many' is not a whole number"}
    assert draft.toml() == COMMENTED
    assert draft.is_changed()
    draft.form.put("num_examples", "8")
    assert not draft.is_changed()


def test_a_file_that_is_no_toml_is_named_with_the_place_of_its_fault(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text('model = "demo"\nexamples = [1\n')
    with pytest.raises(ValueError, match=r"some\.toml: this is no TOML: Unclosed array") as caught:
        Draft.load(path)
    assert "x00" not in str(caught.value)
    path.write_text('model = "demo')
    with pytest.raises(ValueError, match=r"some\.toml: this is no TOML: .*end of document"):
        Draft.load(path)


def test_what_was_typed_in_one_table_is_unsaved_while_another_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text(COMMENTED)
    draft = Draft.load(path)
    draft.form.put("num_examples", "9")
    draft.select(1)
    assert draft.is_changed()
    draft.saved_at(path, draft.save(path))
    assert not draft.is_changed()
    draft.select(0)
    assert not draft.is_changed()
    draft.form.put("num_examples", "8")
    assert draft.is_changed()


def test_what_is_wrong_in_the_file_itself_has_not_been_typed() -> None:
    draft = Draft(COMMENTED.replace("seed = 7", 'seed = "odd"').replace("= 8", '= "many"'))
    draft.form.describe(described(parameter("seed", "int", 0)))
    assert set(draft.form.faults()) == {"num_examples", "env_args.seed"}
    assert not draft.is_changed()


@pytest.mark.parametrize("is_described", [True, False])
def test_a_slip_in_the_name_of_the_environment_costs_no_argument(is_described: bool) -> None:
    draft = Draft(COMMENTED)
    if is_described:
        draft.form.describe(described(parameter("seed", "int", 0)))
    for name in ("reverse-textx", "reverse-texty", "reverse-text"):
        draft.form.put("env_id", name)
    draft.form.describe(described(parameter("seed", "int", 0)))
    assert draft.form.text("env_args.seed") == "7"
    assert draft.toml() == COMMENTED


def test_nor_does_it_cost_a_text_that_is_no_value_yet() -> None:
    draft = Draft(COMMENTED)
    draft.form.describe(described(parameter("seed", "int", 0)))
    draft.form.put("env_args.seed", "1_000 or so")
    for name in ("reverse-textx", "reverse-text"):
        draft.form.put("env_id", name)
    assert "env_args.seed" in draft.form.faults()
    draft.form.describe(described(parameter("seed", "int", 0)))
    assert draft.form.text("env_args.seed") == "1_000 or so"


def test_a_fault_in_a_line_of_the_file_is_shown_at_its_field() -> None:
    text = COMMENTED.replace("num_examples = 8", "num_examples = 0").replace('"demo"', '"dem"')
    draft = Draft(text, Path("monday.toml"))
    faults = expand(Request(**draft.request())).faults
    assert {draft.field_of(fault) for fault in faults} >= {"num_examples"}
    draft.select(None)
    assert "model" in {draft.field_of(fault) for fault in faults}


ODD = """
num_examples = "8"
timeout = "soon"
state_columns = [1, 2]
headers = ["no header"]
provider = 3
shuffle = "maybe"
resume = 1.5
name = 2020-01-01
env_args = { when = 2020-01-01T00:00:00Z }
sampling = 3
num_exmples = 2
"""


@pytest.mark.parametrize("place", ["top", "eval"])
def test_a_file_with_every_fault_is_shown_as_it_is(place: str) -> None:
    text = ODD if place == "top" else f"{ODD}\n[[eval]]\n{ODD}"
    draft = Draft(text + '\nmodel = "demo"\n', Path("odd.toml"))
    faults = draft.form.faults()
    assert {"timeout", "shuffle", "provider", "sampling_args", "headers"} <= faults.keys()
    assert draft.form.default("timeout")[0] is None
    unknown = [fault.what for fault in draft.file_faults() if draft.field_of(fault) is None]
    assert "unknown key 'num_exmples'" in unknown
    draft.request()
    draft.command()
    assert "num_exmples = 2" in draft.toml() and 'timeout = "soon"' in draft.toml()


@pytest.mark.parametrize(
    "text",
    [
        '[[ablation]]\nenv_id = "a"\n[ablation.sweep]\ntemperature = [0]\n',
        'eval = [{ env_id = "a" }, { env_id = "b" }]\n',
    ],
)
def test_evaluations_that_no_form_can_show_are_run_as_the_file_has_them(text: str) -> None:
    draft = Draft(f'model = "demo"\n{text}', Path("e.toml"))
    assert draft.form.faults() == {}
    request = draft.request()
    assert (request["env_id"], request["raw"], request["text"]) == ("e.toml", {}, draft.toml())
    assert expand(Request(**request)).faults == []


def test_a_file_that_cannot_be_written_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "monday.toml"
    path.write_text(COMMENTED)
    path.chmod(0o600)
    draft = Draft.load(path)
    draft.form.put("name", "half a character: \ud800")
    with pytest.raises(ValueError, match="surrogate"):
        draft.save(path)
    assert path.read_text() == COMMENTED
    draft.form.put("name", "whole")
    draft.save(path)
    assert "whole" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]
