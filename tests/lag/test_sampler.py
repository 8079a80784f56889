"""When a cluster is asked where logs end, and what is written of its answers: virtual time, by a cluster in memory."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from rollcall.answers.sql.named_partitions import named_partitions
from rollcall.cli.run.choices import RunOptions, choices
from rollcall.inputs.following.listed_offsets import as_kafka_spells
from rollcall.inputs.following.log_ends_sampler import Listed, LogEndsSampler, Partition
from rollcall.jobs.config import JobConfig
from rollcall.jobs.coordinator import gateway_before_kafka
from rollcall.jobs.stream.upkeep import tables_of
from rollcall.schemas.tables import LOG_ENDS
from rollcall.serve.gateway.upstream.upstream_client import upstream_settings
from rollcall.tables.home import Home
from rollcall.tables.lag.rows import LagRows, LogEnd
from rollcall.tables.lag_rows import append_lag, ends_table, thinned_to
from rollcall.tables.upkeep import tend
from tests.lag.homes import ends, group, write_home
from tests.views import view_rows
from tests.views.story import Story, write_effects

BEGIN_MS = 1_000_000


class Reported:
    """A cluster whose answers a test sets."""

    def __init__(self) -> None:
        self.logs: dict[Partition, tuple[int, int, int]] = {("t", 0): (0, 10, 10), ("t", 1): (0, 20, 20)}
        """Start, last stable offset, end."""
        self.ids = {"t": "A"}
        self.asked: list[str] = []
        self.is_away = False
        self.after_ends: dict[Partition, tuple[int, int, int]] = {}
        """What becomes of logs right after their ends were asked for."""
        self.ids_after_ends: dict[str, str] = {}
        """What becomes of topics then."""

    def cluster_id(self) -> str:
        return "a cluster"

    def close(self) -> None:
        self.asked.append("close")

    def partitions(self, topics: Collection[str]) -> tuple[list[Partition], dict[str, str]]:
        self.asked.append("partitions")
        known = {topic for topic, _ in self.logs}
        return [one for one in self.logs if one[0] in topics], {
            topic: "not for you" for topic in topics if topic not in known
        }

    def topic_ids(self, topics: Collection[str]) -> dict[str, str]:
        self.asked.append("ids")
        return {topic: self.ids[topic] for topic in topics if topic in self.ids}

    def ends(self, partitions: Collection[Partition]) -> Listed:
        found = self._listed("ends", partitions, 2)
        self.logs |= self.after_ends
        self.ids |= self.ids_after_ends
        return found

    def starts(self, partitions: Collection[Partition]) -> Listed:
        return self._listed("starts", partitions, 0)

    def stable_ends(self, partitions: Collection[Partition]) -> Listed:
        return self._listed("stable", partitions, 1)

    def _listed(self, kind: str, partitions: Collection[Partition], place: int) -> Listed:
        if self.is_away:
            raise OSError("no broker answers")
        self.asked.append(f"{kind} of {len(partitions)}")
        return Listed({one: self.logs[one][place] for one in partitions}, {})


@pytest.fixture
def home(tmp_path: Path) -> Home:
    story = Story("orders")
    story.commit(500, "a", {"t-0": 4}, generation_id=-1)
    write_effects(tmp_path, {"orders": story.rows})
    return Home(tmp_path)


def rows_of(home: Home) -> list[tuple[object, ...]]:
    columns = "topic, partition, at_ms - 1000000, log_start_offset, end_offset, last_stable_offset"
    found = duckdb.from_arrow(DeltaTable(home.log_ends).to_pyarrow_table())
    asked = found.query("rows", f"select {columns} from rows order by at_ms, topic nulls last, partition")
    assert asked is not None
    return asked.fetchall()


@pytest.fixture
def cluster() -> Reported:
    return Reported()


@pytest.fixture
def sampler(home: Home, cluster: Reported) -> LogEndsSampler:
    return LogEndsSampler(home, cluster, named_partitions, 10_000)


def let_half_intervals_pass(sampler: LogEndsSampler, count: int) -> None:
    for number in range(count):
        sampler.step(BEGIN_MS + number * 5_000)


def test_every_interval_the_ends_are_asked_for_and_what_changed_is_written(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    sampler.step(BEGIN_MS)
    cluster.logs["t", 0] = (0, 15, 15)
    sampler.step(BEGIN_MS + 9_999)
    sampler.step(BEGIN_MS + 10_000)
    assert [kind for kind in cluster.asked if kind.startswith("ends")] == ["ends of 2", "ends of 2"]
    assert rows_of(home) == [
        ("t", 0, 0, None, 10, 10),
        ("t", 1, 0, None, 20, 20),
        (None, None, 0, None, None, None),
        ("t", 0, 10_000, 0, 15, None),
        ("t", 1, 10_000, 0, 20, 20),
        (None, None, 10_000, None, None, None),
    ]


def test_a_cluster_that_is_away_is_reported_once_until_it_answers(
    home: Home, cluster: Reported, sampler: LogEndsSampler, capsys: pytest.CaptureFixture[str]
) -> None:
    reported = []
    for second, is_away in enumerate([True] * 25 + [False] * 15 + [True] * 15):
        cluster.is_away = is_away
        sampler.look(BEGIN_MS + second * 1_000)
        if "no broker answers" in capsys.readouterr().err:
            reported.append(second)
    assert reported == [0, 40]


def test_an_open_transaction_is_known_by_the_first_sample_and_then_by_each(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    cluster.logs["t", 1] = (0, 12, 20)
    let_half_intervals_pass(sampler, 3)
    assert [kind for kind in cluster.asked if not kind.startswith(("part", "ids"))] == [
        "ends of 2",
        "stable of 2",
        "starts of 2",
        "ends of 2",
        "stable of 1",
    ]
    assert ("t", 1, 0, None, 20, 12) in rows_of(home)


def test_log_starts_are_asked_for_although_rebalances_bring_samples_sooner(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    story = Story("payments")
    for second in range(0, 12, 2):
        story.join(700 + second, f"m{second}", topics=("t",))
        write_effects(home.path, {"payments": story.rows})
        sampler.step(BEGIN_MS + second * 1_000)
        sampler.step(BEGIN_MS + second * 1_000 + 500)
    assert len([kind for kind in cluster.asked if kind.startswith("ends")]) > 3
    assert cluster.asked.count("starts of 2") == 1


def test_a_first_sample_that_fails_is_made_up_for_with_the_next(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    cluster.logs["t", 1] = (0, 12, 20)
    cluster.is_away = True
    sampler.look(BEGIN_MS)
    cluster.is_away = False
    sampler.look(BEGIN_MS + 10_000)
    assert ("t", 1, 10_000, None, 20, 12) in rows_of(home)


def test_of_a_log_without_transactions_the_last_stable_offset_is_known_once_a_minute(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    for second in range(0, 130, 10):
        cluster.logs["t", 0] = (0, 10 + second, 10 + second)
        sampler.step(BEGIN_MS + second * 1_000)
    known = [
        (at_ms, end, stable) for topic, number, at_ms, _, end, stable in rows_of(home) if (topic, number) == ("t", 0)
    ]
    assert [row for row in known if row[2] is not None] == [(0, 10, 10), (60_000, 70, 70), (120_000, 130, 130)]
    assert len(known) == 13


def test_a_transaction_that_begins_later_is_known_within_a_minute(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    sampler.step(BEGIN_MS)
    cluster.logs["t", 1] = (0, 20, 30)
    for second in range(10, 80, 10):
        sampler.step(BEGIN_MS + second * 1_000)
    assert ("t", 1, 60_000, None, 30, 20) in rows_of(home)
    assert [kind for kind in cluster.asked if kind.startswith("stable")] == [
        "stable of 2",
        "stable of 2",
        "stable of 1",
    ]


def test_where_transactions_are_both_ends_are_of_one_moment(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    cluster.logs["t", 1] = (0, 12, 20)
    let_half_intervals_pass(sampler, 4)
    cluster.logs["t", 1] = (0, 35, 40)
    sampler.step(BEGIN_MS + 20_000)
    assert ("t", 1, 20_000, 0, 40, 35) in rows_of(home)
    cluster.logs["t", 1] = (0, 50, 50)
    sampler.step(BEGIN_MS + 30_000)
    assert ("t", 1, 30_000, 0, 50, 50) in rows_of(home)


def test_what_was_decided_since_the_end_was_asked_for_is_not_beyond_it(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    cluster.logs["t", 1] = (0, 12, 20)
    let_half_intervals_pass(sampler, 4)
    cluster.after_ends["t", 1] = (0, 50, 50)
    sampler.step(BEGIN_MS + 20_000)
    assert ("t", 1, 20_000, 0, 20, 20) in rows_of(home)


def test_a_topic_made_again_has_nothing_of_the_log_before(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    cluster.logs["t", 0] = (60, 80, 100)
    let_half_intervals_pass(sampler, 5)
    assert ("t", 0, 10_000, 60, 100, 80) in rows_of(home)
    cluster.logs["t", 0] = (0, 5, 5)
    sampler.step(BEGIN_MS + 30_000)
    assert ("t", 0, 30_000, 0, 5, 5) in rows_of(home)


def ids_of(home: Home) -> list[tuple[int, int, str | None]]:
    """Moment, end and topic id of each row of the first partition."""
    rows = DeltaTable(home.log_ends).to_pyarrow_table().to_pylist()
    found = [(row["at_ms"] - BEGIN_MS, row["end_offset"], row["topic_id"]) for row in rows if row["partition"] == 0]
    return sorted(found, key=lambda row: row[0])


def test_an_end_has_the_id_that_its_topic_had_before_and_after_and_one_between_two_ids_is_left_out(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    for at_ms, end in ((0, 10), (30_000, 20), (60_000, 30)):
        cluster.logs["t", 0] = (0, end, end)
        sampler.step(BEGIN_MS + at_ms)
    cluster.logs["t", 0] = (0, 40, 40)
    cluster.ids_after_ends["t"] = "B"
    sampler.step(BEGIN_MS + 120_000)
    for at_ms, end in ((130_000, 50), (180_000, 60)):
        cluster.logs["t", 0] = (0, end, end)
        sampler.step(BEGIN_MS + at_ms)
    assert ids_of(home) == [
        (0, 10, None),
        (30_000, 20, None),
        (60_000, 30, "A"),
        (130_000, 50, None),
        (180_000, 60, "B"),
    ]
    assert cluster.asked.count("ids") == 4


def test_a_topic_with_another_id_has_no_log_start_of_the_one_before(
    home: Home, cluster: Reported, sampler: LogEndsSampler
) -> None:
    cluster.logs["t", 0] = (50, 100, 100)
    let_half_intervals_pass(sampler, 13)
    cluster.ids["t"] = "B"
    cluster.logs["t", 0] = (0, 105, 105)
    sampler.step(BEGIN_MS + 120_000)
    sampler.step(BEGIN_MS + 180_000)
    rows = [row for row in DeltaTable(home.log_ends).to_pyarrow_table().to_pylist() if row["partition"] == 0]
    assert [row["log_start_offset"] for row in rows if row["topic_id"] == "A"] == [50]
    assert [row["log_start_offset"] for row in rows if row["topic_id"] == "B"] == [0]


def test_an_id_is_the_one_that_a_request_log_has() -> None:
    assert as_kafka_spells("l7n4TkXDS2a/l8wV+zyIkQ") == "l7n4TkXDS2a_l8wV-zyIkQ"


def test_a_topic_without_an_id_is_sampled_too(home: Home, cluster: Reported, sampler: LogEndsSampler) -> None:
    cluster.ids.clear()
    let_half_intervals_pass(sampler, 25)
    assert {topic_id for *_, topic_id in ids_of(home)} == {None}


def test_a_rebalance_is_sampled_at_once(home: Home, cluster: Reported, sampler: LogEndsSampler) -> None:
    sampler.step(BEGIN_MS)
    story = Story("payments")
    story.join(700, "b", topics=("t",))
    story.let_time_pass(800)
    write_effects(home.path, {"payments": story.rows})
    sampler.step(BEGIN_MS + 2_000)
    assert cluster.asked.count("ends of 2") == 2


def test_a_topic_that_is_committed_to_later_is_asked_for_and_one_that_may_not_be_described_is_named(
    home: Home, cluster: Reported, sampler: LogEndsSampler, capsys: pytest.CaptureFixture[str]
) -> None:
    sampler.step(BEGIN_MS)
    story = Story("payments")
    story.commit(500, "a", {"u-0": 4, "secret-0": 1}, generation_id=-1)
    write_effects(home.path, {"payments": story.rows})
    cluster.logs["u", 0] = (0, 3, 3)
    for step in range(4):
        sampler.step(BEGIN_MS + 10_000 * (step + 1))
    assert "ends of 3" in cluster.asked
    assert cluster.asked.count("partitions") == 2
    assert capsys.readouterr().err.count("topic secret ends is not known: not for you\n") == 1


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_partition_that_was_added_is_asked_for_once_somebody_has_it(
    home: Home, cluster: Reported, sampler: LogEndsSampler, is_committed: bool
) -> None:
    sampler.step(BEGIN_MS)
    cluster.logs["t", 2] = (0, 3, 3)
    story = Story("payments")
    if is_committed:
        story.commit(500, "a", {"t-2": 1, "t-9": 1}, generation_id=-1)
    else:
        story.join(500, "a", topics=("t",))
        story.sync(600, "a", {"a": ["t-2", "t-9"]})
    write_effects(home.path, {"payments": story.rows})
    for step in range(3):
        sampler.step(BEGIN_MS + 10_000 * (step + 1))
    assert ("t", 2, 10_000, None, 3, None) in rows_of(home)
    assert cluster.asked.count("partitions") == 2


def test_a_cluster_that_is_away_writes_nothing(home: Home) -> None:
    cluster = Reported()
    cluster.is_away = True
    with pytest.raises(OSError, match="no broker answers"):
        LogEndsSampler(home, cluster, named_partitions, 10_000).step(BEGIN_MS)
    assert not Path(home.log_ends).exists()


def test_the_last_moments_are_written_as_it_stops(home: Home, cluster: Reported, sampler: LogEndsSampler) -> None:
    sampler.step(BEGIN_MS)
    sampler.step(BEGIN_MS + 10_000)
    sampler.stop()
    assert [row for row in rows_of(home) if row[2] == 10_000] == [
        ("t", 0, 10_000, None, 10, 10),
        ("t", 1, 10_000, None, 20, 20),
    ]


# ---------------------------------------------------------------- older samples


def test_older_samples_are_thinned_to_the_last_of_each_interval() -> None:
    reported = [*ends(*((at_ms, at_ms) for at_ms in range(0, 100, 10))), *ends((5, 1), (12, 1), partition=1)]
    kept = thinned_to(30, 70)(ends_table(reported, None, None))
    assert list(zip(kept["partition"].to_pylist(), kept["at_ms"].to_pylist(), strict=True)) == [
        *((0, at_ms) for at_ms in (20, 50, 70, 80, 90)),
        (1, 12),
    ]


def test_what_was_lost_stays_known_when_samples_are_thinned(tmp_path: Path) -> None:
    """Within one interval the log's start passes a commit, and the group commits beyond it."""
    story = group("g", "t", (1000, 10), (3000, 60))
    later = ends((2000, 61), (2500, 62), (4000, 63), start=40)
    thinned = thinned_to(60_000, 600_000)(
        ends_table([*ends((500, 60)), *later, *ends((9000, 70), start=45)], None, None)
    )
    assert thinned["at_ms"].to_pylist() == [2000, 9000]
    named = thinned.select(LogEnd._fields).to_pylist()
    write_home(tmp_path, [story], [LogEnd(**row) for row in named])
    assert [(row.from_at, row.to_at, row.records_lost) for row in view_rows.rows_of(tmp_path, "records_lost")] == [
        (2000, 3000, 30)
    ]


