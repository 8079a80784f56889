"""What one client's lines say of its membership: that it was out, in a loop even, or is given no partition."""

from __future__ import annotations

import json

import pytest

from rollcall.inputs.printed.groups.leaders import listed
from rollcall.inputs.printed.groups.logged_holdings import given_by_leaders
from rollcall.inputs.printed.logged_partitions import partitions_in
from rollcall.inputs.printed.logged_rebalances import Finding
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in
from tests.printed.printed import MEMBER, OTHER, found, group_of, java

JOINED = "Successfully joined group with generation {}"
REBALANCING = "Attempt to heartbeat failed since group is rebalancing"
LOST = "Giving away all assigned partitions as lost since {}"
RESET = "generation/memberID has been reset, indicating that consumer is no longer part of the group"
OUT = "Attempt to heartbeat with {} failed due to UNKNOWN_MEMBER_ID, resetting generation"
PHRASE = (
    "the group has already rebalanced and assigned the partitions to another member. This means that the time between "
    "subsequent calls to poll() was longer than the configured max.poll.interval.ms"
)


@pytest.mark.parametrize(
    ("line", "is_out"),
    [
        (java(1, f"Asynchronous auto-commit of offsets x failed: Commit cannot be completed since {PHRASE}"), True),
        (java(1, "Offset commit failed on partition orders-0 at offset 4: The coordinator is loading."), False),
        (
            "2026-03-01 03:12:00,417 - kafka.coordinator.consumer - ERROR - OffsetCommit failed for group orders due "
            "to group error (UnknownMemberIdError - 25 - Returned from group requests), will rejoin",
            True,
        ),
        (
            "E, [2026-03-01T03:12:00 #1] ERROR -- : [orders] {}: Error committing offsets: Kafka::IllegalGeneration",
            True,
        ),
    ],
)
def test_the_answer_to_a_commit_may_say_that_the_member_is_out(line: str, is_out: bool) -> None:
    (refused,) = found("commit_refused", line)
    assert ("It was out, or the group had rebalanced without it" in refused.sentence) == is_out
    assert ("stock phrase" in refused.sentence) == (PHRASE in line)


def test_partitions_given_away_as_lost_say_that_it_is_not_in_the_generation() -> None:
    (lost,) = found("partitions_lost", java(1, LOST.format(RESET)))
    assert "it was out, or the group had rebalanced without it" in lost.sentence
    assert found("partitions_lost", java(0, "Detected that the thread is being fenced. x"), java(1, LOST.format(RESET)))
    assert not found("partitions_lost", java(1, LOST.format("the consumer is closing")), java(2, JOINED.format(4)))
    assert not found("partitions_lost", java(0, OUT.format("x")), java(1, LOST.format(RESET)))


def test_a_client_that_is_told_of_rebalance_after_rebalance_is_in_a_loop() -> None:
    lines = [java(20 * place, JOINED.format(place + 1)) for place in range(4)]
    heartbeats = [java(20 * place + 3, REBALANCING) for place in range(4)]
    both = sorted([*lines, *heartbeats])
    (loop,) = found("rebalances_in_a_loop", *both)
    assert "4 times, 3 s after it had joined" in loop.sentence
    assert not found("rebalances_in_a_loop", *both[:4])
    rare = [(600 * place + later, text) for place in range(4) for later, text in ((0, JOINED), (300, REBALANCING))]
    lasting = [java(second, text.format(second)) for second, text in rare]
    assert not found("rebalances_in_a_loop", *lasting), "generations last"


def test_a_member_that_is_removed_soon_after_each_join_is_in_a_loop() -> None:
    lines = [
        java(60 * place + later, text)
        for place in range(2)
        for later, text in ((0, JOINED.format(place + 1)), (20 + 5 * place, OUT.format("x")))
    ]
    (loop,) = found("removed_in_a_loop", *lines)
    assert loop.is_inferred
    assert "2 times, 20 s to 25 s after it had joined" in loop.sentence
    assert not found("removed_in_a_loop", *lines[:2])


