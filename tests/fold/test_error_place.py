"""Where in people's code an error came from, read from the traceback that is kept."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import pytest

import tui_eval
from tui_eval.errors import traceback_text
from tui_eval.fold.error_place import place_of

OURS = str(Path(tui_eval.__file__).parent / "engine" / "rollouts.py")


def frame(path: str, line: int, name: str) -> str:
    return f'  File "{path}", line {line}, in {name}\n    some(code)\n'


def text(*frames: str, last: str = "ValueError: no") -> str:
    return "Traceback (most recent call last):\n" + "".join(frames) + f"{last}\n"


def test_the_last_frame_of_peoples_code_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = """
        import json

        def my_tool():
            json.loads("{")
    """
    path = tmp_path / "environments" / "my_env.py"
    space: dict[str, object] = {}
    exec(compile(textwrap.dedent(source), str(path), "exec"), space)  # as an import has it
    with pytest.raises(json.JSONDecodeError) as raised:
        space["my_tool"]()  # type: ignore[operator]
    reported = traceback_text(raised.value)
    assert place_of(reported) == "environments/my_env.py:5 in my_tool"
    monkeypatch.chdir("/")
    assert place_of(reported) == f"{path.relative_to('/')}:5 in my_tool"


def test_of_a_chain_the_cause_counts() -> None:
    reported = text(frame("/project/tools.py", 7, "add")) + (
        "\nThe above exception was the direct cause of the following exception:\n\n"
    ) + text(frame("/project/env.py", 9, "env_response"), last="ToolCallError: add")  # fmt: skip
    assert place_of(reported) == "/project/tools.py:7 in add"


def test_packages_and_our_own_code_are_not_peoples_but_the_environments_package_is() -> None:
    library = frame("/venv/lib/python3.12/site-packages/openai/_base_client.py", 3, "post")
    installed = frame("/venv/lib/python3.12/site-packages/my_env/tools.py", 4, "look_up")
    standard = frame(f"{Path(os.__file__).parent}/json/decoder.py", 5, "decode")
    assert place_of(text(frame(OURS, 1, "run"), library, standard)) is None
    assert place_of(text(installed, library), "my-env").endswith("my_env/tools.py:4 in look_up")
    assert place_of(text(installed, library), "other") is None


@pytest.mark.parametrize(
    "reported", ["", "no traceback", '  File "x', '  File "<string>", line 1, in f']
)
def test_where_nothing_is_known_nothing_is_said(reported: str) -> None:
    assert place_of(reported) is None
