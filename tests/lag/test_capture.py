"""The recorded incidents of capture t-lag: lag from its request log alone, and what an admin client was answered.

The truth was asked from the same broker four times a second, and none of its requests is in the log.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from rollcall.answers.whatif.recording import rates_of
from tests.lag.homes import lag_of_capture, truth_of_lag, write_capture
from tests.request_log.truth import OF_LAG, truth
from tests.views.view_rows import Row, Views, rows_of

LAG = truth_of_lag()
SAMPLES = LAG["samples"]
FROM_MS = SAMPLES["t_ends"][0] + 30_000
READ_COMMITTED = "ledger-post"
SELDOM_REPORTED = "thumbs-make"
"""Its slow consumers fetch each 20 to 50 s, and nobody else reads the topic."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("t-lag"))


@pytest.fixture(scope="module")
def ask(home: Path) -> Views:
    return Views(home)


def true_lag(group_id: str, name: str, place: int) -> int | None:
    """A partition's lag in a sample, to what the group can read; None: nothing committed."""
    committed = SAMPLES["committed"][group_id][name][place]
    end = SAMPLES["stable" if group_id == READ_COMMITTED else "end"][name][place]
    return None if committed is None else max(0, end - max(committed, SAMPLES["start"][name][place]))


@pytest.mark.parametrize("after_begin_s", [45, 75, 110, 140, 168])
def test_the_lag_of_a_moment_is_right_to_what_the_last_line_can_know(home: Path, after_begin_s: int) -> None:
    at_ms = truth(OF_LAG)["t_begin_ms"] + after_begin_s * 1000
    place = bisect_right(SAMPLES["t_ends"], at_ms) - 1
    reported = {
        (row.group_id, f"{row.topic}-{row.partition}"): row for row in rows_of(home, "lag", SAMPLES["t_ends"][place])
    }
    compared = 0
    for group_id, partitions in SAMPLES["committed"].items():
        for name in partitions:
            row, true = reported[group_id, name], true_lag(group_id, name, place)
            if true is None:
                assert row.lag_records is None
                continue
            known = bisect_right(SAMPLES["t_ends"], row.end_known_at) - 1
            ends = SAMPLES["end"][name]
            # What the broker said at that moment lies between the samples around it.
            assert ends[max(known - 1, 0)] <= row.end_offset <= ends[min(known + 2, len(ends) - 1)]
            assert row.log_start_offset == SAMPLES["start"][name][place] or name.startswith("metrics")
            if group_id == READ_COMMITTED or group_id == "ledger-scan":
                continue
            # A commit may be under way while the sample is taken: the one before or after it then.
            nearby = [partitions[name][one] for one in range(max(place - 2, 0), min(place + 3, len(ends)))]
            assert row.committed_offset in nearby
            assert row.lag_records == max(0, row.end_offset - max(row.committed_offset, row.log_start_offset))
            compared += 1
    assert compared > 45