def test_a_session_of_sarama_s_that_outlives_its_heartbeats_is_reported() -> None:
    def session(second: int, generation: int, text: str) -> str:
        return f"[Sarama] 2026/03/01 03:12:{second:02} consumergroup/session/{MEMBER}/{generation} {text}"

    lines = [session(0, 14, "heartbeat loop stopped"), session(40, 14, "released")]
    (outlived,) = found("session_outlived", *lines)
    assert "in generation 14" in outlived.sentence
    assert "for 40 s" in outlived.sentence
    at_once = [session(0, 15, "heartbeat loop stopped"), session(0, 15, "released")]
    assert not found("session_outlived", *at_once)


def test_a_connect_leader_that_holds_work_back_is_reported() -> None:
    given = (
        "Joined group at generation 90 with protocol version 2 and got assignment: Assignment{{error=0, delay={0}}} "
    )
    line = java(1, given + "with rebalance delay: {0}")
    (held,) = found("work_held_back", line.format(300_000))
    assert held.is_inferred
    assert "for 5 min" in held.sentence
    assert not found("work_held_back", line.format(0))


@pytest.mark.parametrize(("second", "learnt", "is_found"), [(301, "", True), (200, "", False), (301, "told", False)])
def test_a_worker_that_joins_again_as_the_leader_s_delay_ends_was_waiting_for_it(
    second: int, learnt: str, is_found: bool
) -> None:
    given = "Joined group at generation 7 with protocol version 2 and got assignment: Assignment{error=0, delay=300000}"
    lines = [java(1, f"{given} with rebalance delay: 300000"), java(second, "Rebalance started")]
    if learnt:
        lines.insert(1, java(299, REBALANCING))
    assert bool(found("delay_over", *lines)) is is_found


def test_a_member_of_the_newer_protocol_whose_coordinator_is_another_broker_looks_for_it() -> None:
    failed = "ConsumerGroupHeartbeatRequest failed because the group coordinator Optional[b1:9092] is incorrect. "
    (lost,) = found("coordinator_not_found", java(1, f"{failed}Will attempt to find the coordinator again and retry"))
    assert "(NOT_COORDINATOR)" in lost.sentence


def test_a_ruby_client_whose_commit_showed_that_it_is_no_member_sets_nothing_off_by_leaving() -> None:
    def ruby(second: int, message: str) -> str:
        return f"I, [2026-03-01T03:12:{second:02}.000000 #1]  INFO -- : [orders] {{}}: {message}"

    def outcomes(error: str, left_second: int = 10) -> list[str]:
        lines = (
            ruby(1, "Joining group `orders`"),
            ruby(2, f"Joined group `orders` with member id `{MEMBER}`"),
            ruby(9, f"Error committing offsets: Kafka::{error}"),
            ruby(left_second, "Leaving group `orders`"),
        )
        (group,) = groups_in(read_lines("app.log", lines).facts)
        return [one.outcome for one in group.rebalances]

    assert outcomes("UnknownMemberId") == [""]
    assert outcomes("UnknownMemberId", left_second=40) == ["", "left"], "it may have joined again"
    assert outcomes("RebalanceInProgress") == ["", "left"]


@pytest.mark.parametrize("before", ["", 'Exception in thread "main" ', "Caused by: "])
def test_a_client_whose_user_has_no_right_to_the_group_is_refused_and_nothing_rebalances(before: str) -> None:
    words = "org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: pay"
    stopped = "2026-03-01 03:12:00.920 ERROR 7 --- [ntainer#0-0-C-1] o.s.k.l.K : Authentication/Authorization Exception"
    (group,) = groups_in(read_lines("app.log", [stopped, "", before + words]).facts)
    assert (group.group_id, group.rebalances) == ("pay", [])
    (refused,) = group.findings
    assert refused.finding == "not_authorized"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("Attempt to heartbeat failed since generation 6 is not current", "its generation had ended"),
        ("Attempt to heartbeat with Generation{} failed due to ILLEGAL_GENERATION, resetting generation", "had ended"),
        (f"ConsumerGroupHeartbeatRequest failed for member {MEMBER} because epoch 14 is fenced.", "another epoch"),
        (
            f"ConsumerGroupHeartbeatRequest failed because member {MEMBER} is unknown. Will rejoin.",
            "no longer a member",
        ),
        ("Detected that the thread is being fenced. This implies that this thread missed a rebalance", "was refused"),
    ],
)
def test_only_a_coordinator_that_does_not_know_the_member_says_that_it_is_none(answer: str, says: str) -> None:
    lines = [
        java(9 * place + later, text)
        for place in range(4)
        for later, text in ((0, JOINED.format(place + 3)), (5, answer))
    ]
    learnt = found("client_learned_of_it", *lines)
    assert all(says in one.sentence for one in learnt)
    assert learnt
    assert bool(found("removed_in_a_loop", *lines)) is (says == "no longer a member")


