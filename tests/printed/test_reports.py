"""What reports of strangers taught: a client without answers, removals without a rebalance, groups that vanish."""

from __future__ import annotations

import json

import pytest

from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.reading import read_lines
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.wording import cause_sentence, holder_sentence
from rollcall.schemas.causes import CauseKind
from tests.printed.printed import MEMBER, at, broker, group_of, java

GENERATION = f"Generation{{{{generationId={{}}, memberId='{MEMBER}', protocol='sessioned'}}}}"
RDKAFKA = "%7|177236640{}.000|CGRP|orders-1#consumer-1| [thrd:main]: {}"


def keys_of(group: LoggedGroup) -> list[str]:
    return [one.finding for one in group.findings]


# ---------------------------------------------------------------- answers that are errors


def test_an_assignment_with_an_error_completes_nothing() -> None:
    given = (
        "Joined group at generation {} with protocol version 2 and got assignment: Assignment{{error={}, leader='c'}}"
    )
    group = group_of(
        java(1, "Successfully joined group with generation 7", kind="Worker"),
        java(1, given.format(7, 1), kind="Worker"),
        java(2, "(Re-)joining group", kind="Worker"),
        java(3, "Successfully joined group with generation 8", kind="Worker"),
        java(3, given.format(8, 0), kind="Worker"),
    )
    assert [one.outcome for one in group.rebalances] == ["", "completed"]
    (refused,) = group.findings
    assert "CONFIG_MISMATCH" in refused.sentence
    assert not refused.is_inferred


def test_a_loop_of_refused_assignments_is_counted() -> None:
    joined = "Successfully joined group with generation {}"
    failed = "SyncGroup failed: The group began another rebalance. Need to re-join the group. Sent generation was {}"
    group = group_of(
        *(
            java(second, text.format(GENERATION.format(second)))
            for second in (1, 2, 3)
            for text in ("(Re-)joining group", joined, failed)
        )
    )
    (refused,) = group.findings
    assert refused.finding == "assignment_refused"
    assert refused.sentence.endswith("3 times within 2 s: REBALANCE_IN_PROGRESS (The group began another rebalance).")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("Broker: Group rebalance in progress", "REBALANCE_IN_PROGRESS"),
        ("Unknown broker error", "Unknown broker error"),
    ],
)
def test_librdkafka_s_answer_without_an_assignment_is_an_error(error: str, said: str) -> None:
    group = group_of(
        RDKAFKA.format(0, 'Joining group "orders" with 1 subscribed topic(s)'),
        RDKAFKA.format(1, f"SyncGroup response: {error} (0 bytes of MemberState data)"),
    )
    (refused,) = group.findings
    assert refused.sentence.endswith(f"{said}.")


@pytest.mark.parametrize("request_name", ["FindCoordinator", "GroupCoordinator"])
def test_a_client_whose_coordinator_is_not_found_is_without_one(request_name: str) -> None:
    answer = f'bootstrap:9092/1: Group "orders" {request_name} response error: Broker: Coordinator not available'
    group = group_of(RDKAFKA.format(0, answer), RDKAFKA.format(2, answer))
    (found,) = group.findings
    assert found.finding == "coordinator_not_found"
    assert "2 times within 2 s (COORDINATOR_NOT_AVAILABLE)" in found.sentence
    answered = RDKAFKA.format(3, 'GroupCoordinator/8: Heartbeat for group "orders" generation id 4')
    assert keys_of(group_of(RDKAFKA.format(0, answer), answered)) == []


# ---------------------------------------------------------------- who leaves, and who holds


def test_a_client_that_has_no_poll_timeout_left() -> None:
    line = {"time": "2026-03-01T03:12:00Z", "msg": "leaving group", "group": "orders", "member_id": MEMBER}
    (one,) = group_of(json.dumps(line)).rebalances
    assert (one.cause.kind, one.cause.is_inferred, one.cause.candidates) == (CauseKind.MEMBER_LEFT, False, ())


def test_a_client_that_no_line_names_held_the_others_all_the_same() -> None:
    beat = 'Group "orders" heartbeat error response in state up (join-state {}, 3 partition(s) assigned): Broker: {}'
    printed = [(0, beat.format("steady", "Group rebalance in progress")), (9, beat.format("steady", "Unknown member"))]
    group = group_of(*(f"2026-03-01T03:12:0{second}.5Z Debug | [thrd:main]: {text}" for second, text in printed))
    held = group.rebalances[0].held_by
    assert held is not None
    assert holder_sentence(held).startswith("The client of these lines kept the others waiting for 9 s (inferred)")


