"""Code that imports the Osmosis SDK finds our names, and errors name what is not there."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tui_eval
from tui_eval.compat import install_osmosis_alias, osmosis_alias, verifiers_alias
from tui_eval.compat.osmosis_alias import HOME, MODULES, REASONS


@pytest.fixture
def alias() -> Iterator[None]:
    with osmosis_alias():
        yield


@pytest.mark.parametrize(
    "line",
    [
        "from osmosis_ai import osmosis_reward, osmosis_rubric",
        "from osmosis_ai.utils import osmosis_reward",
        "import osmosis_ai.rollout",
        "from osmosis_ai.rollout import RolloutAgentLoop, RolloutContext, RolloutResult, "
        "RolloutRequest, create_app, OpenAIFunctionToolSchema",
        "from osmosis_ai.rollout.core import RolloutAgentLoop, RolloutContext, base, schemas",
        "from osmosis_ai.rollout.core.base import RolloutAgentLoop, RolloutContext, RolloutResult",
        "from osmosis_ai.rollout.core.exceptions import ToolArgumentError, OsmosisRolloutError",
        "from osmosis_ai.rollout.core.schemas import OpenAIFunctionParametersSchema, "
        "OpenAIFunctionPropertySchema, OpenAIFunctionSchema, OpenAIFunctionToolSchema",
        "from osmosis_ai.rollout.tools import create_tool_error_result, create_tool_result, "
        "execute_tool_calls, get_tool_call_info, serialize_tool_result",
        "from osmosis_ai.rollout.client import CompletionsResult",
        "from osmosis_ai.rollout.server import create_app",
        "from osmosis_ai.rollout.server.app import create_app",
        "import osmosis_ai; osmosis_ai.rollout.tools.create_tool_result; osmosis_ai.osmosis_reward",
    ],
)
def test_ways_to_import(alias: None, line: str) -> None:
    exec(line, {})


def test_the_names_are_the_same_objects_everywhere(alias: None) -> None:
    from osmosis_ai.rollout import RolloutAgentLoop
    from osmosis_ai.rollout.core.base import RolloutAgentLoop as Same

    assert RolloutAgentLoop is Same is importlib.import_module(HOME).RolloutAgentLoop


@pytest.mark.parametrize("name", sorted(REASONS))
def test_a_known_name_that_we_do_not_have_says_why(alias: None, name: str) -> None:
    with pytest.raises(ImportError) as error:
        exec(f"from osmosis_ai.rollout import {name}")
    assert str(error.value) == f"tui_eval has no 'osmosis_ai.rollout.{name}': {REASONS[name]}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("from osmosis_ai.rollout import RolloutAgentLop", "Did you mean RolloutAgentLoop"),
        ("import osmosis_ai.rollout.tool", "Did you mean tools"),
        ("import osmosis_ai.qqqq", "run the agent with the SDK itself"),
    ],
)
def test_a_wrong_name_gets_the_nearest(alias: None, line: str, expected: str) -> None:
    with pytest.raises(ImportError, match=expected):
        exec(line)


def test_both_aliases_live_together_and_leave_no_trace() -> None:
    importlib.import_module(HOME)
    finders, modules = list(sys.meta_path), set(sys.modules)
    with osmosis_alias(), verifiers_alias():
        install_osmosis_alias()
        assert len(sys.meta_path) == len(finders) + 2
        exec("import osmosis_ai.rollout.core.base, verifiers.types")
    assert sys.meta_path == finders
    left = [name for name in set(sys.modules) - modules if name.startswith(("osmosis_ai", "veri"))]
    assert left == []
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("osmosis_ai")


@pytest.mark.parametrize("name", [name for name, ours in MODULES.items() if ours])
def test_every_mapped_module_is_ours(alias: None, name: str) -> None:
    assert importlib.import_module(name) is importlib.import_module(str(MODULES[name]))


def test_a_real_package_that_is_imported_already_is_refused(tmp_path: Path) -> None:
    (tmp_path / "osmosis_ai.py").write_text("")
    code = "import osmosis_ai, tui_eval.compat as c\nc.install_osmosis_alias()"
    root = Path(tui_eval.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{tmp_path}:{root}"},
        capture_output=True,
        text=True,
    )
    assert f"osmosis_ai has been imported from {tmp_path}/osmosis_ai.py already" in done.stderr


def test_the_application_is_a_stand_in_that_takes_everything(alias: None) -> None:
    from osmosis_ai.rollout import create_app

    app = create_app(object(), record_handlers=True)

    @app.get("/health", tags=["x"])
    async def health() -> str:
        return "ok"

    @app.on_event("startup")
    def begin() -> str:
        return "begun"

    app.add_middleware(dict, allow_origins=["*"])
    assert begin() == "begun"
    assert health.__name__ == "health"


def test_an_agent_loop_needs_a_name_and_both_methods(alias: None) -> None:
    from osmosis_ai.rollout import RolloutAgentLoop

    with pytest.raises(TypeError, match="Nameless is an agent loop without a class attribute"):

        class Nameless(RolloutAgentLoop):
            def get_tools(self, request): ...
            async def run(self, ctx): ...

    class Half(RolloutAgentLoop):
        def get_tools(self, request): ...

    with pytest.raises(TypeError, match="abstract"):
        Half()
