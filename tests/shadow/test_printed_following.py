"""A broker's server.log is followed into a home: each effect once, wherever the program is killed."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path

import pytest
from deltalake import DeltaTable

from rollcall.__main__ import main
from rollcall.cli.check import broken_rules
from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.reading import read_files
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import Effect
from rollcall.tables.home import Home
from rollcall.tables.job_status import read_status
from tests.shadow.deaths import Deaths, Killed
from tests.shadow.printed_shadow import UTC, started
from tests.shadow.shadow_program import Shadow
from tests.shadow.ticks import finish
from tests.source_tree import ROOT
from tests.waiting import until

LOG = ROOT / "tests" / "printed" / "brokers" / "d-kill.log.gz"
LINES = gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)
Row = tuple[int, str, int | None, str | None]
"""seq, effect, at_ms and detail."""


def written(home: Home) -> dict[str, list[Row]]:
    found = defaultdict(list)
    for row in DeltaTable(home.effects).to_pyarrow_table().to_pylist():
        found[row["group_id"]].append((row["seq"], row["effect"], row["at_ms"], row["detail"]))
    return {group_id: sorted(rows) for group_id, rows in found.items()}


def expected(path: Path) -> dict[str, list[Row]]:
    """What the whole log gives."""
    groups = groups_in(read_files([str(path)], UTC)[0].facts, read_until_ms=2**50)
    return {group.group_id: [_row(effect, seq) for seq, effect in enumerate(effects_of(group), 1)] for group in groups}


def _row(effect: Effect, seq: int) -> Row:
    row = row_of(effect, seq)
    return seq, row.effect, row.at_ms, row.detail


@pytest.mark.parametrize("every", [2, 3, 4])
def test_each_effect_is_in_the_home_once_wherever_the_program_is_killed(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollcall.tables.appending.write_deltalake", Deaths(every))
    path, home, deaths = tmp_path / "server.log", Home(tmp_path / "home"), 0
    path.touch()
    following = started(home, path, step_s=1.5)
    for at in range(0, len(LINES), 3):
        with path.open("ab") as file:
            file.write(b"".join(LINES[at : at + 3]))
        try:
            following.step()
        except Killed:
            deaths += 1
            following = started(home, path, step_s=1.5)
    assert deaths >= 1
    monkeypatch.undo()
    finish(following)
    assert written(home) == expected(LOG)


def test_a_log_that_is_rotated_is_followed_to_its_end_and_in_the_next_file(tmp_path: Path) -> None:
    path, home = tmp_path / "server.log", Home(tmp_path / "home")
    path.write_bytes(b"".join(LINES[:30]))
    following = started(home, path)
    following.step()
    with path.open("ab") as file:
        file.write(b"".join(LINES[30:40]))
    path.rename(tmp_path / "server.log.2026-11-21-05")
    path.write_bytes(b"".join(LINES[40:]))
    for _ in range(5):
        following.step()
    finish(following)
    assert written(home) == expected(LOG)


def test_a_log_whose_lines_begin_otherwise_than_a_brokers_own_file_is_followed_too(tmp_path: Path) -> None:
    """As Strimzi's images print, with other lines all the time."""
    path, home = tmp_path / "server.log", Home(tmp_path / "home")
    path.touch()
    following = started(home, path, step_s=2.0)
    for line in (line.decode().replace("[", "", 1).replace("]", "", 1) for line in LINES):
        with path.open("a") as file:
            file.write(line)
        following.step()
    for _ in range(20):
        with path.open("a") as file:
            file.write("2026-11-21 05:45:00,000 INFO Rolled new log segment (kafka.log.UnifiedLog)\n")
        following.step()
    following.finish()
    assert {group_id: len(rows) for group_id, rows in written(home).items()} == {
        group_id: len(rows) for group_id, rows in expected(LOG).items()
    }


@pytest.mark.parametrize("mark", ["[", ""])
def test_files_that_were_rotated_while_nobody_followed_are_read_oldest_first(mark: str, tmp_path: Path) -> None:
    """mark: with what each line begins; a container's runtime rotates lines that begin otherwise than Kafka's own."""
    path, home = tmp_path / "0.log", Home(tmp_path / "home")
    lines = [line.replace(b"[", mark.encode(), 1) for line in LINES]
    path.write_bytes(b"".join(lines[:20]))
    following = started(home, path)
    following.step()
    following.finish()
    path.rename(tmp_path / "0.log.20261121-053900")
    (tmp_path / "0.log.20261121-053930").write_bytes(b"".join(lines[20:40]))
    path.write_bytes(b"".join(lines[40:]))
    following = started(home, path)
    for _ in range(5):
        following.step()
    finish(following)
    assert following.source.counts.startswith(f"{len(LINES)} lines read")


