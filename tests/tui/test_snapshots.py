from __future__ import annotations

from collections.abc import Callable

import pytest
from scenes import SCENES, Scene, act

CASES = [
    pytest.param(scene, size, id=f"{name}-{size[0]}x{size[1]}")
    for name, scene in SCENES.items()
    for size in scene.sizes
]


@pytest.mark.parametrize(("scene", "size"), CASES)
def test_scene_looks_as_accepted(
    snap_compare: Callable[..., bool], scene: Scene, size: tuple[int, int]
) -> None:
    assert snap_compare(scene.make(), terminal_size=size, run_before=act(scene))
