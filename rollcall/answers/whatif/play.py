"""Schedules under a setting: the pure clients and the pure coordinator in virtual time, and the outcome.

Every process acts as it did: it starts, stalls, closes and dies when it did. What it does in between depends on the
answers it gets. A setting changes what it was configured with, or its broker. With `static=true` a process that starts
after another one of its client id has ended is that one's restart, at best one on the same host, and has its instance
id. With `static=false` a silent end that had a successor is a close.

Knows schedules and settings; knows no log and no Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rollcall.answers.clients.assignors import ASSIGNORS
from rollcall.answers.clients.config import ApiVersions, ConsumerConfig
from rollcall.answers.clients.events import LeftGroup
from rollcall.answers.clients.reactions import LEAVE_UNPOLLED
from rollcall.answers.simulation.plan import (
    ConsumerPlan,
    GroupProtocol,
    NetworkPlan,
    Schedule,
    Span,
    WorldPlan,
)
from rollcall.answers.simulation.record import Record
from rollcall.answers.simulation.world import World
from rollcall.answers.whatif.changes import (
    ASSIGNOR,
    Setting,
    SettingError,
    assignors_of,
    consumer_changes,
)
from rollcall.answers.whatif.outcome import Outcome, ProcessFacts, measure
from rollcall.answers.whatif.schedules import GroupSchedules, ProcessSchedule
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group_configs import UnfitConfig, check_bounds, consumer_config_of
from rollcall.programs.settings import from_texts, keys_of
from rollcall.schemas.effects import Reply
from rollcall.schemas.messages import HeartbeatRequest, JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest
from rollcall.schemas.wire_fields import first_version

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


def play(of_group: GroupSchedules, setting: Setting) -> Outcome:
    """One group through its whole time. Raises SettingError: a setting that does not fit these schedules."""
    plan, zero_ms = plan_of(of_group, setting)
    world = World(plan)
    world.run_until(of_group.until_ms - zero_ms)
    schedules = _seated(of_group.processes, setting.is_static)
    ends = {name: at_ms - zero_ms for name, at_ms in silent_ends(schedules, setting).items()}
    grown_ms = tuple(each.at_ms for each in plan.topic_changes)
    known = ProcessFacts(_processes_in(world.record), ends, unpolled_in(world.record), grown_ms)
    effects = (each.effect for each in world.record.effects)
    return measure(effects, known, of_group.from_ms - zero_ms, of_group.until_ms - zero_ms)


def silent_ends(schedules: Sequence[ProcessSchedule], setting: Setting) -> dict[str, int]:
    """When processes ended silently: killed, or closed by a client that then sends no LeaveGroup."""
    says_nothing = setting.client.get("internal.leave.group.on.close", "").lower() == "false"
    ends = {}
    for schedule in schedules:
        is_silent = schedule.kill_ms is not None or schedule.group_instance_id is not None or says_nothing
        if is_silent and schedule.end_ms is not None:
            ends[schedule.name] = schedule.end_ms
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
    return frozenset(event.member_id for event in left if event.reason == LEAVE_UNPOLLED)


# ---------------------------------------------------------------- the plan


def plan_of(of_group: GroupSchedules, setting: Setting) -> tuple[WorldPlan, int]:
    """What is simulated, and the moment of the recording that is its time 0. Raises SettingError."""
    broker = _broker_of(of_group, setting)
    schedules = _seated(of_group.processes, setting.is_static)
    warm_up_ms = 0
    if any(schedule.was_there for schedule in of_group.processes):
        warm_up_ms = SETTLES_WITHIN_MS + broker.group_initial_rebalance_delay_ms * 2
    zero_ms = of_group.from_ms - warm_up_ms
    plan = WorldPlan(
        consumers=tuple(_consumer(schedule, of_group, setting, zero_ms) for schedule in schedules),
        topics=of_group.topics,
        group_config=broker,
        network=NetworkPlan(latency_ms=of_group.latency_ms),
        topic_changes=tuple(replace(each, at_ms=each.at_ms - zero_ms) for each in of_group.growths),
    )
    return plan, zero_ms


def _broker_of(of_group: GroupSchedules, setting: Setting) -> GroupConfig:
    """The broker's settings as they hold for the group. Raises SettingError: what is set for it does not fit."""
    broker = from_texts(GroupConfig, {**of_group.broker, **setting.broker})
    configs = {**of_group.configs, **setting.of_groups.get(of_group.group_id, {})}
    if not configs:
        return broker
    # A broker may be set to take any value.
    bounds = broker.of_a_recording().consumer
    try:
        check_bounds(configs, bounds)
    except UnfitConfig as unfit:
        raise SettingError(f"{setting.text}: of group {of_group.group_id} {unfit}") from None
    return replace(broker, consumer=consumer_config_of(configs, bounds))


