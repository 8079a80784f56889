"""What is kept of a group between its records: one versioned JSON document in the state store.

Knows what the rules of `rollcall.inputs.offsets_topic.history` need to remember, not what they infer from it. What
can be derived (who owns a partition) is not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType, MemberState
from rollcall.schemas.causes import Cause
from rollcall.schemas.consumer_effects import PatternsResolved
from rollcall.schemas.effects import OffsetsCommitted, OffsetsRemoved
from rollcall.schemas.makers import Terms

VERSION = 1
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""Functions that turn a document of one version into the next, by the version they read."""


NO_RECORD = -1
"""The offset of a record that is not known, or that there is not."""


class DocumentError(ValueError):
    """A document that cannot be read; the text says why."""


class DocumentPart(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """Base of what the document is made of; times are ms since the epoch."""


class Commits(DocumentPart):
    """The commits on a member's partitions while it owned them; several at one time count as one."""

    count: int = 0
    last_ms: int | None = None
    longest_gap_ms: int = 0
    """The longest time between two."""


class Member(DocumentPart):
    """A member of either kind of group."""

    member_id: str
    client_id: str
    client_host: str
    since_ms: int
    """From when on it is known as a member."""
    group_instance_id: str | None = None
    session_timeout_ms: int = -1
    """-1 for a member of the newer protocol: the topic does not have it."""
    rebalance_timeout_ms: int = -1
    topics: list[str] | None = None
    """None if its bytes cannot be read."""
    pattern: str = ""
    server_assignor: str | None = None
    is_classic: bool = False
    """Whether it uses the classic protocol, in either kind of group."""
    held: dict[str, list[int]] = {}
    """Its partitions by topic, in a consumer group by topic id; including those it must give up."""
    target: dict[str, list[int]] = {}
    """Its target, likewise; only in a consumer group, as are the next six."""
    epoch: int = 0
    state: MemberState = MemberState.STABLE
    state_since_ms: int = 0
    """When its epoch or state last changed; 0 before its first step."""
    recorded_at_ms: int = msgspec.field(name="told_at_ms", default=0)
    """When its latest record was written."""
    is_away: bool = False
    """A static member that left and means to return."""
    is_nameless: bool = False
    """Its own record was not seen: it was compacted away."""
    shown_at: int = NO_RECORD
    """The offset of its own record, once it is gone of the record that says so; only in a consumer group, as the next.
    """
    step_shown_at: int = NO_RECORD
    """The offset of the record of its latest step."""
    commits: Commits = msgspec.field(default_factory=Commits)

    @property
    def terms(self) -> Terms:
        return self.session_timeout_ms, self.rebalance_timeout_ms, self.topics

    @property
    def name(self) -> str:
        """Its client id; a static member without one goes by its instance id."""
        return self.client_id or self.group_instance_id or ""


def with_instance(instance_id: str | None, members: Iterable[Member]) -> Member | None:
    return next((one for one in members if one.group_instance_id == instance_id is not None), None)


class Operation(DocumentPart):
    """The records of one request so far: their facts are emitted once the epoch's record comes."""

    at_ms: int = -1
    """The time of all of them; -1: none has come."""
    came: list[Member] = []
    gone: list[Member] = []
    changed: list[str] = []
    """Ids of members with other topics."""
    voted: list[str] = []
    """Ids of members that ask for another assignor, which raises the epoch since Kafka 4.4 (KAFKA-20434)."""
    coming: list[str] = []
    """Those of them that have joined just before, without a subscription, and have their first one."""
    resolved: list[str] = []
    """Patterns that were written."""
    returned: list[str] = []
    """Ids of static members that replaced one that is gone."""
    targets: dict[str, dict[str, list[int]]] = {}
    """Targets by member id."""


class EpochRebalance(DocumentPart):
    """The rebalance of a consumer group under way, as emitted when its epoch rose."""

    from_generation_id: int = msgspec.field(name="from_epoch")
    started_at_ms: int
    members_before: int
    cause: Cause
    joined: list[str] = []
    left: list[str] = []
    expired: list[str] = []
    gone: list[str] = []


class Departure(DocumentPart):
    """A member that left, it is not known how: if the same id comes back, more is known."""

    member_id: str
    at_ms: int
    to_epoch: int
    returning: list[str]
    """The ends that still fit then."""


class History(DocumentPart):
    """All of a group that is remembered."""

    group_id: str
    v: int = VERSION
    seq: int = 0
    """How many facts were emitted."""
    partition: int = NO_RECORD
    """The partition that has the group's records."""
    session_ms: int = -1
    """The session timeout of members of the newer protocol, if a user gave it; the topic does not have it."""
    group_type: GroupType | None = None
    """None if not known yet, as for a group that only commits."""
    is_covered: bool = True
    """False for a share or streams group, which is not followed."""
    state: str = ""
    """The last emitted state: Empty, Stable and so on."""
    generation_id: int = 0
    """The generation or epoch."""
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    empty_since_ms: int | None = None
    """Since when it has no members."""
    members: dict[str, Member] = {}
    is_followup_due: bool = False
    """Its latest assignment left partitions without an owner: the next round of a cooperative rebalance is due."""
    partition_counts: dict[str, int] = {}
    """By topic, how many partitions a classic group is known to have assigned."""
    last_commit_ms: dict[str, dict[int, int]] = {}
    """When the stored offset of a topic's partition was committed."""
    topic_names: dict[str, str] = {}
    """By topic id, from the group's own records."""
    metadata_hash: int | None = None
    """Kafka's hash over the topics of a consumer group, which changes with them."""
    target_epoch: int = -1
    operation: Operation = msgspec.field(default_factory=Operation)
    rebalance: EpochRebalance | None = None
    longest_rebalance_ms: int = 0
    """How long its members have taken at most to come to an epoch of a consumer group."""
    converting: dict[str, Member] = {}
    """The members of a group whose record was removed, until the records of its other kind come."""
    converted_at_ms: int = -1
    """When that was."""
    ending_at_ms: int = -1
    """When the record of a group without members was removed, until it is clear that it does not continue as the other
    kind.
    """
    end_shown_at: int = NO_RECORD
    """The offset of the record that said either."""
    growing: OffsetsCommitted | OffsetsRemoved | PatternsResolved | None = None
    """The latest fact, while further records of its time may add to its list."""
    growing_shown_at: int = NO_RECORD
    """The offset of its first record."""
    downgrade_cause: Cause | None = None
    """Why it became a classic group again, which is the cause of its next rebalance."""
    departures: list[Departure] = []

    def last_commit_of_others_ms(self, member: Member) -> int:
        """When any other member committed last; 0: none has."""
        known = (*self.members.values(), *self.converting.values())
        return max((one.commits.last_ms or 0 for one in known if one is not member), default=0)

    @property
    def is_held_back(self) -> bool:
        """Whether facts are held back, because the rest of a request's records may change them."""
        operation = self.operation
        is_open = self.growing is not None or self.ending_at_ms != -1
        return is_open or bool(self.converting or operation.came or operation.gone)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(History)


def write_document(history: History) -> str:
    """A history as its JSON document."""
    return _encoder.encode(history).decode()


def read_document(text: str) -> History:
    """A history from its document; one of an older version is brought up to date.

    Raises DocumentError, in this order: no JSON object; a version that is not known; not of its version's shape.
    """
    try:
        raw = msgspec.json.decode(text)
        version = raw.get("v", VERSION) if isinstance(raw, dict) else None
        if not isinstance(version, int):
            raise DocumentError("the document is not a JSON object with a version")
        while version in UPGRADES:
            raw = UPGRADES[version](raw)
            version += 1
        if version != VERSION:
            raise DocumentError(f"v: version {version} is not known, up to {VERSION} are")
        return msgspec.convert(raw, History) if UPGRADES else _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise DocumentError(f"the document cannot be read: {error}") from None
