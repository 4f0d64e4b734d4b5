"""A class that is not here may be named in a hint; using it, or importing it, says what to do."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_eval.compat import verifiers_alias
from tui_eval.compat.loader import load_environment
from tui_eval.compat.verifiers_names import OLDER, REASONS
from tui_eval.errors import RefusedError

CLASSES = sorted(name for name in REASONS | OLDER if name[0].isupper())
OTHERS = sorted(name for name in REASONS | OLDER if name[0].islower())


@pytest.fixture(autouse=True)
def alias() -> Iterator[None]:
    with verifiers_alias():
        yield


def raised(code: str, kind: type[BaseException] = ImportError) -> str:
    with pytest.raises(kind) as error:
        exec(f"import verifiers as vf\n{code}", {"__name__": "authors"})
    return str(error.value)


@pytest.mark.parametrize("name", CLASSES)
def test_a_refused_class_is_for_hints_only(name: str) -> None:
    import verifiers as vf

    expected = f"tui_eval has no {name!r}: {(REASONS | OLDER)[name]}"
    kind = getattr(vf, name)
    assert kind is getattr(vf, name)
    assert not isinstance(vf.Rubric(), kind)
    assert typing.get_args(kind | None) == (kind, type(None))
    assert raised(f"vf.{name}(1, a=2)") == expected
    assert raised(f"class Mine(vf.{name}, vf.ToolEnv): pass") == expected
    assert raised(f"class Mine(vf.ToolEnv, vf.{name}): pass") == expected
    assert raised(f"from verifiers import {name}") == expected
    assert raised(f"from verifiers.envs import {name}") == expected
    assert raised(f"from verifiers.types import {name} as other") == expected


@pytest.mark.parametrize("name", OTHERS)
def test_a_refused_function_or_module_says_what_to_do(name: str) -> None:
    expected = (REASONS | OLDER)[name]
    assert expected in raised(f"vf.{name}", AttributeError)
    assert expected in raised(f"from verifiers import {name}")
    assert expected in raised(f"import verifiers.{name}")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ToolRubric", "counts its tool calls itself"),
        ("SmolaToolEnv", "Use ToolEnv"),
        ("CodeMathEnv", "MathRubric"),
        ("DoubleCheckEnv", "MultiTurnEnv"),
        ("GRPOTrainer", "verifiers-rl"),
        ("RLTrainer", "prime-rl"),
        ("lora_defaults", "prime-rl"),
    ],
)
def test_older_names_and_trainers_name_what_is_used_now(name: str, expected: str) -> None:
    assert expected in raised(f"from verifiers import {name}")


@pytest.mark.parametrize(
    "line",
    [
        "from verifiers.envs.environment import maybe_semaphore, save_outputs, resolve_client",
        "from verifiers.envs.tool_env import convert_func_to_tool_def, maybe_await",
        "from verifiers.types import MessageContent, ThinkingBlock",
        "from verifiers.envs.environment import StopCondition, RolloutCleanup",
        "from verifiers.utils.eval_utils import load_toml, compute_pass_at_k",
        "from verifiers.envs.multiturn_env import concat_messages, parse_response_message",
    ],
)
def test_what_modules_import_from_each_other_is_found_in_each(line: str) -> None:
    exec(line, {})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SmolaTolEnv", "Did you mean SmolaToolEnv? But it is of an older verifiers. Use ToolEnv"),
        ("DoubelCheckEnv", "Did you mean DoubleCheckEnv? But it is of an older verifiers"),
        ("Harnes", "Did you mean Harness? But it is of the second interface of verifiers"),
    ],
)
def test_a_name_like_one_of_another_version_says_which(name: str, expected: str) -> None:
    assert f"tui_eval has no {name!r}. {expected}" in raised(f"from verifiers import {name}")
    assert expected in raised(f"vf.{name}", AttributeError)


ENVIRONMENT = """
import verifiers as vf

def needs(env: vf.SandboxEnv, how: "vf.HarborEnv | None" = None) -> vf.PythonEnv | None:
    return None

def load_environment({argument}):
    env = {made}
    return env if not isinstance(env, vf.SandboxEnv) else None
"""
PLAIN = 'vf.SingleTurnEnv(dataset=[{"question": "q", "answer": "a"}])'


def test_an_environment_that_only_mentions_a_class_loads(tmp_path: Path) -> None:
    (tmp_path / "mentions.py").write_text(ENVIRONMENT.format(argument="", made=PLAIN))
    assert load_environment("mentions", environments_dir=tmp_path).env_id == "mentions"


def test_an_environment_that_makes_one_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "makes.py").write_text(ENVIRONMENT.format(argument="", made="vf.SandboxEnv()"))
    with pytest.raises(RefusedError) as error:
        load_environment("makes", environments_dir=tmp_path)
    assert "it needs a sandbox" in str(error.value)
    assert str(tmp_path / "makes.py") in str(error.value)
