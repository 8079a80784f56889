"""Whether a group has room for a further regular expression; Kafka takes any number of any size.

Knows the limits and how large a compiled expression is; knows no request and no group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rollcall.coordinator_udfs.protocol.config import ExpressionLimits
from rollcall.coordinator_udfs.protocol.consumer.patterns import read_limited, unicode_classes

_NAME_BYTES = 3
"""Bytes that a name takes in a document beside its characters."""


def why_above(
    limits: ExpressionLimits, others: Mapping[str, Sequence[str] | None], new: str, names: Iterable[str]
) -> str | None:
    """Why a new expression cannot be taken beside the others of its group; None if it can.

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
    size = unresolved * bytes_of(names) + sum(bytes_of(topics or ()) for topics in others.values())
    if size > limits.topics_bytes:
        return f"the group's may stand for topics of {size} bytes together, at most {limits.topics_bytes} are taken"
    return None


def bytes_of(names: Iterable[str]) -> int:
    """Bytes that a list of names takes in a document."""
    return sum(len(name) + _NAME_BYTES for name in names)