def test_two_consumers_in_serilog_s_json_are_distinguished() -> None:
    def line(number: int) -> str:
        message = '[thrd:main]: Group "orders" changed join state init -> wait-join (state up)'
        name = f"rdkafka#consumer-{number}"
        return json.dumps(
            {"@t": "2026-03-01T03:12:00Z", "@m": f'"{name}": ..', "MessageName": name, "Message": message}
        )

    facts = read_lines("app.log", [line(1), line(2)]).facts
    assert [fact.client_id for fact in facts] == ["rdkafka#consumer-1", "rdkafka#consumer-2"]


def test_a_client_that_is_removed_again_and_again_is_reported_once() -> None:
    group = group_of(
        *(
            f"W, [2026-03-01T03:12:0{second}.000000 #1]  WARN -- : [orders] {{}}: {text}"
            for second in (0, 3, 6)
            for text in ("Error sending heartbeat: Kafka::UnknownMemberId", "Joining group `orders`")
        )
    )
    (learnt,) = group.findings
    assert "in 3 lines within 6 s" in learnt.sentence


# ---------------------------------------------------------------- a broker's lines


def test_members_that_expired_are_reported_though_no_rebalance_is() -> None:
    (expired,) = group_of(broker(1, f"Member {MEMBER} in group orders has failed, removing it from the group")).findings
    assert (expired.finding, expired.is_inferred) == ("expired_apart", False)
    assert MEMBER in expired.sentence


def test_an_expiry_that_is_a_rebalances_cause_is_reported_once() -> None:
    reason = f"removing member {MEMBER} on heartbeat expiration"
    group = group_of(
        broker(1, f"Member {MEMBER} in group orders has failed, removing it from the group"),
        broker(
            1,
            f"Preparing to rebalance group orders in state PreparingRebalance with old generation 4 "
            f"(__consumer_offsets-7) (reason: {reason})",
        ),
    )
    assert "expired_apart" not in keys_of(group)


def test_an_old_broker_ends_a_rebalance_by_removing_its_group() -> None:
    begun = broker(1, "Preparing to restabilize group orders with old generation 4")
    removed = "Group orders generation {} is dead and removed"
    (one,) = group_of(begun, broker(2, removed.format(4))).rebalances
    assert (one.outcome, one.members) == ("empty", 0)
    assert (one.from_generation_id, one.generation_id) == (4, None)
    (one,) = group_of(begun, broker(2, removed.format(6))).rebalances
    assert one.outcome == ""
    formed = broker(2, "Stabilized group orders generation 5")
    (one,) = group_of(begun, formed, broker(3, removed.format(4))).rebalances
    assert (one.outcome, one.generation_id) == ("", 5)


def test_a_reporter_s_own_word_may_stand_before_a_coordinator_s_line() -> None:
    coordinator = "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] [GroupId orders]"
    (bumped,) = read_lines("paste.txt", [f"broker  INFO {coordinator} Bumped group epoch to 8."]).facts
    assert (bumped.dialect, bumped.group_id, bumped.generation_id, bumped.broker_id) == ("broker", "orders", 8, "1")


# ---------------------------------------------------------------- joins that are refused


@pytest.mark.parametrize(
    "text",
    [
        "JoinGroup failed due to fatal error: The consumer group has reached its max size.",
        "Attempt to join group failed due to fatal error: The group member's supported protocols are incompatible.",
        "ConsumerGroupHeartbeatRequest failed due to unreleased instance id pod-1: The instance id is still in use.",
        "ConsumerGroupHeartbeatRequest failed due to UNSUPPORTED_ASSIGNOR: Supported assignors: uniform, range.",
        "ConsumerGroupHeartbeatRequest failed due to group authorization failure: Not authorized to access group.",
    ],
)
def test_a_java_client_does_not_ask_again_after_a_fatal_error(text: str) -> None:
    (refused,) = group_of(java(1, text)).findings
    assert refused.finding == "join_refused"
    assert "does not try again" in refused.sentence


JAVA_ERRORS = "org.apache.kafka.common.errors."


def java_failed(second: int, error: str) -> list[str]:
    """An attempt of a Java client of 2.7 or 2.8 that failed, with the lines that it prints behind it."""
    return [
        java(second, "Rebalance failed."),
        "",
        f"{JAVA_ERRORS}{error}",
        "\tat org.apache.kafka.clients.C.f(C.java:1)",
    ]


def test_a_rebalance_that_failed_says_with_which_exception() -> None:
    error = "DisconnectException: The coordinator closed the connection."
    group = group_of(java(1, "(Re-)joining group"), *java_failed(2, error), *java_failed(4, error))
    (failed,) = group.findings
    assert (failed.finding, failed.is_inferred) == ("join_failed", False)
    assert f"failed 2 times: {error}" in failed.sentence
    (failed,) = group_of(java(1, f"Rebalance failed. {JAVA_ERRORS}{error}")).findings
    assert f"failed: {error}" in failed.sentence


