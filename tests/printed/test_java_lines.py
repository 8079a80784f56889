"""What a Java client prints: each wording, its own story, and what it adds to a broker's."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from rollcall.inputs.printed.absence import with_shown_levels
from rollcall.inputs.printed.findings.client_findings import client_findings
from rollcall.inputs.printed.lines.entries import Clock, Entry
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import fact_of, read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import CauseKind
from tests.printed.printed import MEMBER
from tests.printed.recorded import own_rebalances

OTHER = "orders-2-a158e207-e872-41e3-80b1-c02269f0e790"
HEADING = "[Consumer clientId={}, groupId=orders] "
GENERATION = "Generation{{generationId={}, memberId='{}', protocol='range'}}"
POLL_TIMEOUT = "consumer poll timeout has expired. This means the time between subsequent calls to poll() was long"
WORDLESS = (
    "Preparing to rebalance group orders in state PreparingRebalance with old generation 4 (__consumer_offsets-7) "
    f"(reason: removing member {MEMBER} on LeaveGroup)"
)


def facts_of(*printed: tuple[int, str], client_id: str = "orders-1") -> list[LoggedFact]:
    """A client's lines: (ms, message)."""
    return _read("app.log", HEADING.format(client_id), printed)


def printed_by_broker(*printed: tuple[int, str]) -> list[LoggedFact]:
    """A coordinator's lines: (ms, message)."""
    return _read("server.log", "[GroupCoordinator 1]: ", printed)


def _read(file: str, heading: str, printed: Iterable[tuple[int, str]]) -> list[LoggedFact]:
    entries = (Entry(file, number, heading + text, ms, Clock.LOCAL) for number, (ms, text) in enumerate(printed, 1))
    return with_shown_levels(fact for fact in map(fact_of, entries) if fact is not None)


def polled_too_late(member_id: str, client_id: str = "orders-1") -> list[LoggedFact]:
    """The lines of a client that was in generation 4 and whose poll timeout was over at 300 s."""
    return facts_of(
        (0, f"Successfully synced group in generation {GENERATION.format(4, member_id)}"),
        (300_000, POLL_TIMEOUT),
        client_id=client_id,
    )


def group_of(facts: list[LoggedFact]) -> LoggedGroup:
    (group,) = groups_in(sorted(facts, key=lambda fact: fact.at_ms or 0))
    return group


# ---------------------------------------------------------------- one client


def test_a_client_that_only_learnt_of_a_rebalance_does_not_know_who_began_it() -> None:
    (one,) = own_rebalances(
        facts_of(
            (1000, "Request joining group due to: group is already rebalancing"),
            (1001, "(Re-)joining group"),
            (1300, f"Successfully joined group with generation {GENERATION.format(5, MEMBER)}"),
            (1310, f"Successfully synced group in generation {GENERATION.format(5, MEMBER)}"),
        )
    )
    assert (one.generation_id, one.began_at_ms, one.joined_at_ms, one.ended_at_ms) == (5, 1000, 1300, 1310)
    assert (one.cause.kind, one.cause.member_id) == (CauseKind.UNKNOWN, "")
    assert one.held_by is None


@pytest.mark.parametrize("words", ["triggered followup rebalance scheduled for 0", "Scheduled probing rebalance"])
def test_a_streams_client_that_asks_for_a_rebalance_began_it(words: str) -> None:
    (one,) = own_rebalances(
        facts_of(
            (1000, f"Request joining group due to: {words}"),
            (1001, "(Re-)joining group"),
            (1300, f"Successfully joined group with generation {GENERATION.format(5, MEMBER)}"),
        )
    )
    assert (one.cause.kind, one.cause.client_id, one.cause.client_reason) == (
        CauseKind.MEMBER_REJOINED,
        "orders-1",
        words,
    )


def test_a_client_that_waited_was_not_the_one_that_held_the_others() -> None:
    (one,) = own_rebalances(
        facts_of(
            (1000, "Request joining group due to: group is already rebalancing"),
            (1001, "(Re-)joining group"),
            (41_001, f"Successfully joined group with generation {GENERATION.format(5, MEMBER)}"),
        )
    )
    assert one.held_by is not None
    assert (one.held_by.member_id, one.held_by.length_ms) == ("", 40_000)


def test_a_client_that_polled_too_late_says_so_itself() -> None:
    facts = polled_too_late(MEMBER) + facts_of(
        (300_001, f"Member {MEMBER} sending LeaveGroup request to coordinator b:9092 due to consumer poll timeout"),
        (345_000, "(Re-)joining group"),
        (345_100, f"Successfully joined group with generation {GENERATION.format(6, MEMBER)}"),
    )
    left = own_rebalances(facts)[1]
    assert (left.cause.kind, left.cause.member_id, left.began_at_ms) == (CauseKind.POLL_TIMEOUT, MEMBER, 300_001)
    (found,) = client_findings(facts)
    assert found.finding == "polled_again"
    assert "It polled again 45 s later" in found.sentence


