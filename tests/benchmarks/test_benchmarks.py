"""`python -m benchmarks`: which benches a name means, what a figure says, and how a run ends."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

import benchmarks.__main__ as command
from benchmarks.figures import Anchor, BenchFunction, Figure, at_least, at_most, bench, quantiles
from benchmarks.kept import Measured, keep, page_of, read_kept, this_machine
from benchmarks.live_group import ConsumerMember, LiveGroup, Member
from benchmarks.long_history import write_history
from benchmarks.processes import family_bytes, run, started
from rollcall.schemas.tables import EFFECTS
from rollcall.serve.listeners.addresses import Address
from tests.gateway.process import serving


def test_a_goal_holds_on_its_own_side_and_at_its_bound() -> None:
    assert [Figure("f", value, "ms", at_most(50)).holds for value in (49.9, 50, 50.1)] == [True, True, False]
    assert [Figure("f", value, "1/s", at_least(500_000)).holds for value in (499_999, 500_000)] == [False, True]
    assert Figure("f", 1, "bytes").holds is None
    assert [str(goal) for goal in (at_most(50), at_least(500_000), at_most(0.5))] == ["<= 50", ">= 500000", "<= 0.5"]


BENCHES_OF_CORE = ("heartbeats_per_second", "mass_expiry", "memory", "rebalance")


def test_benches_are_found_by_the_name_of_their_layer_and_only_that_layer_is_imported() -> None:
    sys.modules.pop("benchmarks.bench_history", None)
    assert {"core", "live", "replay"} <= set(command.layers())
    assert set(command.benches(["core"])) == {f"core.{name}" for name in BENCHES_OF_CORE}
    assert "benchmarks.bench_history" not in sys.modules


def test_a_name_is_a_layer_a_bench_or_the_beginning_of_one_and_no_name_is_all() -> None:
    assert set(command.benches(["core.mem"])) == {"core.memory"}
    assert set(command.benches(["core.memory", "floods"])) > {"core.memory"}
    assert set(command.benches([])) > {"core.memory", "core.rebalance"}


def test_a_name_that_is_no_benchs_ends_with_status_2_and_the_names_of_the_layers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("nonsense", "core.nonsense"):
        assert command.main([name]) == 2
        reported = f"rollcall: {name}: is not a bench; the layers are batch, core, explain, floods, history, "
        assert capsys.readouterr().err.startswith(reported)


def test_json_is_one_object_a_line_with_name_value_unit_goal_and_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--format", "json", "core.memory"]) == 0
    (figure,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert list(figure) == ["name", "value", "unit", "goal", "holds"]
    assert (figure["name"], figure["unit"], figure["goal"], figure["holds"]) == (
        "core.memory_per_member",
        "bytes",
        None,
        None,
    )


@pytest.fixture
def three_benches(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that misses its goal, one that fails, one that gives two figures."""

    @bench
    def missed() -> Figure:
        return Figure("missed", 3, "ms", at_most(2))

    @bench
    def fails() -> Figure:
        raise RuntimeError("no group is here")

    @bench
    def two() -> Iterator[Figure]:
        yield Figure("first", 1234.5, "1/s", at_least(1000))
        yield Figure("second", 0.5, "ratio")

    found: dict[str, BenchFunction] = {"x.missed": missed, "x.fails": fails, "x.two": two}
    monkeypatch.setattr(command, "benches", lambda names: found)


@pytest.mark.usefixtures("three_benches")
def test_a_bench_that_fails_is_named_the_others_are_still_measured_and_the_status_is_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["--format", "json"]) == 1
    shown = capsys.readouterr()
    figures = [json.loads(line) for line in shown.out.splitlines()]
    assert [(f["name"], f["holds"]) for f in figures] == [("x.missed", False), ("x.first", True), ("x.second", None)]
    assert "x.fails: RuntimeError: no group is here" in shown.err


@pytest.mark.usefixtures("three_benches")
def test_the_table_shows_every_figure_and_whether_its_goal_holds(capsys: pytest.CaptureFixture[str]) -> None:
    command.main([])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[1:] == [
        ["x.missed", "3", "ms", "<=", "2", "missed"],
        ["x.first", "1,234", "1/s", ">=", "1000", "holds"],
        ["x.second", "0.5", "ratio"],
    ]


MACHINE = "2026-11-22: A Processor, 2 cores, 23 GB, Linux 6.1, Python 3.11.7; load average 1.2"
RATE = Measured("core.beats", Figure("core.rate", 612_345, "1/s", at_least(500_000)), MACHINE)
BEAT = Figure("live.heartbeat_p50", 2.5, "ms", at_most(2), Anchor(0.43, "a real Kafka"))
LIVE = [Measured("live.waits", BEAT, MACHINE), Measured("live.forms", Figure("live.stable", 1.1, "s"), MACHINE)]


