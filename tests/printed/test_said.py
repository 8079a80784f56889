"""What stands in a client's lines is said: an error's own name, who leads, who was given what, what began it."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.wording import cause_sentence, holder_sentence, left_open, own_part
from rollcall.schemas.causes import CauseKind
from tests.printed.printed import MEMBER, OTHER, found, group_of, java

RDKAFKA = "%7|17723664{:06.3f}|CGRP|orders-1#consumer-1| [thrd:main]: {}"
AIOKAFKA = "2026-03-01 03:12:{:02},000 WARNING aiokafka.consumer.group_coordinator {}"
PYTHON = "2026-03-01 03:12:{:02},000 WARNING kafka.coordinator.consumer {}"
LOST = (
    "Group coordinator b:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: "
    "{}.isDisconnected: false. Rediscovery will be attempted."
)
FOUND = "Discovered group coordinator b:9092 (id: {} rack: null)"
JOINED = "Successfully joined group with generation Generation{{generationId={}, memberId='{}', protocol='range'}}"
FINISHED = "Finished assignment for group at generation {}: {{{}}}"


# ---------------------------------------------------------------- an error's own name

NOT_FOR_GROUP = "NotCoordinatorForGroupError"
OFFSET_COMMIT = "Offset commit failed on partition t-2 at offset 0: "


REBALANCED = "Commit cannot be completed since the group has already rebalanced and assigned the partitions to another "
ELSEWHERE = "NOT_COORDINATOR"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (java(1, f"{OFFSET_COMMIT}This is not the correct coordinator."), ELSEWHERE),
        (
            RDKAFKA.format(1, "Offset commit (a) failed for 1/1 partition(s): Broker: Not coordinator: t"),
            ELSEWHERE,
        ),
        (PYTHON.format(1, f"Group orders failed to commit partition t-2 at offset 0: {NOT_FOR_GROUP}"), ELSEWHERE),
        (PYTHON.format(1, "OffsetCommit for group orders failed: [Error 16] NotCoordinatorError"), ELSEWHERE),
        (AIOKAFKA.format(1, f"OffsetCommit failed for group orders - [Error 16] {NOT_FOR_GROUP}"), ELSEWHERE),
        (java(1, f"{OFFSET_COMMIT}The coordinator is not aware of this member."), "UNKNOWN_MEMBER_ID"),
        (PYTHON.format(1, "Auto offset commit failed for group orders: UnknownMemberIdError"), "UNKNOWN_MEMBER_ID"),
        (
            PYTHON.format(1, f"Auto offset commit failed for group orders: CommitFailedError: {REBALANCED}member."),
            "CommitFailedError",
        ),
        (f"CommitFailedException: {REBALANCED}member.", "CommitFailedException"),
    ],
)
def test_a_refused_commit_names_the_error_and_only_another_broker_s_revokes_nothing(line: str, name: str) -> None:
    (refused,) = found("commit_refused", line)
    assert f": {name}" in refused.sentence
    assert ("takes no partition away" in refused.sentence) == (name == ELSEWHERE)
    assert ("next owner" in refused.sentence) == (name != ELSEWHERE)


EXCEPTION = "org.apache.kafka.common.errors.NotCoordinatorException: This is not the correct coordinator."
SHIPPED = "2026-03-01T04:39:2{}-08:00\t{}"
FAILS = (
    "2026-03-01T12:39:2{}.31{}Z app INFO [org.apache.kafka.clients.consumer.internals.AbstractCoordinator:470] - "
    "[Consumer clientId=orders-1, groupId=orders] {}"
)


def failed_join(second: int) -> list[str]:
    texts = [FOUND.format(2_147_483_647), "(Re-)joining group", "Rebalance failed."]
    lines = [FAILS.format(second, place, text) for place, text in enumerate(texts)]
    return [*lines, EXCEPTION, "", FAILS.format(second, 9, LOST.format("coordinator unavailable"))]


@pytest.mark.parametrize("is_newest_first", [False, True])
@pytest.mark.parametrize("is_shipped", [False, True])
def test_a_failed_join_has_the_exception_behind_it(is_newest_first: bool, is_shipped: bool) -> None:
    lines = [
        SHIPPED.format(second, line) if is_shipped else line for second in (6, 7, 8) for line in failed_join(second)
    ]
    (failed,) = found("join_failed", *(reversed(lines) if is_newest_first else lines))
    assert "3 times: NOT_COORDINATOR" in failed.sentence
    (denied,) = found("coordinator_named_but_denies", *(reversed(lines) if is_newest_first else lines))
    assert "told 3 times" in denied.sentence


CHOSEN = (
    "Was selected to perform assignments, but do not have latest config found in sync request. Returning an empty "
    "configuration to trigger re-sync."
)
MISMATCH = (
    "Joined group at generation {} with protocol version 2 and got assignment: Assignment{{error=1, leader='{}', "
    "leaderUrl='http://w:8083/', offset=12, connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], "
    "delay=0}} with rebalance delay: 0"
)


def of_a_leader_with_old_configs(*generations: int) -> LoggedGroup:
    return group_of(
        *(
            java(generation + after, text.format(generation, MEMBER), kind="Worker")
            for generation in generations
            for after, text in (
                (0.0, "Rebalance started"),
                (0.1, CHOSEN),
                (0.2, "Successfully joined group with generation {}"),
                (0.3, MISMATCH),
            )
        )
    )


def test_a_leader_whose_configs_are_old_is_named_and_began_the_next_rebalance_itself() -> None:
    group = of_a_leader_with_old_configs(4, 5, 6)
    (behind,) = [one for one in group.findings if one.finding == "leader_behind_configs"]
    assert "orders-1 leads the group" in behind.sentence
    assert "offset 12" in behind.sentence
    assert "3 times" in behind.sentence
    assert [one.cause.kind for one in group.rebalances[1:]] == [CauseKind.MEMBER_REJOINED] * 2
    assert all(one.cause.is_inferred and one.cause.member_id == MEMBER for one in group.rebalances[1:])


def test_what_a_leader_does_once_takes_no_time() -> None:
    group = of_a_leader_with_old_configs(4)
    (behind,) = [one for one in group.findings if one.finding == "leader_behind_configs"]
    assert "handed out nothing, so that all join again." in behind.sentence


def test_a_sync_that_the_broker_of_the_join_refuses_took_no_effect() -> None:
    sent = f"Sent generation was Generation{{generationId=5, memberId='{MEMBER}', protocol='range'}}"
    group = group_of(
        java(1, "(Re-)joining group"),
        java(2, JOINED.format(5, MEMBER)),
        java(3, FINISHED.format(5, f"{MEMBER}=Assignment(partitions=[t-0])")),
        java(4, f"SyncGroup failed: This is not the correct coordinator. Marking coordinator unknown. {sent}"),
    )
    sentences = {one.finding: one.sentence for one in group.findings}
    assert "NOT_COORDINATOR (This is not the correct coordinator). No assign" in sentences["coordinator_refuses_syncs"]
    assert "assignment_refused" not in sentences
    assert "owners" not in sentences


# ---------------------------------------------------------------- candidates fit the stack trace

FENCED = (
    "2026-03-01 03:12:01,000 WARN stream-thread [app-StreamThread-2] Detected that the thread is being fenced. This "
    "implies that this thread missed a rebalance and dropped out of the consumer group. Will close out all assigned "
    "tasks and rejoin the consumer group. (org.apache.kafka.streams.processor.internals.StreamThread:613)"
)
MIGRATED = "org.apache.kafka.streams.errors.TaskMigratedException: {}; it means all tasks should be migrated."


@pytest.mark.parametrize(
    ("exception", "has_poll_timeout", "has_producer"),
    [
        ("", True, True),
        ("Consumer committing offsets failed, indicating the thread is no longer part of the group", True, False),
        ("Producer got fenced trying to commit a transaction", False, True),
        ("Error encountered sending record to topic t: no more records since the producer is fenced", False, True),
    ],
)
def test_why_a_streams_thread_was_refused_fits_its_exception(
    exception: str, has_poll_timeout: bool, has_producer: bool
) -> None:
    lines = [MIGRATED.format(exception), "\tat org.apache.kafka.streams.X.y(X.java:1)"] if exception else []
    (refused,) = found("client_learned_of_it", FENCED, *lines)
    assert any("poll timeout" in one for one in refused.candidates) == has_poll_timeout
    assert any("another producer" in one for one in refused.candidates) == has_producer


# ---------------------------------------------------------------- members, leader, waiting, partitions

RD_JOINED = (
    "JoinGroup response: GenerationId 5, Protocol range, LeaderId {}, my MemberId {}, member metadata count {}: (no "
    "error)"
)
RD_STATE = 'Group "orders" changed join state {} -> {} (state up)'


@pytest.mark.parametrize(
    ("lines", "members"),
    [
        (
            [
                RDKAFKA.format(1, RD_STATE.format("init", "wait-join")),
                RDKAFKA.format(4, RD_JOINED.format(f"{MEMBER} (me)", MEMBER, 2)),
            ],
            2,
        ),
        (
            [
                java(1, "(Re-)joining group"),
                java(4, JOINED.format(5, MEMBER)),
                java(
                    4, FINISHED.format(5, f"{MEMBER}=Assignment(partitions=[t-0]), {OTHER}=Assignment(partitions=[])")
                ),
            ],
            2,
        ),
        (
            [
                AIOKAFKA.format(1, "(Re-)joining group orders"),
                AIOKAFKA.format(4, f"Joined group 'orders' (generation 5) with member_id {MEMBER}"),
                AIOKAFKA.format(4, "Elected group leader -- performing partition assignments using roundrobin"),
            ],
            None,
        ),
    ],
    ids=["librdkafka", "java", "aiokafka"],
)
def test_a_leader_says_that_it_leads_and_how_many_members_there_are(lines: list[str], members: int | None) -> None:
    (one,) = group_of(*lines).rebalances
    assert one.members == members
    assert "was the leader and waited 3 s for the answer to its JoinGroup" in own_part(one)


def test_a_member_that_is_not_the_leader_has_no_count_and_names_its_leader() -> None:
    (one,) = group_of(
        RDKAFKA.format(1, RD_STATE.format("init", "wait-join")),
        RDKAFKA.format(1.01, RD_JOINED.format(OTHER, MEMBER, 0)),
    ).rebalances
    assert one.members is None
    assert own_part(one) == f"Its leader was {OTHER}."


@pytest.mark.parametrize(
    "lines",
    [
        [
            java(1, "Revoke previously assigned partitions t-0, t-1, t-2"),
            java(2, "(Re-)joining group"),
            java(3, JOINED.format(5, MEMBER)),
            java(4, "Adding newly assigned partitions: t-1, t-2"),
        ],
        [
            RDKAFKA.format(1, 'Group "orders": delegating revoke of 3 partition(s) to application on queue q: r'),
            RDKAFKA.format(2, RD_STATE.format("init", "wait-join")),
            RDKAFKA.format(3, RD_JOINED.format(OTHER, MEMBER, 0)),
            RDKAFKA.format(4, 'Group "orders": delegating assign of 2 partition(s) to application on queue q: r'),
        ],
    ],
    ids=["java", "librdkafka"],
)
def test_who_gets_fewer_partitions_back_than_it_gave_up_is_not_alone(lines: list[str]) -> None:
    (other,) = found("another_member", *lines)
    assert "gave 3 partitions up and got 2 back" in other.sentence
    assert other.is_inferred


@pytest.mark.parametrize("given", ["t-0, t-1, t-2", "u-0"], ids=["the-same", "another-topic"])
def test_who_gets_all_back_or_another_topic_may_be_alone(given: str) -> None:
    lines = [
        java(1, "Revoke previously assigned partitions t-0, t-1, t-2"),
        java(3, JOINED.format(5, MEMBER)),
        java(4, f"Adding newly assigned partitions: {given}"),
    ]
    assert found("another_member", *lines) == []


# ---------------------------------------------------------------- who began it

INITIATES = 'Group "orders" initiating rebalance ({}) in state up (join-state {}) with 3 assigned partition(s): {}'
CHANGED = "Metadata for subscribed topic(s) has changed"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (INITIATES.format("EAGER", "steady", CHANGED), CauseKind.METADATA_CHANGED),
        (f'Group "orders": Rejoining group with 2 owned partition(s): {CHANGED}', CauseKind.METADATA_CHANGED),
        ('Group "orders": Rejoining group with 3 owned partition(s): Subscription modified', CauseKind.MEMBER_REJOINED),
        (
            'Group "orders": Rejoining group without an assignment: range assignor failed: no memory',
            CauseKind.MEMBER_REJOINED,
        ),
    ],
)
def test_librdkafka_says_that_it_begins_a_rebalance_and_why(text: str, cause: CauseKind) -> None:
    (one,) = group_of(
        RDKAFKA.format(1, text),
        RDKAFKA.format(2, RD_STATE.format("init", "wait-join")),
        RDKAFKA.format(3, RD_JOINED.format(OTHER, MEMBER, 0)),
    ).rebalances
    assert (one.cause.kind, one.cause.is_inferred) == (cause, False)
    assert "reason given" in cause_sentence(one)


def test_librdkafkas_first_join_waits_for_metadata_and_is_no_rejoin() -> None:
    (one,) = group_of(
        RDKAFKA.format(1, INITIATES.format("NONE", "wait-metadata", CHANGED)),
        RDKAFKA.format(2, RD_STATE.format("init", "wait-join")),
        RDKAFKA.format(3, RD_JOINED.format(OTHER, MEMBER, 0)),
    ).rebalances
    assert one.cause.kind is CauseKind.UNKNOWN


def test_a_commit_that_told_librdkafka_that_it_is_no_member_is_read() -> None:
    text = INITIATES.format("EAGER", "steady", "OffsetCommit error: Unknown member")
    assert found("client_learned_of_it", RDKAFKA.format(1, text.replace("(s): ", "(s) (lost): ")))


def test_the_only_member_that_comes_under_a_new_id_began_it() -> None:
    group = group_of(
        *(
            java(second, text)
            for second, member_id, generation in ((1, MEMBER, 5), (3, OTHER, 6))
            for text in (
                "(Re-)joining group",
                JOINED.format(generation, member_id),
                FINISHED.format(generation, f"{member_id}=Assignment(partitions=[t-0])"),
            )
        )
    )
    cause = group.rebalances[1].cause
    assert (cause.kind, cause.member_id, cause.is_inferred) == (CauseKind.MEMBER_JOINED, OTHER, True)


# ---------------------------------------------------------------- answers that are errors

EXPIRED = AIOKAFKA.format(2, "Heartbeat session expired - marking coordinator dead")


@pytest.mark.parametrize(
    "answer",
    [
        "Heartbeat failed: local member_id was not recognized; resetting and re-joining group",
        "Heartbeat failed for group orders because it is rebalancing",
        "Heartbeat failed for group orders: generation id is not  current.",
    ],
)
def test_a_session_without_good_answers_is_none_without_answers(answer: str) -> None:
    (timer,) = found("client_session_timer", AIOKAFKA.format(1, answer), EXPIRED)
    assert "no successful answer" in timer.sentence
    assert found("expired_at_coordinator", AIOKAFKA.format(1, answer), EXPIRED) == []


def test_a_session_that_nobody_answered_may_have_expired_at_the_coordinator() -> None:
    joined = AIOKAFKA.format(1, f"Joined group 'orders' (generation 5) with member_id {MEMBER}")
    assert found("expired_at_coordinator", joined, EXPIRED)


# ---------------------------------------------------------------- a coordinator that is found again


def test_a_coordinator_that_is_found_and_lost_again_is_told_once() -> None:
    group = group_of(
        *(
            java(second, text)
            for second in (1, 2, 3)
            for text in (LOST.format("coordinator unavailable"), FOUND.format(2_147_483_646))
        ),
        java(4, LOST.format("coordinator unavailable")),
    )
    sentences = {one.finding: one.sentence for one in group.findings}
    assert "coordinator_not_found" not in sentences
    assert "found the same broker 1 again 3 times" in sentences["coordinator_lost_by_client"]
    assert "The last line about it" in sentences["coordinator_lost_by_client"]
    assert "coordinator_cannot_be_used" in sentences


# ---------------------------------------------------------------- who owned what


def of_owners(group: LoggedGroup) -> list[str]:
    return [sentence for sentence in left_open([group]) if sentence.startswith("Who owned")]


def test_a_share_consumers_assignment_says_who_has_what() -> None:
    share = "ShareConsumer"
    group = group_of(
        java(1, f"Member {MEMBER} with epoch 0 transitioned from UNSUBSCRIBED to JOINING.", kind=share),
        java(2, f"Member {MEMBER} with epoch 2 transitioned from JOINING to RECONCILING.", kind=share),
        java(3, "Reconciling assignment with local epoch 1", kind=share),
        f"\tMember:                          {MEMBER}",
        "\tAssigned partitions:             [jobs-2]",
        "\tCurrent owned partitions:        []",
    )
    assert group.group_type == "share"
    (own,) = [one for one in group.findings if one.finding == "own_partitions"]
    assert f"{MEMBER}: jobs 2" in own.sentence
    assert [sentence.partition(" owned")[0] for sentence in left_open([group])] == ["Who else"]


@pytest.mark.parametrize("kind", ["Consumer", "ShareConsumer"])
def test_a_group_that_has_no_leader_is_not_referred_to_its_log(kind: str) -> None:
    group = group_of(
        java(1, f"Member {MEMBER} with epoch 0 transitioned from UNSUBSCRIBED to JOINING.", kind=kind),
        java(2, f"Member {MEMBER} with epoch 2 transitioned from JOINING to RECONCILING.", kind=kind),
    )
    assert group.group_type != "classic"
    assert all("the members' own logs" in sentence for sentence in of_owners(group))


def test_a_leaders_list_says_who_owned_what_and_why_a_member_has_nothing() -> None:
    given = f"{OTHER}=Assignment(partitions=[t-0, t-1]), {MEMBER}=Assignment(partitions=[])"
    group = group_of(
        java(1, "(Re-)joining group"),
        java(2, JOINED.format(5, MEMBER)),
        java(3, FINISHED.format(5, given)),
        java(4, "Adding newly assigned partitions: "),
    )
    sentences = {one.finding: one.sentence for one in group.findings}
    assert f"{OTHER}: t 0-1, {MEMBER}: none" in sentences["owners"]
    assert f"assigned 2 partitions: all to {OTHER}, none to {MEMBER}" in sentences["more_members_than_partitions"]
    assert all(not one.candidates for one in group.findings if one.finding == "more_members_than_partitions")
    assert of_owners(group) == []


# ---------------------------------------------------------------- an assignment that has not come


WAITS = (
    RD_STATE.format("init", "wait-join"),
    RD_JOINED.format(OTHER, MEMBER, 0),
    RD_STATE.format("wait-join", "wait-sync"),
)


def test_who_waits_for_its_assignment_until_the_end_waits_for_the_leader() -> None:
    (one,) = group_of(*(f"rdkafka: [thrd:main]: {text}" for text in WAITS)).rebalances
    assert one.held_by is not None
    assert (one.held_by.member_id, one.held_by.length_ms, one.held_by.is_inferred) == (OTHER, None, True)
    assert holder_sentence(one.held_by).startswith(f"{OTHER} is waited for (inferred): ")


def test_lines_that_end_just_after_a_join_show_nobody_slow() -> None:
    (one,) = group_of(*(RDKAFKA.format(1, text) for text in WAITS)).rebalances
    assert one.held_by is None


# ---------------------------------------------------------------- nothing is passed over, and nothing told twice

REVOKES = "Revoking previously assigned partitions [t-0] for group orders"


def test_a_join_of_which_the_lines_have_nothing_else_is_told() -> None:
    asks = (PYTHON.format(1, REVOKES), PYTHON.format(2, "(Re-)joining group orders"))
    assert found("rejoin_unanswered", *asks)
    joined = PYTHON.format(3, "Successfully joined group orders with generation 5")
    assert found("rejoin_unanswered", *asks, joined) == []


def test_one_coordinator_that_is_lost_now_and_then_is_one_finding() -> None:
    lines = [
        java(second, text)
        for second in (1, 2, 3)
        for text in (
            LOST.format("error response NOT_COORDINATOR"),
            FOUND.format(2_147_483_646),
            JOINED.format(second, MEMBER),
        )
    ]
    (lost,) = found("coordinator_lost_by_client", *lines)
    assert "(NOT_COORDINATOR) and found the same broker 1 again 3 times" in lost.sentence
