"""A growing request log in a home: each request and fact once, wherever the program is killed."""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deltalake import DeltaTable
from rich.console import Console

from rollcall.__main__ import main
from rollcall.cli.shadow.command import kept_of
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.heartbeat import beats_of, request_of
from rollcall.coordinator_udfs.protocol.kafka_versions import KafkaVersion
from rollcall.inputs.following.following import Following
from rollcall.inputs.following.request_source import find_kept, new_kept
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.following.group_sessions import CONFIGS_GIVEN
from rollcall.jobs.log_config import shadow_config
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import GroupObservedRequest, HeartbeatRequest, HeartbeatRunRequest, StreamRequest
from rollcall.tables.home import Home, HomeError
from rollcall.tables.job_status import read_status
from tests.shadow.deaths import Deaths, Killed
from tests.shadow.fed import INCIDENTS, Feed, lines_of
from tests.shadow.finished_log import each_heartbeat
from tests.shadow.request_shadow import started
from tests.shadow.ticks import finish
from tests.source_tree import ROOT

LOG = ROOT / "tests" / "captures" / "d-kill" / "requests.log.gz"
LINES = gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)
QUIET = Console(quiet=True)


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


def facts_in(home: Home) -> Counter[tuple[str, ...]]:
    """Every fact, and the answer to every heartbeat of a run; no two have one place."""
    rows = DeltaTable(home.effects).to_pyarrow_table().to_pylist()
    assert len({(row["group_id"], row["at_ms"], row["seq"]) for row in rows}) == len(rows)
    beats = {id(row): [*each_heartbeat(row)] for row in rows}
    return Counter(_fact(one) for row in rows for one in beats[id(row)])


def _fact(row: dict[str, Any]) -> tuple[str, ...]:
    """A heartbeat that was accepted goes by its member, since its run has one id."""
    if (row["effect"], row["api"], row["error_code"]) == ("reply", "Heartbeat", "NONE"):
        return row["group_id"], str(row["at_ms"]), row["member_id"]
    return row["group_id"], str(row["at_ms"]), row["effect"], str(row["detail"])


def facts_of(feed: Feed) -> Counter[tuple[str, ...]]:
    """The same of an import that was never stopped."""
    given = [(group_id, row_of(effect, 0)) for group_id, effects in feed.effects.items() for effect in effects]
    found = Counter(_fact({**msgspec.structs.asdict(row), "group_id": group_id}) for group_id, row in given)
    return found + Counter((group_id, str(at_ms), member_id) for group_id, at_ms, member_id in feed.beats)


def started_at_last(home: Home, path: Path) -> Following:
    """A program that may be killed while it starts, too."""
    while True:
        with suppress(Killed):
            return started(home, path)


def pieces_of(lines: list[bytes], size: int) -> list[bytes]:
    return [b"".join(lines[at : at + size]) for at in range(0, len(lines), size)]


