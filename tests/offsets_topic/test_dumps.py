"""What Kafka's own tools wrote of one topic: every format gives the same records, and nothing stops a reader."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.inputs.offsets_topic.dumps import console, dump_log, json_lines, reading
from rollcall.inputs.offsets_topic.dumps.log_record import BadLine, LogRecord, Marker
from rollcall.inputs.offsets_topic.dumps.reading import (
    NO_RECORD,
    OTHER_FILE,
    REPEATED,
    Dump,
    DumpError,
    Transactions,
    format_of,
    is_dump,
)
from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.inputs.offsets_topic.records.shapes import GroupMetadataValue, OffsetCommitKey
from rollcall.schemas.consumer_protocol import decode_assignment, decode_subscription
from rollcall.schemas.effects import CauseFound, RebalanceEnded
from tests.offsets_topic.folded import CAPTURES, decoded, fold, read_dump

FOLDER = Path(__file__).parent / "dumps"
CONSOLE = FOLDER / "console.txt.gz"
DUMP_LOG = FOLDER / "dump-log"
JSON_FORMATTER = FOLDER / "json-formatter.txt"
A_CAPTURE = CAPTURES / "n-classic-mixed" / "offsets-topic.jsonl.gz"


def refuse(line: BadLine) -> None:
    raise AssertionError(line)


def said_by(records: Iterable[LogRecord]) -> dict[tuple[int, int], tuple[object, ...]]:
    """What each record says, its ConsumerProtocol bytes read: dump-log does not keep their version."""
    return {(record.partition, record.offset): _said(record) for record in decoded(records)}


def _said(record: Record) -> tuple[object, ...]:
    value = record.value
    if not isinstance(value, GroupMetadataValue) or value.protocol_type != "consumer":
        return record.key, value
    inside = [
        (decode_subscription(one.subscription).topics, decode_assignment(one.assignment).partitions)
        for one in value.members
    ]
    plain = [(one.member_id, one.client_id, one.session_timeout, one.rebalance_timeout) for one in value.members]
    return record.key, value.generation, value.protocol, value.leader, plain, inside


def test_console_consumer_and_dump_log_tell_the_same_of_one_topic() -> None:
    by_console, by_dump_log = said_by(read_dump(CONSOLE)), said_by(read_dump(DUMP_LOG))
    # The log was dumped after the console consumer had gone, which left a record itself.
    assert len(by_dump_log) == len(by_console) + 1
    assert {place: by_dump_log[place] for place in by_console} == by_console


def test_a_transaction_counts_from_its_commit_and_not_at_all_once_aborted() -> None:
    dump = Dump(sorted(DUMP_LOG.iterdir()), refuse)
    kept = [record for record in decoded(dump) if record.group_id == "exactly-once" and record.type == 1]
    assert [(record.offset, record.timestamp_ms) for record in kept] == [(4, 1795306760900), (8, 1795306761107)]
    assert (dump.transactions.aborted, dump.transactions.unfinished) == (1, 0)


def test_a_file_is_known_by_its_first_lines() -> None:
    formats = {path: form.name for path in (A_CAPTURE, CONSOLE) if (form := format_of(path)) is not None}
    assert formats == {A_CAPTURE: "JSON lines", CONSOLE: "kafka-console-consumer"}
    assert all(map(is_dump, DUMP_LOG.iterdir()))
    assert not is_dump(CAPTURES / "d-kill" / "requests.log.gz")


def test_what_lacks_the_time_of_its_records_is_refused_with_what_to_do() -> None:
    with pytest.raises(DumpError, match=r"leaves out when a record was written.*use the default formatter"):
        list(Dump([JSON_FORMATTER], refuse))


def test_a_path_without_a_dump_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("hello\n")
    with pytest.raises(DumpError, match="holds no record of __consumer_offsets"):
        list(Dump([*tmp_path.iterdir()], refuse))


def test_a_broken_archive_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(A_CAPTURE.read_bytes()[:2000])
    with pytest.raises(DumpError, match=r"cut\.gz: cannot be read"):
        list(Dump([tmp_path / "cut.gz"], refuse))


def test_a_record_that_stands_in_two_files_counts_once(tmp_path: Path) -> None:
    lines = gzip.decompress(A_CAPTURE.read_bytes()).splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines[:60]))
    (tmp_path / "b.jsonl").write_bytes(b"".join(lines[40:]))
    (tmp_path / "notes.txt").write_text("of the same evening\n")
    dump = Dump([*tmp_path.iterdir()], refuse)
    assert list(dump) == read_dump(A_CAPTURE)
    assert dump.skipped == {REPEATED: 20, OTHER_FILE: 1}
    assert dump.lines == len(lines) + 20


def test_a_dump_is_whole_from_the_first_record_on_after_which_no_offset_is_missing(tmp_path: Path) -> None:
    whole = read_dump(A_CAPTURE)
    of_partition = [record for record in whole if record.partition == whole[0].partition]
    path = tmp_path / "dump.jsonl"
    left = [record for record in whole if record not in (of_partition[3], of_partition[5])]
    path.write_bytes(b"".join(json_lines.write_line(record) + b"\n" for record in left))
    dump = Dump([path], refuse)
    assert list(dump) == left
    assert dump.whole_from_ms == {whole[0].partition: of_partition[6].timestamp_ms}


def test_files_are_read_in_the_order_of_their_offsets_whatever_their_names(tmp_path: Path) -> None:
    lines = gzip.decompress(A_CAPTURE.read_bytes()).splitlines(keepends=True)
    (tmp_path / "z.jsonl").write_bytes(b"".join(lines[:60]))
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines[60:]))
    assert list(Dump([*tmp_path.iterdir()], refuse)) == read_dump(A_CAPTURE)


GOOD = b'{"partition":0,"offset":%d,"timestamp_ms":1,"key":"AAA=","value":null}'
"""A record of JSON lines, but for its offset."""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (GOOD % 2**62, "offset: 4611686018427387904 lies outside 0 to 4611686018427387903"),
        (GOOD % -1, "offset: -1 lies outside"),
        (GOOD.replace(b'"partition":0', b'"partition":2147483648') % 5, "partition: 2147483648 lies outside"),
        (
            GOOD.replace(b'"timestamp_ms":1', b'"timestamp_ms":253402300800000') % 5,
            "timestamp_ms: 253402300800000",
        ),
        (GOOD.replace(b'"timestamp_ms":1', b'"timestamp_ms":-2') % 5, "timestamp_ms: -2 lies outside"),
        (GOOD.replace(b"null}", b'null, "x": %b}' % (b"[" * 100_000 + b"]" * 100_000)) % 5, "is nested too deeply"),
        (GOOD % 5 + b" " * 1_000, "has more than 800 bytes"),
    ],
    ids=["offset", "below", "partition", "year 10000", "before all time", "nested", "long"],
)
def test_a_record_that_no_topic_holds_is_reported_and_the_rest_is_read(
    line: bytes, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "bytes" in why:
        monkeypatch.setattr(reading, "LINE_MAX_BYTES", 800)
    path = tmp_path / "dump.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join([GOOD % 1, line, GOOD % 7, b""])))
    bad: list[BadLine] = []
    dump = Dump([path], bad.append)
    assert [record.offset for record in dump] == [1, 7]
    assert dump.lines == 3
    assert [(one.line, why in one.reason, len(one.text) <= 4_000) for one in bad] == [(2, True, True)]


def test_a_line_that_cannot_be_read_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    lines = gzip.decompress(A_CAPTURE.read_bytes()).splitlines(keepends=True)
    spoilt = b'{"partition": 0, "offset": "x", "timestamp_ms": 1, "key": null, "value": null}\n'
    (tmp_path / "a.jsonl").write_bytes(b"".join([*lines[:3], spoilt, b"what is this\n", *lines[3:]]))
    bad: list[BadLine] = []
    dump = Dump([tmp_path / "a.jsonl"], bad.append)
    assert len(list(dump)) == len(lines)
    assert [(line.file, line.line) for line in bad] == [("a.jsonl", 4)]
    assert "offset" in bad[0].reason
    assert dump.skipped == {NO_RECORD: 1}


BYTES = st.one_of(st.none(), st.binary(max_size=30))
NUMBERS = st.integers(0, 2**40)


@given(st.builds(LogRecord, NUMBERS, NUMBERS, NUMBERS, BYTES, BYTES))
def test_a_json_line_gives_the_record_back(record: LogRecord) -> None:
    line = json_lines.write_line(record)
    assert json_lines.is_line(line)
    assert json_lines.read_line(line) == record


def printed(data: bytes | None) -> bytes:
    """Bytes as Kafka's BytesDeserializer and default formatter print them."""
    if data is None:
        return b"null"
    plain = [bytes([one]) if 32 <= one < 127 and one != 92 else b"\\x%02X" % one for one in data]
    return b"".join(plain)


