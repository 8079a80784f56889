"""What one printed line says about a group: its kind, and what it names.

A fact is what the line states, not what follows from it. Knows only the shape; knows no library's wording.
"""

from __future__ import annotations

from enum import StrEnum, auto
from typing import NamedTuple

from rollcall.inputs.printed.error_names import UNKNOWN_MEMBER_ID, error_name
from rollcall.inputs.printed.lines.entries import DATED, Clock, Level

BROKER = "broker"
"""The dialect of brokers; all others are clients'."""
AWAITS_APPLICATION = ("wait-unassign-call", "wait-revoke-rebalance_cb")
"""States of a client that told its application to give partitions up, and waits for it."""
FATAL = "fatal"
"""The state of a client that was refused and does not retry: its application gets the error."""
TASKS_MIGRATED = "tasks migrated"
"""The state of a Streams thread that was refused as a member or as a producer: it takes either for the same."""

OFFSETS_NOT_COMMITTED = "its commit of offsets was answered that it is not a member"
PRODUCER_FENCED = "its producer was fenced"
"""What such a thread was refused at, where its exception says it."""
LEADS = "leads its group"
"""The state of a client that was made the leader of the generation that it joins."""
LEAVE_REFUSED = "leave refused"
"""The state of a client whose LeaveGroup was answered with an error: it set no rebalance off."""

INCREMENTAL = "incremental"
"""The operation of a line that names the partitions which a member is given in addition to those that it keeps."""

COMMITS = "commit"
"""The operation of a client that commits as a member of generation_id in a state in which it joins the next one."""
HEARTBEATS_STOPPED, SESSION_RELEASED = "heartbeats stopped", "released"
"""States at the end of a session of sarama's. One that nobody ends stops its heartbeats as it is released."""