@pytest.mark.parametrize(
    "words",
    [
        "rebalance failed due to MemberIdRequiredException",
        "rebalance failed due to 'The group member needs to have a valid member id before actually entering a consumer "
        "group.' (MemberIdRequiredException)",
        f"need to re-join with the given member-id: {MEMBER}",
    ],
)
def test_the_words_of_every_first_join_are_no_reason_of_its_own(words: str) -> None:
    began = "Preparing to rebalance group orders in state PreparingRebalance with old generation 4 (reason: Adding new "
    group = group_of(broker(1, f"{began}member {MEMBER} with group instance id None; client reason: {words})"))
    assert "reason given" not in cause_sentence(group.rebalances[0])


def test_an_id_that_a_first_join_lacks_is_no_failure() -> None:
    needed = "MemberIdRequiredException: The group member needs to have a valid member id before actually entering it."
    assert keys_of(group_of(java(1, "(Re-)joining group"), *java_failed(2, needed))) == []


def test_an_exception_that_a_line_before_it_has_said_is_reported_once() -> None:
    denied = "This is not the correct coordinator."
    said = java(1, f"JoinGroup failed: {denied}")
    failed = java_failed(1, f"NotCoordinatorException: {denied}")
    group = group_of(*(line for _ in range(2) for line in (java(1, "(Re-)joining group"), said, *failed)))
    assert keys_of(group) == ["join_refused"]
    assert "was refused 2 times" in group.findings[0].sentence


def test_one_answer_to_many_joins_is_reported_once() -> None:
    loading = "JoinGroup failed: The coordinator is loading the group."
    group = group_of(
        *(java(second, text) for second in (1, 2, 3) for text in ("(Re-)joining group", loading)),
        java(4, "JoinGroup failed: This is not the correct coordinator."),
    )
    first, last = group.findings
    assert (
        "was refused 3 times within 2 s: COORDINATOR_LOAD_IN_PROGRESS (The coordinator is loading the group). "
        "It tries again." in first.sentence
    )
    assert "was refused: NOT_COORDINATOR (This is not the correct coordinator)." in last.sentence


def test_a_static_member_of_a_consumer_group_that_comes_back_is_reported() -> None:
    heading = "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] [GroupId orders] "
    came = (
        "Static member with instance id pod-1 re-joins the consumer group using the consumer protocol. Created a new "
        "member B1 to replace the existing member A1."
    )
    (replaced,) = group_of(f"2026-03-01 03:12:01,000 INFO {heading}{came}").findings
    assert replaced.finding == "static_member_replaced"
    assert "under the member id B1; the id A1 is out" in replaced.sentence


def test_a_class_name_behind_a_broken_line_is_no_part_of_a_reason() -> None:
    left = f"Member {MEMBER} sending LeaveGroup request to coordinator b1:9092 due to consumer poll timeout has"
    (one,) = group_of(
        java(1, left), " expired. (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
    ).rebalances
    assert one.cause.client_reason == "consumer poll timeout has expired"


def test_a_rebalance_is_superseded_only_where_its_assignment_cannot_have_come() -> None:
    began = "Preparing to rebalance group orders in state PreparingRebalance with old generation {} (reason: {})"
    ended = "Stabilized group orders generation 70 (__consumer_offsets-0)"
    first = broker(1, began.format(69, f"leader {MEMBER} re-joining group during Stable"))
    expired, updated = (
        f"removing member {MEMBER} on heartbeat expiration",
        f"Updating metadata for member {MEMBER} during CompletingRebalance",
    )

    def outcomes(*lines: str) -> list[str]:
        return [one.outcome for one in group_of(first, *lines).rebalances]

    assert outcomes(broker(9, began.format(70, expired))) == ["", ""]
    assert outcomes(broker(2, ended), broker(9, began.format(70, expired))) == ["", ""]
    assert outcomes(broker(2, ended), broker(9, began.format(70, updated))) == ["superseded", ""]
    assert outcomes(broker(2, ended), broker(2, began.format(70, expired))) == ["superseded", ""]


def test_an_id_at_which_a_line_is_cut_is_the_one_of_the_line_before() -> None:
    given = broker(
        1,
        "Dynamic member with unknown member id joins group orders in Stable state. "
        f"Created a new member id {MEMBER} and request the member to rejoin with this id.",
    )
    whole = broker(
        1,
        "Preparing to rebalance group orders in state PreparingRebalance with old generation 7 "
        f"(__consumer_offsets-0) (reason: Adding new member {MEMBER}",
    )
    cut = whole[: whole.index(MEMBER) + 3]
    (one,) = group_of(given, cut).rebalances
    assert (one.cause.kind, one.cause.member_id) == (CauseKind.MEMBER_JOINED, MEMBER)