def test_a_client_that_leaves_while_others_wait_for_it_did_not_set_that_rebalance_off() -> None:
    facts = facts_of(
        (0, f"Successfully synced group in generation {GENERATION.format(4, MEMBER)}"),
        (295_000, "Request joining group due to: group is already rebalancing"),
        (300_000, POLL_TIMEOUT),
        (300_001, f"Member {MEMBER} sending LeaveGroup request to coordinator b:9092 due to consumer poll timeout"),
        (345_000, "(Re-)joining group"),
        (345_100, f"Successfully joined group with generation {GENERATION.format(6, OTHER)}"),
    )
    left, back = own_rebalances(facts)[1:]
    assert (left.generation_id, left.began_at_ms, left.outcome) == (5, 295_000, "left")
    assert (left.cause.kind, left.cause.member_id) == (CauseKind.UNKNOWN, "")
    assert left.held_by is not None
    assert (left.held_by.member_id, left.held_by.length_ms) == (MEMBER, 5_000)
    assert (back.generation_id, back.cause.kind) == (6, CauseKind.UNKNOWN)


@pytest.mark.parametrize(
    "error", ["The coordinator is not aware of this member.", "This is not the correct coordinator."]
)
def test_a_leave_that_was_refused_set_no_rebalance_off_and_is_no_poll(error: str) -> None:
    generation = GENERATION.format(7, MEMBER)
    group = group_of(
        facts_of(
            (0, f"Successfully joined group with generation {generation}"),
            (300_000, POLL_TIMEOUT),
            (300_001, f"Member {MEMBER} sending LeaveGroup request to coordinator b:9092 due to consumer poll timeout"),
            (300_009, f"LeaveGroup request with {generation} failed with error: {error}"),
            (370_000, "(Re-)joining group"),
        )
    )
    assert [one.generation_id for one in group.rebalances] == [7]
    said = {one.finding: one.sentence for one in group.findings}
    assert error.rstrip(".") in said["late_leave_refused"]
    assert "polled again 1 min 10.0 s later" in said["polled_again"]
    assert ("client_learned_of_it" in said) is ("not aware" in error)


def test_the_same_coordinator_found_again_did_not_move() -> None:
    facts = facts_of(
        (0, "Discovered group coordinator b2:9092 (id: 2147483645 rack: null)"),
        (
            10,
            "Group coordinator b2:9092 (id: 2147483645 rack: null) is unavailable or invalid, will attempt rediscovery",
        ),
        (110, "Discovered group coordinator b2:9092 (id: 2147483645 rack: null)"),
        (
            900,
            "Group coordinator b2:9092 (id: 2147483645 rack: null) is unavailable or invalid, will attempt rediscovery",
        ),
        (990, "Discovered group coordinator b3:9092 (id: 2147483644 rack: null)"),
    )
    assert [one.finding for one in client_findings(facts)] == ["coordinator_lost_by_client", "coordinator_moved"]


@pytest.mark.parametrize("between", [".isDisconnected: true. ", ". isDisconnected: true. ", ". "])
def test_a_coordinator_is_lost_however_a_version_says_so(between: str) -> None:
    text = "Group coordinator kafka-1:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: "
    (lost,) = facts_of((0, f"{text}coordinator unavailable{between}Rediscovery will be attempted."))
    assert (lost.kind, lost.reason, lost.broker_id) == (FactKind.COORDINATOR_LOST, "coordinator unavailable", "2")


def test_an_idle_member_owned_nothing_in_any_line() -> None:
    idle = facts_of((0, "Adding newly assigned partitions: "), (10, "Revoke previously assigned partitions []"))
    assert [one.finding for one in client_findings(idle)] == ["idle_member", "more_members_than_partitions"]
    busy = facts_of((0, "Adding newly assigned partitions: "), (10, "Adding newly assigned partitions: orders-0"))
    assert client_findings(busy) == []


def test_a_member_that_is_given_nothing_new_may_own_what_it_had_before() -> None:
    added = (10, "Adding newly assigned partitions: ")
    assert next(one.finding for one in client_findings(facts_of(added))) == "given_nothing"
    first = (0, f"Request joining group due to: need to re-join with the given member-id: {MEMBER}")
    assert next(one.finding for one in client_findings(facts_of(first, added))) == "idle_member"