class FactKind(StrEnum):
    """What a line states. The first part is printed by brokers, the second by clients."""

    # Classic groups.
    REBALANCE_BEGAN = auto()
    """generation_id is the old one; reason is the coordinator's."""
    JOIN_PHASE_ENDED = auto()
    ASSIGNMENT_RECEIVED = auto()
    GROUP_EMPTIED = auto()
    MEMBER_EXPIRED = auto()
    MEMBER_LEFT = auto()
    PENDING_MEMBER_LEFT = auto()
    PENDING_MEMBER_EXPIRED = auto()
    MEMBER_ID_GIVEN = auto()
    MEMBER_ADDED = auto()
    STATIC_MEMBER_REPLACED = auto()
    """member_id is the old id, other_member_id the new one where the line has it."""
    STATIC_JOIN_WITHOUT_REBALANCE = auto()
    """Names nobody: it belongs to the line before it."""
    MEMBER_FENCED = auto()
    """member_id lost against other_member_id."""
    MEMBERS_NOT_BACK = auto()
    """member_ids had not rejoined when the rebalance timeout passed, and were removed."""
    LEADER_NOT_BACK = auto()
    NOBODY_BACK = auto()
    # A coordinator and its groups.
    PARTITION_LOADING = auto()
    PARTITION_LOADED = auto()
    PARTITION_UNLOADED = auto()
    GROUP_TAKEN_OVER = auto()
    MEMBER_LOADED = auto()
    GROUP_UNLOADED = auto()
    GROUPS_DELETED = auto()
    """member_ids holds the ids of the groups."""
    GROUP_DIED = auto()
    WRITE_FAILED = auto()
    BROKER_STARTED = auto()
    BROKER_STOPPING = auto()
    # Groups of the newer protocols.
    MEMBER_JOINED_EPOCH = auto()
    MEMBER_LEFT_EPOCH = auto()
    MEMBER_EXPIRED_EPOCH = auto()
    MEMBER_TOO_SLOW_EPOCH = auto()
    """It did not give partitions up within its rebalance timeout (length_ms)."""
    MEMBER_NOT_SYNCED_EPOCH = auto()
    """A classic member of a consumer group sent no SyncGroup in time."""
    STATIC_MEMBER_AWAY = auto()
    """It leaves for a while and stays a member: the group keeps its epoch."""
    INSTANCE_ID_OWNED = auto()
    """member_id may not join: other_member_id has its instance id, and has not left."""
    MEMBER_SUBSCRIBED = auto()
    EPOCH_BUMPED = auto()
    """reason is the hash of the subscribed topics' metadata."""
    TARGET_COMPUTED = auto()
    """partitions is the assignment of each member, where the line has it."""
    PATTERNS_SCANNED = auto()
    MEMBER_PROGRESSED = auto()
    GROUP_CONVERTED = auto()

    # A client about itself.
    CLIENT_STARTED = auto()
    """Its program begins to consume: it asks to join next."""
    JOIN_SENT = auto()
    REJOIN_WANTED = auto()
    """reason is the client's; `group is already rebalancing` or its like: others began."""
    GROUP_IS_REBALANCING = auto()
    CONFIGS_BEHIND = auto()
    """A Connect worker's own config topic does not reach the offset of its assignment, so it rejoins."""
    LEADER_CONFIGS_BEHIND = auto()
    """A Connect worker leads, and its own copy of the configs is older than a member's: it hands out nothing."""
    CONFIG_LOG_EMPTY = auto()
    """It read that topic to its end, and is before the first offset."""
    JOINED = auto()
    """other_member_id is the group's leader, where the line names it."""
    JOINED_AND_SYNCED = auto()
    """One line for both."""
    MEMBER_FOUND = auto()
    """A leader finds member_id among the members of its generation."""
    ASSIGNED_ALL = auto()
    """A leader's assignment for all members; partitions is its text."""
    SYNCED = auto()
    PARTITIONS_ADDED = auto()
    PARTITIONS_REVOKED = auto()
    PARTITIONS_LOST = auto()
    RECONCILING = auto()
    """A member of a consumer group goes from what it owns to partitions, which it owns once it acknowledges them."""
    POLL_TIMEOUT = auto()
    LEAVE_SENT = auto()
    HEARTBEATS_UNANSWERED = auto()
    """For a session timeout, by the client's own clock: it looks for its coordinator anew, and stays a member."""
    MEMBERSHIP_LOST = auto()
    """The coordinator no longer knows the member or its generation."""
    INSTANCE_FENCED = auto()
    JOIN_REFUSED = auto()
    SYNC_REFUSED = auto()
    JOIN_FAILED = auto()
    """An attempt to join and to get an assignment ended with error; another line may say so too."""
    COMMIT_REFUSED = auto()
    OFFSETS_REFUSED = auto()
    """It was refused the committed offsets of its partitions, so it ends its part in its generation and joins again."""
    REQUEST_REFUSED = auto()
    """A request of a client was answered with error, and the line does not say which."""
    COORDINATOR_FOUND = auto()
    COORDINATOR_LOST = auto()
    CLIENT_STATE = auto()
    """state is what the client calls where it is now."""
    TAKEN_TOO_SLOWLY = auto()
    """Its program did not take the messages of partitions within the time that the setting in reason allows."""
    NO_TOPIC = auto()
    """No topic that it can see matches its subscription."""
    NOT_AUTHORIZED = auto()
    """A broker refused a request since the client's user has no right to the group."""
    CLOSED = auto()
    CLIENT_CRASHED = auto()
    HEARTBEAT = auto()
    """It is alive in generation_id."""
    TOPIC_SEEN = auto()
    """In the metadata that a client got, the topic in partitions has to_state partitions, and had state before."""
    MEMBER_ID_SET = auto()
    """It is member_id from now on, or nobody; other_member_id is the id before, where the line has it."""
    LEAVE_WANTED = auto()
    """Its application closes it or unsubscribes it, as reason says: it leaves next."""
    SESSION_GIVEN_UP = auto()
    """By the client's own clock: length_ms without a good answer of the coordinator broker_id, the last was error."""
    CONNECTION_FAILED = auto()
    """The connection to the coordinator failed in state, after length_ms there."""

    TWO_MESSAGES = auto()
    """Nothing: a broker's line begins as one message and ends as another one, so a client's line breaks are in it."""
    UNREADABLE = auto()
    """Nothing: a reader failed at the line, as error says."""


NEW_IDS = frozenset((FactKind.MEMBER_ID_GIVEN, FactKind.MEMBER_ADDED))
"""Lines with the id of a new member."""
GOES = frozenset((FactKind.MEMBER_LEFT, FactKind.MEMBER_EXPIRED))
"""By these a coordinator of classic groups ends one membership."""
REMOVED_EPOCH = frozenset(
    (
        *(FactKind.MEMBER_LEFT_EPOCH, FactKind.MEMBER_EXPIRED_EPOCH),
        *(FactKind.MEMBER_TOO_SLOW_EPOCH, FactKind.MEMBER_NOT_SYNCED_EPOCH),
    )
)
"""By these a coordinator of newer groups ends a membership."""
LEAVES = frozenset((FactKind.POLL_TIMEOUT, FactKind.LEAVE_SENT))
"""By these a client leaves; the second may not say why."""
OWN_ENDS = LEAVES | {FactKind.MEMBERSHIP_LOST, FactKind.INSTANCE_FENCED, FactKind.CLOSED}
"""By these a client's log ends a membership."""
NEWER = REMOVED_EPOCH | {
    *(FactKind.EPOCH_BUMPED, FactKind.TARGET_COMPUTED, FactKind.MEMBER_PROGRESSED, FactKind.PATTERNS_SCANNED),
    *(FactKind.MEMBER_JOINED_EPOCH, FactKind.MEMBER_SUBSCRIBED),
    *(FactKind.STATIC_MEMBER_AWAY, FactKind.INSTANCE_ID_OWNED),
}
"""Lines that only groups of the newer protocols have."""