def _consumer(schedule: ProcessSchedule, of_group: GroupSchedules, setting: Setting, zero_ms: int) -> ConsumerPlan:
    # A client looks for its coordinator before it joins: three messages, and the JoinGroup is what was seen.
    trip_ms = sum(of_group.latency_ms) // 2
    start_ms = 0 if schedule.was_there else max(0, schedule.start_ms - zero_ms - 3 * trip_ms)
    close_ms = None if schedule.close_ms is None else max(start_ms, schedule.close_ms - zero_ms - trip_ms)
    config = _config(schedule, of_group.group_id, setting)
    return ConsumerPlan(
        name=schedule.name,
        config=config,
        topics=schedule.terms.topics,
        pattern=schedule.pattern,
        host=schedule.client_host,
        assignors={n: ASSIGNORS.get(n, ASSIGNORS[PLAYED_AS]) for n in config.partition_assignment_strategy},
        protocol=setting.protocol or schedule.terms.protocol,
        schedule=Schedule(
            start_ms=start_ms,
            close_ms=close_ms,
            kill_ms=None if schedule.kill_ms is None else schedule.kill_ms - zero_ms,
            pauses=tuple(_shifted(_in_step(schedule) + schedule.pauses, zero_ms)),
            slow=tuple(_shifted(schedule.slow, zero_ms)),
            rejoin_delay_ms=schedule.rejoin_delay_ms,
            subscribed=tuple(replace(each, at_ms=each.at_ms - zero_ms - trip_ms) for each in schedule.subscribed),
            restart_after_ms=schedule.restart_after_ms,
        ),
    )


def _in_step(schedule: ProcessSchedule) -> tuple[Span, ...]:
    """Stalls a process that was there before until its first recorded heartbeat, so that it beats in the recorded
    rhythm."""
    beat_ms, length_ms = schedule.first_beat_ms, schedule.heartbeat_interval_ms
    return () if beat_ms is None else (Span(beat_ms - length_ms, length_ms),)


def _shifted(spans: tuple[Span, ...], zero_ms: int) -> list[Span]:
    """Spans in virtual time; what lies before it is cut off."""
    moved = [(max(0, each.from_ms - zero_ms), each.to_ms - zero_ms) for each in spans]
    return [Span(from_ms, to_ms - from_ms) for from_ms, to_ms in moved if to_ms > from_ms]


