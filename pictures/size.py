"""How large a picture is, so that its lanes stay legible whether they are three or sixty.

Knows numbers alone.
"""

from __future__ import annotations

from pictures.scene import DISTINCT, Band, Bar, Lanes

WIDTH_PX = 1300
CURVES_HEIGHT_PX = 520
MARGIN_PX = 170
THINNEST_BAR = 0.002
"""The share of the picture's width that even the shortest bar has."""
SMALLEST_NAMED_BAR = 0.1
"""The share of the picture's width below which a bar has no room for a name."""
SMALLEST_BAND = 0.03
"""The share of the picture's width below which a band's label has no room."""


def lane_px(count: int) -> int:
    """How high one lane is."""
    return 34 if count <= 12 else 24 if count <= 30 else 18


def height_px(count: int) -> int:
    """How high a picture of so many lanes is."""
    return MARGIN_PX + max(count, 3) * lane_px(count)


def font_px(count: int) -> int:
    """The size of the names of so many lanes."""
    return 13 if count <= 30 else 11


def has_room(what: Band | Bar, scene: Lanes) -> bool:
    """Whether a band is wide enough for its label, or a bar for its name."""
    share = SMALLEST_BAND if isinstance(what, Band) else SMALLEST_NAMED_BAR
    return what.to_ms - what.from_ms >= share * (scene.to_ms - scene.from_ms)


def drawn_ms(bar: Bar, scene: Lanes) -> float:
    """How long a bar is drawn: at least long enough to be seen."""
    return max(bar.to_ms - bar.from_ms, THINNEST_BAR * (scene.to_ms - scene.from_ms))


def writes_names(scene: Lanes) -> bool:
    """Whether there are more kinds than colours, so that their names stand in the bars and not in a legend."""
    return len(scene.kinds) > len(DISTINCT)
