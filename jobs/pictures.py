"""Pictures: `make pictures GROUP=g [AT="2026-03-01 03:12"] [MINUTES=30]`, `GROUP=g GENERATION=n` or `WHATIF=file`.

    from jobs.pictures import pictures_of
    pictures_of(".rollcall", "orders")["timeline"].show()          in a notebook, as a plotly figure

Knows how pictures are asked for and where they are put. Must not know what is in them (`pictures`).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jobs.group_facts import last_fact_ms, read_from_disk
from jobs.home import Home
from jobs.why import explanation_of
from pictures.ownership import ownership
from pictures.rebalance import rebalance
from pictures.scene import Curves, Lanes
from pictures.slack import heartbeat_slack
from pictures.stretch import NothingToShow, stretch_of
from pictures.sweep import sweep
from pictures.timeline import timeline
from programs.errors import UserError
from programs.timestamps import read_moment

if TYPE_CHECKING:
    import plotly.graph_objects as go

MINUTE_MS = 60_000
DEFAULT_MINUTES = 30
LONGEST_MINUTES = 24 * 60
MARGIN = 0.02


class PictureError(UserError):
    """A picture that cannot be drawn; the text says why."""


class Asked(NamedTuple):
    """The texts of a command line, empty for what is not asked: see `rollcall pictures --help`."""

    group_id: str
    generation: str = ""
    at: str = ""
    minutes: str = ""
    whatif: str = ""


def scenes_of(
    home: str | Path | Home, group_id: str, at: str | None = None, minutes: float = DEFAULT_MINUTES
) -> dict[str, Lanes | Curves]:
    """What there is to draw of a group, by the picture's name: timeline, ownership, slack.

    at: the middle of the time that is shown; None: the time ends with the group's latest fact. The time is cut to the
    group's own. Raises, in this order: PictureError for minutes; HomeError; NoSuchGroup; MomentError; PictureError.
    """
    if not 0 < minutes <= LONGEST_MINUTES:
        raise PictureError(f"MINUTES={minutes:g}: is not between 0 and {LONGEST_MINUTES}.")
    place = home if isinstance(home, Home) else Home(home)
    _check_local(place)
    read = read_from_disk(place, group_id)
    last_ms = last_fact_ms(place, group_id)
    length_ms = int(minutes * MINUTE_MS)
    to_ms = last_ms if at is None else min(read_moment(at).from_ms + length_ms // 2, last_ms)
    try:
        stretch = stretch_of(group_id, read, to_ms - length_ms, to_ms)
    except NothingToShow as nothing:
        raise PictureError(str(nothing)) from None
    first_ms = max(stretch.from_ms, min(one.joined_at_ms for one in stretch.memberships))
    room_ms = int(MARGIN * (to_ms - first_ms)) + 1
    stretch = stretch_of(group_id, read, first_ms - room_ms, to_ms + room_ms)
    return {"timeline": timeline(stretch), "ownership": ownership(stretch), "slack": heartbeat_slack(stretch)}


def rebalance_scene(
    home: str | Path | Home, group_id: str, generation_id: int | None = None, at: str | None = None
) -> Lanes:
    """The rebalance that `make why` explains, as swim lanes. Raises as explanation_of does, then PictureError."""
    place = home if isinstance(home, Home) else Home(home)
    found = explanation_of(place, group_id, generation_id, at)
    _check_local(place)
    return rebalance(found, read_from_disk(place, group_id))


def rebalance_figure(
    home: str | Path | Home, group_id: str, generation_id: int | None = None, at: str | None = None
) -> go.Figure:
    """As rebalance_scene, as a plotly figure."""
    from pictures.plotly_page import figure_of

    return figure_of(rebalance_scene(home, group_id, generation_id, at))


def pictures_of(
    home: str | Path | Home, group_id: str, at: str | None = None, minutes: float = DEFAULT_MINUTES
) -> dict[str, go.Figure]:
    """As scenes_of, as plotly figures."""
    from pictures.plotly_page import figure_of

    return {name: figure_of(scene) for name, scene in scenes_of(home, group_id, at, minutes).items()}


def sweep_of(file: Path) -> dict[str, Lanes | Curves]:
    """What there is to draw of a sweep that `make whatif` left in a file. Raises PictureError: there is none in it."""
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        return sweep(rows)
    except OSError as error:
        raise PictureError(f"WHATIF={file}: cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError):
        raise PictureError(f"WHATIF={file}: does not hold the rows that make whatif leaves.") from None
    except NothingToShow as nothing:
        raise PictureError(f"WHATIF={file}: {nothing}") from None


def write_pictures(scenes: dict[str, Any], folder: Path, prefix: str) -> list[Path]:
    """Writes each scene as a page of HTML and as a PNG; returns the files. Raises PictureError: the folder is none."""
    from pictures.plotly_page import as_html
    from pictures.png import write_png

    files: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_library(folder)
        for name, scene in scenes.items():
            page, image = (folder / f"{prefix}-{name}.{form}" for form in ("html", "png"))
            page.write_text(as_html(scene), encoding="utf-8")
            write_png(scene, image)
            files += [page, image]
    except OSError as error:
        raise PictureError(f"OUT={folder}: cannot be written to: {error.strerror}.") from None
    return files


def write_library(folder: Path) -> None:
    """Puts plotly's own file beside the pages, so that they can be opened without a network."""
    from plotly.offline import get_plotlyjs

    library = folder / "plotly.min.js"
    if not library.exists():
        library.write_text(get_plotlyjs(), encoding="utf-8")


def _check_local(home: Home) -> None:
    if not home.is_local:
        raise PictureError(f"{home.shown}: pictures are drawn of a home on this machine's disk.")


def file_name(group_id: str) -> str:
    """A group's id as the beginning of a file's name."""
    return re.sub(r"[^\w.-]+", "_", group_id)[:80].strip(".") or "group"


def draw(home: Home, asked: Asked, folder: Path) -> list[Path]:
    """Draws what is asked for into files of a folder. Raises UserError: what is asked for cannot be drawn."""
    if asked.whatif:
        return write_pictures(sweep_of(Path(asked.whatif)), folder, "whatif")
    if not asked.group_id:
        raise PictureError("GROUP= names no group: make pictures GROUP=orders.")
    return write_pictures(_scenes(home, asked), folder, file_name(asked.group_id))


def _scenes(home: Home, asked: Asked) -> dict[str, Lanes | Curves]:
    if not asked.generation:
        return scenes_of(home, asked.group_id, asked.at or None, _minutes(asked.minutes))
    if not asked.generation.isdecimal():
        raise PictureError(f"GENERATION={asked.generation}: is not a whole number.")
    return {f"generation-{asked.generation}": rebalance_scene(home, asked.group_id, int(asked.generation))}


def _minutes(text: str) -> float:
    try:
        return float(text) if text else DEFAULT_MINUTES
    except ValueError:
        raise PictureError(f"MINUTES={text}: is not a number.") from None
