"""Logs with lines that no broker writes: each goes to quarantine for a reason that is counted, and none takes long.

Knows the layout of a line and both importers.
"""

from __future__ import annotations

import gzip
import json
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.following import group_model
from rollcall.inputs.request_log.lines.clock import zone_of
from rollcall.inputs.request_log.lines.files import LINE_MAX_BYTES, files_in_order, lines_in_order, read_lines
from rollcall.inputs.request_log.lines.line import Kind, LineReader, Unreadable
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from tests import requests
from tests.request_log.broker import START_MS, Broker, line, logged
from tests.request_log.fleet import MemberOf
from tests.request_log.imported import Imported, imported
from tests.shadow.fed import Feed, lines_of

MINUTE_MS = 60_000
HUGE = 2**63


def heartbeat(at_ms: float = START_MS, **times: Any) -> str:
    return logged(at_ms, "Heartbeat", requests.heartbeat("m", 1, 0, "g", api_version=4), HeartbeatResponse(), **times)


def commit(partition: Any = 0, offset: Any = 1) -> str:
    request = requests.commit("", -1, {("t", partition): offset}, group="g", api_version=8)
    answer = OffsetCommitResponseTopic(name="t", partitions=[OffsetCommitResponsePartition(partition_index=0)])
    return logged(START_MS, "OffsetCommit", request, OffsetCommitResponse(topics=[answer]))


def fetch(answered: str) -> str:
    """An OffsetFetch for group g whose answer is about a group, which may be another one."""
    asked = {"group_id": "g", "topics": None}
    answer = {"group_id": answered, "topics": [], "error_code": 0}
    request = {"groups": [asked], "require_stable": False}
    return line(START_MS, "OffsetFetch", 8, request, {"throttle_time_ms": 0, "groups": [answer]})


def joined(client_id: str = "c", answered: str = "m") -> str:
    """A JoinGroup without a member id, and the id that it was given."""
    request = requests.join(client_id, 0, "g", api_version=0, protocols={"range": b""})
    answer = JoinGroupResponse(error_code=Error.MEMBER_ID_REQUIRED, protocol_name="", member_id=answered)
    return logged(START_MS, "JoinGroup", request, answer)


def replaced(text: str, field: str, value: str) -> str:
    """A line with another value of one field, as it stands in JSON."""
    found = re.sub(rf'("{field}":)("[^"]*"|[^,}}]+)', lambda match: match[1] + value, text)
    assert found != text
    return found


def deep(levels: int) -> str:
    return replaced(heartbeat(), "isForwarded", "[" * levels + "]" * levels)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (heartbeat(queue_ms=-1e10), Kind.TIME),
        (heartbeat(queue_ms=1e10), Kind.TIME),
        (heartbeat(queue_ms=5.0, total_ms=1.0), Kind.TIME),
        (replaced(heartbeat(), "totalTimeMs", "1e999"), Kind.TIME),
        (replaced(heartbeat(), "totalTimeMs", "-0.5"), Kind.TIME),
        (replaced(heartbeat(), "remoteTimeMs", "1e300"), Kind.TIME),
        (replaced(heartbeat(), "totalTimeMs", "NaN"), Kind.NO_JSON),
        (replaced(heartbeat(), "generationId", str(2**31)), Kind.FIELD),
        (replaced(heartbeat(), "generationId", str(-(10**400))), Kind.FIELD),
        (replaced(heartbeat(), "errorCode", str(HUGE)), Kind.FIELD),
        (replaced(heartbeat(), "correlationId", str(HUGE)), Kind.FIELD),
        (replaced(heartbeat(), "connection", json.dumps("c" * 5000)), Kind.FIELD),
        (commit(partition=2**31), Kind.FIELD),
        (commit(offset=HUGE), Kind.FIELD),
        (deep(2_000), Kind.NESTED),
        (deep(200_000), Kind.NESTED),
        (heartbeat()[:300], Kind.CUT_OFF),
        (heartbeat()[:24] + "x" * (LINE_MAX_BYTES + 1), Kind.TOO_LONG),
        (fetch("another"), Kind.ANSWER),
        (replaced(heartbeat(), "memberId", json.dumps("m" * 32_768)), Kind.FIELD),
        (replaced(heartbeat(), "clientId", json.dumps("é" * 16_384, ensure_ascii=False)), Kind.FIELD),
        (replaced(commit(), "name", json.dumps("t" * 40_000)), Kind.FIELD),
        (replaced(joined(), "generationId", str(HUGE)), Kind.FIELD),
        (joined(client_id="c" * 32_731), Kind.FIELD),
        (joined(answered="m" * 32_768), Kind.FIELD),
    ],
    ids=lambda value: value.name if isinstance(value, Kind) else "line",
)
def test_a_line_that_no_broker_writes_goes_to_quarantine_and_stops_nothing(
    text: str, kind: Kind, tmp_path: Path
) -> None:
    found, live = both([heartbeat(START_MS - 1000), text, heartbeat(START_MS + 1000)], tmp_path)
    for tally in (found.tally, live.live.tally):
        assert (dict(tally.quarantined), tally.used) == ({str(kind): 1}, 2)
        assert tally.examples[kind].startswith("requests.log line 2: ")
        assert len(tally.examples[kind]) < 500


def lines_of_text(text: str, folder: Path) -> list[Any]:
    path = folder / "one.log"
    path.write_text(f"{text}\n")
    return list(lines_in_order(files_in_order(path, zone_of("UTC")), zone_of("UTC")))


