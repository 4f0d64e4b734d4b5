"""The lines at which the keys of a TOML file stand."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from tui_eval.config.toml_files import lines_of, read_toml

DOCUMENT = '''# a comment = 1
model = "a [b] # c"   # tail
text = """
no = "key"
[nor.a.table] \\"""
"""
list = [
  1, # ]
  { deep = "]" },
]
a."b.c".'d' = 1

[[eval]]
env_id = "x"
  [eval.env_args]
  split = \'\'\'
[[eval]]
\'\'\'
  more = { in = 1 }
[[ eval ]]
"env_id" = "y"
[[eval.inner]]
z = 2020-01-01
[plain.table]
"\\u00e9" = 1
'''


def test_every_key_and_table_has_its_line() -> None:
    assert lines_of(DOCUMENT) == {
        ("model",): 2,
        ("text",): 3,
        ("list",): 7,
        ("a",): 11,
        ("a", "b.c"): 11,
        ("a", "b.c", "d"): 11,
        ("eval",): 13,
        ("eval", 0): 13,
        ("eval", 0, "env_id"): 14,
        ("eval", 0, "env_args"): 15,
        ("eval", 0, "env_args", "split"): 16,
        ("eval", 0, "env_args", "more"): 19,
        ("eval", 1): 20,
        ("eval", 1, "env_id"): 21,
        ("eval", 1, "inner"): 22,
        ("eval", 1, "inner", 0): 22,
        ("eval", 1, "inner", 0, "z"): 23,
        ("plain",): 24,
        ("plain", "table"): 24,
        ("plain", "table", "é"): 25,
    }
    assert tomllib.loads(DOCUMENT)["eval"][1]["inner"][0]


def test_a_key_without_a_line_of_its_own_has_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(DOCUMENT)
    file, faults = read_toml(path, "the file")
    assert file is not None and faults == []
    assert file.at("eval", 0, "env_args", "more", "in") == f"{path}:19"
    assert file.at("nothing") == str(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a = 1\nb = [\n", "x.toml:3: this is no TOML: "),
        (b"a = 1\na = 2\n", "x.toml:2: this is no TOML: "),
        (b"\xff", "x.toml: this is no TOML: "),
        (b"a = " + b"[" * 100_000, "x.toml: this is no TOML that can be read: nested too deep"),
        (None, "x.toml: the file cannot be read: No such file"),
    ],
)
def test_what_cannot_be_read_is_reported(tmp_path: Path, text: bytes | None, expected: str) -> None:
    path = tmp_path / "x.toml"
    if text is not None:
        path.write_bytes(text)
    file, (fault,) = read_toml(path, "the file")
    assert file is None
    assert expected in str(fault)


KEYS = st.text(max_size=6) | st.sampled_from(["a", "a.b", "[x]", "'", '"', "#", "\n", "="])
VALUES: Any = st.recursive(
    st.integers(-9, 9) | st.booleans() | st.text(max_size=9) | st.sampled_from(['"""', "]", "\n["]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
ARRAYS = st.lists(st.dictionaries(KEYS, VALUES, max_size=3), max_size=3)
TABLES = st.dictionaries(KEYS, VALUES | ARRAYS, max_size=5)


@given(TABLES)
def test_lines_are_those_of_the_keys_in_any_document(table: dict[str, Any]) -> None:
    text = tomlkit.dumps(table)
    content, lines = tomllib.loads(text), text.split("\n")
    found = lines_of(text)
    assert {path[0] for path in found} == content.keys()
    for path, line in found.items():
        held: Any = content
        for key in path:
            held = held[key]
        names = [key for key in path if isinstance(key, str)]
        written = tomlkit.key(names[-1]).as_string().strip("\"'")
        assert written in lines[line - 1]
