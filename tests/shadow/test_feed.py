"""A log into the request table: each request once, wherever the program is killed; a home says what it follows."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from deltalake import DeltaTable
from rich.console import Console

from rollcall.__main__ import main
from rollcall.cli.shadow import kept_of
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.heartbeat_run import beats_of, request_of
from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.following.group_sessions import CONFIGS_GIVEN
from rollcall.inputs.request_log.lines.tail import LogTail
from rollcall.inputs.request_log.live import LiveImport
from rollcall.jobs.log_config import shadow_config
from rollcall.jobs.shadow.feed import ShadowFeed, find_kept, new_kept
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import GroupObservedRequest, HeartbeatRequest, HeartbeatRunRequest, StreamRequest
from rollcall.tables.home import Home, HomeError
from tests.shadow.deaths import Deaths, Killed, clock_of
from tests.shadow.fed import INCIDENTS, Feed, lines_of
from tests.source_tree import ROOT

LOG = ROOT / "tests" / "captures" / "d-kill" / "requests.log.gz"
QUIET = Console(quiet=True)


def feed_on(home: Home, path: Path, settings: dict[str, str] | None = None, step_s: float = 0.3) -> ShadowFeed:
    """A program that starts on a home."""
    kept = find_kept(home) or new_kept(str(path), "UTC", settings or {}, SettingsSeen())
    ticks = clock_of(step_s)
    tail = LogTail(path, ZoneInfo("UTC"), kept.position)
    return ShadowFeed(home, shadow_config(kept.settings), kept, tail, lambda: next(ticks))


def reported(requests: Iterable[StreamRequest]) -> dict[str, list[tuple[str, int]]]:
    """By group each request and when it was; a heartbeat, alone or in a run, by its member and generation."""
    by_group = defaultdict(list)
    for request in requests:
        for one in each_of(request):
            name = f"{one.member_id} in {one.generation_id}" if isinstance(one, HeartbeatRequest) else one.request_id
            by_group[group_id_of(one)].append((name, one.received_at_ms))
    return by_group


def each_of(request: StreamRequest) -> list[StreamRequest]:
    if not isinstance(request, HeartbeatRunRequest):
        return [request]
    return [request_of(request, beat) for beat in beats_of(request)]


def requests_in(home: Home) -> list[StreamRequest]:
    table = DeltaTable(home.requests).to_pyarrow_table().to_pylist()
    table.sort(key=lambda row: (row["received_at_ms"], row["request_seq"]))
    return [msgspec.json.decode(row["request"], type=StreamRequest) for row in table]


@pytest.mark.parametrize("every", [2, 5, 7])
def test_each_request_is_in_the_table_once_wherever_the_program_is_killed(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollcall.tables.appending.write_deltalake", Deaths(every))
    lines = gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)
    bad = b"[2026-11-21 05:38:30,000] DEBUG Completed request:{cut\n"
    pieces = [b"".join([*lines[at : at + 10], bad]) for at in range(0, len(lines), 10)]
    path, home, deaths = tmp_path / LOG.name.removesuffix(".gz"), Home(tmp_path / "home"), 0
    path.touch()
    home.path.mkdir()
    feed = feed_on(home, path)
    for piece in [*pieces, *[b""] * 40]:
        with path.open("ab") as file:
            file.write(piece)
        try:
            feed.step()
        except Killed:
            deaths += 1
            feed = feed_on(home, path)
    assert deaths >= 3
    monkeypatch.undo()
    feed_until_over(feed)
    plain = [line._replace(file=path.name) for line in lines_with(bad)]
    ours = Feed(LiveImport(shadow_config({}).group), 1).feed(plain).end().rows
    assert reported(requests_in(home)) == reported(row.request for row in ours)
    quarantined = DeltaTable(home.quarantine).to_pyarrow_table().to_pylist()
    assert len(quarantined) == len({row["source"] for row in quarantined}) == len(pieces)


def feed_until_over(feed: ShadowFeed) -> None:
    ticks = clock_of(30.0)
    feed._clock = lambda: 10_000 + next(ticks)
    for _ in range(30):
        feed.step()


def lines_with(bad: bytes) -> list[Any]:
    """The capture's lines with a bad one after every tenth, numbered anew."""
    found: list[Any] = []
    lines = lines_of(LOG)
    for place, line in enumerate(lines, 1):
        found.append(line)
        if place % 10 == 0 or place == len(lines):
            found.append(line._replace(text=bad.rstrip(), at_ms=1795239510000))
    return [line._replace(number=number) for number, line in enumerate(found, 1)]


def test_settings_that_the_log_gives_away_on_the_way_are_learnt_before_anything_is_reported_by_them(
    tmp_path: Path,
) -> None:
    """The broker had group.max.size=3 and an initial delay of 1 s, which nobody says; what is given stays as it is."""
    log = next(path for path in INCIDENTS if path.name.startswith("full-group"))
    home, path, learnt = Home(tmp_path / "home"), tmp_path / log.name, []
    home.path.mkdir()
    path.touch()
    feed = feed_on(home, path, {"group.min.session.timeout.ms": "6000"})
    lines = gzip.decompress(log.read_bytes()).splitlines(keepends=True)
    for at in range(0, len(lines), 5):
        with path.open("ab") as file:
            file.write(b"".join(lines[at : at + 5]))
        feed.step()
        if feed.has_learnt:
            learnt.append(feed.learn())
            feed = feed_on(home, path)
    feed_until_over(feed)
    assert learnt[-1] == {
        "group.min.session.timeout.ms": "6000",
        "group.initial.rebalance.delay.ms": "1000",
        "group.max.size": "3",
    }
    known = Feed(LiveImport(GroupConfig(group_max_size=3, group_initial_rebalance_delay_ms=1000)), 1)
    ours = known.feed(lines_of(log)).end().rows
    assert reported(requests_in(home)) == reported(row.request for row in ours)


