"""The texts of a scene, all of them changed at once: names of others must not be markup to whatever draws them.

Knows where a scene has texts. Must not know a drawing library.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pictures.scene import Curves, Lanes


def change_lanes(scene: Lanes, change: Callable[[str], str]) -> Lanes:
    """The scene with each of its texts changed."""
    return replace(
        scene,
        title=change(scene.title),
        lanes=[change(name) for name in scene.lanes],
        kinds={name: replace(kind, label=change(kind.label)) for name, kind in scene.kinds.items()},
        bars=[replace(bar, text=change(bar.text)) for bar in scene.bars],
        bands=[replace(band, label=change(band.label)) for band in scene.bands],
        marks=[replace(mark, text=change(mark.text), label=change(mark.label)) for mark in scene.marks],
    )


def change_curves(scene: Curves, change: Callable[[str], str]) -> Curves:
    """As change_lanes."""
    return replace(
        scene,
        title=change(scene.title),
        x_label=change(scene.x_label),
        y_label=change(scene.y_label),
        curves=[replace(curve, name=change(curve.name)) for curve in scene.curves],
        levels={change(label): height for label, height in scene.levels.items()},
    )
