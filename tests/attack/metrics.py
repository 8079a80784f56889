"""Hostile names in metrics, and hostile names under which a stranger asks for them.

Watches that a scrape reads whole lines, that names which differ are values which differ, that no counter falls, and
that no stranger's name is taken for one's own. Knows the texts that are written; must not know a history.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from random import Random
from typing import Any, cast

from rollcall.programs.visible import visible
from rollcall.serve.exporter.figures import _KLAG_PARTITION, Figures, Samples, _gauge
from rollcall.serve.exporter.history import ExportHistory
from rollcall.serve.exporter.labels import OTHERS, label_value
from rollcall.serve.exporter.places import Chosen
from rollcall.serve.exporter.serving import _END, _FamilyText, _written
from rollcall.serve.exporter.settings import ExportSettings
from rollcall.serve.listeners.hosts import is_known
from tests.attack import hostile
from tests.attack.attacked import Attacked, Finding
from tests.exporter.scraped import Scraped, scraped

PIECES = (
    *("\\", "\\\\", "n", "r", "x0a", "u2028", "U000e0001", '"', "{", "}", ",", "=", "#", " 1", OTHERS),
    *("\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\t", "\x00", "\u00a0"),
    *("\n# TYPE x counter\n", "\n# EOF\n", '"} 1\nvictim{a="', label_value(OTHERS), "\ud800", "\u6f22"),
)
OWN = ("metrics.example", "rollcall-metrics.monitoring.svc")
"""The names that are given to a server."""
HOSTS = (
    *("evil.example", "localhost", "LOCALHOST", "127.0.0.1", "[::1]", "[fd00::7]", "[evil.example]", "::1", "0x7f.1"),
    *("127.0.0.1.evil.example", "localhost.evil.example", "evil.example, localhost", "user@localhost", "", *OWN),
)
JOINTS = (
    "",
    ".",
    "..",
    ":",
    ":80",
    ":80:80",
    ",",
    ", ",
    "@",
    "/",
    "#",
    "?",
    "%",
    " ",
    "\t",
    "[",
    "]",
    "\x00",
    "é",
    "\\",
)
SERVERS = ({"127.0.0.1", *OWN}, {"", *OWN})
"""The names of servers; one that listens on `:9308` has an empty one among them."""


class Metrics(Attacked):
    """Groups, topics and clients of hostile names by name and in the sum, and Host headers made of known and others."""

    name = "metrics"
    slow_s = 2.0

    def __init__(self) -> None:
        self._series = self._known = 0

    def case(self, random: Random) -> bytes:
        names = [name_of(random) for _ in range(random.choice((2, 3, 5, 10)))]
        names += [label_value(name) for name in names if random.random() < 0.3]
        hosts = [host_of(random) for _ in range(10)]
        return json.dumps([random.randrange(1000), names, hosts]).encode()

    def play(self, case: bytes) -> int:
        seed, listed, hosts = json.loads(case)
        names = list(dict.fromkeys(listed))
        values = {label_value(name) for name in names}
        if len(values) != len(names) or OTHERS in values:
            raise Finding("two names are one value")
        if any(visible(value) != value for value in values):
            raise Finding("a value has a character that acts")
        self._export(Random(seed), names)
        for host in hosts:
            self._ask(host)
        return len(names) + len(hosts)

    def _export(self, random: Random, names: Sequence[str]) -> None:
        """Some of the groups by name and the others in the sum, and then others by name."""
        figures, before = Figures(cast(ExportHistory, None), ExportSettings()), dict[tuple[str, ...], float]()
        seen = frozenset[str]()
        rows: list[dict[str, Any]] = [{"group_id": name, "cause": random.choice(names), "n": 1} for name in names]
        for _ in range(3):
            named = frozenset(name for name in names if random.random() < 0.7)
            seen |= {*names}
            figures.chosen = Chosen(named, frozenset(names) - named, seen)
            owners: Samples = {("", one, random.choice(names), "0", *random.choices(names, k=3)): 1.0 for one in names}
            families = (
                _gauge("groups", 'How " \\ many', ("consumergroup", "topic"), figures._summed(rows, "n", "cause")),
                _gauge("seconds", "How old", _KLAG_PARTITION, owners),
                figures._counter("rebalances", "Rebalances", rows, "n", "cause"),
            )
            found = _read([_written(family) for family in families])
            self._series += sum(map(len, found.values()))
            if len(found["seconds"]) != len(names) or sum(found["groups"].values()) != sum(row["n"] for row in rows):
                raise Finding("series are lost, or one that nobody has is there")
            counted = found["rollcall_group_rebalances_total"]
            if any(counted[key] < before[key] for key in counted.keys() & before.keys()):
                raise Finding("a counter falls")
            before |= counted
            for row in rows:
                row["n"] += random.randrange(3)
            rows.append({"group_id": random.choice(names), "cause": "", "n": 1})

    def _ask(self, header: str) -> None:
        if any(is_known(header, names) for names in SERVERS):
            self._known += 1
            if not _is_own(header):
                raise Finding("a stranger's name is known")

    def figures(self) -> str:
        return f"{self._series} series, {self._known} hosts known"


def _read(families: Sequence[_FamilyText]) -> dict[str, Scraped]:
    """What Prometheus finds in either format. Raises Finding, and whatever its reader raises."""
    plain = b"".join(part for each in families for part in each.plain)
    other = b"".join([*(part for each in families for part in each.openmetrics), _END])
    for text in (plain.decode(), other.decode()):
        if text.splitlines() != text.removesuffix("\n").split("\n"):
            raise Finding("a name makes a line")
    found = scraped(plain)
    if found != scraped(other, is_openmetrics=True):
        raise Finding("the two formats differ")
    return found


def _is_own(header: str) -> bool:
    """Return True if a browser that sends this was told one of the server's names, or an address."""
    host, colon, port = header.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = header, ""
    if port and not port.isdecimal():
        return False
    host = host.removeprefix("[").removesuffix("]").removesuffix(".").lower()
    if host in ("localhost", *OWN):
        return True
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def name_of(random: Random) -> str:
    """A name of a few pieces that mean something in the text, or a hostile one."""
    if random.random() < 0.1:
        return hostile.text(random)
    return "".join(random.choice(PIECES) for _ in range(random.randrange(6)))


def host_of(random: Random) -> str:
    """A Host header as a server hands it over: its bytes are characters."""
    pieces = [random.choice(HOSTS)]
    for _ in range(random.choice((0, 1, 1, 2))):
        pieces += [random.choice(JOINTS), random.choice((*HOSTS, hostile.text(random)))]
    return "".join(pieces).encode("utf-8", "surrogatepass").decode("latin-1")