def test_lines_out_of_an_id_are_in_quarantine_once_and_in_no_history(tmp_path: Path) -> None:
    path, home = tmp_path / "server.log", Home(tmp_path / "home")
    evil = (
        b"[2026-11-21 05:39:50,000] INFO [GroupCoordinator id=1] Dynamic member with unknown member id joins group g "
        b"in Empty state. Created a new member id a\n[2026-11-21 05:39:50,000] INFO [GroupCoordinator id=1] Stabilized "
        b"group payroll generation 77 with 9 members. (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
        b"-1 and requesting the member to rejoin with this id. "
        b"(org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
    )
    path.write_bytes(b"".join([*LINES, evil]))
    finish(started(home, path))
    finish(started(home, path))
    unfit = DeltaTable(home.quarantine).to_pyarrow_table().to_pylist()
    assert [row["source"] for row in unfit if "payroll" in row["raw"]] == [f"{path} line {len(LINES) + 2}"]
    assert "payroll" not in written(home)


def test_what_is_written_is_counted(tmp_path: Path) -> None:
    path, home = tmp_path / "server.log", Home(tmp_path / "home")
    path.write_bytes(b"".join(LINES))
    following = started(home, path)
    finish(following)
    status = read_status(home.path)
    assert status is not None
    assert status.state == "running"
    assert status.effects == sum(map(len, written(home).values()))
    assert following.source.counts == f"{len(LINES)} lines read, {len(LINES)} about groups, 0 in quarantine"


@pytest.mark.parametrize("name", ["n-classic-mixed", "o-consumer-protocol"])
def test_no_line_of_a_real_broker_breaks_a_row_rule(name: str, tmp_path: Path) -> None:
    path, home = tmp_path / "server.log", Home(tmp_path / "home")
    path.write_bytes(gzip.decompress((LOG.parent / f"{name}.log.gz").read_bytes()))
    following = started(home, path)
    finish(following)
    assert list(broken_rules(home)) == []
    assert written(home).keys() == expected(path).keys()


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["shadow", *words]) == 2
    return capsys.readouterr().err


def test_what_does_not_go_with_a_brokers_own_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, home = tmp_path / "server.log", str(tmp_path / "home")
    log.write_bytes(b"".join(LINES))
    delay = ("--set", "group.initial.rebalance.delay.ms=0", "--home", home)
    assert "--set is said of a request log" in asked(capsys, str(log), *delay)
    session = ("--set", "groups.g.consumer.session.timeout.ms=9000", "--home", home)
    assert "--set is said of a request log" in asked(capsys, str(log), *session)
    assert "--set of a broker is said of a request log" in asked(capsys, str(log), "kafka://127.0.0.1:1", *delay)
    other = tmp_path / "other.log"
    other.write_bytes(b"".join(LINES))
    finish(started(Home(home), log))
    Home(home).check_kind("shadow of a broker's log", "driver")
    assert f"follows the log {log}, not {other}" in asked(capsys, str(other), "--home", home)


class PrintedShadow(Shadow):
    """The program on what a broker prints: it is known by its first lines."""

    def __init__(self, folder: Path) -> None:
        (folder / "requests.log").write_bytes(b"".join(LINES[:5]))
        super().__init__(folder)


def test_the_program_follows_a_log_without_a_jvm_and_goes_on_after_a_kill(tmp_path: Path) -> None:
    shadow = PrintedShadow(tmp_path)
    try:
        shadow.write(LINES[5:30])
        shadow.await_effects(lambda count: count > 0, "effects of a log that grows")
        shadow.kill()
        shadow.write(LINES[30:])
        shadow.start_again()
        whole = expected(LOG)
        until(lambda: written(shadow.home) == whole or None, "all effects, each once", 60.0)
        said = shadow.stop()
    finally:
        shadow.end()
    assert ": session expired, by" in said
    assert "starting Spark" not in said
