"""Everything that can come out of a group: one shape for each kind of fact, named in the past tense.

Replies and history are the same stream, so a client's answer and the history cannot differ. The wire
name of an effect (`effect`) is in `rollcall.schemas.effect_names`. `at_ms` is when it happened on the group's clock.

A group under the newer protocol has the same facts and some more: see `rollcall.schemas.consumer_effects`.

Knows the shapes; knows no group and no table.
"""

from __future__ import annotations

from rollcall.schemas.causes import Cause, EndCause
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import MemberBeats, Response
from rollcall.schemas.shapes import Int32, Shape

UNKNOWN_END = "unknown"
"""The outcome of a rebalance whose end a recording does not show."""


class Effect(Shape, kw_only=True, tag_field="effect"):
    """One fact about one group."""

    at_ms: int


class Reply(Effect, tag=EffectName.REPLY.value, kw_only=True):
    """A request was answered."""

    request_id: str
    api: str
    api_version: int
    error_code: Error
    member_id: str
    """The member that asked: the id in the request, or the id that it was given."""
    client_id: str
    generation_id: Int32
    received_at_ms: int
    """When the request arrived; at_ms - received_at_ms is how long it was parked."""
    response: Response


class HeartbeatsTaken(Effect, tag=EffectName.HEARTBEATS_TAKEN.value, kw_only=True):
    """Heartbeats of a run were answered NONE; at_ms is when the last of them arrived. The others have replies."""

    request_id: str
    """The run's."""
    generation_id: Int32
    from_ms: int
    """What `beats` counts from, ms since the epoch."""
    taken: list[MemberBeats]
    """In the run's order, from which a heartbeat's id follows; without beats if all were refused."""


class RequestParked(Effect, tag=EffectName.REQUEST_PARKED.value, kw_only=True):
    """A JoinGroup or SyncGroup was accepted; its answer comes later."""

    request_id: str
    api: str
    member_id: str
    generation_id: Int32


class RequestDropped(Effect, tag=EffectName.REQUEST_DROPPED.value, kw_only=True):
    """A parked request that Kafka never answers: the same member sent another, or left or expired while syncing."""

    request_id: str
    api: str
    member_id: str
    why: str


class RequestRepeated(Effect, tag=EffectName.REQUEST_REPEATED.value, kw_only=True):
    """A request arrived whose id the group had seen before; it changes nothing and the first one gets the answer."""

    request_id: str
    api: str
    member_id: str


class RequestsPutOff(Effect, tag=EffectName.REQUESTS_PUT_OFF.value, kw_only=True):
    """A group's turn had cost what a turn may: the rest of it continues in the next batch.

    at_ms is that of the last fact before.
    """

    requests: int
    """How many requests were left; 0 where only deadlines were."""
    refused: int
    """How many more the group had no room to keep: answered COORDINATOR_LOAD_IN_PROGRESS."""
    work: int
    """What the turn had cost, in units of about a microsecond."""


class GroupCreated(Effect, tag=EffectName.GROUP_CREATED.value, kw_only=True):
    """A group that was unknown is now Empty."""


class GroupRemoved(Effect, tag=EffectName.GROUP_REMOVED.value, kw_only=True):
    """A group is unknown again."""

    why: str
    """`deleted`, `expired` or `unloaded`; `unknown` if a recording cannot distinguish the first two."""
    generation_id: Int32


class GroupObserved(Effect, tag=EffectName.GROUP_OBSERVED.value, kw_only=True):
    """A recording proves something about the group that no request in it says; all that follows from it is inferred."""

    why: str
    """What proves it."""
    is_away: bool
    """The group has no coordinator now."""
    is_loaded: bool
    """A coordinator has loaded the group."""
    generation_id: Int32
    member_ids: list[str]
    """The members seen."""


class GroupFound(Effect, tag=EffectName.GROUP_FOUND.value, kw_only=True):
    """A recording begins with a group that was there before: this is what it was like; nothing earlier is known."""

    group_type: str
    """`classic` or `consumer`."""
    generation_id: Int32
    """Its generation or epoch at that moment."""


