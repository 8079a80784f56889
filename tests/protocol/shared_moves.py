"""Moves of random clients that groups of either protocol see, as data that hypothesis draws and shrinks.

The annotation of a move's field says what is drawn for it. Weights lean to what real clients do, so that groups become
Stable, and leave room for everything a client must not do. Knows the requests there are; must not know any rule of the
protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from hypothesis import strategies as st

from rollcall.schemas import messages as k
from tests import requests
from tests.protocol.play import GROUP_ID, Client, Move, Play


class Who(StrEnum):
    """Whose member id a request names."""

    OWN = "own"
    NONE = "none"
    ANOTHER = "another"
    UNKNOWN = "unknown"

    def member_id(self, play: Play, client: Client) -> str:
        """The id that is meant."""
        others = (other.member_id for other in play.clients if other.member_id not in ("", client.member_id))
        match self:
            case Who.OWN:
                return client.member_id
            case Who.NONE:
                return ""
            case Who.ANOTHER:
                return next(others, "nobody")
            case Who.UNKNOWN:
                return "nobody"


class Epoch(StrEnum):
    """Which generation, or which member epoch, a request names: its client's, one beside it, the group's, or none."""

    OWN = "own"
    BEFORE = "before"
    AFTER = "after"
    CURRENT = "current"
    NONE = "none"

    def number(self, play: Play, client: Client) -> int:
        """The generation that is meant."""
        match self:
            case Epoch.OWN:
                return client.epoch
            case Epoch.BEFORE:
                return client.epoch - 1
            case Epoch.AFTER:
                return client.epoch + 1
            case Epoch.CURRENT:
                return play.group.generation_id
            case Epoch.NONE:
                return -1


MostlyOwn = Annotated[Who, st.sampled_from((*[Who.OWN] * 9, Who.NONE, Who.ANOTHER, Who.UNKNOWN))]
AnyEpoch = Annotated[
    Epoch, st.sampled_from((*[Epoch.OWN] * 7, *[Epoch.CURRENT] * 3, Epoch.BEFORE, Epoch.AFTER, Epoch.NONE))
]
IsStatic = Annotated[bool, st.sampled_from((True, True, True, True, False))]
AnyClient = Annotated[int, st.sampled_from((0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5))]
Reason = Annotated[
    str | None,
    st.sampled_from((None, "the consumer is being closed", "poll timeout expired", "removed by an admin", "ü")),
]


@dataclass(frozen=True, slots=True)
class LeaveGroup(Move):
    """Names these clients: whose id each says, and whether its instance id too."""

    version: Annotated[int, st.integers(0, 5)]
    members: Annotated[
        tuple[tuple[int, Who, bool], ...],
        st.lists(st.tuples(*map(st.from_type, (AnyClient, MostlyOwn, IsStatic))), min_size=1, max_size=4).map(tuple),
    ]
    reason: Reason

    def make(self, play: Play, client: Client) -> None:
        members = [
            k.MemberIdentity(
                member_id=who.member_id(play, play.clients[n]),
                group_instance_id=play.clients[n].instance_id(is_static),
                reason=self.reason,
            )
            for n, who, is_static in self.members
        ]
        play.send(client, requests.leave("", 0, GROUP_ID, api_version=self.version, members=members))


@dataclass(frozen=True, slots=True)
class OffsetCommit(Move):
    """Offsets as topic, partition and metadata; each offset is another."""

    version: Annotated[int, st.sampled_from((2, 4, 5, 6, 7, 8, 9, 10))]
    who: MostlyOwn
    is_static: IsStatic
    epoch: AnyEpoch
    retention_time_ms: Annotated[int, st.sampled_from((-1, -1, 0, 5000))]
    offsets: Annotated[
        tuple[tuple[str, int, str], ...],
        st.lists(
            st.tuples(
                st.sampled_from(("t1", "t2", "t3")),
                st.integers(-1, 4),
                st.sampled_from(("", "", "note", "x" * 11, "𝄞")),
            ),
            max_size=4,
        ).map(tuple),
    ]

    def make(self, play: Play, client: Client) -> None:
        by_id = self.version >= 10
        topics = [
            k.OffsetCommitRequestTopic(
                name="" if by_id else topic,
                topic_id=topic if by_id else "",
                partitions=[
                    k.OffsetCommitRequestPartition(
                        partition_index=partition, committed_offset=len(play.calls), committed_metadata=metadata
                    )
                ],
            )
            for topic, partition, metadata in self.offsets
        ]
        request = requests.fitting(
            k.OffsetCommitRequest,
            self.version,
            group_id=GROUP_ID,
            generation_id_or_member_epoch=self.epoch.number(play, client),
            member_id=self.who.member_id(play, client),
            group_instance_id=client.instance_id(self.is_static),
            retention_time_ms=self.retention_time_ms,
            topics=topics,
        )
        play.send(client, request)


OF_ANY_GROUP = ("OffsetFetch", "OffsetDelete", "DescribeGroups", "DeleteGroups")
OF_CONSUMER_GROUPS = ("ConsumerGroupDescribe", "DescribeConfigs", "IncrementalAlterConfigs", "AlterConfigs")


@dataclass(frozen=True, slots=True)
class Ask(Move):
    """An administrator's request; version is that of those that changed, as far as there is such a one."""

    api: str
    version: Annotated[int, st.sampled_from((0, 5, 6, 8, 10))]
    topics: Annotated[tuple[str, ...], st.lists(st.sampled_from(("t1", "t2", "t9")), max_size=3).map(tuple)]

    def make(self, play: Play, client: Client) -> None:
        kind, version, fields = self._asked()
        play.send(client, kind(request_id="", api_version=version, **fields))

    def _asked(self) -> tuple[Any, int, dict[str, Any]]:
        shorter = k.IncrementallyAlteredConfig(name="consumer.session.timeout.ms", value="2500")
        match self.api:
            case "DescribeGroups":
                return k.DescribeGroupsRequest, min(self.version, 6), {"groups": [GROUP_ID]}
            case "DeleteGroups":
                return k.DeleteGroupsRequest, min(self.version, 2), {"groups_names": [GROUP_ID]}
            case "ConsumerGroupDescribe":
                return k.ConsumerGroupDescribeRequest, 1, {"group_ids": [GROUP_ID]}
            case "DescribeConfigs":
                return k.DescribeConfigsRequest, 4, {"resources": [k.DescribeConfigsResource(resource_name=GROUP_ID)]}
            case "IncrementalAlterConfigs":
                altered = k.IncrementalAlterConfigsResource(resource_name=GROUP_ID, configs=[shorter])
                return k.IncrementalAlterConfigsRequest, 1, {"resources": [altered]}
            case "AlterConfigs":
                return k.AlterConfigsRequest, 2, {"resources": [k.AlterConfigsResource(resource_name=GROUP_ID)]}
            case "OffsetDelete":
                partitions = [k.OffsetDeleteRequestPartition(partition_index=n) for n in (0, 1, 0)]
                named = [k.OffsetDeleteRequestTopic(name=topic, partitions=partitions) for topic in self.topics]
                return k.OffsetDeleteRequest, 0, {"group_id": GROUP_ID, "topics": named}
            case _:
                asked = [k.OffsetFetchRequestTopic(name=topic, partition_indexes=[0, 1]) for topic in self.topics]
                if self.version < 8:
                    return k.OffsetFetchRequest, 5, {"group_id": GROUP_ID, "topics": asked or None}
                group = k.OffsetFetchRequestGroup(group_id=GROUP_ID, topics=asked or None)
                return k.OffsetFetchRequest, self.version, {"groups": [group]}


@dataclass(frozen=True, slots=True)
class Again(Move):
    """An earlier request arrives once more, word for word; back counts from the latest."""

    back: Annotated[int, st.integers(0, 12)]

    def make(self, play: Play, client: Client) -> None:
        earlier = [call.request for call in play.calls if call.request is not None]
        if self.back < len(earlier):
            play.call(earlier[-1 - self.back])


@dataclass(frozen=True, slots=True)
class Wait(Move):
    """Nobody asks anything; what is due by then fires."""

    def make(self, play: Play, client: Client) -> None:
        play.call(None)


def weighted(*choices: tuple[int, st.SearchStrategy[Move]]) -> st.SearchStrategy[Move]:
    """One of these moves, each as often as its number says: st.one_of takes a strategy that it is given twice once."""
    return st.sampled_from([moves for weight, moves in choices for _ in range(weight)]).flatmap(lambda moves: moves)