# ---------------------------------------------------------------- what the client itself had done before

LEFT = f"Member {MEMBER} sending LeaveGroup request to coordinator b:9092 (id: 2147483646 rack: null) due to {{}}"
MIGRATED = "Detected that the thread is being fenced. {}"
BY_PRODUCER = "org.apache.kafka.streams.errors.TaskMigratedException: Producer got fenced"
SYNCED = "Successfully synced group in generation Generation{{generationId={}, memberId='{}', protocol='range'}}"
FAILED = "Rebalance failed.\norg.apache.kafka.common.errors.{}"
ASSIGNS = "Finished assignment for group at generation {}: {{{}}}"


def refused(*lines: str) -> str:
    (learnt,) = found("client_learned_of_it", *lines)
    assert learnt.is_inferred
    return learnt.sentence


@pytest.mark.parametrize("why", ["consumer poll timeout has expired.", "the consumer is being closed"])
def test_a_streams_thread_that_had_left_is_refused_since_it_left(why: str) -> None:
    left, lost = java(1, LEFT.format(why)), java(83, MIGRATED.format("This implies"))
    assert "since it had left on its own 1 min 22.0 s before" in refused(left, lost)
    assert "left on its own" not in refused(lost)
    assert "left on its own" not in refused(left, java(9, "(Re-)joining group"), lost)
    assert "left on its own" not in refused(left, java(83, MIGRATED.format(BY_PRODUCER)))


def members_alike(error: str, other: str, *, own: str = MEMBER) -> list[Finding]:
    given = ", ".join(f"{each}=Assignment(partitions=[orders-{place}])" for place, each in enumerate((own, other)))
    lines = [
        java(0, "(Re-)joining group"),
        *java(1, FAILED.format(error)).splitlines(),
        java(1, "(Re-)joining group"),
        java(60, ASSIGNS.format(18, given)),
        java(60, SYNCED.format(18, own)),
    ]
    return found("joined_twice", *lines)


AT_A_HOST = "b.example:c:orders:I:{}-48fcc06cf767456e801d323f9a5b33{}"


def test_a_join_without_an_answer_may_be_the_second_member_with_that_client_id() -> None:
    (twice,) = members_alike("DisconnectException", OTHER)
    assert twice.is_inferred
    assert len(twice.candidates) == 2
    assert f"...{MEMBER[-12:]}; the other id is ...{OTHER[-12:]}" in twice.sentence
    own = AT_A_HOST.format("orders-1", "aa")
    assert members_alike("DisconnectException", AT_A_HOST.format("orders-1", "bb"), own=own)
    assert not members_alike("DisconnectException", AT_A_HOST.format("orders-10", "bb"), own=own)
    assert not members_alike("DisconnectException", OTHER.replace("orders-1", "orders-2"))
    assert not members_alike("GroupMaxSizeReachedException", OTHER)


# ---------------------------------------------------------------- members that are given no partition

FRANZ_JOINED = f"[INFO] joined; group: orders, member_id: {MEMBER}, instance_id: <nil>, generation: 3, leader: false"


def found_of(*lines: str) -> list[str]:
    return [one.finding for one in group_of(*lines).findings]


@pytest.mark.parametrize("behind", ["", " "])
def test_franz_go_prints_nothing_behind_a_key_without_partitions(behind: str) -> None:
    synced, begun = read_lines(
        "app.log",
        [
            f"[INFO] synced; group: orders, assigned:{behind}",
            f"[INFO] new group session begun; group: orders, added: , lost:{behind}",
        ],
    ).facts
    assert (synced.group_id, begun.group_id) == ("orders", "orders")
    assert (synced.partitions, begun.partitions) == ("{}", "{}")


