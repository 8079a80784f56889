"""Groups of Connect's workers and of Kafka Streams: what is said of who held what, and what is said to be unread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rollcall.answers.why.sections import lines_of
from rollcall.answers.why.telling import headline, remarks, stopped
from tests.connect_bytes import worker_assignment, worker_state
from tests.views.story import Story, one_member
from tests.why.reading import explained

SESSION_MS = 10_000


@dataclass
class Workers(Story):
    """A group of Connect's workers."""

    protocol_type: str = "connect"

    def arrive(self, at_ms: int, who: str, *owned: str) -> None:
        """A worker joins that runs this."""
        kind: dict[str, Any] = {"api_version": 3, "protocol_type": self.protocol_type}
        self.ask_to_join(at_ms, who, self.member_ids.get(who, ""), protocols={"sessioned": worker_state(owned)}, **kind)

    def give(self, at_ms: int, leader: str, **to_each: bytes) -> None:
        """The leader's SyncGroup, then those of the others."""
        self.sync(at_ms, leader, to_each)
        for who in set(to_each) - {leader}:
            self.sync(at_ms, who)


def played() -> Workers:
    """b comes and gets file-1 in a second round; it falls silent, and what it ran is held back for three seconds."""
    story = Workers("workers")
    story.arrive(1000, "a")
    story.give(1100, "a", a=worker_assignment(["file", "file-0", "file-1"]))
    story.arrive(2000, "b")
    story.arrive(2100, "a", "file", "file-0", "file-1")
    story.give(2200, "a", a=worker_assignment(revoked=["file-1"]), b=worker_assignment())
    story.arrive(2300, "a", "file", "file-0")
    story.arrive(2400, "b")
    story.give(2500, "a", a=worker_assignment(), b=worker_assignment(["file-1"]))
    for at_ms in range(3000, 12_000, 1000):
        story.heartbeat(at_ms, "a")
    story.let_time_pass(2500 + SESSION_MS)
    story.arrive(12_600, "a", "file", "file-0")
    story.give(12_700, "a", a=worker_assignment(delay_ms=3000))
    story.arrive(15_700, "a", "file", "file-0")
    story.give(15_800, "a", a=worker_assignment(["file-1"]))
    return story


def test_a_connector_and_its_tasks_are_reported_as_given_to_a_worker() -> None:
    found = explained(played(), 1)
    assert headline(found).endswith("3 connectors and tasks moved, nobody ran anything for 100 ms.")
    texts = {line.text for line in lines_of(found) if line.part == "moved"}
    assert texts == {"file (the connector itself): nobody -> a", "file-0: nobody -> a", "file-1: nobody -> a"}


def test_what_a_worker_keeps_is_not_moved_though_its_assignment_names_nothing() -> None:
    first, second = explained(played(), 2), explained(played(), 3)
    assert [(move.partition.number, move.before, move.after, move.later) for move in first.moves] == [
        (1, "a", None, "b")
    ]
    assert second.rebalance.cause.kind == "cooperative_followup"
    assert [(move.partition.number, move.before, move.after) for move in second.moves] == [(1, None, "b")]
    assert (first.kept_count, second.kept_count) == (2, 2)
    assert "at least one worker ran something all the time" in headline(first)


def test_what_a_lost_worker_ran_is_nobodys_for_as_long_as_the_leader_holds_it_back() -> None:
    expired, later = explained(played(), 4), explained(played(), 5)
    assert expired.rebalance.cause.kind == "session_expired"
    assert expired.held_back_ms == 3000
    assert "gives it to others 3 s after this assignment at the latest" in " ".join(remarks(expired))
    assert later.held_back_ms == 0
    assert [(move.partition.number, move.before, move.after) for move in later.moves] == [(1, None, "a")]
    assert "Longest without an owner: file 1, 3.400 s." in stopped(expired)


def test_bytes_of_another_protocol_type_are_said_to_be_unread() -> None:
    story = Workers("schemas", protocol_type="sr")
    story.arrive(1000, "a")
    story.give(1100, "a", a=b"{}")
    found = explained(story)
    assert found.kind.unread(found) == ["Members of protocol type sr speak bytes of their own, which are not read."]
    assert "who held what is unknown" in headline(found)


def test_bytes_that_connect_would_not_write_say_nothing() -> None:
    story = Workers("broken")
    story.arrive(1000, "a")
    story.give(1100, "a", a=b"\x00\x01\x00")
    assert "who held what is unknown" in headline(explained(story))


def test_a_streams_application_has_its_partitions_and_its_tasks_are_said_to_be_unread() -> None:
    story = one_member("streams", protocol="stream")
    found = explained(story)
    assert [(move.partition.number, move.after) for move in found.moves] == [(0, "a")]
    assert any("standby tasks" in text and "not read" in text for text in found.kind.unread(found))
