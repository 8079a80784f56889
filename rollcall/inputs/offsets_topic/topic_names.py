"""Which topic has which id, as far as the records show it. A commit of Kafka 4.1 or newer has both, and so has what
Kafka 4.0 wrote of a group's topics. If one name and one id are left over among a group's subscriptions and assignments,
they belong together. Knows records; the rule stands in docs/offsets-topic.md under "Topic names".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.inputs.offsets_topic.records.shapes import (
    CurrentMemberAssignmentValue,
    MemberMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionMetadataValue,
    RegularExpressionValue,
    TargetAssignmentMemberValue,
)
from rollcall.schemas.effect_rows import EffectRow

NamesOf = Callable[[Iterable[str]], Mapping[str, str]]
"""Returns topic names by id, for the ids that it knows."""
_ID_AS_TOPIC = re.compile(r'"topic":"([A-Za-z0-9_-]{22})"')
"""A topic id in the place of a name in a fact's detail: 16 bytes in base64. A name may look like one."""


def put_names(facts: Iterable[EffectRow], names: NamesOf) -> None:
    """Puts names in the place of topic ids, as far as they are known."""
    with_ids = [(fact, ids) for fact in facts if fact.detail and (ids := _ID_AS_TOPIC.findall(fact.detail))]
    if not with_ids:
        return
    known = names(sorted({topic_id for _, ids in with_ids for topic_id in ids}))
    for fact, _ in with_ids:
        fact.detail = _ID_AS_TOPIC.sub(lambda at: f'"topic":"{known.get(at[1], at[1])}"', fact.detail or "")


@dataclass(slots=True)
class _GroupTopics:
    """What a group ever subscribed to, by name, and was ever given, by id."""

    names: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)


def names_of(records: Iterable[Record]) -> dict[str, str]:
    """Topic names by topic id."""
    names: dict[str, str] = {}
    groups: dict[str, _GroupTopics] = {}
    for record in records:
        _note(record, names, groups.setdefault(record.group_id, _GroupTopics()))
    while (found := _left_over(names, groups.values())) is not None:
        names[found[0]] = found[1]
    return names


def _note(record: Record, names: dict[str, str], group: _GroupTopics) -> None:
    match record.value:
        case OffsetCommitValue(topic_id=str(topic_id)):
            assert isinstance(record.key, OffsetCommitKey)
            names[topic_id] = record.key.topic
        case PartitionMetadataValue(topics=topics):
            names.update({topic.topic_id: topic.topic_name for topic in topics if topic.topic_id is not None})
        case MemberMetadataValue(subscribed_topic_names=subscribed):
            group.names.update(subscribed)
        case RegularExpressionValue(topics=matching):
            group.names.update(matching)
        case TargetAssignmentMemberValue(topic_partitions=given):
            group.ids.update(topic.topic_id for topic in given if topic.topic_id is not None)
        case CurrentMemberAssignmentValue(assigned_partitions=given):
            group.ids.update(topic.topic_id for topic in given if topic.topic_id is not None)
        case _:
            pass


def _left_over(names: dict[str, str], groups: Iterable[_GroupTopics]) -> tuple[str, str] | None:
    """An id and a name that are the only ones of a group without the other."""
    for group in groups:
        ids = group.ids - names.keys()
        left = group.names - {names[topic_id] for topic_id in group.ids if topic_id in names}
        if len(ids) == len(left) == 1:
            return ids.pop(), left.pop()
    return None
