"""What is kept of a group between its records: one versioned JSON document, as it lies in the state store.

Knows what the rules of `offsets_topic.history` need to remember, and nothing of what they conclude from it. What can be
derived (who owns a partition) is not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from coordinator_udfs.protocol.consumer.states import GroupType, MemberState
from schemas.causes import Cause

VERSION = 1
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""By the version they read: functions that turn a document of one version into the next one's."""


class DocumentError(ValueError):
    """A document that cannot be read; the text says why."""


class Kept(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """Base of what the document is made of; times are ms since the epoch."""


class Commits(Kept):
    """The commits on a member's partitions while it held them; several at one time are one."""

    count: int = 0
    last_ms: int | None = None
    longest_gap_ms: int = 0
    """The longest time between two."""


class Member(Kept):
    """A member of either kind of group."""

    member_id: str
    client_id: str
    client_host: str
    since_ms: int
    """From when on it is known as a member."""
    group_instance_id: str | None = None
    session_timeout_ms: int = -1
    """-1 for a member of the newer protocol: the topic does not say."""
    rebalance_timeout_ms: int = -1
    topics: list[str] | None = None
    """None where its bytes do not say."""
    pattern: str = ""
    server_assignor: str | None = None
    is_classic: bool = False
    """It speaks the older protocol, in whichever kind of group."""
    held: dict[str, list[int]] = {}
    """Its partitions by topic, of a consumer group by topic id; what it is to give up included."""
    target: dict[str, list[int]] = {}
    """What it is to have, likewise; of a consumer group alone, as are the six below."""
    epoch: int = 0
    state: MemberState = MemberState.STABLE
    state_since_ms: int = 0
    """When its epoch or state became what it is; 0 before its first step."""
    told_at_ms: int = 0
    """When its latest record was written."""
    is_away: bool = False
    """A static member that left and means to return."""
    is_nameless: bool = False
    """Its own record has not come, for others were compacted away."""
    commits: Commits = msgspec.field(default_factory=Commits)

    @property
    def name(self) -> str:
        """Its client id; a static member without one goes by its instance id."""
        return self.client_id or self.group_instance_id or ""


class Operation(Kept):
    """The records of one request that have come so far: what they say together is told once the epoch's comes."""

    at_ms: int = -1
    """The time of all of them; -1: none has come."""
    came: list[Member] = []
    gone: list[Member] = []
    changed: list[str] = []
    """Ids of members that subscribe to something else."""
    resolved: list[str] = []
    """Patterns that were written."""
    returned: list[str] = []
    """Ids of static members that took the place of one that is gone."""
    targets: dict[str, dict[str, list[int]]] = {}
    """What members are to have, by member id."""


class Rebalance(Kept):
    """The epoch on whose way the members of a consumer group are, as it was told when it rose."""

    from_epoch: int
    started_at_ms: int
    members_before: int
    cause: Cause
    joined: list[str] = []
    left: list[str] = []
    expired: list[str] = []
    gone: list[str] = []


class Departure(Kept):
    """A member that went, it is not known how: if the same id comes back, that says more."""

    member_id: str
    at_ms: int
    to_epoch: int
    returning: list[str]
    """The ends that still fit then."""


class History(Kept):
    """All of a group that is remembered."""

    group_id: str
    v: int = VERSION
    seq: int = 0
    """How many facts were told of it."""
    group_type: GroupType | None = None
    """None before the topic says so, as for a group that only commits."""
    is_covered: bool = True
    """False for a share or streams group: nothing is told of it but that."""
    state: str = ""
    """Empty, Stable and so on, as it was told last."""
    generation_id: int = 0
    """The generation or epoch."""
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    empty_since_ms: int | None = None
    """Since when it has no members."""
    members: dict[str, Member] = {}
    is_followup_due: bool = False
    """Its latest assignment left partitions to nobody: the next round of a cooperative rebalance is due."""
    partition_counts: dict[str, int] = {}
    """How many partitions of a topic a classic group is known to have shared out."""
    last_commit_ms: dict[str, dict[int, int]] = {}
    """When the stored offset of a topic's partition was committed."""
    topic_names: dict[str, str] = {}
    """By topic id, as the group's own records tell them."""
    metadata_hash: int | None = None
    """Kafka's hash over the topics of a consumer group: another one means that they changed."""
    target_epoch: int = -1
    operation: Operation = msgspec.field(default_factory=Operation)
    rebalance: Rebalance | None = None
    converting: dict[str, Member] = {}
    """The members of a group whose record went, until the records of its other kind come."""
    converted_at_ms: int = -1
    """When that was."""
    ending_at_ms: int = -1
    """When the record of a group without members went, until it is clear that it does not go on as the other kind."""
    downgrade_cause: Cause | None = None
    """What made a classic group of it again, from which its next rebalance comes."""
    departures: list[Departure] = []

    @property
    def is_held_back(self) -> bool:
        """Whether something is not told yet, for the rest of a request's records may say more of it."""
        operation = self.operation
        return self.ending_at_ms != -1 or bool(self.converting or operation.came or operation.gone)


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
            raise DocumentError("the document is no JSON object with a version")
        while version in UPGRADES:
            raw = UPGRADES[version](raw)
            version += 1
        if version != VERSION:
            raise DocumentError(f"v: version {version} is not known, up to {VERSION} are")
        return msgspec.convert(raw, History) if UPGRADES else _decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise DocumentError(f"the document cannot be read: {error}") from None