@pytest.mark.parametrize(
    ("shown", "given", "version"),
    [(None, {}, "4.3"), ("4.4", {}, None), (None, {"kafka.version": "4.4"}, "4.4"), ("4.3", {}, "4.3")],
)
def test_the_clusters_version_counts_where_neither_the_log_nor_the_user_says_one(
    shown: str | None, given: dict[str, str], version: str | None
) -> None:
    seen = SettingsSeen(kafka_version=None if shown is None else KafkaVersion(shown))
    kept = new_kept("kafka-request.log", "UTC", given, seen)
    kept.learn_version(KafkaVersion.V4_3)
    assert kept.settings.get("kafka.version") == version
    kept.learn_version(None)
    assert kept.settings.get("kafka.version") == version


def test_what_a_user_says_is_set_for_a_group_holds_after_a_restart(tmp_path: Path) -> None:
    """The log has no line that says it, and the members are first heard of after the restart."""
    home, path = Home(tmp_path / "home"), tmp_path / "requests.log"
    home.path.mkdir()
    path.write_bytes(b"")
    feed = feed_on(home, path, {"groups.orders.consumer.session.timeout.ms": "8000"})
    feed.step()
    feed = feed_on(home, path)
    lines = gzip.decompress(next(one for one in INCIDENTS if one.name == "sessions.log.gz").read_bytes()).splitlines(
        keepends=True
    )
    path.write_bytes(b"".join(line for line in lines if b"_CONFIGS" not in line))
    while feed.step():
        pass
    feed_until_over(feed)
    set_for = {
        request.why: request.configs
        for request in requests_in(home)
        if isinstance(request, GroupObservedRequest) and request.group_id == "orders" and request.configs
    }
    assert set_for[CONFIGS_GIVEN] == {"consumer.session.timeout.ms": "8000"}


def test_the_log_is_reported_to_its_end_once_it_stands_still(tmp_path: Path) -> None:
    home, path = Home(tmp_path / "home"), tmp_path / "requests.log"
    home.path.mkdir()
    path.write_bytes(gzip.decompress(LOG.read_bytes()))
    feed = feed_on(home, path)
    while feed.step():
        pass
    feed_until_over(feed)
    assert sum(map(len, reported(requests_in(home)).values())) == feed.live.tally.used == 463
    assert [file.name for file in (home.path / "shadow").iterdir()] == [f"{feed.commits:012d}.state"]


def test_a_home_whose_state_is_gone_or_broken_is_refused(tmp_path: Path) -> None:
    home, path = Home(tmp_path / "home"), tmp_path / "requests.log"
    home.path.mkdir()
    path.write_bytes(gzip.decompress(LOG.read_bytes()))
    feed_until_over(feed_on(home, path))
    [state] = (home.path / "shadow").iterdir()
    state.write_bytes(b"nonsense")
    with pytest.raises(HomeError, match="cannot be read"):
        find_kept(home)
    state.unlink()
    with pytest.raises(HomeError, match="is missing"):
        find_kept(home)


def test_a_home_follows_one_log_with_the_settings_it_began_with(tmp_path: Path) -> None:
    home, path = Home(tmp_path / "home"), tmp_path / "requests.log"
    home.path.mkdir()
    path.write_bytes(gzip.decompress(LOG.read_bytes()))
    feed_until_over(feed_on(home, path, {"group.max.size": "7"}))
    assert kept_of(home, str(path), "UTC", {"group.max.size": "7"}, QUIET).position.number == 485
    with pytest.raises(HomeError, match=r"group\.max\.size=7, not 8"):
        kept_of(home, str(path), "UTC", {"group.max.size": "8"}, QUIET)
    with pytest.raises(HomeError, match="LOG="):
        kept_of(home, str(tmp_path / "other.log"), "UTC", {}, QUIET)
    with pytest.raises(HomeError, match="ZONE=UTC"):
        kept_of(home, str(path), "Asia/Kolkata", {}, QUIET)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{tmp}/nothing.log"], "there is no such file"),
        (["{tmp}"], "is a folder"),
        (["kafka://nowhere"], "kafka://nowhere"),
        (["kafka://127.0.0.1:1/lines"], "is not of the form kafka://host:port"),
        (["{log}", "--zone", "Mars/Olympus"], "--zone Mars/Olympus"),
        (["{log}", "--set", "group.max.sice=3"], "group.max.sice"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "requests.log"
    log.write_bytes(b"")
    words = [word.replace("{tmp}", str(tmp_path)).replace("{log}", str(log)) for word in arguments]
    assert main(["shadow", *words, "--home", str(tmp_path / "home")]) == 2
    complaint = capsys.readouterr().err
    assert says in complaint
    assert "Traceback" not in complaint
