"""What a home has of the clients that were there: their heartbeats, who came and went, and that each is reported once.

Knows the effects table's columns; must not know where a home is.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rollcall.schemas.membership_messages import beat_id
from tests.waiting import EVERY_S, WITHIN_S, until

PATIENCE_S = 120.0
A_RUN_MS = 60_000
"""No run of heartbeats is longer."""
A_REQUESTS_FACTS = 256
"""The facts of a request that makes its group begin at a multiple of this."""


class Reported:
    """A home's facts."""

    every_s = EVERY_S
    """How often the table is looked at while something is awaited."""
    patience_s = WITHIN_S

    def table(self, since_ms: int = 0) -> pa.Table:
        """The effects table as it is now. since_ms: files that are older need not be read."""
        raise NotImplementedError

    def now(self, since_ms: int = 0) -> Reported:
        """The facts of this moment, read once."""
        return _AtOneMoment(self.table(since_ms))

    def request_ids(self) -> set[str]:
        """Every request that any gateway has handed over."""
        raise NotImplementedError

    def effects(self, *kinds: str) -> list[dict[str, Any]]:
        """The facts of these kinds, in order, by their columns."""
        rows = self.table()
        chosen = rows.filter(pc.is_in(rows["effect"], pa.array(kinds))) if kinds else rows
        return sorted(chosen.to_pylist(), key=lambda row: (row["group_id"], row["at_ms"], row["seq"]))

    def await_answers(self) -> set[str]:
        """Until every request so far was answered, dropped or parked; their ids."""
        asked = self.request_ids()

        def are_answered() -> bool:
            now = self.now()
            return asked <= now.answered() | now.ids_of("request_parked")

        until(are_answered, "answers", self.patience_s, self.every_s)
        return asked

    def answered(self) -> set[str]:
        """Every request that has its answer, or the reason why it has none; a run, if all of its heartbeats have."""
        reported = self.ids_of("reply", "request_dropped", "heartbeats_taken")
        return reported | {request_id.rsplit("/", 2)[0] for request_id in reported if request_id.count("/") >= 2}

    def ids_of(self, *kinds: str) -> set[str]:
        """The requests that facts of these kinds name."""
        rows = self.table()
        return set(rows.filter(pc.is_in(rows["effect"], pa.array(kinds)))["request_id"].to_pylist())

    def taken_in_runs(self) -> list[str]:
        """The ids of all heartbeats of runs that were taken."""
        return [each for row in self.effects("heartbeats_taken") for each in beat_ids(row)]

    def heartbeats(self) -> list[tuple[str, int]]:
        """Every heartbeat of either protocol that was answered NONE, alone or in a run: the member's id, and when it
        arrived, in ms.
        """
        reported = [row for row in self.effects("reply") if row["error_code"] == "NONE"]
        alone = [row for row in reported if row["api"] in ("Heartbeat", "ConsumerGroupHeartbeat")]
        runs = [json.loads(row["detail"]) for row in self.effects("heartbeats_taken")]
        in_runs = [(run, member) for run in runs for member in run["taken"]]
        return [
            *((row["member_id"], row["received_at_ms"]) for row in alone),
            *((member["member_id"], run["from_ms"] + beat) for run, member in in_runs for beat in member["beats"]),
        ]


class _AtOneMoment(Reported):
    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def table(self, since_ms: int = 0) -> pa.Table:
        return self._rows


def beat_ids(fact: Mapping[str, Any]) -> list[str]:
    """The ids of the heartbeats in a `heartbeats_taken`: one run has several where deadlines cut it."""
    members = enumerate(json.loads(fact["detail"])["taken"])
    return [beat_id(fact["request_id"], place, beat) for place, one in members for beat in one["beats"]]


def await_heartbeats(reported: Reported, members: Mapping[str, str], within_s: float = PATIENCE_S) -> None:
    """Until each of these members has had a heartbeat of from now on answered, without an error."""
    now_ms = int(time.time() * 1000)
    wanted = set(members.values())

    def have_beaten() -> bool:
        beats = reported.now(now_ms - A_RUN_MS).heartbeats()
        return wanted <= {member_id for member_id, at_ms in beats if at_ms > now_ms}

    until(have_beaten, "heartbeats", within_s, reported.every_s)


def story(reported: Reported, group: str) -> list[dict[str, Any]]:
    """Who came and went, and every change of state."""
    kinds = ("member_id_given", "member_joined", "member_removed", "pending_member_removed", "state_changed")
    return [row for row in reported.effects(*kinds) if row["group_id"] == group]


def assert_reported_once(reported: Reported) -> None:
    """Every request that was handed over has one answer, or the one reason why it has none; no fact stands twice."""
    asked, reported = reported.await_answers(), reported.now()
    answers = Counter(
        [row["request_id"] for row in reported.effects("reply", "request_dropped")] + reported.taken_in_runs()
    )
    assert {request_id for request_id, count in answers.items() if count > 1} == set()
    assert asked <= reported.answered() | reported.ids_of("request_parked")
    assert reported.effects("request_repeated") == []
    places = Counter((row["group_id"], row["at_ms"], row["seq"]) for row in reported.effects())
    assert set(places.values()) == {1}


def assert_no_gap(reported: Reported) -> None:
    """The facts of a group's millisecond are numbered one by one, from a request's first number on."""
    seqs: dict[tuple[str, int], set[int]] = defaultdict(set)
    for row in reported.effects():
        seqs[row["group_id"], row["at_ms"]].add(row["seq"])
    gaps = {
        place: seq for place, found in seqs.items() for seq in found if seq % A_REQUESTS_FACTS and seq - 1 not in found
    }
    assert gaps == {}