def test_a_member_of_franz_go_that_is_given_nothing_is_idle() -> None:
    begun = "[INFO] new group session begun; group: orders, added: , lost: "
    nothing, of_one = "[INFO] synced; group: orders, assigned: ", "[INFO] synced; group: orders, assigned: orders[0]"
    assert found_of(FRANZ_JOINED, nothing, begun) == ["idle_member", "more_members_than_partitions"]
    assert found_of(FRANZ_JOINED, of_one, begun) == []


def test_franz_go_s_own_logger_names_the_partitions_of_a_topic_behind_it() -> None:
    (synced,) = read_lines("app.log", ["[INFO] synced; group: orders, assigned: orders[0 12], bills.eu[3]"]).facts
    assert partitions_in(synced) == {("orders", 0), ("orders", 12), ("bills.eu", 3)}


def test_a_session_that_adds_nothing_does_not_say_that_the_member_owns_nothing() -> None:
    begun = "[INFO] new group session begun; group: orders, added: , lost: "
    (given,) = group_of(begun).findings
    assert given.finding == "given_nothing"
    assert "it kept those that it had before these lines" in given.candidates
    assert found_of(f"{begun}orders[0]") == []
    lost = {"message": "new group session begun", "group": "orders", "added": {}, "lost": {"orders": [0]}}
    assert found_of(json.dumps(lost)) == []


@pytest.mark.parametrize(
    ("assigned", "expected"),
    [
        ({}, ["idle_member", "more_members_than_partitions"]),
        ({"orders": [], "bills": []}, ["idle_member", "more_members_than_partitions"]),
        ({"orders": [], "bills": [2]}, []),
    ],
)
def test_a_member_of_kafkajs_that_is_given_nothing_is_idle(assigned: object, expected: list[str]) -> None:
    joined = {
        "level": "INFO",
        "timestamp": "2026-03-01T03:12:00.417Z",
        "logger": "kafkajs",
        "message": "[ConsumerGroup] Consumer has joined the group",
        "groupId": "orders",
        "memberId": MEMBER,
        "leaderId": OTHER,
        "memberAssignment": assigned,
    }
    assert found_of(json.dumps(joined)) == expected


def test_a_member_of_brod_that_is_given_nothing_is_idle() -> None:
    heading = "[info] Group member (orders,coor=<0.412.0>,cb=<0.410.0>,generation=13):"
    idle = ["idle_member", "more_members_than_partitions"]
    assert found_of(heading, "elected=false", heading, "assignments received:[]") == idle


def test_what_kafka_python_gives_is_all_that_it_gives() -> None:
    def complete(at: str, assigned: str) -> str:
        head = f"2026-03-01 03:12:{at},000 - kafka.coordinator - INFO - Cooperative rebalance complete for group orders"
        return f"{head}: owned=x, assigned={assigned}, revoked=x, added=x"

    files = {
        "a.log": [complete("00", "[orders-0, orders-1]"), complete("10", "[orders-0]")],
        "b.log": [complete("10", "[orders-2]")],
    }
    (group,) = groups_in(merged([read_lines(name, lines) for name, lines in files.items()]))
    missing = [one.sentence for one in group.findings if one.finding == "partitions_missing"]
    assert missing == ["These 2 clients were not given partition 1 of orders: others have them, or nobody has."]


def test_a_client_id_may_have_blanks() -> None:
    head = "[2026-03-01 03:12:00,417] INFO [Consumer clientId=a, groupId=orders]"
    blank = f"my {MEMBER}"
    given = f"{{{blank}=Assignment(partitions=[orders-0]), {OTHER}=Assignment(partitions=[orders-1])}}"
    group = group_of(f"{head} Finished assignment for group at generation 3: {given}")
    assert listed(group.facts[0]) == [blank, OTHER]
    assert given_by_leaders(group.facts) == {
        (3, blank): {frozenset({("orders", 0)})},
        (3, OTHER): {frozenset({("orders", 1)})},
    }
