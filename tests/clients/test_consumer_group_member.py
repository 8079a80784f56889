"""A member of the newer group protocol: when it beats and what it says, what it gives up when, how it leaves."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.clients.consumer_group_member import ConsumerGroupMember, Phase
from rollcall.answers.clients.events import (
    Closed,
    CoordinatorFound,
    CoordinatorLost,
    FatalError,
    LeftGroup,
    Output,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    Send,
)
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BEAT_MS = 5_000


class Talk:
    """A member, and its latest request."""

    def __init__(self, **settings: Any) -> None:
        config = ConsumerConfig(group_id="g", client_id="c", max_poll_interval_ms=20_000, **settings)
        self.member = ConsumerGroupMember(config, "m")
        self.events: list[Output] = []
        self.sent: list[Any] = []

    def do(self, outputs: list[Output]) -> Talk:
        for output in outputs:
            if isinstance(output, Send):
                self.sent.append(output.request)
            else:
                self.events.append(output)
        return self

    @property
    def last(self) -> Any:
        return self.sent[-1]

    def answer(self, at_ms: int, *, epoch: int = 1, error: Error = Error.NONE, give: Any = None) -> Talk:
        """Answers the latest heartbeat; give: the partitions of topic t that are the member's."""
        assignment = None
        if give is not None:
            topics = [ConsumerGroupTopicPartitions(topic_name="t", partitions=list(give))] if give else []
            assignment = ConsumerGroupAssignment(topic_partitions=topics)
        response = ConsumerGroupHeartbeatResponse(
            error_code=error,
            member_id="m",
            member_epoch=epoch,
            heartbeat_interval_ms=BEAT_MS,
            assignment=assignment,
        )
        return self.do(self.member.response(self.last.request_id, response, at_ms))

    def find(self, at_ms: int) -> Talk:
        assert isinstance(self.last, FindCoordinatorRequest)
        node = Coordinator(key="g", node_id=1, host="h", port=1)
        return self.do(self.member.response(self.last.request_id, FindCoordinatorResponse(coordinators=[node]), at_ms))

    def poll(self, at_ms: int) -> Talk:
        return self.do(self.member.poll(at_ms))

    def expire(self, at_ms: int) -> Talk:
        return self.do(self.member.expire(at_ms))


def joined(**settings: Any) -> Talk:
    """A member that owns both partitions at epoch 1, said so at 20 ms, and was answered at 30 ms."""
    talk = Talk(**settings)
    talk.do(talk.member.subscribe(["t"], 0)).find(5).answer(10, give=(0, 1)).poll(20)
    return talk.answer(30)


def test_a_join_says_everything_and_later_heartbeats_what_is_new() -> None:
    talk = joined()
    _, join, word = talk.sent
    assert (join.member_epoch, join.subscribed_topic_names, join.topic_partitions) == (0, ["t"], [])
    assert join.rebalance_timeout_ms == 20_000
    assert word.topic_partitions == [ConsumerGroupTopicPartitions(topic_name="t", partitions=[0, 1])]
    assert (word.member_epoch, word.subscribed_topic_names, word.rebalance_timeout_ms) == (1, None, -1)
    talk.expire(20 + BEAT_MS)
    assert talk.last.topic_partitions is None
    assert talk.events == [CoordinatorFound(1, "h", 1), PartitionsAssigned((T0, T1), 1)]


def test_it_beats_as_often_as_the_coordinator_says_counted_from_the_heartbeat_before() -> None:
    talk = joined()
    assert talk.member.next_deadline_ms() == 20 + BEAT_MS
    assert len(talk.expire(19 + BEAT_MS).sent) == 3
    assert len(talk.expire(20 + BEAT_MS).sent) == 4
    assert talk.answer(25 + BEAT_MS).member.next_deadline_ms() == 20 + 2 * BEAT_MS


