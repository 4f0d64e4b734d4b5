"""A form, the TOML and the command line that it amounts to say the same."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_eval.cli.run import command as run_command
from tui_eval.cli.run import typed_of
from tui_eval.config.command_line import command_line, command_words
from tui_eval.config.draft import Draft
from tui_eval.config.eval_document import EvalDocument
from tui_eval.config.eval_file import read_eval_file
from tui_eval.config.expansion import expand
from tui_eval.config.fields import HIDDEN, argument_field, option_field, text_of, value_of
from tui_eval.config.options import BY_NAME, NEWEST, OPTIONS, Option
from tui_eval.config.plan import Request
from tui_eval.config.values import parse_values
from tui_eval.errors import Fault
from tui_eval.pasted import unwrapped

TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1
)
JSON = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
STRIPPED = TEXT.map(str.strip).filter(bool)
PASTED = STRIPPED.map(lambda text: unwrapped(text, "it")).filter(bool)
"""As a URL or a key is left once what came along with it is taken away."""
NAMES = st.text(st.characters(categories=("L", "N")), min_size=1)


def values_of(option: Option) -> st.SearchStrategy[Any]:
    if option.choices:
        return st.sampled_from(option.choices)
    if option.kind == "flag":
        return st.booleans()
    if option.kind == "int":
        return st.integers(int(option.least or 1), 10**6)
    if option.kind == "float":
        return st.floats(max(option.least or 0, 0.01), 1e6)
    if option.kind == "json":
        return st.dictionaries(TEXT, JSON, min_size=1, max_size=3)
    if option.kind == "list":
        return st.lists(STRIPPED, min_size=1, max_size=3)
    if option.kind == "headers":
        values = NAMES.filter(str.isascii)
        return st.dictionaries(st.just("X-Team") | st.just("X-Run"), values, min_size=1)
    if option.kind == "optional_path":
        return st.just(NEWEST) | NAMES
    if option.name == "until":
        return st.sampled_from(["width(reward) < 0.05", 'low("a b") > 0.7 or high(reward) < 0.5'])
    texts = PASTED.filter(lambda text: unwrapped(text, "it") == text)
    return texts.filter(lambda text: text[0] not in "[{")


IN_FORM = [
    option
    for option in OPTIONS
    if option.name not in HIDDEN and option.name not in ("endpoint_id", "env_id")
]
VALUES = st.fixed_dictionaries({}, optional={one.name: values_of(one) for one in IN_FORM})


def draft_of(values: dict[str, Any], env_id: str = "calculator") -> Draft:
    draft = Draft()
    draft.form.put("env_id", env_id)
    for name, value in values.items():
        draft.form.put(name, text_of(draft.form.field(name), value))
    return draft


@settings(max_examples=50)
@given(VALUES)
def test_the_toml_of_a_form_says_what_the_form_says(values: dict[str, Any]) -> None:
    draft = draft_of(values)
    assert not draft.form.faults()
    written = {name: one for name, one in values.items() if BY_NAME[name].in_files}
    file, faults = read_eval_file(Path("new.toml"), draft.toml())
    assert not faults
    assert {name: s.value for name, s in file.own[0].items()} == {"env_id": "calculator", **written}
    again = Draft(draft.toml())
    assert again.form.values() == {"env_id": "calculator", **written}
    assert again.toml() == draft.toml()
    assert not again.is_changed()


@settings(max_examples=50)
@given(VALUES)
def test_the_command_line_of_a_form_asks_for_its_request(values: dict[str, Any]) -> None:
    draft = draft_of(values)
    request = draft.request()
    words = command_words(request["env_id"], request["raw"])
    context = run_command.make_context("run", words[2:])
    typed = dict(context.params)
    assert typed.pop("environment") == "calculator"
    assert typed_of(typed) == request["raw"]
    found, faults = parse_values(request["raw"])
    assert not faults
    sets = {".".join(path): text for path, text in found.pop("sets", [])}
    for name, value in values.items():
        default = False if BY_NAME[name].kind == "flag" else BY_NAME[name].default
        if name in sets:
            assert value is False or sets[name] == value
        elif value != default:
            assert found[name] == value
        else:
            assert name not in found


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


def test_null_cannot_be_written_and_says_so() -> None:
    draft = draft_of({})
    draft.form.put("env_args", '{"limit": null}')
    assert draft.request()["raw"] == {"env_args": '{"limit": null}'}
    with pytest.raises(ValueError, match=r"env_args\.limit is null"):
        draft.toml()


def test_a_flag_that_a_default_turns_on_is_turned_off_by_name() -> None:
    draft = draft_of({})
    draft.form.describe(
        {**described(), "defaults": {"shuffle": {"value": True, "source": "pyproject.toml:4"}}}
    )
    assert draft.form.default("shuffle") == (True, "pyproject.toml:4")
    draft.form.switch("shuffle")
    assert draft.command() == "tui-eval run calculator --set shuffle=false"
    assert "shuffle = false" in draft.toml()
    draft.form.switch("shuffle")
    assert draft.command() == "tui-eval run calculator"


def test_another_environment_has_other_arguments() -> None:
    draft = draft_of({})
    draft.form.describe(described(parameter("max_turns", "int", 10)))
    draft.form.put("env_args.max_turns", "5")
    assert draft.request()["raw"] == {"env_args": '{"max_turns": 5}'}
    draft.form.put("env_id", "reverse-text")
    assert draft.request() == {"env_id": "reverse-text", "raw": {}}


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


def test_what_stands_in_a_line_of_the_file_is_told_at_its_field() -> None:
    text = COMMENTED.replace("num_examples = 8", "num_examples = 0").replace('"demo"', '"dem"')
    draft = Draft(text, Path("monday.toml"))
    faults = expand(Request(**draft.request())).faults
    assert {draft.field_of(fault) for fault in faults} >= {"num_examples"}
    draft.select(None)
    assert "model" in {draft.field_of(fault) for fault in faults}


def test_the_fault_of_a_run_that_is_not_there_is_that_of_the_field_that_names_it() -> None:
    draft = draft_of({})
    missing = Fault("f541", "there is no such file or directory")
    assert draft.field_of(missing) is None
    draft.form.texts["resume"] = "f541"
    assert draft.field_of(missing) == "resume"


@pytest.mark.parametrize("typed", ["nope.toml", "./nope.toml"])
def test_the_fault_of_a_registry_is_that_of_the_field_that_names_it(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    draft = draft_of({"endpoints_path": typed, "model": "demo"})
    for text in (None, "[[endpoint]\n"):
        if text is not None:
            Path(typed).write_text(text)
        faults = expand(Request(**draft.request())).faults
        assert {draft.field_of(fault) for fault in faults} == {"endpoints_path"}


@pytest.mark.parametrize(
    ("where", "field"),
    [
        ("-n/--num-examples", "num_examples"),
        ("--model gpt-9", "model"),
        ("environment calculator: argument max_turns", "env_args.max_turns"),
        ("environment calculator: argument other", "env_args"),
        ("e.toml:3, env_args: environment calculator: argument max_turns", "env_args.max_turns"),
        ("environment calculator", "env_id"),
        ("--max-cost", "max_cost"),
        ("search-env, --examples", "examples"),
        ("configs/endpoints.toml:3", None),
    ],
)
def test_faults_find_their_fields(where: str, field: str | None) -> None:
    draft = draft_of({})
    draft.form.describe(described(parameter("max_turns", "int", 10)))
    assert draft.field_of(Fault(where, "something")) == field


def parameter(name: str, kind: str, default: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": name, "kind": kind, "choices": [], "nullable": False, "required": False,
        "default": default, "annotation": kind, "shape": "any", "help": "", **more,
    }  # fmt: skip


def described(*parameters: dict[str, Any]) -> dict[str, Any]:
    return {"parameters": list(parameters), "takes_others": False, "defaults": {}}


ARGUMENTS = {
    "int": st.integers(-(2**60), 2**60),
    "float": st.floats(-1e9, 1e9),
    "flag": st.booleans(),
    "text": st.text(st.characters(codec="utf-8")),
    "json": JSON | st.none(),
    "any": JSON | st.none() | st.text(st.characters(codec="utf-8")),
}


@pytest.mark.parametrize("kind", ARGUMENTS)
@given(data=st.data())
def test_an_argument_is_read_as_it_was_written(kind: str, data: st.DataObject) -> None:
    field = argument_field(parameter("x", kind, None))
    value = data.draw(ARGUMENTS[kind])
    text = text_of(field, value)
    if value is None:
        assert text in ("", "null")
        return
    assert "\n" not in text
    assert value_of(field, text) == value
    assert type(value_of(field, text)) is type(value)


def test_choices_are_written_as_they_are_chosen() -> None:
    field = argument_field(parameter("x", "choice", "easy", choices=["easy", 3, "3", None is None]))
    assert field.choices == ("easy", "3", '"3"', "true")
    assert [value_of(field, text) for text in field.choices] == ["easy", 3, "3", True]
    with pytest.raises(ValueError, match="'hard' is not known"):
        value_of(field, "hard")


def test_an_empty_name_of_a_key_variable_can_be_typed() -> None:
    field = option_field(BY_NAME["api_key_var"])
    assert value_of(field, '""') == ""
    assert text_of(field, "") == '""'


def test_numbers_of_examples_stay_numbers_in_a_file() -> None:
    text = '[[eval]]\nenv_id = "calculator"\nexamples = [7, 3]  # hard ones\n'
    draft = Draft(text, Path("e.toml"))
    assert draft.form.text("examples") == "7,3"
    draft.form.put("temperature", "0.5")
    assert draft.toml() == f"{text}temperature = 0.5\n"
    assert draft.command() == "tui-eval run calculator -T 0.5 --examples 7,3"


def test_ids_with_commas_stay_whole_in_a_form() -> None:
    draft = Draft('[[eval]]\nenv_id = "calculator"\nexamples = ["a,b", "c"]\n', Path("e.toml"))
    assert draft.form.values()["examples"] == ["a,b", "c"]
    assert draft.command() == """tui-eval run calculator --examples '["a,b", "c"]'"""


def test_words_with_spaces_are_quoted() -> None:
    line = command_line("x", {"output_dir": "my runs", "headers": ["A: b c"], "resume": NEWEST})
    assert line == "tui-eval run x --header 'A: b c' -o 'my runs' --resume"


def test_no_toml_is_said() -> None:
    with pytest.raises(ValueError, match="this is no TOML"):
        EvalDocument("a = ")


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
