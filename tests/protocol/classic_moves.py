"""Random clients of a group of the classic protocol: what they may do next; what all groups see is in `shared_moves`.

Knows the requests there are; must not know any rule of the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Annotated

from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import INT32_MAX, GroupConfig
from rollcall.coordinator_udfs.protocol.states import GroupState
from tests import requests
from tests.protocol import shared_moves as m
from tests.protocol.play import CLIENTS, GROUP_ID, Client, Move, Play
from tests.protocol.shared_moves import Epoch, Who

METADATA = (
    requests.subscription("t1", version=1),
    requests.subscription("t1", version=1),
    requests.subscription("t2", "t1", version=1),
    requests.subscription("t1", owned=[("t1", 0)], version=1),
    requests.subscription("t2", owned=[("t2", 3)], version=1),
    b"",
    b"\x00\x01\xff\xff\xff\xff",
)
ASSIGNMENTS = (b"", b"\x00\x00\x00\x00\x00\x01\x00\x02t1\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00", b"\x00\x09?")
_usual_protocols = st.sampled_from(
    (
        (("range", METADATA[0]),),
        (("range", METADATA[0]), ("sticky", METADATA[2])),
        (("sticky", METADATA[3]), ("range", METADATA[0])),
    )
)
_any_protocols = st.lists(
    st.tuples(st.sampled_from(("range", "range", "range", "sticky", "roundrobin")), st.sampled_from(METADATA)),
    max_size=3,
).map(tuple)
JoinReason = Annotated[
    str | None,
    st.sampled_from(
        (None, None, "", "need to revoke partitions and re-join", "cached metadata has changed", "poll timeout", "ü")
    ),
]


@dataclass(frozen=True, slots=True)
class JoinGroup(Move):
    version: Annotated[int, st.sampled_from((0, 2, 3, 3, 4, 5, 6, 7, 8, 9, 9))]
    who: Annotated[Who, st.sampled_from((*[Who.OWN] * 6, *[Who.NONE] * 5, Who.ANOTHER, Who.UNKNOWN))]
    is_static: m.IsStatic
    session_timeout_ms: Annotated[int, st.sampled_from((500, 1000, 1000, 6000, 6000, 30_000, 45_000, 0, 300_001))]
    rebalance_timeout_ms: Annotated[int, st.sampled_from((1000, 1000, 3000, 60_000, 60_000, 300_000, 0, 1, -1))]
    protocol_type: Annotated[str, st.sampled_from((*["consumer"] * 9, "connect", ""))]
    protocols: Annotated[tuple[tuple[str, bytes], ...], st.one_of(_usual_protocols, _usual_protocols, _any_protocols)]
    reason: JoinReason

    def make(self, play: Play, client: Client) -> None:
        request = requests.join(
            "",
            group=GROUP_ID,
            api_version=self.version,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=self.who.member_id(play, client),
            group_instance_id=client.instance_id(self.is_static),
            protocol_type=self.protocol_type,
            protocols=self.protocols,
            reason=self.reason,
        )
        play.send(client, request)


@dataclass(frozen=True, slots=True)
class SyncGroup(Move):
    """protocol_name: empty for the group's, None where neither name nor type is said."""

    version: Annotated[int, st.integers(0, 5)]
    who: m.MostlyOwn
    is_static: m.IsStatic
    epoch: m.AnyEpoch
    protocol_name: Annotated[str | None, st.sampled_from((*[""] * 6, None, "range", "other"))]
    assignment: Annotated[bytes, st.sampled_from(ASSIGNMENTS)]

    def make(self, play: Play, client: Client) -> None:
        group, member_id = play.group, self.who.member_id(play, client)
        others = [*list(group.members)[1:], "nobody", member_id] if group.leader_id == member_id else []
        names_protocol = self.protocol_name is not None
        request = requests.sync(
            member_id,
            self.epoch.number(play, client),
            0,
            GROUP_ID,
            api_version=self.version,
            group_instance_id=client.instance_id(self.is_static),
            protocol_type=group.protocol_type if names_protocol else None,
            protocol_name=(self.protocol_name or group.protocol_name) if names_protocol else None,
            assigned=dict.fromkeys(others, self.assignment),
        )
        play.send(client, request)


@dataclass(frozen=True, slots=True)
class Heartbeat(Move):
    version: Annotated[int, st.integers(0, 4)]
    who: m.MostlyOwn
    is_static: m.IsStatic
    epoch: m.AnyEpoch

    def make(self, play: Play, client: Client) -> None:
        member_id, epoch = self.who.member_id(play, client), self.epoch.number(play, client)
        instance_id = client.instance_id(self.is_static)
        request = requests.heartbeat(
            member_id, epoch, 0, GROUP_ID, api_version=self.version, group_instance_id=instance_id
        )
        play.send(client, request)


