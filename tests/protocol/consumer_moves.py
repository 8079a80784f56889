"""Random clients of one consumer group: what they may do next, as data that hypothesis draws and shrinks.

A move says who does what in general words ("beats with the epoch before"); `consumer_play` turns it into a request once
it is known which epoch that is. Weights lean to what real clients do, so that groups become Stable, and leave room for
everything a client must not do.

Knows the requests there are; must not know any rule of the protocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hypothesis import strategies as st

from coordinator_udfs.protocol.config import INT32_MAX, ConsumerConfig, GroupConfig, MigrationPolicy

CLIENTS = 6
INSTANCE_IDS: tuple[str | None, ...] = (None, None, "i-1", "i-2", None, "i-1")
"""By client: the last claims another's instance id."""
TOPICS = {"t1": 4, "t2": 3, "u1": 5}
PATTERNS = ("t.*", "u.", ".*1", "nothing", "(")


class Epoch(StrEnum):
    """Which epoch a heartbeat names."""

    OWN = "own"
    BEFORE = "before"
    AFTER = "after"


class Said(StrEnum):
    """What a member says that it owns."""

    NOTHING_SAID = "nothing said"
    ANSWERED = "what it was answered"
    NONE = "none"
    FOREIGN = "what it was never answered"


@dataclass(frozen=True, slots=True)
class Move:
    """client, after gap_ms, does something."""

    gap_ms: int
    client: int


@dataclass(frozen=True, slots=True)
class Join(Move):
    """Joins or rejoins with epoch 0."""

    topics: tuple[str, ...] | None
    pattern: str | None
    assignor: str | None
    is_static: bool
    is_new_id: bool
    rebalance_timeout_ms: int


@dataclass(frozen=True, slots=True)
class Beat(Move):
    epoch: Epoch
    said: Said
    topics: tuple[str, ...] | None
    pattern: str | None
    is_full: bool


@dataclass(frozen=True, slots=True)
class Leave(Move):
    """is_for_now: -2, which is for static members."""

    is_for_now: bool


@dataclass(frozen=True, slots=True)
class Restart(Move):
    """A static member's process is restarted: it joins, beats, leaves for now and joins again."""

    is_new_id: bool


@dataclass(frozen=True, slots=True)
class ClassicJoin(Move):
    topics: tuple[str, ...]
    is_cooperative: bool
    is_static: bool
    session_timeout_ms: int


@dataclass(frozen=True, slots=True)
class ClassicCycle(Move):
    """Heartbeats; joins again where it is told to; syncs where it joined."""


@dataclass(frozen=True, slots=True)
class ClassicLeave(Move):
    """Names these clients, consumers too."""

    others: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Commit(Move):
    epoch: Epoch
    version: int


@dataclass(frozen=True, slots=True)
class Ask(Move):
    """An administrator's request."""

    api: str


@dataclass(frozen=True, slots=True)
class Topics(Move):
    """A topic is made (0 to some partitions), grows, or goes (0)."""

    topic: str
    partition_count: int


@dataclass(frozen=True, slots=True)
class Again(Move):
    """An earlier request arrives once more, word for word; back counts from the latest."""

    back: int


@dataclass(frozen=True, slots=True)
class Everybody(Move):
    """Every client that is a member beats with what it was told, twice in turn."""


_gaps = st.sampled_from((0, 0, 1, 50, 50, 400, 400, 1100, 3100, 10_500))
_clients = st.integers(0, CLIENTS - 1)
_topics = st.lists(st.sampled_from((*TOPICS, "t9")), unique=True, max_size=3).map(tuple)
_assignors = st.sampled_from((None, None, None, "uniform", "range", "none such"))
_patterns = st.sampled_from((None, None, None, *PATTERNS, ""))
_maybe_topics = st.one_of(st.none(), _topics)


def _of(kind: type[Move], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[Move]:
    return st.builds(kind, gap_ms=_gaps, client=_clients, **fields)


_join = _of(
    Join,
    topics=_maybe_topics,
    pattern=_patterns,
    assignor=_assignors,
    is_static=st.booleans(),
    is_new_id=st.sampled_from((False, False, True)),
    rebalance_timeout_ms=st.sampled_from((0, 700, 5000, 60_000)),
)
_usual_join = _of(
    Join,
    topics=st.sampled_from((("t1",), ("t1", "t2"), ("t1", "t2"), ("u1",))),
    pattern=st.none(),
    assignor=st.none(),
    is_static=st.just(True),
    is_new_id=st.just(False),
    rebalance_timeout_ms=st.just(5000),
)
_beat = _of(
    Beat,
    epoch=st.sampled_from((Epoch.OWN, Epoch.OWN, Epoch.OWN, Epoch.BEFORE, Epoch.AFTER)),
    said=st.sampled_from((Said.ANSWERED, Said.ANSWERED, *Said)),
    topics=st.one_of(st.none(), st.none(), st.none(), _topics),
    pattern=st.one_of(st.none(), st.none(), _patterns),
    is_full=st.booleans(),
)
moves = st.one_of(
    _usual_join,
    _join,
    _beat,
    _beat,
    _of(Everybody),
    _of(Everybody),
    _of(Leave, is_for_now=st.booleans()),
    st.builds(Restart, gap_ms=_gaps, client=st.sampled_from((2, 3)), is_new_id=st.booleans()),
    _of(
        ClassicJoin,
        topics=st.sampled_from((("t1",), ("t1", "t2"), ())),
        is_cooperative=st.booleans(),
        is_static=st.booleans(),
        session_timeout_ms=st.sampled_from((900, 6000)),
    ),
    _of(ClassicCycle),
    _of(ClassicLeave, others=st.lists(_clients, max_size=2).map(tuple)),
    _of(Commit, epoch=st.sampled_from(Epoch), version=st.sampled_from((8, 9))),
    _of(
        Ask,
        api=st.sampled_from(
            (
                *("ConsumerGroupDescribe", "DescribeGroups", "DeleteGroups", "OffsetFetch", "OffsetDelete"),
                *("AlterConfigs", "DescribeConfigs", "IncrementalAlterConfigs"),
            )
        ),
    ),
    _of(Topics, topic=st.sampled_from((*TOPICS, "t9", "u9")), partition_count=st.sampled_from((0, 1, 4, 7))),
    _of(Again, back=st.integers(0, 8)),
)
plays = st.one_of(st.lists(moves, max_size=20), st.lists(moves, min_size=15, max_size=60))
configs = st.builds(
    GroupConfig,
    members_max_bytes=st.sampled_from((INT32_MAX, 8_388_608, 30_000)),
    group_min_session_timeout_ms=st.just(1),
    group_initial_rebalance_delay_ms=st.sampled_from((0, 300)),
    group_max_size=st.sampled_from((2, 100)),
    offsets_retention_minutes=st.just(1),
    offsets_retention_check_interval_ms=st.sampled_from((20_000, 600_000)),
    topics=st.just(TOPICS),
    consumer=st.builds(
        ConsumerConfig,
        session_timeout_ms=st.just(6000),
        min_session_timeout_ms=st.just(2000),
        heartbeat_interval_ms=st.just(500),
        assignment_interval_ms=st.sampled_from((0, 0, 1000)),
        max_size=st.sampled_from((4, 100, 100)),
        migration_policy=st.sampled_from(
            (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.BIDIRECTIONAL, *MigrationPolicy)
        ),
    ),
)
