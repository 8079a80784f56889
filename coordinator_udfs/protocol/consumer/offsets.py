"""Who may commit and fetch offsets of a consumer group: by member id and epoch.

Commits keep nobody's session alive and are taken in every state. Source: ConsumerGroup.validateOffsetCommit,
createAssignmentEpochValidator, validateOffsetFetch.
"""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import OffsetCommitRequest, OffsetFetchRequestGroup

MEMBER_EPOCH_SINCE = 9
"""The first OffsetCommit whose generation may be a member's epoch; its fields are the same as before."""


def refusal_of_commit(
    consumer: ConsumerGroup, request: OffsetCommitRequest, partitions: Iterable[tuple[str, int]]
) -> Error | None:
    """Why nothing of this commit is stored; None if it is. partitions: all it names that could be stored.

    UNKNOWN_MEMBER_ID; UNSUPPORTED_VERSION (a consumer before v9); STALE_MEMBER_EPOCH, to a classic member
    ILLEGAL_GENERATION: a newer epoch, or an older one and a partition that the member has not had since then. At its
    current epoch a member may commit any partition, and in a group without members anybody may.
    """
    epoch = request.generation_id_or_member_epoch
    if epoch < 0 and not consumer.members:
        return None
    member = consumer.members.get(request.member_id)
    if member is None:
        return Error.UNKNOWN_MEMBER_ID
    if is_at_its_epoch(request, is_classic=member.classic is not None, member_epoch=member.member_epoch):
        return None
    if member.classic is None and request.api_version < MEMBER_EPOCH_SINCE:
        return Error.UNSUPPORTED_VERSION
    if epoch > member.member_epoch:
        return _stale(member)
    is_old = any(_owned_since(member, topic, partition) > epoch for topic, partition in partitions)
    return _stale(member) if is_old else None


def is_at_its_epoch(request: OffsetCommitRequest, *, is_classic: bool, member_epoch: int) -> bool:
    """Whether a member commits at its current epoch, in a version that allows it: such a commit is accepted."""
    is_of_version = is_classic or request.api_version >= MEMBER_EPOCH_SINCE
    return is_of_version and request.generation_id_or_member_epoch == member_epoch


def _owned_since(member: ConsumerMember, topic: str, partition: int) -> float:
    """The assignment epoch at which the member got a partition; infinite if it has not got it."""
    for owned in (member.assigned, member.pending_revocation):
        since = owned.get(topic, {}).get(partition)
        if since is not None:
            return since
    return float("inf")


def refusal_of_fetch(consumer: ConsumerGroup, request: OffsetFetchRequestGroup) -> Error | None:
    """Why this member gets no offsets; a request without id and epoch gets them.

    UNKNOWN_MEMBER_ID; STALE_MEMBER_EPOCH, to a classic member ILLEGAL_GENERATION, for any other epoch than its own.
    """
    if request.member_id is None and request.member_epoch < 0:
        return None
    member = consumer.members.get(request.member_id or "")
    if member is None:
        return Error.UNKNOWN_MEMBER_ID
    return None if request.member_epoch == member.member_epoch else _stale(member)


def _stale(member: ConsumerMember) -> Error:
    return Error.STALE_MEMBER_EPOCH if member.classic is None else Error.ILLEGAL_GENERATION