@dataclass(frozen=True, slots=True)
class Everybody(Move):
    """The first clients, count of them, do the usual in turn.

    verb: join (both steps of it), sync, heartbeat, or round: join, wait as long as the initial delay may take, sync.
    """

    verb: Annotated[str, st.sampled_from(("round", "round", "round", "join", "sync", "sync", "heartbeat"))]
    count: Annotated[int, st.sampled_from((1, 2, 3, 4, 5, 5, CLIENTS))]
    metadata: Annotated[bytes, st.sampled_from(METADATA[:4])]
    reason: JoinReason

    def make(self, play: Play, client: Client) -> None:
        some = play.clients[: self.count]
        if self.verb in ("join", "round"):
            for one in some:
                self._join(play, one)
        if self.verb == "round":
            for one in play.clients:
                self._rejoin(play, one)
            play.wait(3 * play.config.group_initial_rebalance_delay_ms)
        if self.verb in ("sync", "round"):
            for one in some:
                SyncGroup(0, one.number, 5, Who.OWN, True, Epoch.OWN, "", ASSIGNMENTS[1]).make(play, one)
        if self.verb == "heartbeat":
            for one in some:
                Heartbeat(0, one.number, 4, Who.OWN, True, Epoch.OWN).make(play, one)

    def _join(self, play: Play, client: Client) -> None:
        protocols = (("range", self.metadata),)
        join = JoinGroup(0, client.number, 9, Who.OWN, True, 6000, 4000, "consumer", protocols, self.reason)
        is_new = not client.member_id
        join.make(play, client)
        if is_new and client.member_id and client.epoch < 0:
            join.make(play, client)

    def _rejoin(self, play: Play, client: Client) -> None:
        """A client that the join phase waits for learns of it and joins again."""
        member = play.group.members.get(client.member_id)
        if play.group.state is GroupState.PREPARING_REBALANCE and member is not None and not member.parked_join:
            self._join(play, client)


_gaps = st.sampled_from((0, 0, 1, 5, 100, 400))
_LONELY_GAPS = (499, 500, 501, 999, 1000, 1001, 2999, 3000, 6000, 59_999, 60_000, 299_999, 300_000, 600_000, 700_001)
_clients = st.from_type(m.AnyClient)
_any_gaps = st.one_of(st.sampled_from((0, 0, 0, 1, 2, 10, 100)), st.sampled_from(_LONELY_GAPS), st.integers(0, 1500))


def _of(kind: type[Move], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Move]:
    return st.builds(kind, **{"gap_ms": _gaps, "client": _clients, **fields})


moves = m.weighted(
    (4, _of(JoinGroup)),
    (4, _of(Everybody, client=st.just(0))),
    (2, _of(SyncGroup)),
    (2, _of(m.Wait, gap_ms=_any_gaps)),
    (2, _of(Heartbeat)),
    (2, _of(m.LeaveGroup)),
    (1, _of(m.OffsetCommit)),
    (1, _of(m.Ask, api=st.sampled_from(m.OF_ANY_GROUP))),
    (1, _of(m.Again)),
)
# Most groups start with members that are Stable; several lists of moves, for one list is short on average.
starts = st.sampled_from(([], *([Everybody(0, 0, "round", count, METADATA[0], None)] for count in (1, 2, 3, 5))))
plays = st.tuples(starts, st.lists(st.lists(moves, max_size=10), max_size=5)).map(lambda p: [*p[0], *chain(*p[1])])

configs = st.builds(
    GroupConfig,
    group_min_session_timeout_ms=st.sampled_from((0, 500)),
    group_max_session_timeout_ms=st.just(300_000),
    group_initial_rebalance_delay_ms=st.sampled_from((0, 0, 1, 1000, 3000)),
    group_max_size=st.sampled_from((INT32_MAX, INT32_MAX, INT32_MAX, 1, 2, 3)),
    offset_metadata_max_bytes=st.sampled_from((10, 4096)),
    offsets_retention_minutes=st.sampled_from((1, 10, 10_080)),
    offsets_retention_check_interval_ms=st.sampled_from((700, 60_000, 600_000)),
    members_max_bytes=st.sampled_from((INT32_MAX, 8_388_608, 30_000)),
    topics=st.sampled_from((None, {"t1": 4, "t2": 4}, {"t1": 1})),
)