def both(texts: list[str], folder: Path) -> tuple[Imported, Feed]:
    """A log through the importer of finished logs, and through that of growing ones."""
    path = folder / "requests.log"
    path.write_text("".join(f"{text}\n" for text in texts))
    found = imported(path)
    return found, Feed(GroupConfig()).feed(lines_of(path)).end()


def test_reasons_are_counted_by_kind_however_the_lines_differ(tmp_path: Path) -> None:
    bad = [replaced(heartbeat(), "generationId", str(2**31 + n)) for n in range(300)]
    other = replaced(heartbeat(), "requestApiKey", "1000")
    names = [f"API_{chr(65 + n % 26)}{'Z' * (n // 26)}" for n in range(1000)]
    others = [replaced(other, "requestApiKeyName", json.dumps(name)) for name in names]
    found, live = both([*bad, *others], tmp_path)
    for tally in (found.tally, live.live.tally):
        assert dict(tally.quarantined) == {str(Kind.FIELD): 300}
        assert "2147483648" not in " ".join(tally.quarantined)
        assert len(tally.skipped) <= 201
        assert tally.read == tally.used + tally.skipped.total() + tally.quarantined.total()


# ---------------------------------------------------------------- times


def fleet(broker: Broker) -> None:
    for n in range(3):
        broker.at(START_MS + 300 * n, MemberOf(broker, "g", f"client-{n}").start)


def a_minute_of(script: Callable[[Broker], None]) -> list[str]:
    broker = Broker()
    script(broker)
    broker.run(START_MS + MINUTE_MS)
    return broker.log()


def test_a_single_timestamp_far_ahead_is_not_believed(tmp_path: Path) -> None:
    """Its line stands at the time of the line above it; else every session would have ended by then."""
    texts = a_minute_of(fleet)
    whole, _ = both(texts, tmp_path)
    place = len(texts) // 2
    texts[place] = texts[place].replace("[2026-", "[2096-", 1)
    for found in (imported(tmp_path / "requests.log"), both(texts, tmp_path)[0]):
        assert found.tally.last_at_ms == whole.tally.last_at_ms
        assert found.rebalances("g") == whole.rebalances("g")
        assert found.parity.share == 1.0


@pytest.mark.parametrize("years", [1, 1000])
def test_a_log_that_goes_on_years_later_costs_what_is_due_in_between(years: int, tmp_path: Path) -> None:
    texts = a_minute_of(fleet)
    place = len(texts) // 2
    later = [text.replace("[2026-", f"[{2026 + years}-", 1) for text in texts[place:]]
    found, live = both([*texts[:place], *later], tmp_path)
    assert (found.tally.given_up, live.live.tally.given_up) == ({}, {})
    assert len(found.rows) < len(texts) + 100
    assert len(live.rows) < len(texts) + 100


def test_a_group_whose_past_costs_too_much_is_given_up_and_the_others_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Static members die, and their join phase is prolonged by 100 ms each until their sessions end, half an

    hour later: what is due is too much. The budget is small here, so that the test is short.
    """
    monkeypatch.setattr(group_model, "MOST_WORK", 50_000)

    def script(broker: Broker) -> None:
        fleet(broker)
        pods = [
            MemberOf(broker, "stuck", f"pod-{n}", instance_id=f"pod-{n}", session_ms=1_800_000, rebalance_ms=100)
            for n in range(2)
        ]
        other = MemberOf(broker, "stuck", "other", rebalance_ms=100)
        for member in (other, *pods):
            broker.at(START_MS, member.start)
        for pod in pods:
            broker.at(START_MS + 20_000, pod.kill)
        broker.at(START_MS + 20_500, other.close)

    texts = a_minute_of(script)
    asked_for_id = next(text for text in texts if '"clientId":"other"' in text and '"errorCode":79' in text)
    found, live = both([*texts, "[2026-03-01 10:29:00,000" + asked_for_id[24:]], tmp_path)
    for tally in (found.tally, live.live.tally):
        assert set(tally.given_up) == {"stuck"}
        assert tally.given_up["stuck"].request_id.startswith("requests.log:")
        assert tally.given_up["stuck"].left_out >= 1
    assert [row.group_id for row in found.rows].count("g") > 100
    tally = live.live.tally
    live.go_on(GroupConfig())
    assert live.live.tally == tally


# ---------------------------------------------------------------- lengths


def test_a_compressed_file_of_one_endless_line_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.log.gz"
    with gzip.open(path, "wb", compresslevel=1) as packed:
        packed.write(f"{heartbeat()}\n".encode())
        packed.write(heartbeat()[:200].encode())
        for _ in range(200):
            packed.write(b"0" * (1 << 20))
        packed.write(f"\n{heartbeat(START_MS + 1000)}\n".encode())
    tracemalloc.start()
    try:
        found = [(each.number, len(each.text) > LINE_MAX_BYTES) for each in read_lines(path, "bomb", zone_of("UTC"))]
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == [(1, False), (2, True), (3, False)]
    assert most < 6 * LINE_MAX_BYTES
    assert path.stat().st_size < LINE_MAX_BYTES
    assert imported(path).tally.quarantined == {str(Kind.TOO_LONG): 1}


def test_a_year_before_the_epoch_is_no_timestamp(tmp_path: Path) -> None:
    text = heartbeat().replace("[2026-", "[0001-", 1)
    (only,) = lines_of_text(text, tmp_path)
    assert only.at_ms is None
    with pytest.raises(Unreadable) as raised:
        LineReader().read(only)
    assert raised.value.kind is Kind.NO_TIMESTAMP
