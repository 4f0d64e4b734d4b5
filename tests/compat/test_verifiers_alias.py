from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import tui_eval
from tui_eval.compat import (
    install_verifiers_alias,
    uninstall_verifiers_alias,
    verifiers_alias,
)
from tui_eval.compat.verifiers_names import MODULES, REASONS

# Nothing of the repository's own path is needed to find the installed package.
ROOT = Path(tui_eval.__file__).parents[1]


@pytest.fixture
def alias() -> Iterator[None]:
    with verifiers_alias():
        yield


def in_a_process(code: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    """Runs code in a new process that finds these folders first."""
    setting = {"PYTHONPATH": ":".join(map(str, [*paths, ROOT])), "PATH": ""}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env=setting,
    )


@pytest.fixture
def real_package(tmp_path: Path) -> Path:
    """A folder in which another package named verifiers is, as it would be installed."""
    package = tmp_path / "site" / "verifiers"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("MARK = 'the real one'\n__version__ = '0.1.5'\n")
    (package / "types.py").write_text("MARK = 'real types'\n")
    info = tmp_path / "site" / "verifiers-0.1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: verifiers\nVersion: 0.1.5\n")
    return tmp_path / "site"


@pytest.mark.parametrize("name", [name for name, ours in MODULES.items() if ours])
def test_every_mapped_module_is_ours(alias: None, name: str) -> None:
    theirs = importlib.import_module(name)
    ours = importlib.import_module(str(MODULES[name]))
    assert theirs is ours is sys.modules[name]
    assert (ours.__name__, ours.__spec__.name) == (MODULES[name], MODULES[name])
    assert ours.__file__ == ours.__spec__.origin


@pytest.mark.parametrize("name", [name for name, ours in MODULES.items() if not ours])
def test_packages_that_only_hold_others_give_those_and_the_public_names(
    alias: None, name: str
) -> None:
    package = importlib.import_module(name)
    child = next(other for other in MODULES if other.startswith(f"{name}."))
    assert getattr(package, child.rpartition(".")[2]) is importlib.import_module(child)
    assert package.State is tui_eval.State


@pytest.mark.parametrize("name", [name for name in MODULES if name != "verifiers"])
def test_no_module_of_ours_is_hidden_behind_one_of_theirs(name: str) -> None:
    # Importing a.b makes it the attribute b of a: of our a, there must be no other b.
    parent, _, child = name.rpartition(".")
    if MODULES[parent] is not None and MODULES[name] != f"{MODULES[parent]}.{child}":
        assert importlib.util.find_spec(f"{MODULES[parent]}.{child}") is None
        assert not hasattr(importlib.import_module(str(MODULES[parent])), child)


def test_names_that_packages_get_hide_no_module_of_ours() -> None:
    given = {*tui_eval.__all__, *(name.split(".")[1] for name in MODULES if "." in name)}
    for package in ("cli", "clients", "parsers", "rubrics"):
        modules = {path.stem for path in (ROOT / "tui_eval" / package).glob("*.py")}
        assert modules & given == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "import verifiers",
        "import verifiers as vf",
        "import verifiers.types",
        "import verifiers.rubrics.rubric as r",
        "from verifiers import types, parsers, utils, envs",
        "from verifiers.types import Messages, State, ChatMessage, Info",
        "from verifiers.utils import message_utils",
        "from verifiers.utils.message_utils import normalize_messages",
        "from verifiers.utils.tool_utils import convert_func_to_tool_def",
        "from verifiers.utils.async_utils import maybe_await",
        "from verifiers.envs.multiturn_env import MultiTurnEnv",
        "from verifiers.envs.singleturn_env import SingleTurnEnv",
        "from verifiers.errors import ToolError",
        "from verifiers.parsers.xml_parser import XMLParser",
        "from verifiers.parsers import XMLParser, Parser",
        "from verifiers.rubrics import Rubric, JudgeRubric, judge_rubric",
        "from verifiers.clients import Client, OpenAIChatCompletionsClient, resolve_client",
        "from verifiers.clients import openai_chat_completions_client",
        "from verifiers.envs import MultiTurnEnv, multiturn_env",
        "from verifiers.cli import plugins",
        "from verifiers.utils.data_utils import BOXED_SYSTEM_PROMPT, THINK_BOXED_SYSTEM_PROMPT",
        "from verifiers import *; SingleTurnEnv, load_example_dataset",
        "from verifiers.cli.plugins.prime import get_plugin",
        "from verifiers.cli.plugins import get_plugin",
        "import verifiers as vf; vf.types.State, vf.utils.message_utils, vf.envs, vf.errors",
    ],
)
def test_ways_to_import(line: str) -> None:
    done = in_a_process(
        f"import tui_eval.compat; tui_eval.compat.install_verifiers_alias()\n{line}"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", ["import tui_eval.clients", "", "vf.Client, vf.Parser, vf.Rubric"]
)
def test_modules_are_found_by_dots_whatever_was_imported_before(first: str) -> None:
    done = in_a_process(f"""
        import functools, importlib
        import tui_eval.compat
        tui_eval.compat.install_verifiers_alias()
        {first if first.startswith("import") else ""}
        import verifiers as vf
        {first if first.startswith("vf") else ""}
        for name in {list(MODULES)!r}:
            module = functools.reduce(getattr, name.split(".")[1:], vf)
            assert module is importlib.import_module(name), name
    """)
    assert done.returncode == 0, done.stderr


