"""What really happened in each recorded incident: the truth that lies beside a capture's log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from rollcall.schemas.effects import RebalanceStarted
from tests.source_tree import ROOT

FOLDER = ROOT / "tests" / "captures"
BOTH_PROTOCOLS = ("n-classic-mixed", "o-consumer-protocol", "q-consumer-slow")
"""Captures whose truth has groups of either protocol, and whose logs have the lines of both."""
OF_LAG = "t-lag"
"""The capture with the lines that lag is known from; its groups are of either protocol too.

Its last line is not the broker's: the recording left METADATA out, and this one says which topic each id is, as
truth.json does.
"""
NAMES = sorted({path.parent.name for path in FOLDER.glob("*/requests.log.gz")} - {*BOTH_PROTOCOLS, OF_LAG})
NEWER_PROTOCOL = "app-new-protocol"


@cache
def truth(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name / "truth.json").read_text())
    return found


def groups(name: str) -> dict[str, dict[str, Any]]:
    """The groups of the classic protocol that anybody ever joined."""
    recorded = truth(name)["groups"]
    found = {group: what for group, what in recorded.items() if what["generations"] and group != NEWER_PROTOCOL}
    assert found
    return found


def consumer_groups(name: str) -> dict[str, dict[str, Any]]:
    """What is true of each group of the newer protocol."""
    found = {group: what["consumer"] for group, what in truth(name)["groups"].items() if what.get("consumer")}
    assert found
    return found


def host_at(name: str, label: str, at_ms: int) -> str:
    """Where a member ran at a time: some are started anew on another host."""
    starts = [event for event in truth(name)["timeline"] if event["action"] == "start" and event["member"] == label]
    return str([event["host"] for event in starts if event["t_ms"] <= at_ms][-1])


def certain_and_wrong(started: Iterable[RebalanceStarted], true: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Of the rebalances reported as certain, those that never were, or were reported before.

    true: from generation, cause and culprit of each.
    """
    left, wrong = [tuple(row) for row in true], []
    for effect in started:
        row = (effect.from_generation_id, str(effect.cause.kind), effect.cause.member_id)
        if row in left:
            left.remove(row)
        elif not effect.cause.is_inferred:
            wrong.append(row)
    return wrong