_RACKS = ", ".join(["NO_RACKS"] * 6)


@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        (
            f"{{wide=[{_RACKS}]}}",
            "{wide=[]}",
            "its metadata had no partition of wide any more, as happens when a client can reach no broker and starts "
            "again from its bootstrap servers (metadata.recovery.strategy=rebootstrap)",
        ),
        ("{wide=6, other=1}", "{wide=9, other=1}", "the topic wide had 9 partitions in its metadata, and 6 before"),
        (
            "{wide=[racks=[a, b], racks=[a, c]]}",
            "{wide=[racks=[a, b], racks=[a, c], racks=[b, c]]}",
            "the topic wide had 3 partitions in its metadata, and 2 before",
        ),
        ("{wide=[racks=[a]]}", "{wide=[racks=[b]]}", None),
    ],
)
def test_a_leader_says_what_of_its_topics_had_changed(before: str, now: str, what: str | None) -> None:
    snapshots = f"from (version306: {before}) at the beginning of the rebalance to (version389: {now})"
    facts = facts_of(
        (900, f"Request joining group due to: cached metadata has changed {snapshots}"),
        (901, "(Re-)joining group"),
        (1300, f"Successfully joined group with generation {GENERATION.format(5, MEMBER)}"),
    )
    found = [one.sentence for one in client_findings(facts) if one.finding == "topic_changed"]
    assert found == ([] if what is None else [f"orders-1 joined again because {what}."])
    (one,) = group_of(facts).rebalances
    assert one.cause.client_reason == "cached metadata has changed"  # As its JoinGroup has it.


# ---------------------------------------------------------------- several clients, and their broker


def test_two_clients_of_a_generation_tell_of_one_rebalance() -> None:
    first = facts_of(
        (1000, "(Re-)joining group"),
        (1300, f"Successfully joined group with generation {GENERATION.format(5, MEMBER)}"),
    )
    second = facts_of(
        (900, "Request joining group due to: cached metadata has changed from (v1) to (v2)"),
        (901, "(Re-)joining group"),
        (1301, f"Successfully joined group with generation {GENERATION.format(5, OTHER)}"),
        client_id="orders-2",
    )
    (one,) = group_of(first + second).rebalances
    assert (one.generation_id, one.began_at_ms, one.cause.kind) == (5, 901, CauseKind.METADATA_CHANGED)
    assert one.cause.client_id == "orders-2"


@pytest.mark.parametrize(
    ("at_ms", "client", "is_known"),
    [
        (302_000, polled_too_late(MEMBER), True),
        (302_000, polled_too_late(OTHER, "orders-2"), False),
        (3_902_000, polled_too_late(MEMBER), False),
    ],
    ids=["its own", "another member's", "an hour before"],
)
def test_a_client_s_own_log_says_why_it_left_where_the_broker_does_not_know(
    at_ms: int, client: list[LoggedFact], is_known: bool
) -> None:
    broker = printed_by_broker((at_ms, WORDLESS))
    alone, both = (group_of(facts).rebalances[0].cause for facts in (broker, broker + client))
    assert alone.is_inferred
    assert CauseKind.POLL_TIMEOUT in {one.kind for one in alone.candidates}
    assert both.is_inferred is not is_known
    assert ((both.kind, both.member_id) == (CauseKind.POLL_TIMEOUT, MEMBER)) is is_known


def test_a_client_s_kind_is_known_by_its_prefix() -> None:
    assert [fact.kind for fact in facts_of((0, "(Re-)joining group"), (1, "Something else"))] == [FactKind.JOIN_SENT]


FENCED_BY_ANOTHER = "The group instance id Optional[pod-1] has been fenced by another instance. Sent generation was "


@pytest.mark.parametrize(
    "text",
    [
        "JoinGroup failed: " + FENCED_BY_ANOTHER + GENERATION.format(4, MEMBER),
        "SyncGroup failed: " + FENCED_BY_ANOTHER + GENERATION.format(4, MEMBER),
        "Offset commit failed on partition orders-0 at offset 7: The broker rejected this static consumer since "
        "another consumer with the same group.instance.id has registered with a different member.id.",
        "Received fatal exception: group.instance.id gets fenced",
        "Caught fenced group.instance.id Optional[pod-1] error in heartbeat thread",
        f"Attempt to heartbeat with {GENERATION.format(4, MEMBER)} and group instance id Optional[pod-1] failed due to "
        "FENCED_INSTANCE_ID, resetting generation",
    ],
)
def test_a_fenced_java_member_is_found_fenced_and_does_not_try_again(text: str) -> None:
    findings = client_findings(facts_of((0, "(Re-)joining group"), (10, text)))
    assert [one.finding for one in findings] == ["fenced"]


