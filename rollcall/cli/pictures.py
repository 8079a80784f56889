"""Pictures: `make pictures GROUP=g [AT="2026-03-01 03:12"] [MINUTES=30]`, `GROUP=g GENERATION=n` or `WHATIF=file`.

    from rollcall.cli.pictures import pictures_of
    pictures_of(".rollcall", "orders")["timeline"]                 in a notebook

Knows how pictures are asked for and where they are put. Must not know what is in them (`rollcall.answers.pictures`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rollcall.answers.moments import Moments
from rollcall.answers.pictures.lag import lag_around, with_lag
from rollcall.answers.pictures.ownership import ownership
from rollcall.answers.pictures.period import NothingToShow, latest_period
from rollcall.answers.pictures.scene import Curves, Lanes
from rollcall.answers.pictures.slack import heartbeat_slack
from rollcall.answers.pictures.svg import Svg, svg_of
from rollcall.answers.pictures.sweep import sweep
from rollcall.answers.pictures.timeline import rebalance, timeline
from rollcall.cli.why import explanation_of
from rollcall.jobs.group_facts import GroupFacts
from rollcall.programs.errors import UserError
from rollcall.tables.home import Home

DEFAULT_MINUTES = 30
LONGEST_MINUTES = 24 * 60


class PictureError(UserError):
    """The picture cannot be drawn; the text says why."""


class PictureOptions(NamedTuple):
    """The options of the command line, empty if not given: see `rollcall pictures --help`."""

    group_id: str
    generation: str = ""
    at: str = ""
    minutes: str = ""
    whatif: str = ""


def scenes_of(
    home: str | Path | Home, group_id: str, at: str | None = None, minutes: float = DEFAULT_MINUTES
) -> dict[str, Lanes | Curves]:
    """The scenes of a group, by the picture's name: timeline, ownership, slack.

    at: the middle of the time that is shown; None: the time ends with the group's latest fact. The time is cut to the
    group's own. Raises, in this order: PictureError for minutes; HomeError; NoSuchGroup; MomentError; PictureError.
    """
    if not 0 < minutes <= LONGEST_MINUTES:
        raise PictureError(f"--minutes {minutes:g}: is not between 0 and {LONGEST_MINUTES}.")
    place = home if isinstance(home, Home) else Home(home)
    _check_local(place)
    facts = GroupFacts(place, group_id)
    at_ms = None if at is None else Moments(place).read(at).from_ms
    try:
        period = latest_period(group_id, facts.read, facts.last_ms(), at_ms, minutes)
    except NothingToShow as nothing:
        raise PictureError(str(nothing)) from None
    asked, members = facts.asked(), timeline(period)
    members = members if asked is None else with_lag(members, asked)
    return {"timeline": members, "ownership": ownership(period), "slack": heartbeat_slack(period)}


def rebalance_scenes(
    home: str | Path | Home, group_id: str, generation_id: int | None = None, at: str | None = None
) -> dict[str, Lanes | Curves]:
    """The scenes of the rebalance that `make why` explains: `rebalance`, its swim lanes, and `lag`, its cost, if known.

    Raises as explanation_of does, then PictureError.
    """
    place = home if isinstance(home, Home) else Home(home)
    found = explanation_of(place, group_id, generation_id, at)
    _check_local(place)
    facts = GroupFacts(place, group_id)
    scenes: dict[str, Lanes | Curves] = {"rebalance": rebalance(found, facts.read)}
    asked = facts.asked()
    if asked is not None and found.cost is not None:
        scenes["lag"] = lag_around(found, found.cost, asked)
    return scenes


def pictures_of(
    home: str | Path | Home, group_id: str, at: str | None = None, minutes: float = DEFAULT_MINUTES
) -> dict[str, Svg]:
    """Return the scenes of scenes_of as pictures for a notebook."""
    return {name: svg_of(scene) for name, scene in scenes_of(home, group_id, at, minutes).items()}


def sweep_of(file: Path) -> dict[str, Lanes | Curves]:
    """The scenes of a sweep in a file of `make whatif`. Raises PictureError: the file has no sweep."""
    try:
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
        return sweep(rows)
    except OSError as error:
        raise PictureError(f"--whatif {file}: cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError):
        raise PictureError(f"--whatif {file}: does not hold the rows that `rollcall whatif` leaves.") from None
    except NothingToShow as nothing:
        raise PictureError(f"--whatif {file}: {nothing}") from None


def write_pictures(scenes: Mapping[str, Lanes | Curves], folder: Path, prefix: str) -> list[Path]:
    """Write each scene as an SVG file and return the files. Raises PictureError: the folder is a file."""
    files = {folder / f"{prefix}-{name}.svg": scene for name, scene in scenes.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, scene in files.items():
            file.write_text(svg_of(scene), encoding="utf-8")
    except OSError as error:
        raise PictureError(f"--out {folder}: cannot be written to: {error.strerror}.") from None
    return list(files)


def _check_local(home: Home) -> None:
    if not home.is_local:
        raise PictureError(f"{home.shown}: pictures are drawn of a home on this machine's disk.")


def file_name(group_id: str) -> str:
    """Return a group's id as the beginning of a file name."""
    return re.sub(r"[^\w.-]+", "_", group_id)[:80].strip(".") or "group"


def draw(home: Home, asked: PictureOptions, folder: Path) -> list[Path]:
    """Draws the pictures of a question into files of a folder. Raises UserError: they cannot be drawn."""
    if asked.whatif:
        return write_pictures(sweep_of(Path(asked.whatif)), folder, "whatif")
    if not asked.group_id:
        raise PictureError("GROUP names no group.")
    return write_pictures(_scenes(home, asked), folder, file_name(asked.group_id))


def _scenes(home: Home, asked: PictureOptions) -> dict[str, Lanes | Curves]:
    if not asked.generation:
        return scenes_of(home, asked.group_id, asked.at or None, _minutes(asked.minutes))
    if not asked.generation.isdecimal():
        raise PictureError(f"--generation {asked.generation}: is not a whole number.")
    found = rebalance_scenes(home, asked.group_id, int(asked.generation))
    return {f"generation-{asked.generation}{'-lag' * (name == 'lag')}": scene for name, scene in found.items()}


def _minutes(text: str) -> float:
    try:
        return float(text) if text else DEFAULT_MINUTES
    except ValueError:
        raise PictureError(f"--minutes {text}: is not a number.") from None