@pytest.mark.parametrize("every", [2, 5, 7])
def test_each_request_and_fact_is_in_its_table_once_wherever_the_program_is_killed(
    every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rollcall.tables.appending.write_deltalake", Deaths(every))
    bad = b"[2026-11-21 05:38:30,000] DEBUG Completed request:{cut\n"
    pieces = [piece + bad for piece in pieces_of(LINES, 10)]
    path, home, deaths = tmp_path / LOG.name.removesuffix(".gz"), Home(tmp_path / "home"), 0
    path.touch()
    following = started(home, path)
    for piece in [*pieces, *[b""] * 40]:
        with path.open("ab") as file:
            file.write(piece)
        try:
            following.step()
        except Killed:
            deaths += 1
            following = started_at_last(home, path)
    assert deaths >= 3
    monkeypatch.undo()
    finish(following)
    plain = [line._replace(file=path.name) for line in lines_with(bad)]
    ours = Feed(shadow_config({}).group, 1).feed(plain).end()
    assert reported(requests_in(home)) == reported(row.request for row in ours.rows)
    assert facts_in(home) == facts_of(ours)
    quarantined = DeltaTable(home.quarantine).to_pyarrow_table().to_pylist()
    assert len(quarantined) == len({row["source"] for row in quarantined}) == len(pieces)


def test_requests_whose_facts_are_committed_are_written_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is killed between the two commits, each time."""
    path, home = tmp_path / LOG.name.removesuffix(".gz"), Home(tmp_path / "home")
    path.touch()

    def die(*_: object, **__: object) -> None:
        raise Killed

    deaths = 0
    for piece in [*pieces_of(LINES, 40), b""]:
        with path.open("ab") as file:
            file.write(piece)
        following = started(home, path)
        with monkeypatch.context() as patched:
            patched.setattr("rollcall.inputs.following.request_source.append_once", die)
            try:
                for _ in range(4):
                    following.step()
            except Killed:
                deaths += 1
    assert deaths >= 3
    finish(started(home, path))
    ours = Feed(shadow_config({}).group, 1).feed(line._replace(file=path.name) for line in lines_of(LOG)).end()
    assert reported(requests_in(home)) == reported(row.request for row in ours.rows)
    assert facts_in(home) == facts_of(ours)


def test_a_log_that_is_rotated_is_followed_to_its_end_and_in_the_next_file(tmp_path: Path) -> None:
    path, home = tmp_path / "requests.log", Home(tmp_path / "home")
    path.write_bytes(b"".join(LINES[:200]))
    following = started(home, path)
    following.step()
    with path.open("ab") as file:
        file.write(b"".join(LINES[200:240]))
    path.rename(tmp_path / "requests.log.2026-11-21-05")
    path.write_bytes(b"".join(LINES[240:]))
    for _ in range(5):
        following.step()
    finish(following)
    assert following.source.counts == "485 lines read, 463 used, 0 in quarantine"
    plain = [line._replace(file=path.name) for line in lines_of(LOG)]
    assert facts_in(home) == facts_of(Feed(GroupConfig(), 1).feed(plain).end())
    status = read_status(home.path)
    assert status is not None
    assert status.effects == DeltaTable(home.effects).to_pyarrow_table().num_rows


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
    home, path = Home(tmp_path / "home"), tmp_path / log.name
    path.touch()
    said = list[str]()
    following = started(home, path, {"group.min.session.timeout.ms": "6000"}, said.append)
    for place, piece in enumerate(pieces_of(gzip.decompress(log.read_bytes()).splitlines(keepends=True), 5)):
        with path.open("ab") as file:
            file.write(piece)
        following.step()
        if place % 3 == 0:
            following = started(home, path, say=said.append)
    finish(following)
    assert said[-1] == (
        "rollcall: the broker has group.initial.rebalance.delay.ms=1000 group.max.size=3 "
        "group.min.session.timeout.ms=6000, as the log shows."
    )
    known = Feed(GroupConfig(group_max_size=3, group_initial_rebalance_delay_ms=1000), 1).feed(lines_of(log)).end()
    assert reported(requests_in(home)) == reported(row.request for row in known.rows)
    assert facts_in(home) == facts_of(known)


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
    path.write_bytes(b"")
    started(home, path, {"groups.orders.consumer.session.timeout.ms": "8000"}).step()
    following = started(home, path)
    lines = gzip.decompress(next(one for one in INCIDENTS if one.name == "sessions.log.gz").read_bytes()).splitlines(
        keepends=True
    )
    path.write_bytes(b"".join(line for line in lines if b"_CONFIGS" not in line))
    while following.step():
        pass
    finish(following)
    set_for = {
        request.why: request.configs
        for request in requests_in(home)
        if isinstance(request, GroupObservedRequest) and request.group_id == "orders" and request.configs
    }
    assert set_for[CONFIGS_GIVEN] == {"consumer.session.timeout.ms": "8000"}


def test_the_log_is_reported_to_its_end_once_it_stands_still(tmp_path: Path) -> None:
    home, path = Home(tmp_path / "home"), tmp_path / "requests.log"
    path.write_bytes(b"".join(LINES))
    following = started(home, path)
    finish(following)
    assert following.source.counts == "485 lines read, 463 used, 0 in quarantine"
    assert sum(map(len, reported(requests_in(home)).values())) == 463
    status = read_status(home.path)
    assert status is not None
    assert [file.name for file in (home.path / "shadow").iterdir()] == [f"{status.batch_id:012d}.state"]


def test_a_home_whose_state_is_gone_or_broken_is_refused(tmp_path: Path) -> None:
    home, path = Home(tmp_path / "home"), tmp_path / "requests.log"
    path.write_bytes(b"".join(LINES))
    finish(started(home, path))
    [state] = (home.path / "shadow").iterdir()
    state.write_bytes(b"nonsense")
    with pytest.raises(HomeError, match="cannot be read"):
        find_kept(home)
    state.unlink()
    with pytest.raises(HomeError, match="is missing"):
        find_kept(home)


def test_a_home_follows_one_log_with_the_settings_it_began_with(tmp_path: Path) -> None:
    home, path = Home(tmp_path / "home"), tmp_path / "requests.log"
    path.write_bytes(b"".join(LINES))
    finish(started(home, path, {"group.max.size": "7"}))
    assert kept_of(home, find_kept(home), str(path), "UTC", {"group.max.size": "7"}, QUIET).position.number == 485
    with pytest.raises(HomeError, match=r"group\.max\.size=7, not 8"):
        kept_of(home, find_kept(home), str(path), "UTC", {"group.max.size": "8"}, QUIET)
    with pytest.raises(HomeError, match="follows the log "):
        kept_of(home, find_kept(home), str(tmp_path / "other.log"), "UTC", {}, QUIET)
    with pytest.raises(HomeError, match="the zone UTC"):
        kept_of(home, find_kept(home), str(path), "Asia/Kolkata", {}, QUIET)


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
