"""The cluster's writer holds what it writes to the row rules, as far as that costs a hundredth."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.config import JobConfig
from jobs.home import Home
from jobs.stream.sampled_check import SampledCheck
from jobs.stream.writers.cluster_writer import ClusterWriter
from schemas.effect_rows import row_of, texts_of
from schemas.effects import GroupCreated, StateChanged
from tests.streaming.live import read_rows
from tests.written_effects import effect

T = 1_700_000_000_000


def batch(spark: SparkSession) -> DataFrame:
    """A group that is created Empty, and comes out of another state in the same moment."""
    created = GroupCreated(at_ms=T)
    moved = effect(StateChanged, T, from_state="Stable", to_state="Empty")
    (text,) = texts_of("orders", [row_of(created, 1), row_of(moved, 2)])
    return spark.createDataFrame([(text,)], "effects string")


@pytest.mark.parametrize(("costs_s", "rules"), [(0.0, {"states_follow_kafka"}), (1e9, set())])
def test_facts_that_cannot_be_are_written_and_reported_once_a_look_is_saved_up(
    spark: SparkSession, costs_s: float, rules: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(tmp_path)
    writer = ClusterWriter(spark, home, JobConfig(effects_writer="cluster"))
    writer.query_id.set_result("query")
    writer.check = SampledCheck(costs_s)
    done = writer.write(batch(spark), 0)
    assert {one.rule for one in done.broken} == rules
    assert ("rollcall: states_follow_kafka: " in capsys.readouterr().err) == bool(rules)
    assert len(read_rows(home.effects)) == 2


def test_after_a_look_its_cost_is_saved_up_again(spark: SparkSession) -> None:
    facts = batch(spark).limit(0)
    ticks = iter([10.0, 13.0])
    check = SampledCheck(costs_s=1.0, clock=lambda: next(ticks))
    facts = facts.selectExpr(
        "'g' group_id", "0L seq", "'reply' effect", "0L at_ms", "0 generation_id", "'' member_id", "'' detail"
    )
    for batch_s in (99.0, 100.0, 299.0):
        check.look(facts, 0, batch_s)
    with pytest.raises(StopIteration):
        check.look(facts, 0, 2.0)
