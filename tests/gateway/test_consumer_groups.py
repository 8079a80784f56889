"""The newer group protocol (KIP-848) over the wire: members join, share, are described, listed by type and deleted."""

from __future__ import annotations

import uuid

import pytest

from tests.gateway.consumer_beats import AT_ONCE, T1, beat, given
from tests.gateway.running import asynchronous, gateway_and_client
from tests.gateway.wire_client import alone_in, join
from tests.requests import assignment, flat, subscription
from tests.wire_client import Client


@pytest.mark.parametrize("version", [0, 1])
@asynchronous
async def test_a_member_is_given_the_topics_of_the_settings_by_their_ids(version: int) -> None:
    async with gateway_and_client(group=AT_ONCE) as (_, client):
        joined = await beat(client, "" if version == 0 else "m1", 0, version=version)
        assert (joined.error_code.name, joined.member_epoch) == ("none", 2)
        assert given(joined) == [(T1, (0, 1, 2, 3))]
        owned = [{"topic_id": T1, "partitions": [0, 1, 2, 3]}]
        again = await beat(client, joined.member_id, 2, version=version, topic_partitions=owned)
        assert (again.error_code.name, again.member_epoch, given(again)) == ("none", 2, None)


@asynchronous
async def test_two_members_share_and_one_leaves() -> None:
    async with gateway_and_client(group=AT_ONCE) as (_, client):
        await beat(client, "m1", 0)
        assert given(await beat(client, "m2", 0)) == []
        kept = given(await beat(client, "m1", 2))
        assert kept == [(T1, (0, 1))]
        released = [{"topic_id": T1, "partitions": [0, 1]}, {"topic_id": uuid.UUID(int=9), "partitions": [0]}]
        assert (await beat(client, "m1", 2, topic_partitions=released)).member_epoch == 3
        assert given(await beat(client, "m2", 3)) == [(T1, (2, 3))]
        assert (await beat(client, "m1", -1)).member_epoch == -1
        assert given(await beat(client, "m2", 3)) == [(T1, (0, 1, 2, 3))]


@asynchronous
async def test_it_is_described_listed_by_type_and_deleted() -> None:
    async with gateway_and_client(group=AT_ONCE) as (_, client):
        await alone_in(client, "classic")
        await beat(client, "m1", 0)
        answer = await client.call("ConsumerGroupDescribe", 1, group_ids=["g", "none", "classic"])
        group, *others = answer.groups
        assert (group.group_state, group.group_epoch, group.assignor_name) == ("Stable", 2, "uniform")
        (member,) = group.members
        (topic,) = member.assignment.topic_partitions
        assert (topic.topic_id, topic.topic_name, topic.partitions) == (T1, "t1", (0, 1, 2, 3))
        assert member.target_assignment == member.assignment
        assert [other.error_code.name for other in others] == ["group_id_not_found", "group_id_not_found"]
        listed = await client.call("ListGroups", 5, types_filter=["consumer"])
        assert [(g.group_id, g.group_state, g.group_type) for g in listed.groups] == [("g", "Stable", "consumer")]
        full = await client.call("DeleteGroups", 2, groups_names=["g"])
        assert [result.error_code.name for result in full.results] == ["non_empty_group"]
        await beat(client, "m1", -1)
        gone = await client.call("DeleteGroups", 2, groups_names=["g"])
        assert [result.error_code.name for result in gone.results] == ["none"]


async def alone_in_classic(client: Client) -> None:
    """A Stable classic group of one that owns all of t1."""
    protocols = [{"name": "range", "metadata": subscription("t1", version=1)}]
    given_id = (await client.call("JoinGroup", 9, **join(protocols=protocols))).member_id
    joined = await client.call("JoinGroup", 9, **join(member=given_id, protocols=protocols))
    plan = assignment(flat({"t1": range(4)}))
    named = {"group_id": "g", "generation_id": joined.generation_id, "member_id": given_id}
    kind = {"protocol_type": "consumer", "protocol_name": "range"}
    assignments = [{"member_id": given_id, "assignment": plan}]
    await client.call("SyncGroup", 5, **named, **kind, assignments=assignments)


@asynchronous
async def test_a_consumer_takes_a_classic_group_over() -> None:
    async with gateway_and_client(group=AT_ONCE) as (_, client):
        await alone_in_classic(client)
        joined = await beat(client, "m1", 0)
        assert joined.error_code.name == "none"
        described = await client.call("ConsumerGroupDescribe", 1, group_ids=["g"])
        assert [member.member_type for member in described.groups[0].members] == [0, 1]


@asynchronous
async def test_what_the_group_refuses_is_reported_with_its_reason() -> None:
    async with gateway_and_client(group=AT_ONCE) as (_, client):
        refused = await beat(client, "m1", 5)
        assert (refused.error_code.name, refused.assignment) == ("group_id_not_found", None)
        await beat(client, "m1", 0)
        bad = await beat(client, "m2", 0, subscribed_topic_names=None, subscribed_topic_regex="(")
        assert bad.error_code.name == "invalid_regular_expression"
        assert bad.error_message
