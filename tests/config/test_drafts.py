"""A form, the TOML and the command line that it amounts to say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from declared_arguments import described, parameter
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
"""URL and key without what came along with them."""
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
    if option.name == "worker_memory":
        return st.sampled_from(["2GB", "512 MiB"])
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
def test_the_command_line_of_a_form_gives_its_request(values: dict[str, Any]) -> None:
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
