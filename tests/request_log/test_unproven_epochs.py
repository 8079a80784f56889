"""Causes beside an epoch that no answer proves: groups of storms on a real broker 4.3.1 (tests/peers_kafka), each with
what its server log says of every epoch.

Members are killed, stopped and closed, a topic grows, the broker is stopped and started: a log of `-restart` has lines
of other groups around that, whose connections show it. No line says how long sessions are, and a newcomer's answer may
name an epoch below the group's.
"""

from __future__ import annotations

import json

import pytest

from rollcall.schemas.causes import CauseKind
from rollcall.schemas.effects import MemberRemoved, RebalanceStarted
from tests.request_log.imported import Imported, imported
from tests.request_log.recordings import INCIDENTS

GROUPS = {
    "storm-1": "newer-1",
    "storm-3": "newer-1",
    "storm-13": "newer-0",
    "storm-41": "newer-0",
    "storm-51": "newer-0",
    "storm-55": "static-newer",
    "storm-55-restart": "newer-1",
}
RIGHT = {
    "storm-1": 21,
    "storm-3": 17,
    "storm-13": 37,
    "storm-41": 13,
    "storm-51": 29,
    "storm-55": 17,
    "storm-55-restart": 36,
}
"""How many causes each log tells as certain: a lower number is a loss, not a mistake."""


@pytest.fixture(scope="module", params=sorted(GROUPS))
def storm(request: pytest.FixtureRequest) -> tuple[str, Imported]:
    return request.param, imported(INCIDENTS / "storms" / f"{request.param}.log.gz")


def true_causes(name: str) -> dict[int, str]:
    """By the epoch or generation before it."""
    return {
        int(epoch): cause for epoch, cause in json.loads((INCIDENTS / "storms" / f"{name}.json").read_text()).items()
    }


def test_a_certain_cause_is_that_of_its_epoch(storm: tuple[str, Imported]) -> None:
    name, found = storm
    true = true_causes(name)
    begun = found.of_group(GROUPS[name], RebalanceStarted)
    certain = [each for each in begun if not each.cause.is_inferred and each.cause.kind != CauseKind.UNKNOWN]
    reported = [(each.from_generation_id, str(each.cause.kind)) for each in certain if each.from_generation_id in true]
    assert [row for row in reported if row not in true.items()] == []
    assert len(reported) == RIGHT[name]


def test_that_a_member_left_its_line_says_whatever_the_epoch_was(storm: tuple[str, Imported]) -> None:
    name, found = storm
    left = [each for each in found.of_group(GROUPS[name], MemberRemoved) if each.end_cause == "member_left"]
    assert bool(left) == ("member_left" in true_causes(name).values())
    assert not any(each.is_inferred for each in left)
