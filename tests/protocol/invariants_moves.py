"""Random clients of one group: what they may do next, as data that hypothesis draws and shrinks.

A move says who does what in general words ("rejoins under its own id"); `invariants_play` turns it into a request once
it is known which id that is. Weights lean to what real clients do, so that groups become Stable, and leave room for
everything a client must not do.

Knows the requests there are; must not know any rule of the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from hypothesis import strategies as st

from coordinator_udfs.protocol.config import INT32_MAX, GroupConfig
from schemas.consumer_protocol import Subscription, TopicPartition, encode_subscription

CLIENTS = 6
"""How many clients play; see `INSTANCE_IDS` for the static ones among them."""

INSTANCE_IDS: tuple[str | None, ...] = (None, None, "i-1", None, "i-2", "i-1")
"""By client: the last claims another's instance id."""


class Who(StrEnum):
    """Whose member id a request names."""

    OWN = "own"
    NONE = "none"
    ANOTHER = "another"
    UNKNOWN = "unknown"


class Generation(StrEnum):
    """Which generation a request names."""

    OWN = "own"
    CURRENT = "current"
    OLD = "old"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Move:
    """client, after gap_ms, does something."""

    gap_ms: int
    client: int


@dataclass(frozen=True, slots=True)
class Join(Move):
    version: int
    who: Who
    is_static: bool
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Sync(Move):
    version: int
    who: Who
    is_static: bool
    generation: Generation
    protocol_name: str | None
    assignment: bytes


@dataclass(frozen=True, slots=True)
class Heartbeat(Move):
    version: int
    who: Who
    is_static: bool
    generation: Generation


@dataclass(frozen=True, slots=True)
class Leave(Move):
    version: int
    members: tuple[tuple[int, Who, bool], ...]
    reason: str | None


@dataclass(frozen=True, slots=True)
class Commit(Move):
    version: int
    who: Who
    is_static: bool
    generation: Generation
    retention_time_ms: int
    offsets: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class Ask(Move):
    """An administrator's request: api is OffsetFetch, OffsetDelete, DescribeGroups or DeleteGroups."""

    api: str
    version: int
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Again(Move):
    """An earlier request arrives once more, word for word; back counts from the latest."""

    back: int


@dataclass(frozen=True, slots=True)
class Everybody(Move):
    """The first clients, count of them, do the usual in turn.

    verb: join (both steps of it), sync, heartbeat, or round: join, wait as long as the initial delay may take, sync.
    """

    verb: str
    count: int
    metadata: bytes
    reason: str | None


@dataclass(frozen=True, slots=True)
class Wait(Move):
    """Nobody asks anything; time passes and deadlines up to then fire."""


# ---------------------------------------------------------------- what can be drawn

_LONELY_GAPS = (499, 500, 501, 999, 1000, 1001, 2999, 3000, 6000, 59_999, 60_000, 299_999, 300_000, 600_000, 700_001)
gaps = st.one_of(st.sampled_from((0, 0, 0, 1, 2, 10, 100)), st.sampled_from(_LONELY_GAPS), st.integers(0, 1500))
short_gaps = st.sampled_from((0, 0, 1, 5, 100, 400))
clients = st.sampled_from((0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5))
mostly_own = st.sampled_from((*[Who.OWN] * 9, Who.NONE, Who.ANOTHER, Who.UNKNOWN))
own_or_none = st.sampled_from((*[Who.OWN] * 6, *[Who.NONE] * 5, Who.ANOTHER, Who.UNKNOWN))
generations = st.sampled_from((*[Generation.OWN] * 7, *[Generation.CURRENT] * 3, Generation.OLD, Generation.NONE))
is_static = st.sampled_from((True, True, True, True, False))
session_timeouts = st.sampled_from((500, 1000, 1000, 6000, 6000, 30_000, 45_000, 0, 300_001))
rebalance_timeouts = st.sampled_from((1000, 1000, 3000, 60_000, 60_000, 300_000, 0, 1, -1))
reasons = st.sampled_from(
    (None, None, "", "need to revoke partitions and re-join", "cached metadata has changed", "poll timeout", "ü")
)


def _subscription(topics: tuple[str, ...], owned: int | None = None) -> bytes:
    partitions = () if owned is None else (TopicPartition(topics[0], owned),)
    return encode_subscription(Subscription(topics, owned_partitions=partitions), version=1)


