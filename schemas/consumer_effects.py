"""What comes out of a consumer group beside the facts of `rollcall.schemas.effects`: one shape a fact, in the past
tense.

Both kinds of group have the same facts where these mean the same. The facts of a consumer group:

- sessions: member_joined to member_removed; each heartbeat answered without error renews them (its reply); a static
  member that is away: member_left_for_now.
- rebalances: rebalance_started when the epoch rises (from_generation_id is the epoch before, the cause names the
  culprit), rebalance_ended when all members have reached it (completed), the next epoch begins (superseded) or nobody
  is left (empty). Everywhere, generation_id is an epoch: the group's, or a member's where the fact is about a member.
- waits: in rebalance_ended, joined_at_ms is when a member had given up all that the epoch took from it, synced_at_ms
  when it had all that the epoch gave it, held_others_ms how long others could not have what it held.
- assignments: assigned tells all that a member owns, what it has been asked to give up included, for it may still use
  that; member_progressed tells the parts: what it keeps, is to give up, and waits for.
- what an administrator set for it: group_configs_changed, also of a group that does not exist yet.
- what led there: member_subscribed, topics_seen, patterns_resolved, target_assigned.
- group_type_changed says under which protocol a group is. A group without it is a classic one.

Knows the shapes; knows no group and no table.
"""

from __future__ import annotations

from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Effect, TopicPartitions
from rollcall.schemas.shapes import Int32, Shape

TAKES_MEMBERS_OVER = ("upgraded", "downgraded", "observed")
"""Why a group changes its type while it has members: each has a whole session then."""


class GroupTypeChanged(Effect, tag=EffectName.GROUP_TYPE_CHANGED.value, kw_only=True):
    """A group is under the other protocol from now on, or was made under the newer one (from_type null)."""

    from_type: str | None
    to_type: str
    why: str
    """`created`, `upgraded`, `downgraded`, `replaced` (an Empty group took a client of the other kind), or `observed`
    (a recording shows it).
    """
    generation_id: Int32
    """The generation or epoch that it starts from."""
    client_id: str
    """Whose request, or whose going, led to it."""

    @property
    def is_to_consumer(self) -> bool:
        return self.to_type == "consumer"


class MemberSubscribed(Effect, tag=EffectName.MEMBER_SUBSCRIBED.value, kw_only=True):
    """What a member subscribes to from now on."""

    member_id: str
    client_id: str
    member_type: str
    """`consumer`, or `classic` for one of the older protocol."""
    topics: list[str]
    pattern: str
    """Its regular expression, "" for none."""
    server_assignor: str | None
    """The assignor it votes for."""


class MemberLeftForNow(Effect, tag=EffectName.MEMBER_LEFT_FOR_NOW.value, kw_only=True):
    """A static member left and means to return within its session; it keeps its place and its partitions."""

    member_id: str
    client_id: str
    group_instance_id: str | None


class TopicCount(Shape, kw_only=True):
    topic: str
    partition_count: int


class TopicsSeen(Effect, tag=EffectName.TOPICS_SEEN.value, kw_only=True):
    """The topics that the group subscribes to and that exist are these; another set than at the last look."""

    topics: list[TopicCount]


class PatternTopics(Shape, kw_only=True):
    pattern: str
    topics: list[str]


class PatternsResolved(Effect, tag=EffectName.PATTERNS_RESOLVED.value, kw_only=True):
    """The group's regular expressions were held against all topics that exist; each stands for these."""

    patterns: list[PatternTopics]


class MemberTarget(Shape, kw_only=True):
    member_id: str
    client_id: str
    partitions: list[TopicPartitions]


class TargetAssigned(Effect, tag=EffectName.TARGET_ASSIGNED.value, kw_only=True):
    """A target assignment was computed for epoch generation_id."""

    generation_id: Int32
    assignor: str
    member_count: int
    targets: list[MemberTarget]
    """Of the members whose target is another one."""


class MemberProgressed(Effect, tag=EffectName.MEMBER_PROGRESSED.value, kw_only=True):
    """A member took a step towards its target."""

    member_id: str
    client_id: str
    generation_id: Int32
    """Its epoch after the step."""
    target_epoch: int
    state: str
    """`stable` (it has all), `unrevoked` (it gives `to_revoke` up first) or `unreleased` (others hold `awaited`)."""
    partitions: list[TopicPartitions]
    """What it may use."""
    to_revoke: list[TopicPartitions]
    awaited: list[TopicPartitions]


class ChangedConfig(Shape, kw_only=True):
    """One config of a group that is another one now."""

    name: str
    value: str | None
    """Null: it was removed, so that the broker's setting holds again."""
    was: str | None
    """Null: the broker's setting was used, or a recording does not show it."""


class GroupConfigsChanged(Effect, tag=EffectName.GROUP_CONFIGS_CHANGED.value, kw_only=True):
    """An administrator changed what is set only for this group; it holds from each member's next heartbeat."""

    configs: dict[str, str]
    """All that is set for the group from now on, by Kafka's keys of a group's configs."""
    changed: list[ChangedConfig]
    request_id: str
    client_id: str
    client_host: str
    principal: str | None
    why: str = ""
    """Where no request said so: what a recording proves it by."""
    is_inferred: bool = False
    """Nobody said so: it was inferred."""


ConsumerEffect = (
    GroupTypeChanged
    | MemberSubscribed
    | MemberLeftForNow
    | TopicsSeen
    | PatternsResolved
    | TargetAssigned
    | MemberProgressed
    | GroupConfigsChanged
)
"""The facts that only a group of the newer protocol has, now or before."""