def test_patching_reaches_the_code_that_runs_through_either_name(
    alias: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verifiers.envs import singleturn_env

    class Patched(tui_eval.SingleTurnEnv):
        pass

    monkeypatch.setattr(singleturn_env, "SingleTurnEnv", Patched)
    assert importlib.import_module("tui_eval.environments.single_turn").SingleTurnEnv is Patched
    monkeypatch.setattr("tui_eval.environments.keys.ensure_keys", lambda keys: "patched")
    import verifiers.utils.config_utils as theirs

    assert theirs.ensure_keys([]) == "patched"
    import verifiers

    monkeypatch.setattr(verifiers, "MARK", 1, raising=False)
    assert tui_eval.MARK == 1


def test_nothing_is_imported_before_it_is_used() -> None:
    done = in_a_process("""
        import sys
        from tui_eval.compat import install_verifiers_alias
        install_verifiers_alias()
        before = set(sys.modules)
        import verifiers
        print(sorted(set(sys.modules) - before))
        print([n for n in ("pydantic", "openai", "datasets", "numpy") if n in sys.modules])
    """)
    assert done.stdout.splitlines() == ["['verifiers']", "[]"], done.stderr


def test_classes_know_where_they_come_from(alias: None) -> None:
    from verifiers.types import State, UserMessage

    assert State.__module__ == "tui_eval.state"
    assert inspect.getmodule(State) is sys.modules["tui_eval.state"]
    assert "class UserMessage" in inspect.getsource(UserMessage)
    message = pickle.loads(pickle.dumps(UserMessage(content="hello")))
    assert type(message) is UserMessage


def test_the_real_package_is_passed_over(real_package: Path) -> None:
    done = in_a_process(
        """
        import importlib.metadata, sys
        from tui_eval.compat import install_verifiers_alias, uninstall_verifiers_alias
        install_verifiers_alias()
        import verifiers, verifiers.types, tui_eval
        print(verifiers is tui_eval, verifiers.types is sys.modules["tui_eval.types"])
        print(importlib.metadata.version("verifiers") == verifiers.__version__)
        uninstall_verifiers_alias()
        import verifiers, verifiers.types
        print(verifiers.MARK, "/", verifiers.types.MARK, "/", tui_eval.types.State.__name__)
        print(importlib.metadata.version("verifiers"))
        """,
        real_package,
    )
    assert done.stdout.splitlines() == [
        "True True",
        "True",
        "the real one / real types / State",
        "0.1.5",
    ], done.stderr


def test_a_real_package_that_is_imported_already_is_refused(real_package: Path) -> None:
    done = in_a_process(
        """
        import sys, verifiers
        from tui_eval.compat import install_verifiers_alias
        finders = list(sys.meta_path)
        try:
            install_verifiers_alias()
        except RuntimeError as error:
            print(error, sys.meta_path == finders, verifiers.MARK)
        """,
        real_package,
    )
    assert str(real_package / "verifiers" / "__init__.py") in done.stdout
    assert "before the first import of verifiers" in done.stdout
    assert done.stdout.endswith("True the real one\n")


def test_installing_twice_is_installing_once() -> None:
    with verifiers_alias():
        finders = list(sys.meta_path)
        install_verifiers_alias()
        assert sys.meta_path == finders
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("verifiers")
    uninstall_verifiers_alias()


def test_uninstalling_leaves_no_trace() -> None:
    packages = [tui_eval, *(importlib.import_module(f"tui_eval.{n}") for n in ("cli", "parsers"))]
    for name in ("types", "errors", "cli.prime_plugin", "parsers.xml_parser"):
        importlib.import_module(f"tui_eval.{name}")
    finders, modules = list(sys.meta_path), set(sys.modules)
    before = [set(vars(package)) for package in packages]
    with verifiers_alias():
        for name in ("types", "utils", "cli.plugins.prime", "parsers.xml_parser", "errors", "envs"):
            importlib.import_module(f"verifiers.{name}")
        assert tui_eval.utils is sys.modules["verifiers.utils"]
    assert sys.meta_path == finders
    assert not [name for name in set(sys.modules) - modules if name.startswith("verifiers")]
    now = [set(vars(package)) for package in packages]
    assert now == before
    with pytest.raises(AttributeError):
        _ = tui_eval.utils


def test_a_name_with_a_typo_names_the_nearest(alias: None) -> None:
    with pytest.raises(AttributeError, match=r"no 'SingelTurnEnv'\. Did you mean SingleTurnEnv"):
        _ = tui_eval.SingelTurnEnv
    with pytest.raises(ImportError, match=r"no 'extract_boxd_answer'\. Did you mean extract"):
        exec("from verifiers import extract_boxd_answer")


def test_a_name_like_no_other_says_what_to_do(alias: None) -> None:
    with pytest.raises(ImportError, match=r"no 'Qqqq'\. Do without it, or run the environment"):
        exec("from verifiers import Qqqq")


@pytest.mark.parametrize("module", ["types", "utils.data_utils", "rubrics.math_rubric"])
@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("Mesage", "Did you mean Message"),
        ("get_model", "it trains models"),
        ("Qqqq", "Do without"),
    ],
)
def test_a_name_that_a_module_lacks_says_what_to_do_in_every_form(
    alias: None, module: str, name: str, advice: str
) -> None:
    theirs = importlib.import_module(f"verifiers.{module}")
    with pytest.raises(AttributeError, match=f"no {name!r}.*{advice}"):
        getattr(theirs, name)
    with pytest.raises(ImportError, match=f"no {name!r}.*{advice}"):
        exec(f"from verifiers.{module} import {name}")
    assert getattr(theirs, name, None) is None


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("verifiers.envs.sandbox_env", REASONS["SandboxEnv"]),
        ("verifiers.envs.experimental.harbor_env", REASONS["HarborEnv"]),
        ("verifiers.envs.integrations.browser_env", REASONS["BrowserEnv"]),
        ("verifiers.rl", REASONS["RLTrainer"]),
        ("verifiers.envs.multi_turn_env", "Did you mean multiturn_env"),
        ("verifiers.qqqq", "Do without it"),
    ],
)
def test_a_module_that_we_do_not_have_says_what_to_do(
    alias: None, module: str, reason: str
) -> None:
    with pytest.raises(ModuleNotFoundError) as error:
        importlib.import_module(module)
    assert f"tui_eval has no {module!r}" in str(error.value)
    assert reason in str(error.value)