class GroupNotCovered(Effect, tag=EffectName.GROUP_NOT_COVERED.value, kw_only=True):
    """A group of a kind whose records are not read, so this is the only fact about it."""

    why: str
    """The kind: `share` or `streams`."""


class StateChanged(Effect, tag=EffectName.STATE_CHANGED.value, kw_only=True):
    """A group moved from one state to another, by the names of its kind."""

    from_state: str
    to_state: str
    generation_id: Int32
    """The generation after the move."""
    protocol_type: str | None
    protocol_name: str | None
    leader_id: str | None


class MemberIdGiven(Effect, tag=EffectName.MEMBER_ID_GIVEN.value, kw_only=True):
    """A joining client got its id (MEMBER_ID_REQUIRED) and is awaited."""

    member_id: str
    client_id: str
    client_host: str
    session_timeout_ms: int


class PendingMemberRemoved(Effect, tag=EffectName.PENDING_MEMBER_REMOVED.value, kw_only=True):
    """The group no longer waits for an id that it gave out: it left, expired or was refused."""

    member_id: str
    end_cause: EndCause


class MemberJoined(Effect, tag=EffectName.MEMBER_JOINED.value, kw_only=True):
    """A client became a member."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    topics: list[str] | None
    replaces_member_id: str | None = None
    is_inferred: bool = False
    """True where a recording shows the client as a member, but not its JoinGroup: it was one by now at the latest."""


class MemberUpdated(Effect, tag=EffectName.MEMBER_UPDATED.value, kw_only=True):
    """A member's JoinGroup changed its timeouts or topics: these hold from now on."""

    member_id: str
    client_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    topics: list[str] | None


class MemberRemoved(Effect, tag=EffectName.MEMBER_REMOVED.value, kw_only=True):
    """A member was removed."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    generation_id: Int32
    """The group's generation at that moment."""
    end_cause: EndCause
    client_reason: str | None = None
    replaced_by_member_id: str | None = None
    is_inferred: bool = False
    """Nobody said how it ended: that was inferred. at_ms is then the latest moment that fits."""
    candidates: tuple[EndCause, ...] = ()
    """Every end that fits, where the end is unknown."""


class TimerArmed(Effect, tag=EffectName.TIMER_ARMED.value, kw_only=True):
    """A timer of the group was started anew.

    A join timer of less than a second that finds no member and starts again is reported once a second.
    """

    timer: str
    """`join` (ends the join phase or one initial delay) or `sync`."""
    length_ms: int


class RebalanceStarted(Effect, tag=EffectName.REBALANCE_STARTED.value, kw_only=True):
    """The group began to rebalance."""

    from_generation_id: Int32
    """The generation that the group leaves."""
    from_state: str
    cause: Cause
    members_before: int | None
    """Null if a recording does not show it."""
    join_timeout_ms: int


class TopicPartitions(Shape, kw_only=True):
    topic: str
    partitions: list[Int32]


class JoinReceived(Effect, tag=EffectName.JOIN_RECEIVED.value, kw_only=True):
    """A member's JoinGroup reached the join phase of a rebalance out of generation from_generation_id."""

    member_id: str
    client_id: str
    from_generation_id: Int32
    owned_partitions: list[TopicPartitions] | None = None
    """What the member says it still owns (KIP-429); null where its bytes do not say. An eager member owns nothing at
    this point.
    """


class JoinPhaseEnded(Effect, tag=EffectName.JOIN_PHASE_ENDED.value, kw_only=True):
    """Everybody who will be in generation_id is known; the leader is awaited."""

    generation_id: Int32
    protocol_name: str | None
    leader_id: str | None
    member_ids: list[str]


class SyncReceived(Effect, tag=EffectName.SYNC_RECEIVED.value, kw_only=True):
    """A member's SyncGroup arrived for generation_id while the group was completing its rebalance."""

    member_id: str
    client_id: str
    generation_id: Int32
    is_leader: bool


