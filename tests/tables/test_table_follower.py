"""A follower reads each version once, also where the log's folder grows while it is listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.request_table import RequestRow, RequestTable, table_of
from rollcall.tables.table_follower import TableFollower


def test_no_version_is_passed_over_because_a_listing_missed_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = RequestTable(tmp_path, "gw")
    table.open()
    follower = TableFollower(tmp_path, ["request_id"])
    listed = DeltaLog.versions

    def versions_with_a_gap(log: DeltaLog) -> list[int]:
        """What listing the folder may give while versions 2 and 3 come into it."""
        for name in ("a", "b"):
            table.append(table_of([RequestRow("g", name, 0, 0, "{}")]))
        return [version for version in listed(log) if version != 2]

    table.append(table_of([RequestRow("g", "first", 0, 0, "{}")]))
    assert [rows["request_id"].to_pylist() for rows in follower.poll()] == [["first"]]
    monkeypatch.setattr("rollcall.tables.table_follower._LOST_AFTER_S", 0.0)
    monkeypatch.setattr(DeltaLog, "versions", versions_with_a_gap)
    assert follower.has_news()
    monkeypatch.undo()
    assert [rows["request_id"].to_pylist() for rows in follower.poll()] == [["a"], ["b"]]
