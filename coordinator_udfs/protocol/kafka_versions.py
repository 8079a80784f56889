"""What Kafka's versions answer differently, one field a difference, and how a version is recognized.

Knows versions and the numbers of Kafka's issues; must not know how a rule uses a field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from rollcall.schemas.errors import Error

_Number = TypeVar("_Number", int, tuple[int, ...])


class KafkaVersion(StrEnum):
    """The versions that the coordinator answers as: 4.3 is 4.3.0 and 4.3.1."""

    V4_3 = "4.3"
    V4_4 = "4.4"

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(map(int, self.split(".")))


@dataclass(frozen=True, slots=True)
class Differences:
    """What one version does and another does not. The rules are all of consumer groups (KIP-848)."""

    last_api_versions: int
    """The last version of ApiVersions that it answers."""
    last_metadata_version: int
    """The last level of the feature metadata.version that it supports."""
    is_empty_group_assigned: bool
    """KAFKA-20442: once the last member is gone, the assignment's epoch is the group's, and its interval has ended."""
    is_epoch_raised_by_votes: bool
    """KAFKA-20434: a heartbeat that changes which assignor most members want raises the epoch."""
    may_static_member_join_full_group: bool
    """KAFKA-20601: the instance id of a member has a place in a full group, also under a new member id."""
    of_unreadable_subscription: Error
    """KAFKA-20662: the error of a JoinGroup to a consumer group with a subscription that cannot be read."""


DIFFERENCES = {
    KafkaVersion.V4_3: Differences(
        last_api_versions=4,
        last_metadata_version=30,
        is_empty_group_assigned=False,
        is_epoch_raised_by_votes=False,
        may_static_member_join_full_group=False,
        of_unreadable_subscription=Error.UNKNOWN_SERVER_ERROR,
    ),
    KafkaVersion.V4_4: Differences(
        last_api_versions=5,
        last_metadata_version=33,
        is_empty_group_assigned=True,
        is_epoch_raised_by_votes=True,
        may_static_member_join_full_group=True,
        of_unreadable_subscription=Error.INCONSISTENT_GROUP_PROTOCOL,
    ),
}


def version_reached(number: _Number, of_version: Callable[[KafkaVersion], _Number]) -> KafkaVersion:
    """The latest version whose number this one reaches; an earlier one counts as the first that is known."""
    reached = [version for version in KafkaVersion if of_version(version) <= number]
    return reached[-1] if reached else next(iter(KafkaVersion))
