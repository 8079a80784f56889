"""The offset sweep: every offsets.retention.check.interval.ms, old offsets are removed, and then groups with nothing
left.

Source: OffsetMetadataManager.cleanupExpiredOffsets, ClassicGroup.offsetExpirationCondition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.subscription import subscribed_topics
from rollcall.coordinator_udfs.protocol.deadlines import arm_sweep, earliest
from rollcall.coordinator_udfs.protocol.group import CommittedOffset, Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Timer, Turn
from rollcall.schemas.effects import GroupRemoved, OffsetsRemoved
from rollcall.schemas.makers import by_topic


def sweep_offsets(group: Group, turn: Turn) -> None:
    """Removes expired offsets; an Empty group without any offset is removed as well."""
    expired = [key for key, expires_at_ms in _expiries(group, turn.config) if expires_at_ms <= turn.now_ms]
    remove_offsets(group, expired, "expired", turn)
    if group.is_empty and not group.offsets:
        remove_group(group, "expired", turn)
        return
    arm_sweep(group, turn)


def pass_idle_sweeps(group: Group, until_ms: int, config: GroupConfig) -> None:
    """Skips the sweeps up to until_ms that would find nothing to remove. It stops before any other deadline, and before
    the first sweep that removes something. So passing time costs by what is due, not by its length.
    """
    sweep_ms, interval_ms = group.sweep_deadline_ms, config.offsets_retention_check_interval_ms
    if sweep_ms is None or sweep_ms + interval_ms > until_ms or (group.is_empty and not group.offsets):
        return
    other, last_ms = earliest(group, but=Timer.SWEEP), until_ms + 1
    if other is not None:
        last_ms = min(last_ms, other.deadline_ms)
    last_ms = min([last_ms, *(expires_at_ms for _, expires_at_ms in _expiries(group, config))])
    idle = -((sweep_ms - last_ms) // interval_ms)
    if idle > 0:
        group.sweep_deadline_ms = sweep_ms + idle * interval_ms
        group.updated_at_ms = max(group.updated_at_ms, group.sweep_deadline_ms - interval_ms)


def _expiries(group: Group, config: GroupConfig) -> Iterator[tuple[tuple[str, int], int]]:
    """The offsets that expire if the group stays as it is, and when."""
    subscribed = group.subscribed_topics or () if group.consumer is None else subscribed_topics(group.consumer)
    for key, offset in group.offsets.items():
        expires_at_ms = _expires_at_ms(group, offset, config, is_subscribed=key[0] in subscribed)
        if expires_at_ms is not None:
            yield key, expires_at_ms


def _expires_at_ms(group: Group, offset: CommittedOffset, config: GroupConfig, *, is_subscribed: bool) -> int | None:
    """When an offset is too old, if the group stays as it is; None: never. The age counts from when the group became
    Empty, or from the commit where the group's members do not protect the offset.

    A group with a protocol type, in any state but Empty and (for type consumer) Stable, keeps everything; under the
    newer protocol the age of offsets of unsubscribed topics counts from the commit.
    """
    if group.consumer is not None:
        if is_subscribed:
            return None
        base_ms = offset.commit_timestamp_ms
    elif group.protocol_type is None:
        base_ms = offset.commit_timestamp_ms
    elif group.state is GroupState.EMPTY:
        base_ms = group.state_timestamp_ms
    elif group.protocol_type == "consumer" and group.state is GroupState.STABLE and group.subscribed_topics is not None:
        if is_subscribed:
            return None
        base_ms = offset.commit_timestamp_ms
    else:
        return None
    if offset.expire_timestamp_ms is not None:
        return offset.expire_timestamp_ms
    return base_ms + config.offsets_retention_ms


def remove_offsets(group: Group, keys: Iterable[tuple[str, int]], why: str, turn: Turn) -> None:
    """Removes stored offsets and emits it, if there are any."""
    gone = list(keys)
    for key in gone:
        del group.offsets[key]
    if gone:
        turn.emit(OffsetsRemoved(at_ms=turn.now_ms, why=why, offsets=by_topic(gone)))


def remove_group(group: Group, why: str, turn: Turn) -> None:
    """Makes the group unknown again, and forgets the ids given out."""
    remove_offsets(group, list(group.offsets), "group_removed", turn)
    turn.emit(GroupRemoved(at_ms=turn.now_ms, why=why, generation_id=group.generation_id))
    group.forget()
