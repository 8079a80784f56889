"""The views as of a moment: by the facts up to it, to the millisecond."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rollcall.__main__ import main
from rollcall.cli.sql import register_views
from rollcall.programs.timestamps import MomentError
from tests.views.histories import two_members
from tests.views.story import write_effects
from tests.views.view_rows import rows_of


def test_a_moment_is_exact_to_the_millisecond(tmp_path: Path) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    states = {}
    for at_ms in (999, 1000, 1100, 2999, 3000, 3100, 3200):
        states[at_ms] = [(row.state, row.member_count) for row in rows_of(tmp_path, "groups", at_ms)]
    assert states == {
        999: [],
        1000: [("CompletingRebalance", 1)],
        1100: [("Stable", 1)],
        2999: [("Stable", 1)],
        3000: [("PreparingRebalance", 2)],
        3100: [("CompletingRebalance", 2)],
        3200: [("Stable", 2)],
    }
    assert [(row.cause, row.outcome) for row in rows_of(tmp_path, "rebalances", 3150)] == [
        ("member_joined", "completed"),
        ("member_joined", None),
    ]


def test_a_table_says_as_of_when_it_is_and_what_is_no_moment_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    arguments = ["--home", str(tmp_path), "select count(*) n from members"]
    assert main(["sql", *arguments, "--at", "1970-01-01T05:30:02.500+05:30"]) == 0
    assert capsys.readouterr().out.endswith("1 row, times in UTC\nas it was at 1970-01-01 00:00:02.500 UTC\n")
    assert main(["sql", *arguments, "--at", "noon"]) == 2
    assert capsys.readouterr().err.startswith("rollcall: --at noon: invalid time; ")
    with pytest.raises(MomentError, match=r"^--at noon: invalid time"):
        register_views(spark, tmp_path, at="noon")
