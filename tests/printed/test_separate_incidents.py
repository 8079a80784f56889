"""What lies too far apart is two incidents, and nobody holds others up for longer than a rebalance can last."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.inputs.printed.groups.own_part import LONGEST_MS
from rollcall.inputs.printed.reading import FileRead, merged, read_files
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.wording import holder_sentence
from tests.printed.printed import MEMBER, OTHER, group_of
from tests.printed.recorded import FIELD
from tests.source_tree import ROOT

CLIENTS = [*(ROOT / "tests/printed/clients").glob("*.gz"), *FIELD.glob("*.log")]
LEFT_RDKAFKA = (
    "%4|{}.000|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval (300000ms) exceeded by 55ms "
    "(adjust max.poll.interval.ms for long-running message processing): leaving group"
)
POLL_TIMEOUT = (
    "2023-01-{:02} 10:00:00,000 WARN [Consumer clientId=c, groupId=g] consumer poll timeout has expired. This means "
    "the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, which typically "
    "implies that the poll loop is spending too much time processing messages."
)
LEAVE = (
    "2023-01-{:02} 10:00:00,000 INFO [Consumer clientId=c, groupId=g] Member {} sending LeaveGroup request to "
    "coordinator b:9092 (id: 2147483646 rack: null) due to consumer poll timeout has expired."
)
PYTHON = "2023-01-{:02} 10:00:00,000 WARNING kafka.coordinator Heartbeat failed for group g1 because it is rebalancing"
AIOKAFKA = (
    "2023-01-{:02} 10:00:00,000 WARNING aiokafka.consumer.group_coordinator Heartbeat failed for group g1 because it "
    "is rebalancing"
)
KAFKAJS = (
    '{{"level":"ERROR","timestamp":"2023-01-{:02}T10:00:00.000Z","logger":"kafkajs","message":"[Runner] The group is '
    'rebalancing, re-joining","groupId":"g","memberId":"m","error":"The group is rebalancing, so a rejoin is needed"}}'
)


@pytest.mark.parametrize(
    "lines",
    [
        [LEFT_RDKAFKA.format(1_672_531_200 + day * 86_400) for day in (0, 1, 4)],
        [POLL_TIMEOUT.format(day) for day in (1, 2, 9)],
        [LEAVE.format(day, member) for day, member in ((1, MEMBER), (3, OTHER), (5, MEMBER))],
        [PYTHON.format(day) for day in (1, 3, 9)],
        [AIOKAFKA.format(day) for day in (1, 3, 9)],
        [KAFKAJS.format(day) for day in (1, 3, 9)],
    ],
    ids=["librdkafka", "java", "java-leaves", "kafka-python", "aiokafka", "kafkajs"],
)
def test_what_happens_on_three_days_is_three_rebalances_at_their_own_times(lines: list[str]) -> None:
    found = group_of(*lines).rebalances
    assert len(found) == 3
    assert [one.began_at_ms for one in found] == sorted({one.began_at_ms or 0 for one in found})
    assert [one.held_by for one in found] == [None] * 3


def test_a_member_that_leaves_under_another_id_had_joined_again() -> None:
    first, second = LEAVE.format(1, MEMBER), LEAVE.format(1, OTHER).replace("10:00:00", "10:00:20")
    assert [one.cause.member_id for one in group_of(first, second).rebalances] == [MEMBER, OTHER]
    assert len(group_of(first, LEAVE.format(1, MEMBER).replace("10:00:00", "10:00:01")).rebalances) == 1


def test_a_holder_that_is_only_inferred_is_said_to_be_so() -> None:
    at = "[2023-02-11 09:{}] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)"
    began = "Preparing to rebalance group g in state PreparingRebalance with old generation 63 (__consumer_offsets-1) "
    lines = (
        at.format("14:08,112", f"{began}(reason: Adding new member {MEMBER} with group instance id None)"),
        at.format("19:08,113", "Stabilized group g generation 64 (__consumer_offsets-1) with 3 members"),
    )
    (one,) = group_of(*lines).rebalances
    assert one.held_by is not None
    assert one.held_by.is_inferred
    assert "(inferred): that is a usual rebalance timeout" in holder_sentence(one.held_by)


def held_ms(read: FileRead) -> list[int]:
    groups = groups_in(merged([read]))
    held = [one.held_by for group in groups for one in group.rebalances if one.held_by is not None]
    return [one.length_ms for one in held if one.length_ms is not None and one.is_inferred]


@pytest.mark.parametrize("file", CLIENTS, ids=lambda path: path.name)
@pytest.mark.parametrize("times", [10, 1_000])
def test_nobody_is_inferred_to_hold_others_up_for_days_in_a_log_that_is_stretched(file: Path, times: int) -> None:
    (read,) = read_files([str(file)])
    if any(fact.dialect == "broker" for fact in read.facts):
        return
    first_ms = min((fact.at_ms for fact in read.facts if fact.at_ms is not None), default=0)
    read.facts = [
        fact if fact.at_ms is None else fact._replace(at_ms=first_ms + (fact.at_ms - first_ms) * times)
        for fact in read.facts
    ]
    assert max(held_ms(read), default=0) <= LONGEST_MS
