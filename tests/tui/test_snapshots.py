from __future__ import annotations

from collections.abc import Callable

import pytest
from scenes import SCENES, Scene, act
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

LARGEST = (200, 60)
"""What it has that 120 x 40 has not is room; `make slow` looks at it."""

CASES = [
    pytest.param(
        scene,
        size,
        id=f"{name}-{size[0]}x{size[1]}",
        marks=pytest.mark.slow if size == LARGEST else [],
    )
    for name, scene in SCENES.items()
    for size in scene.sizes
    if PICTURES.get(name) != size
]


class TextFile(SingleFileSnapshotExtension):
    """A snapshot that is a text file of its own."""

    _file_extension = "txt"
    _write_mode = WriteMode.TEXT


@pytest.mark.parametrize(("scene", "size"), CASES)
async def test_scene_looks_as_accepted(
    snapshot: SnapshotAssertion, scene: Scene, size: tuple[int, int]
) -> None:
    app = scene.make()
    async with app.run_test(size=size) as pilot:
        await act(scene)(pilot)
        assert styled_text(app) == snapshot(extension_class=TextFile)


@pytest.mark.parametrize("name", PICTURES)
def test_picture_of_a_screen_looks_as_accepted(
    snap_compare: Callable[..., bool], name: str
) -> None:
    scene = SCENES[name]
    assert snap_compare(scene.make(), terminal_size=PICTURES[name], run_before=act(scene))