@pytest.mark.parametrize(
    "layout",
    [
        "2026-03-01 03:12:00.417  INFO 7 --- [ntainer#0-0-C-1] o.a.k.c.c.internals.AbstractCoordinator  : {}",
        "[2026-03-01 03:12:00,417] INFO {} (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)",
        "2026-03-01 03:12:00,417 INFO  org.apache.kafka.clients.consumer.internals.AbstractCoordinator  - {}",
        "26/03/01 03:12:00 INFO AbstractCoordinator: {}",
        "2026-03-01 03:12:00 [container-0-C-1] INFO  o.a.k.c.c.i.AbstractCoordinator.handle 623 - {}",
        "2026-03-01 03:12:00.417 INFO  o.a.k.c.c.i.AbstractCoordinator     [worker-0]: {}",
        "[ INFO] [AbstractCoordinator.java ] {}",
    ],
    ids=("Spring", "log4j", "Flink", "Spark", "a method", "a thread", "a file"),
)
def test_a_java_client_before_1_0_is_known_by_its_class(layout: str) -> None:
    (fact,) = read_lines("app.log", [layout.format("(Re-)joining group orders")]).facts
    assert (fact.kind, fact.group_id, fact.dialect) == (FactKind.JOIN_SENT, "orders", "java")


def test_lines_whose_prefix_was_taken_off_are_known_by_words_that_no_other_library_has() -> None:
    generation = GENERATION.format(88, MEMBER)
    messages = {
        "Request joining group due to: group is already rebalancing": FactKind.GROUP_IS_REBALANCING,
        "Revoke previously assigned partitions a-10, a-8": FactKind.PARTITIONS_REVOKED,
        "(Re-)joining group": FactKind.JOIN_SENT,
        f"Successfully joined group with generation {generation}": FactKind.JOINED,
        "Adding newly assigned partitions: a-10": FactKind.PARTITIONS_ADDED,
    }
    rows = [f'"2025-08-31T21:03:27.539Z","i-2.compute.internal","app","{text}"' for text in messages]
    assert [fact.kind for fact in read_lines("export.csv", rows).facts] == [*messages.values()]
    assert read_lines("export.csv", [rows[2], rows[4]]).facts == []


def test_an_exception_without_a_prefix_is_of_the_only_client_that_the_lines_name() -> None:
    lines = [
        f"2026-03-01 03:12:00,417 INFO {HEADING.format('orders-1')}(Re-)joining group",
        'Exception in thread "main" org.apache.kafka.clients.consumer.CommitFailedException: Offset commit cannot be '
        "completed since the consumer is not part of an active group for auto partition assignment",
    ]
    (group,) = groups_in(read_lines("app.log", lines).facts)
    assert (group.group_id, [one.finding for one in group.findings]) == (
        "orders",
        ["commit_refused"],
    )
    other = lines[0].replace("orders-1", "orders-2")
    assert len(groups_in(read_lines("app.log", [*lines, other]).facts)) == 2, "it may be of either"


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        (
            "Encountered the following exception during processing and the registered exception handler opted to "
            "SHUTDOWN_CLIENT. The streams client is going to shut down now.",
            "stop the client",
        ),
        (
            "All stream threads have died. The Kafka Streams instance will be in an error state and should be closed.",
            "all of its stream threads have died",
        ),
    ],
)
def test_a_streams_instance_that_stops_says_why(printed: str, why: str) -> None:
    lines = [
        f"2026-03-01 03:12:00,417 INFO {HEADING.format('orders-StreamThread-1-consumer')}(Re-)joining group",
        f"2026-03-01 03:12:01,417 ERROR stream-client [orders] {printed}",
        "org.apache.kafka.streams.errors.StreamsException: Exception caught in process. taskId=0_3",
    ]
    (group,) = groups_in(read_lines("app.log", lines).facts)
    (crashed,) = group.findings
    assert (crashed.finding, why in crashed.sentence) == ("client_crashed", True)


def test_a_client_that_was_refused_for_a_time_did_not_wait_for_others_meanwhile() -> None:
    facts = facts_of(
        (0, "Request joining group due to: group is already rebalancing"),
        (10, "(Re-)joining group"),
        (
            30_010,
            "JoinGroup failed: This is not the correct coordinator. Marking coordinator unknown. Sent generation x",
        ),
        (30_110, "(Re-)joining group"),
        (42_110, f"Successfully joined group with generation {GENERATION.format(8, MEMBER)}"),
    )
    (one,) = own_rebalances(facts)
    assert one.held_by is not None
    assert one.held_by.length_ms == 12_000
