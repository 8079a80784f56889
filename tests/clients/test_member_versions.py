"""Each request says exactly what its version can carry; older libraries join, beat, commit and leave with theirs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.answers.clients.config import ApiVersions, ConsumerConfig
from rollcall.answers.clients.events import Send
from rollcall.answers.clients.member import GroupMember
from rollcall.answers.clients.membership import MemberState
from rollcall.schemas.consumer_protocol import decode_assignment, decode_subscription
from rollcall.schemas.messages import (
    APIS,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from rollcall.schemas.wire_fields import carried, parse_request
from tests.clients.member_bench import Bench, partitions, subscribed

MANUAL: dict[str, Any] = {"enable_auto_commit": False}


def life(bench: Bench, first_id: str = "app-1") -> None:
    """Joins as the leader, beats, commits and leaves; whatever the version, each answer is the plain one."""
    bench.poll()
    bench.found()
    bench.poll()
    bench.joined(1, leads=True, member_id=first_id, members=[subscribed(first_id, "t u")])
    bench.synced("t0")
    bench.poll()
    bench.at(bench.now_ms + 3000).expire()
    bench.beaten()
    bench.commit("t0")
    bench.committed()
    bench.close()


@st.composite
def api_versions(draw: st.DrawFn) -> ApiVersions:
    def version(api: str, last: int | None = None) -> int:
        known = APIS[api].versions
        return draw(st.integers(known.first, known.last if last is None else last))

    return ApiVersions(
        join_group=version("JoinGroup"),
        sync_group=version("SyncGroup"),
        heartbeat=version("Heartbeat"),
        leave_group=version("LeaveGroup"),
        offset_commit=version("OffsetCommit", 9),
    )


@given(api_versions(), st.booleans())
def test_every_request_carries_the_fields_of_its_version_and_no_other(versions: ApiVersions, is_static: bool) -> None:
    instance_id = "pod-1" if is_static and versions.join_group >= 5 else None
    bench = Bench(**MANUAL, api_versions=versions, group_instance_id=instance_id)
    life(bench)
    expected = 6 if instance_id is None else 5
    assert len(bench.requests) == expected
    for request in bench.requests:
        fields = carried(request, request.api_version)
        envelope = {"request_id": request.request_id, "api_version": request.api_version, "client_id": "app"}
        api = type(request).__name__.removesuffix("Request")
        assert parse_request({"api": api, **envelope, **fields}) == request


def test_up_to_version_3_a_member_joins_in_one_step() -> None:
    bench = Bench(api_versions=ApiVersions(join_group=3)).connected()
    bench.poll()
    bench.joined(1, member_id="app-7")
    assert (bench.member.member_id, bench.member.state) == ("app-7", MemberState.COMPLETING_REBALANCE)


def test_up_to_version_2_a_leave_group_names_its_one_member_on_top() -> None:
    bench = Bench(**MANUAL, api_versions=ApiVersions(leave_group=1)).stable("t0")
    bench.close()
    leave = bench.last(LeaveGroupRequest)
    assert (leave.member_id, leave.members) == ("app-1", [])


def test_from_version_5_a_sync_group_names_the_protocol() -> None:
    for version, named in ((5, ("consumer", "range")), (4, (None, None))):
        bench = Bench(api_versions=ApiVersions(sync_group=version)).completing()
        sync = bench.last(SyncGroupRequest)
        assert (sync.protocol_type, sync.protocol_name) == named


def test_up_to_version_7_a_join_group_gives_no_reason() -> None:
    bench = Bench(api_versions=ApiVersions(join_group=7)).rejoining()
    assert bench.join.reason is None


@pytest.mark.parametrize(("version", "owned", "generation_id"), [(0, (), -1), (1, ("t0",), -1), (2, ("t0",), 1)])
def test_an_older_consumer_protocol_reports_less_to_the_leader(
    version: int, owned: tuple[str, ...], generation_id: int
) -> None:
    bench = Bench(
        **MANUAL,
        partition_assignment_strategy=("cooperative-sticky",),
        consumer_protocol_version=version,
    ).rejoining("t0")
    subscription = decode_subscription(bench.join.protocols[0].metadata)
    assert (subscription.owned_partitions, subscription.generation_id) == (
        partitions(" ".join(owned)),
        generation_id,
    )


def test_a_leader_writes_assignments_in_its_own_version() -> None:
    bench = Bench(consumer_protocol_version=1).preparing()
    bench.joined(1, leads=True)
    (only,) = bench.last(SyncGroupRequest).assignments
    assert only.assignment[:2] == b"\x00\x01"
    assert decode_assignment(only.assignment).partitions == partitions("t0 t1 t2 t3 u0 u1")


def test_two_members_distinguished_by_their_prefix_never_share_a_request_id() -> None:
    ids = set()
    for prefix in ("a", "b"):
        member = GroupMember(ConsumerConfig(group_id="g", client_id="same"), request_id_prefix=prefix)
        member.subscribe(["t"], 0)
        (sent,) = member.poll(0)
        assert isinstance(sent, Send)
        ids.add(sent.request.request_id)
    assert ids == {"a-1", "b-1"}
