"""The alias: `import osmosis_ai` gives our modules, whether the SDK is installed or not."""

from __future__ import annotations

from tui_eval.compat.alias import AliasFinder
from tui_eval.errors import nearest

ROOT = "osmosis_ai"
HOME = "tui_eval.compat.osmosis"

MODULES: dict[str, str | None] = {
    "osmosis_ai": None,
    "osmosis_ai.rollout": None,
    "osmosis_ai.rollout.client": f"{HOME}.agent_loop",
    "osmosis_ai.rollout.core": None,
    "osmosis_ai.rollout.core.base": f"{HOME}.agent_loop",
    "osmosis_ai.rollout.core.exceptions": f"{HOME}.schemas",
    "osmosis_ai.rollout.core.schemas": f"{HOME}.schemas",
    "osmosis_ai.rollout.server": None,
    "osmosis_ai.rollout.server.app": f"{HOME}.agent_loop",
    "osmosis_ai.rollout.tools": f"{HOME}.tools",
    "osmosis_ai.utils": f"{HOME}.eval_functions",
}
"""Ours by theirs; None for a package that only holds others."""

_SERVES = "it serves agents to a trainer, and tui-eval only evaluates them"
_LATER = "it belongs to a later SDK; tui-eval runs agent loops (RolloutAgentLoop)"
_JUDGES = "it calls a judge model; call the model in an eval function of your own"

REASONS: dict[str, str] = {
    **dict.fromkeys(("serve_agent_loop", "validate_and_report", "registry", "network"), _SERVES),
    **dict.fromkeys(("AgentWorkflow", "agent_workflow", "Grader", "grader"), _LATER),
    **dict.fromkeys(("evaluate_rubric", "rubric_eval"), _JUDGES),
}
"""Reasons why a function, class or module of the SDK is not here, by its own name."""


def missing_name(whole_name: str) -> str:
    """The error of a module, class or function of the SDK that we do not have."""
    import importlib

    parts = [part for part in whole_name.split(".") if part in REASONS]
    name = parts[-1] if parts else whole_name.rpartition(".")[2]
    what = f"tui_eval has no {whole_name!r}"
    if name in REASONS:
        return f"{what}: {REASONS[name]}"
    known = [*importlib.import_module(HOME).__all__, *(one.split(".")[-1] for one in MODULES)]
    hint = nearest(name, known) or "Do without it, or run the agent with the SDK itself"
    return f"{what}. {hint}"


_FINDER = AliasFinder(
    ROOT,
    MODULES,
    HOME,
    missing_name,
    "Call install_osmosis_alias() before the first import of osmosis_ai",
)

install_osmosis_alias = _FINDER.install
uninstall_osmosis_alias = _FINDER.uninstall
osmosis_alias = _FINDER.installed
"""The alias for the time of a `with` block."""