def test_lag_over_time_is_the_truth_of_every_sample(ask: Views) -> None:
    """What is reported later makes a moment known better than it was then: ends are interpolated."""
    rows: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(ask.rows("partition_lag"), key=lambda row: row.at):
        rows.setdefault((row.group_id, f"{row.topic}-{row.partition}"), []).append(row)
    for group_id, partitions in SAMPLES["committed"].items():
        errors, lags = list[float](), list[int]()
        for place, at_ms in enumerate(SAMPLES["t_ends"]):
            true = [true_lag(group_id, name, place) for name in partitions]
            if at_ms >= FROM_MS and any(lag is not None for lag in true):
                known = [
                    lag_at(rows[group_id, name], at_ms)
                    for name, lag in zip(partitions, true, strict=True)
                    if lag is not None
                ]
                lags.append(sum(lag or 0 for lag in true))
                errors.append(abs(sum(known) - lags[-1]))
        errors.sort()
        if group_id != SELDOM_REPORTED:
            assert median(errors) <= 10, group_id
            assert errors[len(errors) * 9 // 10] <= max(60, 0.1 * max(lags)), group_id
        assert median(errors) <= 0.05 * max(*lags, 200), group_id


def lag_at(rows: list[Row], ms: int) -> float:
    place = bisect_right(rows, ms, key=lambda row: row.at) - 1
    earlier = rows[place]
    if earlier.lag_records is None:
        return 0.0
    later = rows[place + 1] if place + 1 < len(rows) else None
    if later is None or later.lag_before_records is None:
        return float(earlier.lag_records)
    grown = later.lag_before_records - earlier.lag_records
    return float(earlier.lag_records + grown * (ms - earlier.at) / (later.at - earlier.at))


def test_the_lag_in_time_is_within_the_distance_of_two_lines_of_the_truth(ask: Views) -> None:
    errors = []
    for row in ask.rows("lag"):
        if not row.lag_ms or row.topic in ("thumbs", "ledger"):
            continue
        appends: list[list[int]] = LAG["appends"][f"{row.topic}-{row.partition}"]
        read_to = max(row.committed_offset, row.log_start_offset)
        place = bisect_right(appends, read_to, key=lambda one: one[0]) - 1
        errors.append(abs(row.lag_ms - (row.end_known_at - appends[place][1])))
    assert len(errors) > 25
    assert max(errors) <= 1_200


def test_the_cost_of_each_rebalance_is_that_of_the_truth(ask: Views) -> None:
    """Lag is a saw-tooth, and a sample a quarter of a second apart misses its tips: that is left over beside 10 %."""
    costs = {(row.group_id, row.to_generation_id): row for row in ask.rows("rebalance_costs")}
    compared = 0
    for group_id, rebalances in LAG["rebalances"].items():
        tip = sum(LAG["topics"][topic]["records_per_s"] for topic in LAG["groups"][group_id]["topics"]) * 0.25
        # The window of one begins on the very sample that is the peak of another.
        for true in [
            one for one in rebalances if one.get("usual") and not (group_id == "orders-coop" and one["n"] == 6)
        ]:
            row = costs[group_id, true.get("to_generation", true.get("epoch"))]
            assert abs(row.lag_before - true["usual"]) <= 0.1 * true["usual"] + tip, (group_id, true)
            compared += 1
    assert compared == 20


@pytest.mark.parametrize(
    ("group_id", "generation", "before", "peak", "delayed_at_least"),
    [("clicks-agg", 3, 281, 980, 630), ("clicks-live", 5, 317, 3021, 2600), ("emails-send", 2, 145, 4110, 3900)],
)
def test_what_an_outage_cost_is_counted_from_its_beginning(
    ask: Views, group_id: str, generation: int, before: int, peak: int, delayed_at_least: int
) -> None:
    """The truth's figures since the kill or the close: usual before it, peak, and when it ended."""
    (row,) = [one for one in ask.about("rebalance_costs", group_id) if one.to_generation_id == generation]
    usual = row.lag_before if row.lag_before_silence is None else row.lag_before_silence
    assert abs(usual - before) <= 0.1 * before + 20
    assert abs(row.lag_peak - peak) <= 0.05 * peak
    assert row.records_delayed >= delayed_at_least
    true = next(
        one for one in LAG["rebalances"][group_id] if generation in (one.get("to_generation"), one.get("epoch"))
    )
    if group_id != "emails-send":
        assert abs(row.caught_up_at - true["since_action"]["back_to_usual_ms"]) <= 1_000


def test_the_detectors_find_what_was_played_and_nothing_else(ask: Views) -> None:
    held = {(row.group_id, row.partition) for row in ask.rows("held_not_moving")}
    assert held == {("trades-risk", 3), ("trades-risk", 4), ("trades-book", 2), ("trades-book", 3), ("trades-book", 0)}
    assert {row.group_id for row in ask.rows("falling_behind")} == {"thumbs-make", "metrics-rollup"}
    lost = {(row.group_id, row.partition): row.records_lost for row in ask.rows("records_lost")}
    assert lost == {
        ("metrics-rollup", 0): 2490,
        ("metrics-rollup", 1): 2480,
        ("metrics-rollup", 2): 4168,
        ("metrics-audit", 2): 132,
    }
    assert ask.rows("unconsumed") == []


def test_the_rates_of_a_what_if_are_those_at_which_producers_wrote() -> None:
    """Producers of transactions and of the idle topic do not write all the time."""
    found = Counter[str]()
    for partition, rate in rates_of(lag_of_capture().ends).items():
        found[partition.topic] += round(1_000_000 * rate)
    for topic, reported in LAG["topics"].items():
        if topic not in ("ledger", "flags"):
            assert found[topic] / 1000 == pytest.approx(reported["records_per_s"], rel=0.02)


def test_an_idle_topic_and_marks_of_transactions_are_no_lag(ask: Views) -> None:
    idle: list[Any] = [
        *ask.about("lag", "flags-watch"),
        *ask.about("lag", "ledger-scan"),
        *ask.about("lag", READ_COMMITTED),
    ]
    assert {(row.lag_records, row.lag_ms) for row in idle if row.committed_offset is not None} == {(0, 0)}
    assert [row.partition for row in idle if row.committed_offset is None] == [2]
