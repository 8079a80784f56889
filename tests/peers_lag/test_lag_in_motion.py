"""Lag of groups that work, at every moment of which it is known: in records, and in time."""

from __future__ import annotations

from tests.peers_lag.conftest import INTERVAL_MS, KINDS, Played
from tests.peers_lag.known_ends import ANSWER_WITHIN_MS
from tests.peers_lag.play import PARTITIONS
from tests.views.view_rows import rows_of


def test_lag_in_records_lies_between_the_admin_clients_answers_before_and_after(played: Played) -> None:
    compared, outside = dict.fromkeys(KINDS, 0), list[object]()
    for row in played.views.rows("partition_lag"):
        if not row.is_told or row.lag_records is None:
            continue
        place = row.topic, row.partition
        bounds = played.samples.bounds(row.group_id, place, row.at - ANSWER_WITHIN_MS, row.at + ANSWER_WITHIN_MS)
        if bounds is not None:
            compared[row.group_id] += 1
            if not bounds.least <= row.lag_records <= bounds.most:
                outside.append((row, bounds))
    assert min(compared.values()) > 50
    assert outside == []


def test_lag_in_time_is_within_one_sample_of_the_producers_own_records(played: Played) -> None:
    begun_ms = played.samples.samples[0].answered_ms
    compared = dict.fromkeys(KINDS, 0)
    for at_ms in range(played.still_ms, begun_ms, -1_700):
        for row in rows_of(played.shadow.home.path, "lag", at_ms):
            if row.lag_ms is None:
                continue
            read_to = max(row.committed_offset, row.log_start_offset or 0)
            true_ms = played.own.time_lag_ms((row.topic, row.partition), read_to, row.end_known_at)
            assert abs(row.lag_ms - true_ms) <= INTERVAL_MS, (row, true_ms)
            compared[row.group_id] += 1
    assert min(compared.values()) > 20


def test_at_rest_lag_is_what_the_admin_client_says(played: Played) -> None:
    last = played.samples.samples[-1]
    rows = {(row.group_id, (row.topic, row.partition)): row for row in played.views.rows("lag")}
    assert {key: (row.committed_offset, row.end_offset, row.lag_records) for key, row in rows.items()} == {
        key: (committed, last.ends[key[1]], last.lag(key, last.ends)) for key, committed in last.committed.items()
    }


def test_the_owner_of_each_partition_is_the_client_that_says_it_has_it(played: Played) -> None:
    found: dict[str, dict[tuple[str, int], str]] = {}
    for row in rows_of(played.shadow.home.path, "lag", played.still_ms):
        found.setdefault(row.group_id, {})[row.topic, row.partition] = row.client_id
    assert found == played.owners
    assert len(found["confluent-consumer-grown"]) == PARTITIONS + 1
