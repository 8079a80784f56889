"""What the recorded brokers printed, and the truth about it, for the tests of this room."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from rollcall.inputs.printed.groups.own_epochs import own_history
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, LoggedRebalance
from rollcall.inputs.printed.reading import FileRead, merged, read_files
from rollcall.inputs.printed.story import groups_in
from tests.source_tree import ROOT

CAPTURES = ROOT / "tests" / "captures"
FIELD = ROOT / "tests" / "printed" / "field"
INCIDENTS = ROOT / "tests" / "printed" / "incidents"
LOGS = {"brokers": ("server-*.log.gz",), "all": ("server-*.log.gz", "clients/*.gz"), "members": ("clients/*.gz",)}
"""Whose logs of an incident."""
BROKERS = ROOT / "tests" / "printed" / "brokers"
CLIENTS = ROOT / "tests" / "printed" / "clients"
KAFKA_4_4 = ROOT / "tests" / "printed" / "k44"
NAMES = sorted(path.name.removesuffix(".log.gz") for path in BROKERS.glob("*.log.gz"))
CASES = sorted(path.stem for path in FIELD.glob("*.json"))


def recorded_logs() -> Iterator[tuple[str, list[str]]]:
    """Every recorded log alone, and the logs of each incident: of brokers, of clients, and of both."""
    for path in sorted((*BROKERS.glob("*.gz"), *CLIENTS.glob("*.gz"), *FIELD.glob("*.log"))):
        yield path.name, [str(path)]
    for folder in sorted(INCIDENTS.iterdir()):
        brokers, clients = (sorted(map(str, folder.glob(one))) for one in ("server-*.gz", "clients/*.gz"))
        yield f"{folder.name}-brokers", brokers
        yield f"{folder.name}-clients", clients
        yield f"{folder.name}-all", [*brokers, *clients]


@cache
def read_of(name: str) -> FileRead:
    """The broker's log of a capture."""
    return read_files([str(BROKERS / f"{name}.log.gz")])[0]


@cache
def groups_of(name: str) -> dict[str, LoggedGroup]:
    """What the broker's log of a capture says, without its DEBUG lines, which nobody has."""
    return {group.group_id: group for group in groups_in(merged([read_of(name)]))}


def truth_of(name: str) -> dict[str, Any]:
    """What the driver of a capture knows of its groups."""
    known: dict[str, Any] = json.loads((CAPTURES / name / "truth.json").read_text())
    groups: dict[str, Any] = known["groups"]
    return groups


@cache
def truth_of_incident(name: str) -> dict[str, Any]:
    """What the driver of an incident did."""
    known: dict[str, Any] = json.loads((INCIDENTS / name / "truth.json").read_text())
    return known


@cache
def groups_of_case(case: str) -> dict[str, LoggedGroup]:
    """What a report's lines say."""
    return {group.group_id: group for group in groups_in(merged(read_files([str(FIELD / f"{case}.log")])))}


def expected_of(case: str) -> dict[str, Any]:
    """What a right answer says of a report."""
    expected: dict[str, Any] = json.loads((FIELD / f"{case}.json").read_text())
    return expected


def own_rebalances(facts: list[LoggedFact]) -> list[LoggedRebalance]:
    """What one client's lines say of its rebalances."""
    return own_history(facts).rebalances
