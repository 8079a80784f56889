"""What a leader does with the partitions, and what assignors remember from one generation to the next."""

from __future__ import annotations

from typing import Any

from rollcall.answers.clients.events import FatalError, PartitionsAssigned
from rollcall.schemas.consumer_protocol import (
    decode_assignment,
    decode_sticky_user_data,
    decode_subscription,
)
from rollcall.schemas.messages import JoinGroupResponseMember, SyncGroupRequest
from tests.clients.member_bench import Bench, partitions, subscribed

COOPERATIVE: dict[str, Any] = {"partition_assignment_strategy": ("cooperative-sticky",)}
EAGER: dict[str, Any] = {"partition_assignment_strategy": ("range",)}


# ---------------------------------------------------------------- leading


def test_the_leader_shares_out_the_partitions_and_sends_them_with_its_sync_group() -> None:
    bench = Bench(**EAGER).preparing()
    bench.joined(1, leads=True, members=[subscribed("app-1", "t u"), subscribed("app-2", "t")])
    assert isinstance(bench.sent, SyncGroupRequest)
    plans = {each.member_id: decode_assignment(each.assignment).partitions for each in bench.sent.assignments}
    assert plans == {"app-1": partitions("t0 t1 u0 u1"), "app-2": partitions("t2 t3")}
    assert bench.member.membership.is_leader


def test_a_leader_asked_to_skip_the_assignment_sends_none_and_watches_metadata() -> None:
    bench = Bench(group_instance_id="pod-1").preparing()
    bench.joined(5, leads=True, skip_assignment=True)
    assert isinstance(bench.sent, SyncGroupRequest)
    assert bench.sent.assignments == []
    bench.synced("t0")
    assert bench.poll() == [PartitionsAssigned(partitions("t0"), 5)]
    bench.member.metadata_changed({"t": 5, "u": 2})
    bench.poll()
    assert bench.join.reason == "cached metadata has changed"


def test_a_subscription_that_cannot_be_read_fails_the_leader() -> None:
    bench = Bench().preparing()
    broken = JoinGroupResponseMember(member_id="app-2", metadata=b"\x00")
    bench.joined(1, leads=True, members=[subscribed("app-1", "t"), broken])
    (error,) = bench.poll()
    assert isinstance(error, FatalError)
    assert error.message.startswith("the subscription of member app-2 cannot be read: version: bytes at byte 1")


# ---------------------------------------------------------------- what assignors remember


def test_the_sticky_assignor_remembers_the_last_assignment_over_the_revocation() -> None:
    bench = Bench(partition_assignment_strategy=("sticky",)).preparing()
    assert decode_subscription(bench.join.protocols[0].metadata).user_data is None
    bench.joined(1)
    bench.synced("t0 t1")
    bench.poll()
    bench.member.membership.request_rejoin("rebalance wanted")
    bench.poll()
    user_data = decode_subscription(bench.join.protocols[0].metadata).user_data
    assert user_data is not None
    remembered = decode_sticky_user_data(user_data)
    assert (remembered.partitions, remembered.generation) == (partitions("t0 t1"), 1)


def test_an_assignor_that_was_not_selected_remembers_nothing() -> None:
    bench = Bench(partition_assignment_strategy=("range", "sticky")).stable("t0")
    bench.member.membership.request_rejoin("rebalance wanted")
    bench.poll()
    assert decode_subscription(bench.join.protocols[1].metadata).user_data is None
