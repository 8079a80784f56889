"""What clients in Go, Node and Ruby print, in the layouts of their users' loggers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import GROUP_NOT_NAMED
from rollcall.inputs.printed.reading import read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.wording import cause_sentence
from rollcall.schemas.causes import CauseKind
from tests.printed.printed import group_of, java

MEMBER = "orders-1-6c1d0b29-57f7-4e52-9ffb-38d5ad112b53"
OTHER = "orders-2-a158e207-e872-41e3-80b1-c02269f0e790"


def facts_in(*lines: str) -> list[LoggedFact]:
    return read_lines("app.log", lines).facts


def franz(second: int, message: str, **fields: object) -> str:
    stamp = f"2026-03-01T03:12:{second:02}.000Z"
    return json.dumps({"time": stamp, "level": "info", "message": message, "group": "orders", **fields})


def kafkajs(second: int, message: str, **fields: object) -> str:
    stamp = f"2026-03-01T03:12:{second:02}.000Z"
    return json.dumps({"level": "INFO", "timestamp": stamp, "logger": "kafkajs", "message": message, **fields})


def test_franz_go_learns_while_its_user_still_revokes_that_it_is_out() -> None:
    removed = "UNKNOWN_MEMBER_ID: The coordinator is not aware of this member."
    group = group_of(
        franz(1, "heartbeat errored", err="REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed."),
        franz(41, "heartbeat errored again while waiting for user revoke to finish", err=removed),
    )
    held = group.rebalances[0].held_by
    assert held is not None
    assert held.length_ms == 40_000
    assert [one.finding for one in group.findings] == ["client_learned_of_it"]


def test_the_leader_of_franz_go_that_saw_new_partitions_set_it_off_itself() -> None:
    group = group_of(
        franz(0, "joined, balancing group", member_id=MEMBER, generation=3, leader=True),
        franz(1, "synced", assigned={"orders": [0]}),
        franz(
            30,
            "forced rejoin quitting heartbeat loop",
            why="leader detected that partitions on topics another member is consuming have changed, "
            "rejoining to trigger rebalance",
        ),
        franz(31, "joining group"),
    )
    last = group.rebalances[-1]
    assert (last.cause.kind, last.cause.member_id, last.generation_id) == (CauseKind.METADATA_CHANGED, MEMBER, 4)


def plan(*member_ids: str) -> str:
    return ", ".join(f"{member_id}{{orders[{place}]}}" for place, member_id in enumerate(member_ids))


def java_leader(*member_ids: str) -> list[str]:
    joined = f"Generation{{generationId=7, memberId='{MEMBER}', protocol='range'}}"
    given = ", ".join(f"{member_id}=Assignment(partitions=[orders-0])" for member_id in member_ids)
    return [
        java(0, "Request joining group due to: need to re-join with the given member-id: x"),
        java(0, "(Re-)joining group"),
        java(3, f"Successfully joined group with generation {joined}"),
        java(3, f"Finished assignment for group at generation 7: {{{given}}}"),
        java(3, f"Successfully synced group in generation {joined}"),
    ]


def franz_leader(*member_ids: str) -> list[str]:
    return [
        franz(0, "beginning to manage the group lifecycle"),
        franz(0, "beginning autocommit loop"),
        franz(0, "joining group"),
        franz(3, "joined, balancing group", member_id=MEMBER, generation=7, leader=True),
        json.dumps({"time": "2026-03-01T03:12:03.000Z", "message": "balanced", "plan": plan(*member_ids)}),
        franz(3, "synced", assigned={"orders": [0]}),
    ]


@pytest.mark.parametrize("lines", [franz_leader, java_leader])
def test_a_new_client_that_is_the_only_member_set_it_off(lines: Callable[..., list[str]]) -> None:
    (alone,) = group_of(*lines(MEMBER)).rebalances
    assert (alone.cause.kind, alone.cause.member_id, alone.members) == (CauseKind.MEMBER_JOINED, MEMBER, 1)
    assert alone.cause.is_inferred
    (of_two,) = group_of(*lines(MEMBER, OTHER)).rebalances
    assert (of_two.cause.kind, of_two.members) == (CauseKind.UNKNOWN, 2)


@pytest.mark.parametrize("lines", [franz_leader, java_leader])
def test_an_only_member_whose_lines_do_not_show_that_it_begins_may_have_come_back(
    lines: Callable[..., list[str]],
) -> None:
    asked = next(place for place, line in enumerate(lines(MEMBER)) if re.search(r"\bjoining group(?! due)", line))
    (only,) = group_of(*lines(MEMBER)[asked:]).rebalances
    assert (only.cause.kind, only.members) == (CauseKind.UNKNOWN, 1)


@pytest.mark.parametrize("lines", [franz_leader, java_leader])
def test_an_only_member_waited_for_nobody_who_is_known(lines: Callable[..., list[str]]) -> None:
    for member_ids, is_alone in (((MEMBER,), True), ((MEMBER, OTHER), False)):
        slow = [line.replace("03:12:03", "03:12:09") for line in lines(*member_ids)]
        held = group_of(*slow).rebalances[0].held_by
        assert held is not None
        assert (held.length_ms, "only this client joined" in held.why) == (9_000, is_alone)


def test_the_plan_of_franz_go_s_leader_says_who_owns_what() -> None:
    group = group_of(*franz_leader(MEMBER, OTHER))
    (owners,) = [one for one in group.findings if one.finding == "owners"]
    assert owners.sentence == f"The leader's assignment of generation 7: {MEMBER}: orders 0, {OTHER}: orders 1."
    cut = franz_leader(MEMBER, OTHER)
    cut[4] = cut[4].replace("orders[1]}", "orders[1")
    assert "owners" not in {one.finding for one in group_of(*cut).findings}


@pytest.mark.parametrize(
    ("generation_id", "between", "kind"),
    [
        (8, [], CauseKind.MEMBER_REJOINED),
        (9, [], CauseKind.UNKNOWN),
        (8, ["heartbeat errored; UNKNOWN_MEMBER_ID: x"], CauseKind.UNKNOWN),
        (8, ["heartbeat errored; REBALANCE_IN_PROGRESS: x"], CauseKind.UNKNOWN),
    ],
    ids=("it alone", "generations are missing", "it was no member", "others had begun"),
)
def test_a_member_that_was_refused_its_offsets_joins_again_by_itself(
    generation_id: int, between: list[str], kind: CauseKind
) -> None:
    error = "UNKNOWN_TOPIC_OR_PARTITION: This server does not host this topic-partition."
    answers = [line.split("; ") for line in between]
    group = group_of(
        *franz_leader(MEMBER)[2:],
        *(franz(4, message, err=answer) for message, answer in answers),
        franz(5, "fetch offsets failed with non-retryable error", err=error),
        franz(5, "join and sync loop errored", err=error, consecutive_errors=1, backoff="250ms"),
        franz(6, "joining group"),
        franz(7, "joined, balancing group", member_id=MEMBER, generation=generation_id, leader=True),
        franz(7, "synced", assigned={"orders": [0]}),
    )
    last = group.rebalances[-1]
    assert (last.cause.kind, last.cause.member_id) == (kind, MEMBER if kind is not CauseKind.UNKNOWN else "")
    (refused,) = [one for one in group.findings if one.finding == "offsets_refused"]
    assert "UNKNOWN_TOPIC_OR_PARTITION" in refused.sentence


def test_a_member_that_takes_the_lead_and_all_partitions_is_without_the_earlier_leader() -> None:
    def joined(second: int, leader: str, *partitions: int) -> str:
        return kafkajs(
            second,
            "[ConsumerGroup] Consumer has joined the group",
            groupId="orders",
            memberId=MEMBER,
            leaderId=leader,
            isLeader=leader == MEMBER,
            memberAssignment={"orders": partitions},
        )

    group = group_of(joined(0, OTHER, 1), joined(40, MEMBER, 0, 1, 2))
    assert [(one.finding, one.is_inferred) for one in group.findings] == [("others_gone", True)]
    assert group_of(joined(0, OTHER, 1), joined(40, OTHER, 0, 1, 2)).findings == []


def test_sarama_s_consumer_that_goes_on_with_a_partition_of_another() -> None:
    error = "kafka server: The provided member is not known in the current generation."
    refused = f"kafka: error while consuming orders/0: {error}"
    group = group_of(
        "consumer 2:",
        "2026/03/01 03:12:00.100000 consumer.go:824: consumer/broker/41 added subscription to orders/0",
        "consumer 1:",
        f"2026/03/01 03:12:00.300000 consumer.go:149: - ERROR Consumer Errors: {refused}",
    )
    assert group.group_id == GROUP_NOT_NAMED
    of_both = ["two_consumers_on_one_partition", "commit_refused"]
    assert [one.finding for one in group.findings] == of_both
    assert "200 ms later consumer 1 still worked on it" in group.findings[0].sentence


def test_a_subscription_that_moved_to_another_broker_is_no_rebalance() -> None:
    group = group_of(
        "[Sarama] 2026/03/01 03:12:00 consumer/broker/41 abandoned subscription to orders/0 because no leader",
        "[Sarama] 2026/03/01 03:12:01 consumer/broker/42 added subscription to orders/0",
        "[Sarama] 2026/03/01 03:12:09 consumergroup/orders: lost ownership of map[orders:[0]] due to EOF",
    )
    assert group.rebalances == []


def test_a_program_that_takes_sarama_s_messages_too_slowly_is_no_rebalance() -> None:
    put_aside = "consumer/broker/41 abandoned subscription to orders/{} because consuming was taking too long"
    lines = [f"[Sarama] 2026/03/01 03:12:0{second} {put_aside.format(second % 2)}" for second in (1, 2, 3)]
    group = group_of(*lines)
    assert group.rebalances == []
    (slow,) = group.findings
    assert (slow.finding, slow.is_inferred) == ("processing_too_slow", False)
    assert "orders/0, orders/1" in slow.sentence
    assert "3 times" in slow.sentence


def test_kafkajs_may_be_printed_with_its_fields_behind_the_message() -> None:
    behind = {
        "timestamp": "2026-03-01T03:12:00.417Z",
        "logger": "kafkajs",
        "groupId": "orders",
        "memberId": MEMBER,
        "error": "The group is rebalancing, so a rejoin is needed",
    }
    text = f"ERROR [Runner] The group is rebalancing, re-joining {json.dumps(behind)}"
    for line in (text, json.dumps({"loglevel": "error", "msg": text})):
        (found,) = facts_in(line)
        assert (found.kind, found.group_id, found.member_id) == (FactKind.GROUP_IS_REBALANCING, "orders", MEMBER)
        assert found.at_ms == 1_772_334_720_417


def test_half_a_character_behind_kafkajs_s_message_can_be_printed() -> None:
    (found,) = facts_in('ERROR [Runner] The group is rebalancing, re-joining {"groupId": "a\\ud800b"}')
    assert found.group_id == "a?b"


def test_kafka_go_has_no_connection_to_its_coordinator_whatever_colons_the_reason_has() -> None:
    network = "dial tcp 10.0.0.3:9092: connect: connection refused"
    at = "2026/03/01 03:12:00"
    lost = facts_in(
        f"{at} Unable to establish connection to consumer group coordinator for group orders: {network}",
        f"{at} Failed to join group orders: {network}",
    )
    expected = (FactKind.COORDINATOR_LOST, "orders", "10.0.0.3:9092: connect: connection refused", True)
    assert [(one.kind, one.group_id, one.reason, one.is_certain) for one in lost] == [expected] * 2


def test_two_readers_of_kafka_go_in_one_file_are_two_clients() -> None:
    group = group_of(
        "2026/03/01 03:12:00 entering loop for consumer group, orders",
        f"2026/03/01 03:12:00 joined group orders as member {MEMBER} in generation 1",
        f"2026/03/01 03:12:00 found member: {MEMBER}/[]byte(nil)",
        "2026/03/01 03:13:00 entering loop for consumer group, orders",
        f"2026/03/01 03:13:30 joined group orders as member {OTHER} in generation 2",
        f"2026/03/01 03:13:30 found member: {OTHER}/[]byte(nil)",
    )
    first, second = group.rebalances
    assert [one.cause.is_inferred for one in (first, second)] == [True, True]
    assert second.held_by is not None
    assert (second.held_by.member_id, second.held_by.length_ms, second.held_by.is_inferred) == (MEMBER, 30_000, True)
    assert [one.finding for one in group.findings] == ["member_dropped", "rebalance_timeout_expired"]


def kafkajs_learns(*behind: str, before: tuple[str, ...] = ()) -> set[str]:
    """What is found if KafkaJS is answered three times that others rebalance, and these lines stand around that."""
    answer = "[Connection] Response Heartbeat(key: 12, version: 3)"
    error = "The group is rebalancing, so a rejoin is needed"
    answers = [kafkajs(second, answer, clientId="orders-1", error=error) for second in range(3)]
    return {finding.finding for finding in group_of(*before, *answers, *behind).findings}


def test_kafkajs_has_no_line_for_asking_so_an_answer_shows_that_it_asked() -> None:
    first, again = (
        kafkajs(second, "[ConsumerGroup] Consumer has joined the group", groupId="orders", memberId=MEMBER)
        for second in (0, 4)
    )
    assert "application_does_not_poll" not in kafkajs_learns(again)
    assert "application_does_not_poll" in kafkajs_learns(before=(first,))
    assert "application_does_not_poll" not in kafkajs_learns()


def test_a_kafkajs_consumer_that_is_started_again_did_not_stop_for_good() -> None:
    crash = kafkajs(1, "[Consumer] Crash: KafkaJSNumberOfRetriesExceeded: out", groupId="orders")
    again = kafkajs(1, "[Consumer] Restarting the consumer in 300ms", groupId="orders", retryTime=300)
    (for_good,) = [one for one in group_of(crash).findings if one.finding == "client_crashed"]
    (restarted,) = [one for one in group_of(crash, again).findings if one.finding == "client_crashed"]
    assert "restart" not in for_good.sentence
    assert "restarts it 300 ms later" in restarted.sentence


@pytest.mark.parametrize("lead", ["[sarama]2018/01/18 04:38:29 ", "[Sarama] 2018/01/18 04:38:29 ", ""])
def test_sarama_names_its_coordinator_by_an_address_or_a_host(lead: str) -> None:
    said = "client/coordinator coordinator for consumergroup orders is #146"
    for where in ("(10.0.0.1:9092)", "(kafka-1.example:9092)"):
        (fact,) = facts_in(f"{lead}{said} {where}")
        assert (fact.kind, fact.group_id, fact.broker_id) == (FactKind.COORDINATOR_FOUND, "orders", "146")
        assert (fact.at_ms is None) == (lead == "")


# ---------------------------------------------------------------- brod


def test_brod_s_message_stands_in_the_line_behind_its_heading() -> None:
    member_id = "app@host-1/<0.412.0>-6c1d0b29-57f7-4e52-9ffb-38d5ad112b53"
    older = f"[info] group coordinator (groupId=orders,memberId={member_id},generation=12,pid=#PID<0.412.0>):"
    newer = "[info] Group member (orders,coor=<0.412.0>,cb=<0.410.0>,generation=12):"
    learnt, joined, synced, refused = facts_in(
        *(older, "re-joining group, reason::RebalanceInProgress"),
        *(newer, "elected=true"),
        *(newer, "assignments received:", "  orders:", "    partition=0 begin_offset=41"),
        *(newer, "failed to join group", "reason: unknown_member_id"),
    )
    assert (learnt.kind, learnt.group_id, learnt.member_id) == (FactKind.GROUP_IS_REBALANCING, "orders", member_id)
    assert (joined.kind, joined.generation_id, joined.line_number) == (FactKind.JOINED, 12, 3)
    assert (synced.kind, synced.partitions) == (FactKind.SYNCED, "orders: partition=0 begin_offset=41")
    assert (refused.kind, refused.error) == (FactKind.JOIN_REFUSED, "unknown_member_id")


def test_a_beginning_without_a_time_is_a_beginning() -> None:
    heading = "[info] Group member (orders,coor=<0.412.0>,cb=<0.410.0>,generation={}):"
    group = group_of(
        *(heading.format(12), "re-joining group, reason:rebalance_in_progress"),
        *(heading.format(13), "elected=false", heading.format(13), "assignments received:[]"),
    )
    assert "do not say who began it" in cause_sentence(group.rebalances[0])


def test_a_line_of_json_may_end_a_sentence() -> None:
    first = kafkajs(1, "[Runner] The group is rebalancing, re-joining", groupId="orders", memberId=MEMBER)
    joined = kafkajs(2, "[ConsumerGroup] Consumer has joined the group", groupId="orders", memberId=MEMBER)
    assert [fact.kind for fact in facts_in(f"{first}.", joined)] == [
        FactKind.GROUP_IS_REBALANCING,
        FactKind.JOINED_AND_SYNCED,
    ]


def test_sarama_cluster_s_refused_rebalance_is_a_coordinator_that_did_not_move() -> None:
    found = "client/coordinator coordinator for consumergroup orders is #146 (10.0.0.1:9092)"
    denied = "rebalance error: kafka server: Request was for a consumer group that is not coordinated by this broker."
    lines = [f"[sarama]2018/01/18 04:38:29 {text}" for text in (found, denied, found)]
    assert [one.finding for one in group_of(*lines).findings] == ["coordinator_lost_by_client"]


def test_a_kafkajs_consumer_that_its_coordinator_had_removed_sets_nothing_off_by_stopping() -> None:
    """Some of its lines name its client, others its group: they are of one client, the only one."""
    lost = "The coordinator is not aware of this member"
    group = group_of(
        kafkajs(1, "[ConsumerGroup] Consumer has joined the group", groupId="orders", memberId=MEMBER),
        kafkajs(2, "[Connection] Response Heartbeat(key: 12, version: 3)", clientId="orders-1", error=lost),
        kafkajs(3, "[Consumer] Crash: KafkaJSNumberOfRetriesExceeded: too many", groupId="orders"),
        kafkajs(4, "[Consumer] Stopped", groupId="orders"),
        kafkajs(5, "[Consumer] Restarting the consumer in 8740ms", groupId="orders"),
    )
    assert [one.outcome for one in group.rebalances] == ["completed"]
    (crashed,) = [one.sentence for one in group.findings if one.finding == "client_crashed"]
    assert crashed.startswith("orders-1 stopped consuming")
    assert "restarts it 8.740 s later" in crashed


FIELDS = {"group": "orders", "member_id": MEMBER, "generation": "4", "leader": "true"}


@pytest.mark.parametrize(
    "head", ["", "[INFO] ", "name=w_0[INFO] ", "2026-03-01 03:12:00,417 INFO [main] com.acme.A - "]
)
@pytest.mark.parametrize(
    "fields",
    [
        "; " + ", ".join(f"{key}: {value}" for key, value in FIELDS.items()),
        "".join(f" {key}={value}" for key, value in FIELDS.items()),
    ],
)
def test_franz_go_s_message_is_found_behind_any_head(head: str, fields: str) -> None:
    for text in (f"{head}joined, balancing group{fields}", json.dumps({"msg": f"{head}joined{fields}"})):
        (fact,) = read_lines("app.log", [text]).facts
        assert (fact.kind, fact.group_id, fact.member_id, fact.generation_id) == (FactKind.JOINED, "orders", MEMBER, 4)


@pytest.mark.parametrize("time", ['time="2026-03-01T03:12:00.417Z" ', "ts=2026-03-01T03:12:00.417Z "])
def test_a_time_as_a_field_may_stand_before_a_line_that_is_not_made_of_fields(time: str) -> None:
    (fact,) = read_lines("app.log", [f"{time}name=w_0[INFO] joining group; group: orders"]).facts
    assert (fact.kind, fact.at_ms) == (FactKind.JOIN_SENT, 1_772_334_720_417)


@pytest.mark.parametrize("text", ["user joined; group: a", "[INFO] user joined group=a", "he has joined; group: a"])
def test_a_message_that_ends_in_franz_go_s_words_is_another(text: str) -> None:
    assert read_lines("app.log", [text]).facts == []


@pytest.mark.parametrize("form", ["{}; group: orders", "{} group=orders"])
def test_behind_a_name_franz_go_s_message_is_found_if_it_or_another_line_is_unmistakable(form: str) -> None:
    begins, joins = (f"kgo.client {form.format(text)}" for text in ("beginning autocommit loop", "joining group"))
    assert read_lines("app.log", [joins]).facts == []
    kinds = [fact.kind for fact in read_lines("app.log", [begins, joins]).facts]
    assert kinds == [FactKind.MEMBER_ID_SET, FactKind.JOIN_SENT]


@pytest.mark.parametrize("tag", ["", "[thread-1] ", "[thread-1] [[orders] {clicks: 0}:] ", "[orders] {clicks: 0}: "])
def test_ruby_kafka_s_group_is_none_of_the_threads(tag: str) -> None:
    (fact,) = read_lines("app.log", [f"2026-03-01 03:12:00 {tag}Joining group `orders`"]).facts
    assert (fact.dialect, fact.group_id) == ("ruby-kafka", "orders")


KAFKA_NODE = """\
kafka-node:ConsumerGroup Connecting c-1 +0ms
  kafka-node:ConsumerGroup joinGroupResponse {{"generationId":4,"leaderId":"c-2-x","memberId":"{member}"}} from c-1 +3s
  kafka-node:ConsumerGroup SyncGroup Response +4ms
  kafka-node:ConsumerGroup c-1 owns topics:  {{ clicks: [ 0 ] }} +0ms
  kafka-node:ConsumerGroup generationId 4 +0ms
  kafka-node:ConsumerGroup c-1 Heartbeat error: {{ {error}: Kafka Error Code: 27
    at new {error} (/srv/app/node_modules/kafka-node/lib/errors/{error}Error.js:4:9)
  message: 'Kafka Error Code: 27', errorCode: '{error}' }} +5s
  kafka-node:ConsumerGroup Connecting c-1 on rebalance +1s"""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("RebalanceInProgress", FactKind.GROUP_IS_REBALANCING),
        ("UnknownMemberId", FactKind.MEMBERSHIP_LOST),
        ("IllegalGeneration", FactKind.MEMBERSHIP_LOST),
        ("NotCoordinatorForGroup", FactKind.COORDINATOR_LOST),
    ],
)
def test_each_indented_line_of_kafka_node_s_is_a_line(error: str, kind: FactKind) -> None:
    facts = facts_in(*KAFKA_NODE.format(member=MEMBER, error=error).split("\n"))
    assert [fact.kind for fact in facts] == [
        FactKind.JOIN_SENT,
        FactKind.JOINED,
        FactKind.SYNCED,
        FactKind.PARTITIONS_ADDED,
        FactKind.HEARTBEAT,
        kind,
        FactKind.JOIN_SENT,
    ]
    joined = facts[1]
    assert (joined.generation_id, joined.member_id, joined.other_member_id) == (4, MEMBER, "c-2-x")
    assert {fact.client_id for fact in facts} <= {"c-1", ""}


def test_the_time_that_a_browser_or_the_debug_module_prints_is_read() -> None:
    (fact,) = facts_in("Sun, 01 Mar 2026 03:12:00 GMT kafka-node:ConsumerGroup c-1 leaving group")
    assert (fact.kind, fact.at_ms) == (FactKind.LEAVE_SENT, 1_772_334_720_000)


def test_azure_event_hubs_coordinator_says_who_joins() -> None:
    line = {
        "operation": "Join.Start",
        "message": "Start join group for new member: ns.windows.net:c:orders:I:orders-51, groupInstanceId: , current "
        "group size: 1, API version: 5, session timeout: 60000ms, rebalance timeout: 600000ms.",
        "eventTimestamp": "03/01/2026 03:12:00.417 AM +00:00",
        "category": "KafkaCoordinatorLogs",
    }
    older = line | {"message": line["message"].replace(":", "", 1).replace(" groupInstanceId: ,", "")}
    for one in (line, older):
        (fact,) = facts_in(json.dumps(one))
        ((rebalance,),) = [group.rebalances for group in groups_in([fact])]
        assert (fact.group_id, fact.at_ms) == ("orders", 1_772_334_720_417)
        assert (rebalance.cause.kind, rebalance.cause.member_id) == (
            CauseKind.MEMBER_JOINED,
            "ns.windows.net:c:orders:I:orders-51",
        )
