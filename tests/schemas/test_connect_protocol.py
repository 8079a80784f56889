"""The bytes of Connect's workers: Kafka's layouts by literal bytes, and what malformed bytes lead to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.schemas.connect_protocol import (
    CONNECTOR_ITSELF,
    ConnectTask,
    WorkerAssignment,
    WorkerState,
    decode_worker_assignment,
    decode_worker_state,
)
from rollcall.schemas.layout import LayoutError

URL = "http://a:8083/"
URL_BYTES = "000e" + URL.encode().hex()
OFFSET = "0000000000000007"
FILE = "0004" + b"file".hex()
FILE_AND_TASKS = f"00000001 {FILE} 00000003 ffffffff 00000000 00000002"
FILE_TASK_1 = f"00000001 {FILE} 00000001 00000001"
NULL = "ffffffff"
HEAD = f"0000 0001 61 {URL_BYTES} {OFFSET}"
GIVEN = frozenset({ConnectTask("file", CONNECTOR_ITSELF), ConnectTask("file", 0), ConnectTask("file", 2)})


def layout(*parts: str) -> bytes:
    return bytes.fromhex("".join(parts))


EAGER = layout("0000", HEAD, FILE_AND_TASKS)
INCREMENTAL = layout("0002", HEAD, FILE_AND_TASKS, FILE_TASK_1, "00000bb8")


def test_an_eager_assignment_says_all_that_a_worker_is_to_have() -> None:
    assignment = decode_worker_assignment(EAGER)
    assert assignment == WorkerAssignment(0, "a", URL, 7, GIVEN)
    assert assignment.kept_by(()) == GIVEN


@pytest.mark.parametrize("version", ["0001", "0002", "0003"])
def test_an_incremental_assignment_says_what_is_new_what_goes_and_for_how_long_the_rest_waits(version: str) -> None:
    assignment = decode_worker_assignment(layout(version) + INCREMENTAL[2:])
    assert assignment == WorkerAssignment(0, "a", URL, 7, GIVEN, frozenset({ConnectTask("file", 1)}), 3000)
    other = ConnectTask("other", 0)
    assert assignment.kept_by({ConnectTask("file", 1), other}) == GIVEN | {other}


def test_an_assignment_without_anything_new_has_null_for_both_lists() -> None:
    assignment = decode_worker_assignment(layout("0001", HEAD, NULL, NULL, "00000000"))
    assert (assignment.given, assignment.revoked, assignment.delay_ms) == (frozenset(), frozenset(), 0)


def test_a_worker_says_what_it_runs_when_it_joins() -> None:
    length = f"{len(INCREMENTAL):08x}"
    state = decode_worker_state(layout("0002", URL_BYTES, OFFSET, length) + INCREMENTAL)
    assert state == WorkerState(URL, 7, GIVEN)


def test_a_worker_that_runs_nothing_yet_has_null_and_an_eager_one_says_nothing_of_it() -> None:
    assert decode_worker_state(layout("0001", URL_BYTES, OFFSET, NULL)) == WorkerState(URL, 7)
    assert decode_worker_state(layout("0000", URL_BYTES, OFFSET)) == WorkerState(URL, 7)


@pytest.mark.parametrize("whole", [EAGER, INCREMENTAL])
def test_bytes_that_end_early_are_refused_wherever_they_end(whole: bytes) -> None:
    for length in range(len(whole)):
        with pytest.raises(LayoutError):
            decode_worker_assignment(whole[:length])


def test_the_refusal_names_the_field_and_its_place() -> None:
    with pytest.raises(LayoutError) as refused:
        decode_worker_assignment(layout("0001", HEAD, FILE_AND_TASKS, "7fffffff"))
    assert str(refused.value) == "WorkerAssignment: revoked: count at byte 57: 2147483647 items cannot be in 0 bytes"


@pytest.mark.parametrize("decode", [decode_worker_state, decode_worker_assignment])
@given(data=st.binary(max_size=80))
def test_whatever_the_bytes_are_nothing_but_the_one_error_comes(decode: Callable[[bytes], object], data: bytes) -> None:
    with suppress(LayoutError):
        decode(data)