def _config(schedule: ProcessSchedule, group_id: str, setting: Setting) -> ConsumerConfig:
    changed, terms = consumer_changes(setting), schedule.terms
    fields: dict[str, Any] = {
        "group_id": group_id,
        "client_id": schedule.client_id,
        "group_instance_id": schedule.group_instance_id,
        "session_timeout_ms": terms.session_timeout_ms,
        "heartbeat_interval_ms": schedule.heartbeat_interval_ms,
        "group_remote_assignor": terms.remote_assignor,
        "max_poll_interval_ms": terms.rebalance_timeout_ms,
        "partition_assignment_strategy": assignors_of(setting) or terms.assignors or DEFAULT_ASSIGNORS,
        "enable_auto_commit": schedule.auto_commit_interval_ms is not None,
        "auto_commit_interval_ms": schedule.auto_commit_interval_ms or 0,
        "api_versions": _versions(schedule),
        "consumer_protocol_version": max(terms.consumer_protocol_version, 1 if ASSIGNOR in setting.client else 0),
    }
    if terms.protocol is GroupProtocol.CONSUMER and setting.protocol is GroupProtocol.CLASSIC:
        # Neither was configured: the broker decided both.
        fields |= {name: getattr(DEFAULTS, name) for name in ("session_timeout_ms", "heartbeat_interval_ms")}
    fields |= {
        name: getattr(changed, name)
        for name, key in keys_of(ConsumerConfig).items()
        if key.name in setting.client and key.name != ASSIGNOR
    }
    if fields["heartbeat_interval_ms"] >= fields["session_timeout_ms"]:
        key = "heartbeat.interval.ms" if "heartbeat.interval.ms" in setting.client else "session.timeout.ms"
        raise SettingError(
            f"{key}={setting.client[key]}: {schedule.name} of group {group_id} would beat every "
            f"{fields['heartbeat_interval_ms']} ms in sessions of {fields['session_timeout_ms']} ms"
        )
    return ConsumerConfig(**fields)


def _versions(schedule: ProcessSchedule) -> ApiVersions:
    """The versions; a static member's requests must have an instance id."""
    versions = schedule.api_versions
    if schedule.group_instance_id is None:
        return versions
    return replace(versions, **{name: max(getattr(versions, name), least) for name, least in STATIC_VERSIONS.items()})


# ---------------------------------------------------------------- seats


def _seated(schedules: Sequence[ProcessSchedule], is_static: bool | None) -> Sequence[ProcessSchedule]:
    """Gives every process an instance id, or none; existing ones stay. None: all is as it was."""
    if is_static is None:
        return schedules
    if not is_static:
        return [_without_instance_id(schedule, schedules) for schedule in schedules]
    seats: list[ProcessSchedule] = []
    seated = []
    for schedule in sorted(schedules, key=lambda each: (each.start_ms, each.name)):
        before = _predecessor(schedule, seats)
        if schedule.group_instance_id is not None:
            named = schedule
        elif before is not None:
            named = replace(schedule, group_instance_id=before.group_instance_id)
        else:
            named = replace(schedule, group_instance_id=f"{schedule.name}@{schedule.client_host.lstrip('/')}")
        seats = [each for each in seats if each is not before]
        seats.append(named)
        seated.append(named)
    return seated


def _without_instance_id(schedule: ProcessSchedule, schedules: Sequence[ProcessSchedule]) -> ProcessSchedule:
    """The process without an instance id. A static member closes silently, so one with a successor is taken to have
    closed."""
    instance_id, ended_ms = schedule.group_instance_id, schedule.kill_ms
    if instance_id is None or ended_ms is None:
        return replace(schedule, group_instance_id=None)
    is_succeeded = any(each.group_instance_id == instance_id and each.start_ms >= ended_ms for each in schedules)
    if not is_succeeded:
        return replace(schedule, group_instance_id=None)
    return replace(schedule, group_instance_id=None, close_ms=ended_ms, kill_ms=None)


def _predecessor(schedule: ProcessSchedule, seats: list[ProcessSchedule]) -> ProcessSchedule | None:
    """The process that this one is the restart of: ended, of its client id, on its host if there is one; the latest."""
    if schedule.group_instance_id is not None:
        return None
    free = [
        each
        for each in seats
        if each.client_id == schedule.client_id and each.end_ms is not None and each.end_ms <= schedule.start_ms
    ]
    return max(free, key=lambda each: (each.client_host == schedule.client_host, each.end_ms or 0), default=None)
