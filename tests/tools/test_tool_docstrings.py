"""Descriptions of tools and parameters, from docstrings and annotations."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field
from schema_samples import properties

from tui_eval.tools.docstrings import read_docstring


def test_annotated_text_describes_unless_the_docstring_does():
    def find(
        a: Annotated[str, "from the note"],
        b: Annotated[int, Field(ge=1, description="from the field")] = 2,
        c: Annotated[str, "overruled"] = "x",
    ):
        """Find.

        :param c: from the docstring
        """

    found = properties(find)
    assert found["a"]["description"] == "from the note"
    assert found["b"] == {
        "default": 2,
        "description": "from the field",
        "minimum": 1,
        "title": "B",
        "type": "integer",
    }
    assert found["c"]["description"] == "from the docstring"


NUMPY = """
    Sums things.

    Parameters
    ----------
    a : int
        the first
        number
    b, c
        the others

    Returns
    -------
    int
        the sum
"""
SPHINX = """Sums things.

:param a: the first
    number
:param int b: the second
:type a: int
:returns: the sum
"""


def test_numpy_and_sphinx_docstrings():
    assert read_docstring(NUMPY) == (
        "Sums things.",
        {"a": "the first number", "b": "the others", "c": "the others"},
    )
    assert read_docstring(SPHINX) == (
        "Sums things.",
        {"a": "the first number", "b": "the second"},
    )


def test_words_that_only_look_like_sections_stay_in_the_description():
    text = ":class:`Box` it is: a box\n\nTitle\n-----\nmore"
    assert read_docstring(text) == (text, {})


def test_fields_without_parameters_end_the_description_too():
    text = "Sums.\n\n:return: the sum\n:rtype: int"
    assert read_docstring(text) == ("Sums.", {})


@pytest.mark.parametrize("text", [None, "", "Only words.", "Words: with a colon\nand more"])
def test_docstrings_without_sections(text: str | None):
    assert read_docstring(text) == (text or "", {})
