"""The options of `rollcall run`, checked before anything is started.

Knows which program each option is for. Must not start or open anything except the settings file and, for a moment, the
gateway's ports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rollcall.jobs.config import JobConfig
from rollcall.programs.errors import ConfigError
from rollcall.programs.settings import parse_topics, read_file
from rollcall.serve.gateway.settings import PREFIX, Settings
from rollcall.serve.listeners.addresses import Address, refuse_unusable
from rollcall.serve.page.settings import DEFAULT_PLACE, settings_of
from rollcall.tables.home import DEFAULT_HOME, Home

TOPICS = "topics"
NOWHERE = "0"
"""The value of --page for no page."""
_LOCALHOST = "127.0.0.1"


@dataclass(frozen=True)
class Choices:
    """The programs to run."""

    home: Home
    coordinator: tuple[str, ...]
    """The words of the coordinator's command line, without its home."""
    gateway: tuple[str, ...]
    """The same for the gateway."""
    settings: Settings | None
    """The gateway's settings; None if requests do not come through a gateway."""
    page: tuple[str, ...] | None
    """The words of the page's command line, without its home; None if it is not served."""
    seconds: float
    """How long to run; infinite: until a signal."""
    demo_topics: Mapping[str, int]
    """The topics of the demo fleet; empty if there is no fleet."""
    why_no_demo: str = ""
    """Why there is no fleet, though it was wanted."""

    @property
    def has_demo(self) -> bool:
        return bool(self.demo_topics)

    def refuse_what_is_in_use(self) -> None:
        """Raises HomeError: another job works in the home; ConfigError: the gateway cannot listen on a port."""
        with self.home.locked("make run"):
            pass
        if self.settings is not None:
            refuse_unusable(self.settings.listen, "--listen")
            if self.settings.metrics_listen is not None:
                refuse_unusable(self.settings.metrics_listen, "--metrics")


class RunOptions(NamedTuple):
    """The options of the command line, empty if not given: see `rollcall run --help`."""

    home: str = DEFAULT_HOME
    conf: Path | None = None
    listen: str = ""
    topics: str = ""
    upstream: str = ""
    metrics: str = ""
    is_demo_wanted: bool = True
    demo_seconds: str = ""
    page: str = ""

    @property
    def places(self) -> dict[str, str]:
        """Settings of the gateway, by their keys."""
        given = {"listen": self.listen, "upstream": self.upstream, "metrics.listen": self.metrics}
        return {f"{PREFIX}{key}": place for key, place in given.items() if place}


def choices(asked: RunOptions, demo_topics: Mapping[str, int]) -> Choices:
    """The programs that the command line asks for. demo_topics: the topics that the demo fleet reads.

    Raises ConfigError, in this order: an unreadable settings file, an unknown or wrong setting, seconds that are no
    number.
    """
    pairs = {} if asked.conf is None else read_file(asked.conf)
    places = asked.places
    is_behind_gateway = JobConfig.from_pairs(pairs).source == "delta"
    bare = Settings.from_pairs(pairs | places | {TOPICS: ""})
    why_no_demo = _why_no_demo(bare, is_behind_gateway)
    shown = {} if why_no_demo or not asked.is_demo_wanted else dict(demo_topics)
    topics = shown | parse_topics(pairs.get(TOPICS, "")) | parse_topics(asked.topics)
    topic_pairs = {TOPICS: ",".join(f"{topic}:{count}" for topic, count in topics.items())} if topics else {}
    settings = Settings.from_pairs(pairs | places | topic_pairs)
    upstream = {key: place for key, place in places.items() if key == f"{PREFIX}upstream"}
    file = () if asked.conf is None else ("--conf-file", str(asked.conf))
    return Choices(
        home=Home(asked.home),
        # Without topics in the settings every topic exists for the coordinator: a second gateway may have others.
        coordinator=(*file, *_set((topic_pairs if pairs.get(TOPICS) else {}) | upstream)),
        gateway=(*file, *_set(places | topic_pairs)),
        settings=settings if is_behind_gateway else None,
        page=_page(asked.page, file, pairs),
        seconds=_seconds(asked.demo_seconds),
        demo_topics=shown,
        why_no_demo=why_no_demo if asked.is_demo_wanted else "",
    )


def _page(place: str, file: tuple[str, ...], pairs: Mapping[str, str]) -> tuple[str, ...] | None:
    if place == NOWHERE:
        return None
    settings_of(place or DEFAULT_PLACE, pairs)
    return (*file, *(("--listen", place) if place else ()))


def _set(pairs: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for key, value in pairs.items() for word in ("--set", f"{key}={value}"))


def _why_no_demo(settings: Settings, is_behind_gateway: bool) -> str:
    if not is_behind_gateway:
        return "requests do not come through a gateway"
    if settings.upstream is not None:
        return "its topics are not the upstream's"
    if settings.users is not None or settings.ssl_certificate is not None:
        return "clients have to show who they are"
    return ""


def _seconds(text: str) -> float:
    try:
        seconds = float(text or "inf")
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds) or seconds < 0:
        raise ConfigError("is not a number of seconds", "--demo-seconds", text)
    return seconds


def reachable(address: Address) -> Address:
    """The address at which a client on this machine reaches a gateway that listens there."""
    return Address(_LOCALHOST, address.port) if address.is_wildcard else address
