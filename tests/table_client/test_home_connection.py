"""The thread that appends requests outlives whatever an append raises, and says which requests were not written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError

from schemas.messages import HeartbeatRequest, Response
from table_client.home_connection import HomeConnection
from tests.waiting import until

ERRORS = (OSError("disk full"), DeltaError("no table"), RuntimeError("not foreseen"), MemoryError())


class Failing:
    """A request table that fails once by each of these errors, and then never."""

    def __init__(self) -> None:
        self.errors = list(ERRORS)
        self.appended: list[str] = []
        self.is_closed = False

    def open(self) -> None:
        if self.errors:
            raise self.errors.pop(0)

    def append(self, rows: pa.Table) -> None:
        self.appended += rows["request_id"].to_pylist()

    def close(self) -> None:
        self.is_closed = True


class Member:
    def answered(self, request_id: str, response: Response) -> None: ...

    def look_at_the_clock(self) -> None: ...


def test_whatever_an_append_raises_the_next_requests_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = Failing()
    monkeypatch.setattr("table_client.home_connection.RequestTable", lambda *_: table)
    connection = HomeConnection(tmp_path)
    beat = HeartbeatRequest(request_id="", api_version=4, group_id="g", member_id="m", generation_id=1)
    for number, error in enumerate(ERRORS):
        connection.send(Member(), beat)
        until(lambda number=number: len(caplog.messages) > number, "a failure")  # type: ignore[misc]
        assert caplog.messages[-1] == f"1 requests could not be written to {tmp_path}: {error}"
    kept = [connection.send(Member(), beat) for _ in range(3)]
    connection.close()
    assert table.appended == kept
    assert table.is_closed