class Assigned(Effect, tag=EffectName.ASSIGNED.value, kw_only=True):
    """A member owns these bytes of assignment from now on."""

    member_id: str
    client_id: str
    group_instance_id: str | None
    generation_id: Int32
    partitions: list[TopicPartitions] | None
    """What it owns, decoded where the protocol type is consumer, or connect: then a topic is a connector, a partition
    a task's number, and -1 the connector itself. Null: the bytes do not say.
    """
    assignment: bytes


class MemberWait(Shape, kw_only=True):
    """A member's part in a rebalance: when it joined and synced, and how long it alone kept the others waiting."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    joined_at_ms: int | None
    synced_at_ms: int | None
    held_others_ms: int


class RebalanceEnded(Effect, tag=EffectName.REBALANCE_ENDED.value, kw_only=True):
    """A rebalance has ended."""

    from_generation_id: Int32
    to_generation_id: Int32
    started_at_ms: int | None
    """Null if a recording does not show when it began."""
    cause: Cause
    outcome: str
    """`completed` (the group is Stable), `superseded` (another rebalance began first) or `empty` (no member is left);
    `unknown` if a recording does not show its end.
    """
    members_before: int | None
    members_after: int | None
    """Both are null if a recording does not show them."""
    joined: list[str]
    left: list[str]
    expired: list[str]
    """`joined`, `left` and `expired` hold client ids; of a member without a known one its instance or member id."""
    slowest_member_id: str | None = None
    """The member that kept the others waiting longest; null if none did. So are the two fields below."""
    slowest_client_id: str | None = None
    slowest_wait_ms: int | None = None
    waits: list[MemberWait]
    gone: tuple[str, ...] = ()
    """Likewise, those of whom it is not known how they went."""
    known_from_ms: int | None = None
    """Where it is not known when it began: the first moment at which it surely was under way."""

    @property
    def is_end_known(self) -> bool:
        """False: at_ms is only the last moment at which it surely was under way."""
        return self.outcome != UNKNOWN_END


class CauseFound(Effect, tag=EffectName.CAUSE_FOUND.value, kw_only=True):
    """A better cause of why a member went, found later: it replaces the cause of its end and of its rebalance."""

    to_generation_id: Int32
    """The generation or epoch that its going led to."""
    gone_at_ms: int
    """When it went."""
    member_id: str
    client_id: str
    cause: Cause
    """How the member ended, and so what set that rebalance off."""


class OffsetCommitted(Shape, kw_only=True):
    topic: str
    partition: Int32
    committed_offset: int
    leader_epoch: Int32
    metadata: str
    commit_timestamp_ms: int


class OffsetsCommitted(Effect, tag=EffectName.OFFSETS_COMMITTED.value, kw_only=True):
    """Offsets of one request were stored."""

    request_id: str
    member_id: str
    generation_id: Int32
    offsets: list[OffsetCommitted]
    is_inferred: bool = False
    """The record does not say who committed them: member_id is the partitions' owner, empty if there is none."""


class OffsetsRemoved(Effect, tag=EffectName.OFFSETS_REMOVED.value, kw_only=True):
    """Stored offsets are gone."""

    why: str
    """`deleted`, `expired` or `group_removed`; `unknown` if a recording does not show it."""
    offsets: list[TopicPartitions]


AnyEffect = (
    Reply
    | HeartbeatsTaken
    | RequestParked
    | RequestDropped
    | RequestRepeated
    | RequestsPutOff
    | GroupCreated
    | GroupRemoved
    | GroupObserved
    | StateChanged
    | MemberIdGiven
    | PendingMemberRemoved
    | MemberJoined
    | MemberUpdated
    | MemberRemoved
    | TimerArmed
    | RebalanceStarted
    | JoinReceived
    | JoinPhaseEnded
    | SyncReceived
    | Assigned
    | RebalanceEnded
    | OffsetsCommitted
    | OffsetsRemoved
)
"""The facts of groups of both kinds; `rollcall.schemas.consumer_effects` has those only of consumer groups."""

RecordedEffect = GroupFound | GroupNotCovered | CauseFound
"""The facts only of recordings: the core knows a group from its beginning, and every cause when it happens."""