# What a record holds begins with a version, so no value is the four letters that stand for none.
PRINTED = BYTES.filter(lambda data: data != b"null")


@given(NUMBERS, NUMBERS, NUMBERS, PRINTED, PRINTED)
def test_a_console_line_gives_the_record_back(
    partition: int, offset: int, at_ms: int, key: bytes | None, value: bytes | None
) -> None:
    head = b"CreateTime:%d\tPartition:%d\tOffset:%d" % (at_ms, partition, offset)
    for between in (b"", b"\tNO_HEADERS"):
        line = head + between + b"\t" + printed(key) + b"\t" + printed(value)
        assert console.read_line(line) == LogRecord(partition, offset, at_ms, key, value)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"CreateTime:1\tPartition:0\tkey\tvalue", "print.offset"),
        (b"CreateTime:1\tPartition:0\tOffset:4\tvalue", "print.key"),
        (b"CreateTime:1\tPartition:0\tOffset:4\t\xef\xbf\xbd\\\tvalue", "BytesDeserializer"),
    ],
)
def test_a_console_line_without_what_is_needed_says_so(line: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        console.read_line(line)


def test_dump_log_without_the_partition_in_its_path_says_so() -> None:
    reader = dump_log.DumpLogReader()
    assert reader.read_line(b"Dumping 00000000000000000000.log") is None
    with pytest.raises(ValueError, match="names no folder __consumer_offsets"):
        reader.read_line(b'| offset: 0 CreateTime: 1 keySize: 2 key: {"type":"2"} payload: <DELETE>')


def test_dump_log_without_its_decoder_says_so() -> None:
    reader = dump_log.DumpLogReader()
    reader.read_line(b"Dumping x/__consumer_offsets-3/0.log")
    with pytest.raises(ValueError, match="--offsets-decoder"):
        reader.read_line(b"| offset: 0 CreateTime: 1 keySize: 2 valueSize: 3 sequence: -1 headerKeys: []")


@pytest.mark.parametrize(
    "said",
    [
        '{"topics":["t"],"generationId":1.5}',
        '{"topics":["t",3]}',
        '{"topics":"t"}',
        '{"generationId":1}',
        '{"topics":["t"],"ownedPartitions":[{"topic":3,"partitions":[0]}]}',
        '{"topics":["t"],"ownedPartitions":[{"topic":"t","partitions":[0.5]}]}',
        '{"topics":["t"],"rackId":7}',
    ],
)
def test_what_a_member_cannot_have_said_is_refused(said: str) -> None:
    reader = dump_log.DumpLogReader()
    reader.read_line(b"Dumping x/__consumer_offsets-3/0.log")
    key, payload = (
        '{"type":"2","data":{"group":"g"}}',
        f'{{"version":"3","data":{{"members":[{{"subscription":{said}}}]}}}}',
    )
    with pytest.raises(ValueError, match="ConsumerProtocol: "):
        reader.read_line(f"| offset: 5 CreateTime: 9 x key: {key} payload: {payload}".encode())


def test_what_dump_log_does_not_know_is_left_to_whoever_reads_the_record() -> None:
    reader = dump_log.DumpLogReader()
    reader.read_line(b"Dumping x/__consumer_offsets-3/0.log")
    line = b'| offset: 5 CreateTime: 9 x key: {"type":"77","data":"unknown"} payload: {"version":"1","data":"unknown"}'
    assert reader.read_line(line) == LogRecord(3, 5, 9, struct.pack(">h", 77), struct.pack(">h", 1))


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_of_dump_log_is_a_record_or_refused(key: str, payload: str) -> None:
    reader = dump_log.DumpLogReader()
    reader.read_line(b"Dumping x/__consumer_offsets-3/0.log")
    for said in (key, f'{{"type":"2","data":{key!r}}}', '{"type":"2","data":{"group":"g"}}'):
        line = f"| offset: 5 CreateTime: 9 x key: {said} payload: {payload}".encode()
        with suppress(ValueError):
            reader.read_line(line)


def test_transactions_of_producers_and_partitions_do_not_touch_each_other() -> None:
    def record(partition: int, offset: int, producer_id: int = -1, marker: Marker | None = None) -> LogRecord:
        return LogRecord(partition, offset, offset * 10, None if marker else b"k", None, producer_id, marker)

    transactions = Transactions()
    kept = list(
        transactions.committed(
            [
                record(0, 1, 7),
                record(0, 2, 8),
                record(1, 3, 7),
                record(0, 4),
                record(0, 5, 7, Marker.COMMIT),
                record(1, 6, 7, Marker.ABORT),
                record(0, 7, 9, Marker.COMMIT),
            ]
        )
    )
    assert [(one.partition, one.offset, one.timestamp_ms) for one in kept] == [(0, 4, 40), (0, 1, 50)]
    assert (transactions.aborted, transactions.unfinished) == (1, 1)


def test_the_two_tools_lead_to_the_same_history() -> None:
    by_console, by_dump_log = (fold(decoded(read_dump(path))) for path in (CONSOLE, DUMP_LOG))
    for group in ("classic-orders", "new-books"):
        assert by_console.causes(group) == by_dump_log.causes(group)
        assert by_console.of(group, CauseFound) == []
        assert len(by_console.of(group, RebalanceEnded)) >= 4


def test_a_commit_keeps_the_partition_that_it_is_of() -> None:
    keys = [record.key for record in decoded(read_dump(CONSOLE)) if record.type == 1]
    assert {key.topic for key in keys if isinstance(key, OffsetCommitKey)} == {"orders", "books"}