class LoggedFact(NamedTuple):
    """One line's statement. Empty text, None or an empty tuple where the line does not have it."""

    kind: FactKind
    file: str
    line_number: int
    at_ms: int | None
    clock: Clock = Clock.NONE
    is_whole_seconds: bool = False
    dialect: str = ""
    """Who prints such lines: the dialect's name, as `broker` or `java`."""
    source: str = ""
    """The container, pod or program that the wrapping names."""
    broker_id: str = ""
    """The broker that printed it, or of a client's line the broker it names."""
    partition: int | None = None
    """Of __consumer_offsets."""
    group_id: str = ""
    group_type: str = ""
    generation_id: int | None = None
    """The generation or epoch that the line names."""
    member_id: str = ""
    other_member_id: str = ""
    member_ids: tuple[str, ...] = ()
    table: str = ""
    """The table that a database's own consumer feeds, where the line names it."""
    instance_id: str = ""
    client_id: str = ""
    """As the client names itself: librdkafka adds a number, as `orders#consumer-1`."""
    client_host: str = ""
    state: str = ""
    to_state: str = ""
    reason: str = ""
    client_reason: str = ""
    partitions: str = ""
    """Topic partitions, as printed."""
    members: int | None = None
    length_ms: int | None = None
    operation: str = ""
    error: str = ""
    is_static: bool | None = None
    is_certain: bool = True
    """False: the line can be read in two ways, or a client has written it, so it is not believed."""
    is_escaped: bool = False
    """Whether its layout escapes line breaks, so that no client's text can end its line."""
    may_be_forged: bool = False
    """Whether a client's text may have written the line: what rests on it is inferred."""
    level: Level = Level.INFO
    """Of the line; in a group's story the lowest that the log of its client has shown up to it."""


IS_CERTAIN = "is_certain"
PLACES = {name: place for place, name in enumerate(LoggedFact._fields)}
STATED = LoggedFact._fields[PLACES["broker_id"] : PLACES[IS_CERTAIN]]
"""What a line may say; the fields before and behind are of its place and of the reading."""


def program_of(fact: LoggedFact) -> tuple[str, str, str]:
    """Which program printed a line, as far as it shows: lines of one have the same."""
    return fact.dialect, fact.file, fact.source


def printer_of(fact: LoggedFact) -> tuple[str, str, str, str]:
    """Which client of a program printed a line, likewise."""
    return *program_of(fact), fact.client_id


def is_dated(fact: LoggedFact) -> bool:
    """Whether a line has a moment that a home can hold."""
    return fact.at_ms is not None and fact.clock in DATED


def is_unknown_member(fact: LoggedFact) -> bool:
    """Whether an answer says that there is no such member: one whose generation or epoch is refused is there."""
    if fact.kind is not FactKind.MEMBERSHIP_LOST or fact.state == TASKS_MIGRATED:
        return False
    error = fact.error.lower()
    return "generation" not in error and "epoch" not in error and bool(error or fact.generation_id is None)


def says_that_it_is_no_member(fact: LoggedFact) -> bool:
    """Whether the coordinator answered that it does not know the member id."""
    if fact.kind is FactKind.COMMIT_REFUSED:
        return error_name(fact.error) == UNKNOWN_MEMBER_ID
    return is_unknown_member(fact)


def in_a_rebalance(fact: LoggedFact) -> bool:
    """Whether the coordinator's last answer was that a rebalance is in progress."""
    return "rebalance in progress" in fact.error


def between_ms(first: LoggedFact, last: LoggedFact) -> int | None:
    """How long after one line another was printed; None: one of them has no time."""
    return gap_ms(first.at_ms, last.at_ms)


def gap_ms(first_ms: int | None, last_ms: int | None) -> int | None:
    """How long after one time another was; None: one of them is not known."""
    return None if first_ms is None or last_ms is None else last_ms - first_ms
