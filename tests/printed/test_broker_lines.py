"""A broker's lines: what may stand before and behind a message, and what its reasons say; samples hold its wordings."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rollcall.inputs.printed.broker_version import broker_version_in
from rollcall.inputs.printed.dialects.catalog import BROKERS
from rollcall.inputs.printed.groups.reasons import read_reason
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.files import BLOCK_BYTES
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import fact_of, merged, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import CauseKind
from tests.printed.printed import MEMBER
from tests.printed.recorded import KAFKA_4_4

BEGAN = "Preparing to rebalance group orders in state Stable with old generation 7 (reason: a reason)"


@pytest.mark.parametrize(
    ("heading", "broker_id", "partition"),
    [
        ("[GroupCoordinator 1]: ", "1", None),
        ("[GroupCoordinator id=1 topic=__consumer_offsets partition=7] ", "1", 7),
        ("", "", None),
    ],
)
def test_a_message_is_read_behind_each_heading_and_bare(heading: str, broker_id: str, partition: int | None) -> None:
    fact = fact_of(Entry("server.log", 3, f"{heading}{BEGAN}.", 1000))
    assert fact is not None
    assert (fact.kind, fact.group_id, fact.generation_id) == (FactKind.REBALANCE_BEGAN, "orders", 7)
    assert (fact.broker_id, fact.partition, fact.at_ms) == (broker_id, partition, 1000)


@pytest.mark.parametrize("length", range(1, len(" (kafka.coordinator.group.GroupCoordinator)")))
def test_a_line_that_is_cut_within_its_logger_has_its_whole_message(length: int) -> None:
    message = (
        f"Assignment received from leader {MEMBER} for group orders for generation 7. The group has 1 members, 0 of "
    )
    line = f"[GroupCoordinator 1]: {message}which are static. (kafka.coordinator.group.GroupCoordinator)"
    fact = fact_of(Entry("server.log", 1, line[:-length].rstrip()))
    assert fact is not None
    assert (fact.kind, fact.group_id, fact.members) == (FactKind.ASSIGNMENT_RECEIVED, "orders", 1)


def test_a_client_that_names_a_group_is_no_broker() -> None:
    text = "[Consumer clientId=a, groupId=orders] Member x in group orders has failed, removing it from the group"
    assert BROKERS.read(Entry("app.log", 1, text))[1] is None


@pytest.mark.parametrize(
    ("reason", "kind", "candidates"),
    [
        (f"Adding new member {MEMBER} with group instance id null; client reason: not provided", "member_joined", 0),
        (f"Adding new member {MEMBER} with group instanceid None", "member_joined", 0),
        (f"removing member {MEMBER} on heartbeat expiration.", "session_expired", 0),
        (
            f"Removing member {MEMBER} on LeaveGroup; client reason: consumer poll timeout has expired.",
            "poll_timeout",
            0,
        ),
        (f"Removing member {MEMBER} on LeaveGroup; client reason: member was removed by an admin", "admin_removed", 0),
        (
            f"Removing member {MEMBER} on LeaveGroup; client reason: member was removed by an admin: poll timeout",
            "admin_removed",
            0,
        ),
        (f"Removing member {MEMBER} on LeaveGroup; client reason: the consumer is being closed", "member_left", 0),
        (f"explicit `LeaveGroup` request for ({MEMBER}) members.", "unknown", 2),
        (
            f"Leader {MEMBER} re-joining group during Stable; client reason: cached metadata has changed",
            "metadata_changed",
            0,
        ),
        (
            f"Leader {MEMBER} re-joining group during Stable; client reason: need to revoke partitions and re-join",
            "cooperative_followup",
            0,
        ),
        (f"leader {MEMBER} re-joining group during Stable", "member_rejoined", 3),
        (f"Updating metadata for member {MEMBER} during Stable; client reason: a whim", "member_rejoined", 0),
        (f"Removing [{MEMBER}] on pending sync request expiration", "sync_timeout", 0),
        (
            "Error NOT_ENOUGH_REPLICAS when storing group assignmentduring SyncGroup (member: x).",
            "assignment_not_stored",
            0,
        ),
        (
            "Freshly-loaded group orders (size 5) is over capacity 4. Rebalancing in order to give a chance "
            "for consumers to commit offsets",
            "group_over_capacity",
            0,
        ),
    ],
)
def test_a_reason_says_no_more_than_it_says(reason: str, kind: str, candidates: int) -> None:
    found = read_reason(reason)
    assert found is not None
    assert (found.kind, len(found.candidates)) == (CauseKind(kind), candidates)


def test_a_reason_that_is_worded_otherwise_is_not_guessed() -> None:
    assert read_reason("something else") is None


# ---------------------------------------------------------------- the version that a broker prints

AT = "[2026-11-29 04:40:00,944] INFO "
OF_4_4 = f"""{AT}Kafka version: 4.4.0 (org.apache.kafka.common.utils.internals.AppInfoParser)
{AT}Kafka commitId: 1156b2752aaa28ea (org.apache.kafka.common.utils.internals.AppInfoParser)
{AT}Kafka startTimeMs: 1795927200943 (org.apache.kafka.common.utils.internals.AppInfoParser)
{AT}[KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)
"""
OF_2_8 = f"""{AT}Kafka version: 2.8.1 (org.apache.kafka.common.utils.AppInfoParser)
{AT}Kafka commitId: 839b886f9b732b15 (org.apache.kafka.common.utils.AppInfoParser)
{AT}Kafka startTimeMs: 1 (org.apache.kafka.common.utils.AppInfoParser)
{AT}[KafkaServer id=0] started (kafka.server.KafkaServer)
"""
OF_A_CLIENT = f"{AT}Kafka version: 3.9.2 (org.apache.kafka.common.utils.AppInfoParser)\n"
OTHER = f"{AT}[BrokerServer id=1] Waiting for all of the authorizer futures (kafka.server.BrokerServer)\n"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (OF_4_4, (4, 4)),
        (OF_2_8, (2, 8)),
        (OF_A_CLIENT + OTHER * 9 + OF_4_4, (4, 4)),
        (OF_4_4.replace("4.4.0", "4.3.1") + OTHER + OF_4_4, (4, 3)),
        (OF_A_CLIENT + OTHER * 9, None),
        (OTHER * 9 + "Kafka Server started\n", None),
        ("", None),
    ],
)
def test_it_is_that_of_the_first_start(text: str, version: tuple[int, int] | None, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(text)
    assert broker_version_in([str(log)]) == version


def test_its_lines_may_lie_in_two_blocks(tmp_path: Path) -> None:
    log = tmp_path / "server.log.gz"
    near = BLOCK_BYTES // len(OTHER)
    for lines in range(near - 4, near + 2):
        log.write_bytes(gzip.compress((OTHER * lines + OF_4_4).encode()))
        assert broker_version_in([str(log)]) == (4, 4), lines


@pytest.mark.parametrize("log", sorted(KAFKA_4_4.iterdir()), ids=lambda log: log.name)
def test_a_recorded_broker_says_it(log: Path) -> None:
    assert broker_version_in([str(log)]) == (4, 4)


# ---------------------------------------------------------------- Redpanda

A = "orders-1-6c1d0b29-57f7-4e52-9ffb-38d5ad112b51"
B = "orders-2-6c1d0b29-57f7-4e52-9ffb-38d5ad112b52"


def line(at: str, state: str, generation_id: int, message: str, shard: str = "shard 0:main") -> str:
    head = f"TRACE 2026-03-01 03:12:{at} [{shard}] kafka - group.cc:278 - "
    return f"{head}[N:orders S:{state} G:{generation_id}] {message}"


def moves(at: str, state: str, generation_id: int, to_state: str) -> str:
    return line(at, state, generation_id, f"Changing state from {state} to {to_state}")


def adds(at: str, state: str, generation_id: int, member_id: str) -> str:
    group = "id=orders state=Empty gen=0 proto_type={consumer} proto={nullopt} leader={nullopt} empty=false"
    member = f"id={member_id} group=orders group_inst={{nullopt}} proto_type=consumer assignment_len=0 timeouts=10/300"
    return line(at, state, generation_id, f"Added member {member} with join timeout 300000 ms to group {group}")


def formed(at: str, generation_id: int) -> list[str]:
    return [
        moves(f"{at},000", "PreparingRebalance", generation_id, "CompletingRebalance"),
        moves(f"{at},010", "CompletingRebalance", generation_id, "Stable"),
    ]


BEGINS = [
    adds("00,417", "Empty", 0, A),
    moves("00,417", "Empty", 0, "PreparingRebalance"),
    *formed("03", 1),
]


def told(*lines: str) -> LoggedGroup:
    (group,) = groups_in(merged([read_lines("redpanda.log", [*BEGINS, *lines])]))
    assert (group.group_id, group.group_type) == ("orders", "classic")
    return group


def test_a_group_s_states_are_its_rebalances() -> None:
    (one,) = told().rebalances
    assert (one.from_generation_id, one.generation_id, one.outcome) == (0, 1, "completed")
    assert (one.cause.kind, one.cause.member_id, one.cause.is_inferred) == (CauseKind.MEMBER_JOINED, A, True)
    moments = [one.moment(ms) for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms)]
    assert moments == [f"2026-03-01T03:12:{at}" for at in ("00.417", "03.000", "03.010")]


@pytest.mark.parametrize(
    ("before", "kind", "who"),
    [
        (adds("10,000", "Stable", 1, B), CauseKind.MEMBER_JOINED, B),
        (line("10,000", "Stable", 1, f"Heartbeat expired for keep_alive=false member {A}"), "session_expired", A),
        (line("10,000", "Stable", 1, f"Heartbeat expired for keep_alive=true member {A}"), "unknown", ""),
        (line("09,000", "Stable", 1, f"Heartbeat expired for keep_alive=false member {B}"), "unknown", ""),
        (line("10,000", "Stable", 1, f"Removing member {A}"), "unknown", ""),
    ],
)
def test_who_came_or_expired_just_before_set_a_rebalance_off(before: str, kind: CauseKind, who: str) -> None:
    *_, one = told(before, moves("10,001", "Stable", 1, "PreparingRebalance"), *formed("12", 2)).rebalances
    assert (one.generation_id, one.cause.kind, one.cause.member_id) == (2, kind, who)


def test_a_group_without_members_is_empty() -> None:
    expired = line("10,000", "Stable", 1, f"Heartbeat expired for keep_alive=false member {A}", "shard  1")
    begins = moves("10,000", "Stable", 1, "PreparingRebalance")
    *_, one = told(expired, begins, moves("10,001", "PreparingRebalance", 2, "Empty")).rebalances
    assert (one.generation_id, one.outcome, one.members) == (2, "empty", 0)


@pytest.mark.parametrize(
    "group_id",
    ["orders S:Stable G:5] Changing state from Stable to Empty", "orders S:Stable G:5] Removing unjoined member x"],
)
def test_a_group_id_that_reads_like_a_line_names_no_other_group(group_id: str) -> None:
    printed = moves("10,000", "Stable", 1, "PreparingRebalance").replace("N:orders", f"N:{group_id}")
    assert not [fact for fact in read_lines("redpanda.log", [printed]).facts if fact.group_id == "orders"]
