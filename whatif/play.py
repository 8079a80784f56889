"""Lives under a setting: the pure clients and the pure coordinator in virtual time, and what came of it.

Every process lives as it did: it starts, stalls, closes and dies when it did. What it does in between depends on the
answers it gets. A setting changes what it was configured with, or its broker. With `static=true` a process that starts
after another one of its client id has ended is that one's restart, at best one on the same host, and has its instance
id. With `static=false` a silent end that had a successor is a close.

Knows lives and settings; knows no log and no Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from clients.assignors import ASSIGNORS, Assignor
from clients.config import ApiVersions, ConsumerConfig
from clients.events import LeftGroup
from clients.reactions import LEAVE_ON_POLL_TIMEOUT
from coordinator_udfs.protocol.config import GroupConfig
from programs.settings import from_texts
from schemas.effects import Reply
from schemas.messages import HeartbeatRequest, JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest
from schemas.wire_fields import first_version
from simulation.plan import ConsumerPlan, GroupProtocol, Life, NetworkPlan, Span, TopicChange, WorldPlan
from simulation.record import Record
from simulation.world import World
from whatif.changes import ASSIGNOR, REMOTE_ASSIGNOR, Setting, SettingError, assignors_of, consumer_changes
from whatif.lives import GroupLives, ProcessLife
from whatif.outcome import Known, Outcome, measure

SETTLES_WITHIN_MS = 15_000
"""How long before the recording, beside the initial delay, those members start that were there already."""
STATIC_VERSIONS = {
    "join_group": first_version(JoinGroupRequest, "group_instance_id"),
    "sync_group": first_version(SyncGroupRequest, "group_instance_id"),
    "heartbeat": first_version(HeartbeatRequest, "group_instance_id"),
    "offset_commit": first_version(OffsetCommitRequest, "group_instance_id"),
}
"""The first version of each API that names an instance id."""
PLAYED_AS = "roundrobin"
"""An assignor that only one library has is played as this one, under its own name."""
DEFAULTS = ConsumerConfig()
DEFAULT_ASSIGNORS = DEFAULTS.partition_assignment_strategy
_CHANGES = {
    "auto.commit.interval.ms": "auto_commit_interval_ms",
    "enable.auto.commit": "enable_auto_commit",
    "heartbeat.interval.ms": "heartbeat_interval_ms",
    "internal.leave.group.on.close": "leave_group_on_close",
    "max.poll.interval.ms": "max_poll_interval_ms",
    "rebalance.timeout.ms": "rebalance_timeout_ms",
    "session.timeout.ms": "session_timeout_ms",
    REMOTE_ASSIGNOR: "group_remote_assignor",
}


def play(group_lives: GroupLives, setting: Setting) -> Outcome:
    """One group through its whole time. Raises SettingError: a setting that does not fit these lives."""
    plan, zero_ms = plan_of(group_lives, setting)
    world = World(plan)
    world.run_until(group_lives.until_ms - zero_ms)
    lives = (
        group_lives.processes if setting.is_static is None else tuple(_seated(group_lives.processes, setting.is_static))
    )
    ends = {name: at_ms - zero_ms for name, at_ms in silent_ends(lives, setting).items()}
    grown_ms = tuple(each.at_ms for each in plan.topic_changes)
    known = Known(_processes_in(world.record), ends, unpolled_in(world.record), grown_ms)
    effects = (each.effect for each in world.record.effects)
    return measure(effects, known, group_lives.from_ms - zero_ms, group_lives.until_ms - zero_ms)


def silent_ends(lives: tuple[ProcessLife, ...], setting: Setting) -> dict[str, int]:
    """When processes ended without a word: killed, or closed by a client that sends no LeaveGroup then."""
    says_nothing = setting.client.get("internal.leave.group.on.close", "").lower() == "false"
    ends = {}
    for life in lives:
        is_silent = life.kill_ms is not None or life.group_instance_id is not None or says_nothing
        if is_silent and life.end_ms is not None:
            ends[life.name] = life.end_ms
    return ends


def _processes_in(record: Record) -> dict[str, str]:
    """The consumer behind each member id of a run."""
    found = {}
    for each in record.effects:
        effect = each.effect
        if isinstance(effect, Reply) and effect.member_id:
            found[effect.member_id] = record.requests[effect.request_id]
    return found


def unpolled_in(record: Record) -> frozenset[str]:
    """The member ids of a run that left because their applications did not poll."""
    left = (each.event for each in record.events if isinstance(each.event, LeftGroup))
    return frozenset(event.member_id for event in left if event.reason == LEAVE_ON_POLL_TIMEOUT)


# ---------------------------------------------------------------- the plan


def plan_of(group_lives: GroupLives, setting: Setting) -> tuple[WorldPlan, int]:
    """What is simulated, and the moment of the recording that is its time 0. Raises SettingError."""
    broker = from_texts(GroupConfig, {**group_lives.broker, **setting.broker})
    lives = group_lives.processes if setting.is_static is None else _seated(group_lives.processes, setting.is_static)
    warm_up_ms = 0
    if any(life.was_there for life in group_lives.processes):
        warm_up_ms = SETTLES_WITHIN_MS + broker.group_initial_rebalance_delay_ms * 2
    zero_ms = group_lives.from_ms - warm_up_ms
    changes = [TopicChange(each.at_ms - zero_ms, each.topic, each.partitions) for each in group_lives.growths]
    plan = WorldPlan(
        consumers=tuple(_consumer(life, group_lives, setting, zero_ms) for life in lives),
        topics=group_lives.topics,
        group_config=broker,
        network=NetworkPlan(latency_ms=group_lives.latency_ms),
        topic_changes=tuple(changes),
    )
    return plan, zero_ms


def _consumer(life: ProcessLife, group_lives: GroupLives, setting: Setting, zero_ms: int) -> ConsumerPlan:
    # A client looks for its coordinator before it joins: three messages, and the JoinGroup is what was seen.
    trip_ms = sum(group_lives.latency_ms) // 2
    start_ms = 0 if life.was_there else max(0, life.start_ms - zero_ms - 3 * trip_ms)
    close_ms = None if life.close_ms is None else max(start_ms, life.close_ms - zero_ms - trip_ms)
    config = _config(life, group_lives.group_id, setting)
    return ConsumerPlan(
        name=life.name,
        config=config,
        topics=life.topics,
        pattern=life.pattern,
        host=life.client_host,
        assignors=_assignors(config.partition_assignment_strategy),
        protocol=setting.protocol or life.protocol,
        life=Life(
            start_ms=start_ms,
            close_ms=close_ms,
            kill_ms=None if life.kill_ms is None else life.kill_ms - zero_ms,
            pauses=tuple(_shifted(_in_step(life) + life.pauses, zero_ms)),
            slow=tuple(_shifted(life.slow, zero_ms)),
            rejoin_delay_ms=life.rejoin_delay_ms,
            subscribed=tuple(replace(each, at_ms=each.at_ms - zero_ms - trip_ms) for each in life.subscribed),
            restart_after_ms=life.restart_after_ms,
        ),
    )


def _in_step(life: ProcessLife) -> tuple[Span, ...]:
    """Holds a process that was there back until its first recorded heartbeat: so it beats in the recorded rhythm."""
    beat_ms, length_ms = life.first_beat_ms, life.heartbeat_interval_ms
    return () if beat_ms is None else (Span(beat_ms - length_ms, length_ms),)


def _shifted(spans: tuple[Span, ...], zero_ms: int) -> list[Span]:
    """Spans in virtual time; what lies before it is cut off."""
    moved = [(max(0, each.from_ms - zero_ms), each.to_ms - zero_ms) for each in spans]
    return [Span(from_ms, to_ms - from_ms) for from_ms, to_ms in moved if to_ms > from_ms]


def _config(life: ProcessLife, group_id: str, setting: Setting) -> ConsumerConfig:
    changed = consumer_changes(setting)
    fields: dict[str, Any] = {
        "group_id": group_id,
        "client_id": life.client_id,
        "group_instance_id": life.group_instance_id,
        "session_timeout_ms": life.session_timeout_ms,
        "heartbeat_interval_ms": life.heartbeat_interval_ms,
        "group_remote_assignor": life.remote_assignor,
        "max_poll_interval_ms": life.rebalance_timeout_ms,
        "partition_assignment_strategy": assignors_of(setting)
        or life.assignors
        or DEFAULTS.partition_assignment_strategy,
        "enable_auto_commit": life.auto_commit_interval_ms is not None,
        "auto_commit_interval_ms": life.auto_commit_interval_ms or 0,
        "api_versions": _versions(life),
        "consumer_protocol_version": max(life.consumer_protocol_version, 1 if ASSIGNOR in setting.client else 0),
    }
    if life.protocol is GroupProtocol.CONSUMER and setting.protocol is GroupProtocol.CLASSIC:
        # It was configured with neither: the broker decided both.
        fields |= {name: getattr(DEFAULTS, name) for name in ("session_timeout_ms", "heartbeat_interval_ms")}
    fields |= {name: getattr(changed, name) for key, name in _CHANGES.items() if key in setting.client}
    if fields["heartbeat_interval_ms"] >= fields["session_timeout_ms"]:
        key = "heartbeat.interval.ms" if "heartbeat.interval.ms" in setting.client else "session.timeout.ms"
        raise SettingError(
            f"{key}={setting.client[key]}: {life.name} of group {group_id} would beat every "
            f"{fields['heartbeat_interval_ms']} ms in sessions of {fields['session_timeout_ms']} ms"
        )
    return ConsumerConfig(**fields)


def _versions(life: ProcessLife) -> ApiVersions:
    """A static member's requests must be able to say so."""
    versions = life.api_versions
    if life.group_instance_id is None:
        return versions
    return replace(versions, **{name: max(getattr(versions, name), least) for name, least in STATIC_VERSIONS.items()})


