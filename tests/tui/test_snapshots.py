from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from scenes import SCENES, act, settle
from styled_text import styled_text
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

PICTURES = {
    "running": (120, 40),
    "trajectory-rich": (120, 40),
    "suite": (120, 40),
    "home": (120, 40),
    "form-ready": (120, 40),
    "compare": (120, 40),
    "trajectories": (120, 40),
    "help": (80, 24),
}
"""One scene of each screen, at the size of its picture; what is text is easier to review."""

LARGE, SMALL, LARGEST = (120, 40), (80, 24), (200, 60)

KEEPS_ITS_PLACE = {
    *("watching", "numbers", "worker-held-numbers", "faults-numbers", "zoomed", "columns-wide"),
    *(
        "suite-paused",
        "suite-quit",
        "trajectory-tools",
        "tool-raised",
        "tool-raised-whole",
        "error",
    ),
    *("trajectories-top", "trajectories-copy", "trajectories-group"),
}
"""Scenes that are not the same made small as begun small: what was scrolled to or said stays."""

MADE_SMALL = SCENES.keys() - KEEPS_ITS_PLACE - PICTURES.keys()
"""Scenes whose small picture is what is left once the terminal of the large one shrinks."""


def is_slow(name: str, size: tuple[int, int]) -> bool:
    """Whether `make slow` alone begins a scene at a size.

    The largest has nothing but room that 120 x 40 has not; the small one follows from that.
    """
    return size == LARGEST or (size == SMALL and name in MADE_SMALL)


CASES = [
    pytest.param(
        name,
        size,
        id=f"{name}-{size[0]}x{size[1]}",
        marks=pytest.mark.slow if is_slow(name, size) else [],
    )
    for name, scene in SCENES.items()
    for size in scene.sizes
    if PICTURES.get(name) != size
]

ACCEPTED = Path(__file__).parent / "__snapshots__" / "test_snapshots"


def accepted(name: str, size: tuple[int, int]) -> str:
    """The accepted snapshot of a scene that began at a size."""
    test = f"test_scene_looks_as_accepted[{name}-{size[0]}x{size[1]}].txt"
    return (ACCEPTED / test).read_text()


class TextFile(SingleFileSnapshotExtension):
    """A snapshot that is a text file of its own."""

    _file_extension = "txt"
    _write_mode = WriteMode.TEXT


@pytest.mark.parametrize(("name", "size"), CASES)
async def test_scene_looks_as_accepted(
    snapshot: SnapshotAssertion, name: str, size: tuple[int, int]
) -> None:
    scene = SCENES[name]
    app = scene.make()
    async with app.run_test(size=size) as pilot:
        await act(scene)(pilot)
        assert styled_text(app) == snapshot(extension_class=TextFile)
        if size != LARGE or name not in MADE_SMALL or snapshot.session.update_snapshots:
            return
        await pilot.resize_terminal(*SMALL)
        await settle(pilot)
        assert styled_text(app) == accepted(name, SMALL)


@pytest.mark.parametrize("name", ["form", "suite-ended", "paused"])
async def test_a_terminal_that_grows_shows_what_a_large_one_would(name: str) -> None:
    app = SCENES[name].make()
    async with app.run_test(size=SMALL) as pilot:
        await act(SCENES[name])(pilot)
        await pilot.resize_terminal(*LARGE)
        await settle(pilot)
        assert styled_text(app) == accepted(name, LARGE)


@pytest.mark.parametrize("name", PICTURES)
def test_picture_of_a_screen_looks_as_accepted(
    snap_compare: Callable[..., bool], name: str
) -> None:
    scene = SCENES[name]
    assert snap_compare(scene.make(), terminal_size=PICTURES[name], run_before=act(scene))
