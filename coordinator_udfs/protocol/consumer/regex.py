"""Regular expressions that members subscribe to: when they are resolved to topics, and what follows. A broker resolves
them in the background; here it happens at the end of the same turn, once the request is answered. Source:
GroupMetadataManager.maybeUpdateRegularExpressions, handleRegularExpressionsResult.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.config import PATTERN_REFRESH_MIN_INTERVAL_MS, ExpressionLimits
from rollcall.coordinator_udfs.protocol.consumer import history
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import look_at_topics, raise_epoch, update_state
from rollcall.coordinator_udfs.protocol.consumer.patterns import (
    matching,
    read_limited,
    unicode_classes,
    why_unreadable,
    work_of_matching,
    work_of_reading,
)
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.causes import Cause, CauseKind

_NAME_BYTES = 3
"""Bytes that a name takes in a document beside its characters."""


class PatternChange(NamedTuple):
    """How a request changed the expressions."""

    is_changed: bool = False
    is_resolved: bool = False
    """Whether the topics of the member's expression are known."""
    is_due: bool = False


def why_refused(group: Group, member_id: str, pattern: str | None, turn: Turn) -> str | None:
    """What is wrong with a new expression; one already in use has been checked."""
    consumer = group.consumer
    in_use = {} if consumer is None else consumer.patterns_in_use
    if not pattern or pattern in in_use:
        return None
    group.work += work_of_reading(pattern)
    if turn.config.expressions is None:
        return why_unreadable(pattern)
    member = None if consumer is None else consumer.members.get(member_id)
    given_up = member.pattern if member is not None and in_use.get(member.pattern) == 1 else ""
    others = {} if consumer is None else {p: consumer.patterns.get(p) for p in in_use if p != given_up}
    return _why_above(turn.config.expressions, others, pattern, turn.topics or ())


def _why_above(
    limits: ExpressionLimits, others: Mapping[str, Sequence[str] | None], new: str, names: Iterable[str]
) -> str | None:
    """Why a new expression cannot be taken beside its group's others, though Kafka takes any; None if it can.

    others: the topics that each matches, None if it is not resolved yet. names: all topics. In the order checked:
    how many expressions, their bytes, the new one's Unicode classes, whether it can be read, how many instructions all
    have, how many bytes of topics they may match; a group's only expression may match any number.
    """
    if len(others) >= limits.count:
        return f"the group has {len(others)} regular expressions already, at most {limits.count} are taken"
    size = sum(len(pattern.encode()) for pattern in (*others, new))
    if size > limits.max_bytes:
        return f"the group's regular expressions would have {size} bytes, at most {limits.max_bytes} are taken"
    classes = unicode_classes(new)
    if classes > limits.unicode_classes:
        return f"it names {classes} Unicode classes, at most {limits.unicode_classes} are taken"
    reading = read_limited(new)
    if reading.error is not None:
        return reading.error
    program_size = reading.program_size + sum(read_limited(pattern).program_size for pattern in others)
    if program_size > limits.program_size:
        return (
            f"the group's regular expressions would have {program_size} instructions once compiled, at most "
            f"{limits.program_size} are taken"
        )
    if not others:
        return None
    unresolved = 1 + sum(topics is None for topics in others.values())
    size = unresolved * _bytes_of(names) + sum(_bytes_of(topics or ()) for topics in others.values())
    if size > limits.topics_bytes:
        return f"the group's may stand for topics of {size} bytes together, at most {limits.topics_bytes} are taken"
    return None


def _bytes_of(names: Iterable[str]) -> int:
    """Bytes that a list of names takes in a document."""
    return sum(len(name) + _NAME_BYTES for name in names)


def change_pattern(consumer: ConsumerGroup, member: ConsumerMember, pattern: str | None, turn: Turn) -> PatternChange:
    """Sets a member's expression (None: unchanged, "": none); returns whether all are to be resolved anew."""
    if not pattern and not consumer.patterns_in_use:
        return PatternChange()
    resolved_at_ms, resolved_count = consumer.resolved_at_ms, len(consumer.patterns)
    version = consumer.resolved_version
    is_changed = pattern is not None and pattern != member.pattern
    is_new = is_resolved = False
    if is_changed and pattern is not None:
        is_new = bool(pattern) and pattern not in consumer.patterns_in_use
        is_resolved = not pattern or pattern in consumer.patterns
        consumer.set_pattern(member, pattern)
        forget_unused_patterns(consumer)
    is_due = is_new or (
        len(consumer.patterns_in_use) != resolved_count
        or version != turn.topics_version
        or (resolved_at_ms is not None and turn.now_ms > resolved_at_ms + turn.consumer.regex_refresh_interval_ms)
    )
    is_early = resolved_at_ms is not None and turn.now_ms <= resolved_at_ms + PATTERN_REFRESH_MIN_INTERVAL_MS
    return PatternChange(is_changed, is_resolved, bool(consumer.patterns_in_use) and is_due and not is_early)


def forget_unused_patterns(consumer: ConsumerGroup) -> None:
    """Forgets expressions that no member uses any more."""
    for pattern in [pattern for pattern in consumer.patterns if pattern not in consumer.patterns_in_use]:
        del consumer.patterns[pattern]
    if not consumer.patterns:
        consumer.resolved_at_ms = None


def maybe_resolve_patterns(group: Group, consumer: ConsumerGroup, turn: Turn) -> None:
    """Matches the group's expressions against all topics, unless a recording gives what they match. If the topics have
    not changed, only new expressions are matched. The epoch rises once if any matches other topics than before; the
    target follows with the next heartbeat.
    """
    if turn.config.is_of_a_recording:
        return
    names = turn.topics or {}
    fingerprint = blake2b("\n".join(sorted(names)).encode(), digest_size=16).hexdigest()
    known = consumer.patterns if consumer.resolved_names == fingerprint else {}
    found = {p: known[p] if p in known else matching(p, names) for p in sorted(consumer.patterns_in_use)}
    names_bytes = _bytes_of(names)
    group.work += sum(work_of_matching(pattern, names_bytes) for pattern in found if pattern not in known)
    is_changed = any(topics != consumer.patterns.get(pattern, ()) for pattern, topics in found.items())
    has_other_topics = _keep(group, consumer, found, turn, fingerprint)
    if is_changed or has_other_topics:
        raise_epoch(group, consumer, Cause(kind=CauseKind.PATTERN_RESOLVED), turn)
        update_state(group, consumer, turn)


def take_patterns(group: Group, consumer: ConsumerGroup, found: dict[str, tuple[str, ...]], turn: Turn) -> None:
    """Takes over what expressions match from a recording, which shows it by a risen epoch."""
    _keep(group, consumer, {p: found[p] for p in sorted(found.keys() & consumer.patterns_in_use.keys())}, turn)
    raise_epoch(group, consumer, Cause(kind=CauseKind.PATTERN_RESOLVED, is_inferred=True), turn)


def _keep(
    group: Group, consumer: ConsumerGroup, found: dict[str, tuple[str, ...]], turn: Turn, fingerprint: str = ""
) -> bool:
    """Keeps what the expressions match; True if the topics that the group subscribes to have changed."""
    consumer.patterns, consumer.resolved_names = found, fingerprint
    consumer.resolved_at_ms, consumer.resolved_version = turn.now_ms, turn.topics_version
    history.patterns_resolved(consumer, turn)
    return look_at_topics(group, consumer, turn)
