"""DescribeGroups, DeleteGroups and FindCoordinator: what administrators and starting clients are answered."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.no_single_group import find_coordinator
from rollcall.schemas.effects import GroupRemoved, OffsetsRemoved
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import FindCoordinatorRequest, FindCoordinatorResponse
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

# ---------------------------------------------------------------- DescribeGroups


@rule(
    "DescribeGroups: an unknown group is Dead, without error up to v5, GROUP_ID_NOT_FOUND from v6",
    origin="testDescribeGroupsGroupIdNotFoundException",
)
@pytest.mark.parametrize(
    ("v", "error", "message"),
    [(0, Error.NONE, None), (5, Error.NONE, None), (6, Error.GROUP_ID_NOT_FOUND, "Group g not found.")],
)
def test_an_unknown_group_is_described_as_dead(v: int, error: Error, message: str | None) -> None:
    bench = Bench()
    described = bench.describe(v=v)
    assert (described.error_code, described.error_message, described.group_state) == (error, message, "Dead")
    assert (described.protocol_type, described.protocol_data, described.members) == ("", "", [])
    assert not bench.group.is_known


@rule("DescribeGroups: Dead shows itself as such")
def test_a_dead_group_is_dead() -> None:
    bench = Bench().stable("m1").unload()
    assert bench.describe().group_state == "Dead"


@rule("DescribeGroups: the operations allowed are shown if asked for, and not beside an error")
def test_operations_are_shown_when_asked_for() -> None:
    read, delete, describe, describe_configs, alter_configs = (1 << bit for bit in (3, 6, 8, 10, 11))
    everything = read | delete | describe | describe_configs | alter_configs
    bench = Bench()
    assert bench.describe(v=5, include_authorized_operations=True).authorized_operations == everything == 3400
    assert bench.describe(v=6, include_authorized_operations=True).authorized_operations == -2147483648
    assert bench.stable("m1").describe().authorized_operations == -2147483648


# ---------------------------------------------------------------- DeleteGroups


@rule(
    "DeleteGroups: an unknown or Dead group is GROUP_ID_NOT_FOUND",
    origin="testValidateDeleteGroup testDeleteGroupWithInvalidGroupId",
)
@pytest.mark.parametrize("is_dead", [False, True])
def test_there_must_be_a_group_to_delete(is_dead: bool) -> None:
    bench = Bench()
    if is_dead:
        bench.stable("m1").unload()
    assert bench.delete_group() is Error.GROUP_ID_NOT_FOUND


@rule(
    "DeleteGroups: an Empty group goes with its offsets, and its sweep",
    origin="testClassicGroupDelete testDeleteEmptyGroup testDeleteEmptyGroupWithStoredOffsets"
    " testDeleteGroupAllOffsets",
)
def test_an_empty_group_is_deleted() -> None:
    bench = Bench().empty()
    bench.commit()
    assert bench.delete_group() is Error.NONE
    assert (bench.group.is_known, bench.group.offsets, bench.deadlines()) == (False, {}, {})
    assert (bench.last(GroupRemoved).why, bench.last(OffsetsRemoved).why) == ("deleted", "group_removed")
    assert bench.delete_group() is Error.GROUP_ID_NOT_FOUND


# ---------------------------------------------------------------- FindCoordinator


def found(version: int, key_type: int, *keys: str) -> FindCoordinatorResponse:
    request = FindCoordinatorRequest(request_id="1", api_version=version, key_type=key_type)
    if version >= 4:
        request.coordinator_keys = list(keys)
    else:
        (request.key,) = keys
    return find_coordinator(request, 7, "here", 9092)


@rule("FindCoordinator: up to v3 one key, answered on top")
@pytest.mark.parametrize("v", [0, 1, 3])
def test_old_versions_ask_for_one_key(v: int) -> None:
    answer = found(v, 0, "a")
    assert (answer.error_code, answer.node_id, answer.host, answer.port) == (Error.NONE, 7, "here", 9092)
    assert (answer.error_message, answer.coordinators) == ("NONE", [])


@rule("FindCoordinator: an unknown key type is INVALID_REQUEST, share before v6 too")
@pytest.mark.parametrize(("v", "key_type"), [(4, 9), (4, -1), (4, 2), (5, 2), (6, 9), (1, 9), (3, 2)])
def test_an_unknown_key_type_has_no_coordinator(v: int, key_type: int) -> None:
    answer = found(v, key_type, "a")
    one = answer.coordinators[0] if v >= 4 else answer
    assert (one.error_code, one.node_id, one.host, one.port) == (Error.INVALID_REQUEST, -1, "", -1)
    assert str(key_type) in (one.error_message or "")


@rule("FindCoordinator: a share key is group, topic id and partition")
@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("g:AAAAAAAAAAAAAAAAAAAAAA:0", Error.NONE),
        ("a:b:AAAAAAAAAAAAAAAAAAAAAA:-1", Error.NONE),
        ("g:AAAAAAAAAAAAAAAAAAAAAA", Error.INVALID_REQUEST),
        ("g:AAAAAAAAAAAAAAAAAAAAAA:x", Error.INVALID_REQUEST),
        (" :AAAAAAAAAAAAAAAAAAAAAA:0", Error.INVALID_REQUEST),
        ("g:short:0", Error.INVALID_REQUEST),
        ("g", Error.INVALID_REQUEST),
        ("", Error.INVALID_REQUEST),
    ],
)
def test_a_share_key_has_three_parts(key: str, error: Error) -> None:
    assert found(6, 2, key).coordinators[0].error_code is error