def rows_of(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith(("##", "| "))]


WRITTEN = """# Performance

What this is.

## Live

Why it is slow.

| figure | of before |

Measured on another day.

## Gone

It is no layer any more.
"""


def test_the_page_keeps_what_people_wrote_and_has_every_figure_with_its_goal_its_anchor_and_the_machine() -> None:
    page = page_of(WRITTEN, [RATE, *LIVE])
    assert (
        page
        == f"""# Performance

What this is.

## Core

| figure | value | goal | holds | beside |
|---|---|---|---|---|
| rate | 612,345 1/s | >= 500000 | yes |  |

Measured on {MACHINE}.

## Live

Why it is slow.

| figure | value | goal | holds | beside |
|---|---|---|---|---|
| heartbeat_p50 | 2.5 ms | <= 2 | **no** | 0.43 ms: a real Kafka |
| stable | 1.1 s |  |  |  |

Measured on {MACHINE}.
"""
    )
    assert page_of(page, [RATE, *LIVE]) == page


def test_a_bench_measured_anew_takes_its_own_place_and_the_page_says_when_each_layer_was(tmp_path: Path) -> None:
    kept, later = tmp_path / "figures.jsonl", MACHINE.replace("2026-11-22", "2026-11-23")
    keep(kept, [*LIVE, RATE])
    assert read_kept(kept) == [RATE, *LIVE]
    anew = Measured("live.waits", Figure("live.heartbeat_p50", 1.5, "ms", at_most(2)), later)
    keep(kept, [anew])
    assert read_kept(kept) == [RATE, LIVE[1], anew]
    page = page_of("# Performance\n", read_kept(kept))
    assert "| heartbeat_p50 | 1.5 ms | <= 2 | yes |  |" in page.splitlines()
    assert (page.count("Measured on 2026-11-22"), page.count("Measured on 2026-11-23")) == (2, 1)


@pytest.mark.usefixtures("three_benches")
def test_what_is_measured_is_kept_beside_what_was_kept_before_but_nothing_of_a_bench_that_fails(tmp_path: Path) -> None:
    kept = tmp_path / "figures.jsonl"
    keep(kept, [RATE])
    assert command.main(["--keep", str(kept)]) == 1
    assert [each.bench for each in read_kept(kept)] == ["core.beats", "x.missed", "x.two", "x.two"]


@pytest.mark.parametrize(("protocol", "partitions"), [(Member, 0), (ConsumerMember, 6)])
def test_members_of_either_protocol_settle_and_are_answered(protocol: type[Member], partitions: int) -> None:
    async def settled(address: Address) -> LiveGroup:
        group = LiveGroup(address, "g", 3, protocol, "t", partitions)
        await group.form()
        await group.come_to_rest()
        assert await group.beat_for(0.1)
        assert await group.commit_for(0.1)
        await group.leave()
        return group

    with serving({"topics": "t:6", "group.initial.rebalance.delay.ms": 0}) as address:
        members = asyncio.run(settled(address)).members
    assert len({member.member_id for member in members}) == 3
    assert len({member.generation_id for member in members}) == 1
    owned = [part for member in members if isinstance(member, ConsumerMember) for part in member.owned]
    assert len(owned) == len(set(owned)) == partitions


def test_a_long_history_has_every_effect_of_every_group_at_a_time_of_its_own(tmp_path: Path) -> None:
    count = write_history(tmp_path, 600, group_count=3, members=2, days=2)
    facts = DeltaTable(tmp_path / EFFECTS.name).to_pyarrow_table(columns=["group_id", "at_date", "request_id"])
    assert facts.num_rows == count >= 600
    assert [len(facts[name].unique()) for name in ("group_id", "at_date")] == [3, 2]


def test_the_middle_and_the_slow_end_are_found_of_times_in_any_order() -> None:
    found = quantiles("beat", [second / 1000 for second in range(200, 0, -1)], at_most(101))
    assert [(each.name, round(each.value, 6), each.holds) for each in found] == [
        ("beat_p50", 101, True),
        ("beat_p99", 199, None),
    ]


def test_a_command_that_fails_and_a_process_that_never_says_it_are_no_figures() -> None:
    with pytest.raises(AssertionError, match="exit status 2"):
        run("nonsense", memory=family_bytes)
    with pytest.raises(RuntimeError, match="ended before it said 'ready'"), started("nonsense", says="ready"):
        pass


def test_this_machine_is_described() -> None:
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d: .+, [1-9]\d* cores, [1-9]\d* GB, \S+ \S+, Python 3\.\S+; load average [\d.]+", this_machine()
    )