@pytest.mark.parametrize(
    "line",
    [
        'Exception in thread "main" org.apache.kafka.clients.consumer.CommitFailedException: {}',
        "2026-03-01 03:12:00,417 ERROR [io.sma.rea.mes.kaf.imp.KafkaSource] (vert.x-eventloop-thread-0) Unable to read "
        "a record: org.apache.kafka.clients.consumer.CommitFailedException: {}",
    ],
)
def test_an_application_s_own_line_of_a_commit_that_failed_is_a_java_client_s(line: str) -> None:
    why = (
        "Commit cannot be completed since the group has already rebalanced and assigned the partitions to another one."
    )
    group = group_of(line.format(why), "\tat org.apache.kafka.clients.consumer.KafkaConsumer.commitSync(K.java:1)")
    assert keys_of(group) == ["commit_refused"]


def test_a_spring_container_stopped_since_its_member_was_fenced() -> None:
    stopped = (
        "2026-03-01 03:12:00.417 ERROR 1 --- [nsumer-0-C-1] o.s.k.l.K : Fatal consumer exception; stopping container"
    )
    why = (
        "org.apache.kafka.common.errors.FencedInstanceIdException: The broker rejected this static consumer since "
        "another consumer with the same group.instance.id has registered with a different member.id."
    )
    assert keys_of(group_of(stopped, "", why)) == ["fenced"]


def test_a_join_that_logstash_died_of_was_refused_for_good() -> None:
    line = (
        "[2026-03-01T03:12:00,417][FATAL][logstash.runner          ] An unexpected error occurred! "
        "{:error=>org.apache.kafka.common.KafkaException: Unexpected error in join group response: The group is "
        'rebalancing, so a rejoin is needed., :backtrace=>["org.apache.kafka.clients.KafkaClient.handle(K.java:1)"]}'
    )
    (refused,) = group_of(line).findings
    assert refused.finding == "join_refused"
    assert "(The group is rebalancing, so a rejoin is needed). This error is fatal" in refused.sentence


@pytest.mark.parametrize(
    ("comma", "behind"), [(",", ""), (", ", " during join-group, will respond with instance fenced error")]
)
def test_a_member_that_an_old_broker_fenced_is_of_the_only_group_that_has_its_ids_be_it_named_before_or_after(
    comma: str, behind: str
) -> None:
    other = MEMBER.replace("orders-1-6", "orders-1-7")
    fenced = (
        f"[{at(1)}] ERROR given member.id {other} is identified as a known static member orders-1"
        f"{comma}but not matching the expected member.id {MEMBER}{behind} (kafka.coordinator.group.GroupMetadata)"
    )
    failed = broker(2, f"Member {MEMBER} in group orders has failed, removing it from the group")
    for lines in ([fenced, failed], [failed, fenced]):
        (found,) = (one.sentence for one in group_of(*lines).findings if one.finding == "fenced")
        assert found.startswith(f"{other} was fenced: {MEMBER} is the member orders-1 now")
    elsewhere = failed.replace("group orders", "group other")
    groups = groups_in(read_lines("server.log", [fenced, failed, elsewhere]).facts)
    assert [one for group in groups for one in group.findings if one.finding == "fenced"] == []


def test_who_leaves_long_after_others_joined_a_generation_did_not_set_it_off() -> None:
    joined = "Successfully joined group with generation Generation{{generationId={}, memberId='{}', protocol='range'}}"
    late = (
        f"Member {MEMBER} sending LeaveGroup request to coordinator b1:9092 due to consumer poll timeout has expired."
    )
    other = f"other-{MEMBER[-36:]}"

    def of(second: int, client_id: str, text: str) -> str:
        said = f"INFO [Consumer clientId={client_id}, groupId=orders] {text}"
        return (
            f"2026-03-01 03:12:{second:02},000 {said} (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
        )

    own, others = of(1, "orders-1", joined.format(9, MEMBER)), of(2, "other", joined.format(10, other))
    at_once, much_later = (group_of(own, others, of(second, "orders-1", late)).rebalances for second in (2, 40))
    assert [(one.generation_id, one.cause.kind) for one in at_once][1:] == [(10, CauseKind.POLL_TIMEOUT)]
    assert [(one.generation_id, one.cause.kind) for one in much_later][1:] == [
        (10, CauseKind.UNKNOWN),
        (None, CauseKind.POLL_TIMEOUT),
    ]