def test_a_class_of_a_package_that_only_holds_others(alias: None) -> None:
    with pytest.raises(ImportError) as error:
        exec("from verifiers.envs.experimental import HarborEnv")
    assert REASONS["HarborEnv"] in str(error.value)


def test_packages_request_the_version_of_verifiers() -> None:
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("verifiers")
    everything = len(list(importlib.metadata.distributions()))
    with verifiers_alias():
        assert importlib.metadata.version("verifiers") == tui_eval.__version__
        assert Version(importlib.metadata.version("verifiers")) in SpecifierSet(">=0.1.8")
        found = importlib.metadata.distribution("verifiers")
        assert (found.metadata["Name"], found.requires, found.files) == ("verifiers", None, None)
        assert len(list(importlib.metadata.distributions())) == everything
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("verifiers")


def test_submodules_of_our_own_package_need_no_alias() -> None:
    done = in_a_process("import tui_eval as vf; print(vf.types.State.__name__)")
    assert done.stdout == "State\n", done.stderr
    with pytest.raises(AttributeError, match="tui_eval has no 'utils'"):
        _ = tui_eval.utils
    assert not hasattr(tui_eval, "__wrapped__")


@pytest.mark.parametrize(
    "name", ["verifiers", "verifiers.types", "verifiers.utils", "verifiers.utils.data_utils"]
)
def test_a_name_that_no_module_has_is_named_with_what_to_do(alias: None, name: str) -> None:
    module = importlib.import_module(name)
    with pytest.raises(AttributeError, match=r"has no 'Parsr'\. Did you mean Parser"):
        module.Parsr  # noqa: B018
    assert module.Parser is tui_eval.Parser
