"""Tasks, games and MCP servers that others wrote: rollouts as verifiers makes them."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_servers import SERVERS
from test_games import TASKS
from third_party_packages import OURS, VERIFIERS, script_output

PACKAGES = {"tui_eval": OURS, "verifiers": VERIFIERS}
Found = tuple[dict[str, Any], dict[str, Any]]
"""What rollouts gave: ours, and those of verifiers."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What rollouts gave: ours, and those of verifiers."""
    given = {
        "tasks": TASKS,
        "servers": {
            name: {"config": server.config(name), "calls": server.calls}
            for name, server in SERVERS.items()
        },
    }
    ours, theirs = (
        script_output(
            package,
            "play_third_party.py",
            {**given, "module": module},
            tmp_path_factory.mktemp(module),
        )
        for module, package in PACKAGES.items()
    )
    return ours, theirs


@pytest.mark.xdist_group("played")
def test_tasks_are_scored_alike(found: Found) -> None:
    ours, theirs = (as_both_have_them(played["tasks"]) for played in found)
    assert len(theirs) > len(TASKS)
    assert ours == theirs


@pytest.mark.xdist_group("played")
def test_games_are_played_alike(found: Found) -> None:
    ours, theirs = (played["games"] for played in found)
    won = [rollout["metrics"]["is_won"] for rollout in theirs["by tags"]]
    assert sum(won) == len(won) == 3
    assert ours == theirs


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.xdist_group("played")
def test_tools_of_servers_give_the_same(found: Found, name: str) -> None:
    (our_tools, our_results), (their_tools, their_results) = (
        (tools, results) for tools, *results in (played["servers"][name] for played in found)
    )
    assert our_tools == their_tools
    assert len(our_results) == len(their_results) == len(SERVERS[name].calls)
    for call, our, their in zip(SERVERS[name].calls, our_results, their_results, strict=True):
        assert without_objects(our, their) == their, call


def as_both_have_them(tasks: dict[str, Any]) -> dict[str, Any]:
    """Rollouts without the answers of rows and the number of turns, in one order.

    The answer of a row is here the task's, and there its place.
    """
    for rollouts in tasks.values():
        for rollout in rollouts:
            del rollout["answer"]
            rollout["metrics"].pop("num_turns", None)
        rollouts.sort(key=lambda one: (one["example_id"], str(one["completion"])))
    return tasks


def without_objects(our: str, their: str) -> str:
    """Theirs, if it shows Python's objects in the place of images, links and blobs."""
    shows_objects = " meta=None" in their
    assert not shows_objects or "[" in our
    return their if shows_objects else our
