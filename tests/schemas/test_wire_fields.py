"""Which version carries which field can be asked, so that no rule writes a number beside the declaration."""

from __future__ import annotations

import pytest

from rollcall.schemas.messages import (
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Shape,
)
from rollcall.schemas.wire_fields import carries, first_version, versions_of


@pytest.mark.parametrize(
    ("shape", "field", "first", "last"),
    [
        (JoinGroupRequest, "group_id", 0, 32767),
        (JoinGroupRequest, "reason", 8, 32767),
        (MemberIdentity, "reason", 5, 32767),
        (LeaveGroupRequest, "member_id", 0, 2),
        (OffsetCommitRequest, "retention_time_ms", 2, 4),
        (OffsetFetchRequest, "groups", 8, 32767),
        (OffsetFetchResponse, "error_code", 2, 7),
    ],
)
def test_the_versions_of_a_field_are_those_of_kafkas_message(
    shape: type[Shape], field: str, first: int, last: int
) -> None:
    assert versions_of(shape, field)[:2] == (first, last)
    assert first_version(shape, field) == first
    assert carries(shape, field, first)
    assert carries(shape, field, last)
    assert not carries(shape, field, first - 1)
    assert not carries(shape, field, last + 1)


def test_a_field_that_is_not_there_has_no_versions() -> None:
    with pytest.raises(KeyError, match="reasons"):
        first_version(JoinGroupRequest, "reasons")
