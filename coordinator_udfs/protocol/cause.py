"""Why a rebalance began, as data: decided when it begins, not read from text later.

Knows the names of causes (`Cause.kind`) and the reasons that client libraries send; knows no group.
"""

from __future__ import annotations

from rollcall.schemas.causes import CauseKind, why_left, why_rejoined


def cause_of_leaving(
    reason: str | None, inferred: str | None, *, by_instance_id_only: bool, by_another: bool
) -> CauseKind:
    """Distinguishes a clean leave, a poll timeout and an administrator's removal by the LeaveGroup's fields.

    An administrator's tool names a static member only by its instance id, gives its own reason, or is at least
    another client on another host than the member (by_another). Without a reason a poll timeout looks like a clean
    leave: MEMBER_LEFT, unless a replay inferred more.
    """
    if inferred:
        return CauseKind(inferred)
    if by_instance_id_only or by_another:
        return CauseKind.ADMIN_REMOVED
    return why_left(reason or "") or CauseKind.MEMBER_LEFT


def cause_of_rejoining(reason: str | None, inferred: str | None, *, gave_partitions_up: bool) -> CauseKind:
    """Why a member of the current generation joined again: by its own reason, otherwise by the partitions it gave up.

    gave_partitions_up: the last assignment took partitions away that the member said it owned; a cooperative member
    must then join again so that others can get them.
    """
    if inferred:
        return CauseKind(inferred)
    unsaid = CauseKind.COOPERATIVE_FOLLOWUP if gave_partitions_up else CauseKind.MEMBER_REJOINED
    return why_rejoined(reason or "") or unsaid