def _assignors(names: tuple[str, ...]) -> Mapping[str, Assignor]:
    return {name: ASSIGNORS.get(name, ASSIGNORS[PLAYED_AS]) for name in names}


# ---------------------------------------------------------------- seats


def _seated(lives: tuple[ProcessLife, ...], is_static: bool) -> list[ProcessLife]:
    """Every life with an instance id, or none with one; those that have one keep it."""
    if not is_static:
        return [_without_instance_id(life, lives) for life in lives]
    seats: list[ProcessLife] = []
    seated = []
    for life in sorted(lives, key=lambda each: (each.start_ms, each.name)):
        before = _predecessor(life, seats)
        if life.group_instance_id is not None:
            named = life
        elif before is not None:
            named = replace(life, group_instance_id=before.group_instance_id)
        else:
            named = replace(life, group_instance_id=f"{life.name}@{life.client_host.lstrip('/')}")
        seats = [each for each in seats if each is not before]
        seats.append(named)
        seated.append(named)
    return seated


def _without_instance_id(life: ProcessLife, lives: tuple[ProcessLife, ...]) -> ProcessLife:
    """The life without an instance id. A static member closes as silently as it dies: one with a successor closed."""
    instance_id, ended_ms = life.group_instance_id, life.kill_ms
    if instance_id is None or ended_ms is None:
        return replace(life, group_instance_id=None)
    is_succeeded = any(each.group_instance_id == instance_id and each.start_ms >= ended_ms for each in lives)
    if not is_succeeded:
        return replace(life, group_instance_id=None)
    return replace(life, group_instance_id=None, close_ms=ended_ms, kill_ms=None)


def _predecessor(life: ProcessLife, seats: list[ProcessLife]) -> ProcessLife | None:
    """The process that this one is the restart of: ended, of its client id, on its host if there is one; the latest."""
    if life.group_instance_id is not None:
        return None
    free = [
        each
        for each in seats
        if each.client_id == life.client_id and each.end_ms is not None and each.end_ms <= life.start_ms
    ]
    return max(free, key=lambda each: (each.client_host == life.client_host, each.end_ms or 0), default=None)