METADATA = (
    _subscription(("t1",)),
    _subscription(("t1",)),
    _subscription(("t2", "t1")),
    _subscription(("t1",), owned=0),
    _subscription(("t2",), owned=3),
    b"",
    b"\x00\x01\xff\xff\xff\xff",
)
ASSIGNMENTS = (b"", b"\x00\x00\x00\x00\x00\x01\x00\x02t1\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00", b"\x00\x09?")
protocol_lists = st.lists(
    st.tuples(st.sampled_from(("range", "range", "range", "sticky", "roundrobin")), st.sampled_from(METADATA)),
    min_size=0,
    max_size=3,
).map(tuple)
usual_protocols = st.sampled_from(
    (
        (("range", METADATA[0]),),
        (("range", METADATA[0]), ("sticky", METADATA[2])),
        (("sticky", METADATA[3]), ("range", METADATA[0])),
    )
)
protocol_types = st.sampled_from((*["consumer"] * 9, "connect", ""))
committed = st.lists(
    st.tuples(
        st.sampled_from(("t1", "t2", "t3")), st.integers(-1, 4), st.sampled_from(("", "", "note", "x" * 11, "𝄞"))
    ),
    max_size=4,
).map(tuple)

joins = st.builds(
    Join,
    gap_ms=short_gaps,
    client=clients,
    version=st.sampled_from((0, 2, 3, 3, 4, 5, 6, 7, 8, 9, 9)),
    who=own_or_none,
    is_static=is_static,
    session_timeout_ms=session_timeouts,
    rebalance_timeout_ms=rebalance_timeouts,
    protocol_type=protocol_types,
    protocols=st.one_of(usual_protocols, usual_protocols, protocol_lists),
    reason=reasons,
)
syncs = st.builds(
    Sync,
    gap_ms=short_gaps,
    client=clients,
    version=st.integers(0, 5),
    who=mostly_own,
    is_static=is_static,
    generation=generations,
    protocol_name=st.sampled_from((*[""] * 6, None, "range", "other")),
    assignment=st.sampled_from(ASSIGNMENTS),
)
heartbeats = st.builds(
    Heartbeat,
    gap_ms=short_gaps,
    client=clients,
    version=st.integers(0, 4),
    who=mostly_own,
    is_static=is_static,
    generation=generations,
)
leaves = st.builds(
    Leave,
    gap_ms=short_gaps,
    client=clients,
    version=st.integers(0, 5),
    members=st.lists(st.tuples(clients, mostly_own, is_static), min_size=1, max_size=4).map(tuple),
    reason=st.sampled_from((None, "the consumer is being closed", "poll timeout expired", "removed by an admin")),
)
commits = st.builds(
    Commit,
    gap_ms=short_gaps,
    client=clients,
    version=st.sampled_from((2, 4, 5, 6, 7, 8, 9, 10)),
    who=mostly_own,
    is_static=is_static,
    generation=generations,
    retention_time_ms=st.sampled_from((-1, -1, 0, 5000)),
    offsets=committed,
)
asks = st.builds(
    Ask,
    gap_ms=short_gaps,
    client=clients,
    api=st.sampled_from(("OffsetFetch", "OffsetDelete", "DescribeGroups", "DeleteGroups")),
    version=st.sampled_from((0, 5, 6, 8, 10)),
    topics=st.lists(st.sampled_from(("t1", "t2", "t9")), max_size=3).map(tuple),
)
everybody = st.builds(
    Everybody,
    gap_ms=short_gaps,
    client=st.just(0),
    verb=st.sampled_from(("round", "round", "round", "join", "sync", "sync", "heartbeat")),
    count=st.sampled_from((1, 2, 3, 4, 5, 5, CLIENTS)),
    metadata=st.sampled_from(METADATA[:4]),
    reason=reasons,
)
again = st.builds(Again, gap_ms=short_gaps, client=clients, back=st.integers(0, 12))
waits = st.builds(Wait, gap_ms=gaps, client=clients)

moves = st.one_of(
    *[joins] * 4, *[everybody] * 4, *[syncs] * 2, *[waits] * 2, heartbeats, heartbeats, leaves, commits, asks, again
)
# Most groups start with members that have settled; several lists of moves, for one list is short on average.
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
