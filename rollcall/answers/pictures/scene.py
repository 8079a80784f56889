"""What a picture shows, before it is drawn: lanes with bars, bands and marks over time, or curves.

Times are ms since the epoch, shown in UTC. Knows only shapes; must not know a drawing library, nor what they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Kind:
    """A kind of bar or mark: its label and its colour; colours that people with colour blindness can tell apart."""

    label: str
    colour: str


@dataclass(frozen=True)
class Bar:
    """Something that lasted, in a lane (its place from the top)."""

    lane: int
    from_ms: int
    to_ms: int
    kind: str
    text: str


@dataclass(frozen=True)
class Band:
    """A period of time behind all lanes."""

    from_ms: int
    to_ms: int
    label: str
    is_shaded: bool


@dataclass(frozen=True)
class Mark:
    """A moment in a lane."""

    lane: int
    at_ms: int
    kind: str
    symbol: str
    """`cross`, `down`, `up` or `star`."""
    text: str
    label: str = ""
    """What is written beside the mark, on its right or left."""
    is_label_left: bool = False

    @property
    def height(self) -> float:
        """Its height in lanes from the top: a star is on the upper edge of its lane, so that it hides nothing."""
        return self.lane - 0.4 if self.symbol == "star" else float(self.lane)


@dataclass(frozen=True)
class Curve:
    """Points that belong together; a height of NaN breaks the line."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    is_pale: bool = False
    """Drawn pale and without a name, behind the others."""
    is_dotted: bool = False
    """Drawn with marked points and thin lines between them."""


@dataclass(frozen=True)
class Curves:
    title: str
    x_label: str
    y_label: str
    curves: list[Curve]
    is_time: bool
    """Whether x is ms since the epoch."""
    levels: dict[str, float] = field(default_factory=dict)
    """Named heights across the whole picture."""
    lines: list[int] = field(default_factory=list)
    """Moments that cut through it."""
    span: tuple[int, int] | None = None
    """The first and last x; None: those of the points."""
    nothing: str = ""
    """The text shown if there is no curve."""


@dataclass(frozen=True)
class Lanes:
    title: str
    from_ms: int
    to_ms: int
    lanes: list[str]
    kinds: dict[str, Kind]
    """In the order of the legend."""
    bars: list[Bar]
    bands: list[Band] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    """Moments that cut through all lanes."""
    colours: dict[str, str] = field(default_factory=dict)
    """The colours of lanes, by name, which are drawn beside the names."""
    below: Curves | None = None
    """Curves under the lanes, over the same time."""
    nothing: str = ""
    """The text shown if there is no lane."""


@dataclass(frozen=True)
class Column:
    """How many of a kind there were in a period of time."""

    from_ms: int
    to_ms: int
    kind: str
    count: int
    text: str
    link: str = ""
    """An address that it leads to."""


@dataclass(frozen=True)
class Columns:
    """A picture of numbers over time, each kind upon the one before."""

    title: str
    from_ms: int
    to_ms: int
    y_label: str
    kinds: dict[str, Kind]
    columns: list[Column]
    chosen: tuple[int, int] | None = None
    """A span that is marked."""


# Colours that people with colour blindness can tell apart (after Okabe and Ito), paler ones for what is healthy.
HEALTHY, PALE, HELD_UP, NEARLY, PARTLY = "#9fd3c7", "#c9ced6", "#e69f00", "#f0e442", "#b9c96a"
SILENT, ALARM, COMING, GOING, CULPRIT = "#8a8f98", "#d55e00", "#009e73", "#56b4e9", "#b3003c"
DISTINCT = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#332288"),
    *("#88ccee", "#882255", "#44aa99", "#999933", "#aa4499", "#117733", "#ddcc77", "#661100"),
)


def colour_of(place: int) -> str:
    """A colour for each index; after the last they begin again."""
    return DISTINCT[place % len(DISTINCT)]