def test_what_it_is_to_give_up_it_gives_up_when_its_application_polls_and_says_so_at_once() -> None:
    talk = joined().expire(20 + BEAT_MS).answer(5_030, give=(0,))
    assert talk.member.owned_partitions == {T0, T1}
    assert talk.member.waits_for_poll
    talk.poll(6_000)
    assert talk.events[-2:] == [PartitionsRevoked((T1,)), PartitionsAssigned((), 1)]
    assert talk.last.topic_partitions == [ConsumerGroupTopicPartitions(topic_name="t", partitions=[0])]


def test_an_assignment_that_it_has_already_is_no_news() -> None:
    talk = joined().expire(20 + BEAT_MS).answer(5_030, give=(0, 1))
    assert (talk.member.phase, talk.member.waits_for_poll) == (Phase.STABLE, False)


@pytest.mark.parametrize("error", [Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH])
def test_a_fenced_member_loses_all_and_joins_again_at_once_under_its_own_id(error: Error) -> None:
    talk = joined().expire(20 + BEAT_MS).answer(5_030, error=error)
    assert talk.events[-1] == PartitionsLost((T0, T1))
    assert (talk.last.member_epoch, talk.last.member_id, talk.last.topic_partitions) == (0, "m", [])


def test_an_application_that_does_not_poll_makes_it_leave_and_the_next_poll_joins_again() -> None:
    talk = joined().expire(20 + 20_000)
    assert talk.last.member_epoch == -1
    assert talk.events[-2:] == [PartitionsLost((T0, T1)), LeftGroup("m", "consumer poll timeout has expired.", True)]
    assert talk.member.next_deadline_ms() is None or talk.member.phase is Phase.STALE
    assert talk.poll(30_000).last.member_epoch == 0


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("i", -2)])
def test_a_close_gives_all_up_and_leaves_a_static_member_for_now(instance_id: str | None, epoch: int) -> None:
    talk = joined(group_instance_id=instance_id)
    talk.do(talk.member.close(1_000))
    assert talk.last.member_epoch == epoch
    assert talk.events[-2:] == [PartitionsRevoked((T0, T1)), LeftGroup("m", "the consumer is being closed", True)]
    assert talk.answer(1_010, epoch=epoch).events[-1] == Closed()


def test_a_close_that_is_not_answered_ends_in_time() -> None:
    talk = joined()
    talk.do(talk.member.close(1_000, timeout_ms=500))
    assert talk.member.next_deadline_ms() == 1_500
    assert talk.expire(1_500).events[-1] == Closed()


def test_a_lost_answer_makes_it_look_for_the_coordinator_and_say_everything_again() -> None:
    talk = joined().expire(20 + BEAT_MS)
    talk.do(talk.member.request_failed(talk.last.request_id, 5_100))
    assert talk.events[-1] == CoordinatorLost("a request was not answered")
    talk.expire(5_200).find(5_210)
    assert isinstance(talk.last, ConsumerGroupHeartbeatRequest)
    assert (talk.last.member_epoch, talk.last.subscribed_topic_names) == (1, ["t"])
    assert talk.last.topic_partitions == [ConsumerGroupTopicPartitions(topic_name="t", partitions=[0, 1])]


@pytest.mark.parametrize("error", [Error.GROUP_MAX_SIZE_REACHED, Error.UNRELEASED_INSTANCE_ID])
def test_what_cannot_be_mended_ends_the_applications_poll(error: Error) -> None:
    talk = Talk()
    talk.do(talk.member.subscribe(["t"], 0)).find(5).answer(10, error=error).poll(20)
    assert talk.events[-1] == FatalError("ConsumerGroupHeartbeat", error, error.name)
    assert talk.member.next_deadline_ms() is None


def test_an_answer_that_is_not_awaited_changes_nothing() -> None:
    talk = joined()
    late = ConsumerGroupHeartbeatResponse(error_code=Error.UNKNOWN_MEMBER_ID)
    assert talk.member.response("m.1", late, 100) == []
    assert talk.member.owned_partitions == {T0, T1}