def test_upkeep_thins_and_puts_together(tmp_path: Path) -> None:
    home, now_ms = Home(tmp_path), 100 * 86_400_000
    for minute in range(120):
        at_ms = now_ms - 7_200_000 + minute * 60_000
        append_lag(tmp_path, LagRows(ends((at_ms, minute), (at_ms + 10_000, minute + 1))), "c")
    for kept in tables_of(home, JobConfig()):
        tend(kept, now_ms, thorough=True)
    table = DeltaTable(home.log_ends)
    times = pa.array(table.to_pyarrow_table()["at_ms"].to_pylist())
    old = [at_ms for at_ms in times.to_pylist() if at_ms < now_ms - 3_600_000]
    assert (len(old), len(times) - len(old)) == (12, 120)
    assert len(table.file_uris()) == 1
    assert table.schema().to_arrow().names == LOG_ENDS.names


# ---------------------------------------------------------------- settings


def test_a_gateways_upstream_is_asked_with_its_own_login(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("secret\n")
    pairs = {
        "gateway.upstream": "h:9093",
        "gateway.upstream.security.protocol": "SASL_PLAINTEXT",
        "gateway.upstream.sasl.mechanism": "SCRAM-SHA-256",
        "gateway.upstream.sasl.username": "eve",
        "gateway.upstream.sasl.password.file": str(password),
    }
    settings = gateway_before_kafka(pairs | {"topics": "t:4"})
    assert settings is not None
    assert upstream_settings(settings) == {
        "bootstrap.servers": "h:9093",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "SCRAM-SHA-256",
        "sasl.username": "eve",
        "sasl.password": "secret",
    }
    assert gateway_before_kafka({"topics": "t:4"}) is None
    assert choices(RunOptions(upstream="h:9093"), {}).coordinator == ("--set", "gateway.upstream=h:9093")
