"""What kafka-dump-log --offsets-decoder prints of a segment: batches, and below each its records as JSON.

    Dumping .../__consumer_offsets-0/00000000000000000000.log
    baseOffset: 4 ... producerId: 0 ... isTransactional: true isControl: false ... CreateTime: 1795306760773 ...
    | offset: 4 CreateTime: 1795306760773 keySize: 28 ... key: {"type":"1","data":{...}} payload: {"version":"4",...}

The tool prints decoded records, so their bytes are encoded again, also the ConsumerProtocol bytes inside.
The command that makes it is in docs/offsets-topic.md. Knows only this format.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import msgspec

from rollcall.inputs.offsets_topic.dumps.log_record import NO_PRODUCER, LogRecord, Marker
from rollcall.inputs.offsets_topic.records.decoding import encode_key, encode_value
from rollcall.inputs.offsets_topic.records.shapes import RECORD_TYPES, RecordKey
from rollcall.schemas.consumer_protocol import (
    NO_GENERATION,
    Assignment,
    PartitionsOfTopic,
    Subscription,
    encode_assignment,
    encode_subscription,
    flat,
)
from rollcall.schemas.layout import LayoutError

_FILE = re.compile(rb"Dumping (.*)")
_PARTITION = re.compile(rb"__consumer_offsets-(\d+)/[^/]*\Z")
_BATCH = re.compile(rb"baseOffset: \d+ .*producerId: (-?\d+) .*isTransactional: (true|false) ")
_RECORD = re.compile(rb"\| offset: (\d+) (?:CreateTime|LogAppendTime): (-?\d+) (.*)\Z", re.DOTALL)
_MARKER = re.compile(rb"endTxnMarker: (COMMIT|ABORT)")
_KEY_AND_PAYLOAD = re.compile(rb" key: (.*?) payload: (.*)\Z", re.DOTALL)
_TOMBSTONE = b"<DELETE>"
_INT16 = struct.Struct(">h")


def is_line(text: bytes) -> bool:
    """Whether a line looks like this format's."""
    return text.startswith((b"Dumping ", b"Log starting offset: ", b"baseOffset: ", b"| offset: "))


class DumpLogReader:
    """Reads the lines of one file in order: a record's partition and transaction are in earlier lines."""

    def __init__(self) -> None:
        self._partition: int | None = None
        self._producer_id = NO_PRODUCER

    def read_line(self, text: bytes) -> LogRecord | None:
        """The record of a line, None for a line that has none.

        Raises ValueError: a segment without its partition in its path; a record that cannot be read or written anew.
        """
        if (file := _FILE.match(text)) is not None:
            partition = _PARTITION.search(file[1].strip())
            self._partition = None if partition is None else int(partition[1])
        elif (batch := _BATCH.match(text)) is not None:
            self._producer_id = int(batch[1]) if batch[2] == b"true" else NO_PRODUCER
        elif (record := _RECORD.match(text)) is not None:
            return self._record(int(record[1]), int(record[2]), record[3])
        return None

    def _record(self, offset: int, timestamp_ms: int, rest: bytes) -> LogRecord:
        if self._partition is None:
            raise ValueError("the line 'Dumping ...' above names no folder __consumer_offsets-<partition>")
        marker = _MARKER.search(rest)
        if marker is not None:
            marker_of_record = Marker(marker[1].decode())
            return LogRecord(self._partition, offset, timestamp_ms, None, None, self._producer_id, marker_of_record)
        found = _KEY_AND_PAYLOAD.search(rest)
        if found is None:
            raise ValueError("has no key and payload: was --offsets-decoder asked for?")
        key, value = _key(found[1]), _value(found[1], found[2])
        return LogRecord(self._partition, offset, timestamp_ms, key, value, self._producer_id)


def _key(text: bytes) -> bytes:
    number, data = _read_json(text, "type")
    known = RECORD_TYPES.get(number)
    if known is None or not isinstance(data, dict):
        return _INT16.pack(number)
    data = {"group" if name == "groupId" else name: value for name, value in data.items()}
    key = _converted(data, known.key)
    assert isinstance(key, RecordKey)
    try:
        return encode_key(number, key)
    except LayoutError as error:
        raise ValueError(f"{known.name}: {error}") from None


def _value(key: bytes, text: bytes) -> bytes | None:
    if text.strip() == _TOMBSTONE:
        return None
    number, _ = _read_json(key, "type")
    version, data = _read_json(text, "version")
    known = RECORD_TYPES.get(number)
    if known is None or known.value is None or not isinstance(data, dict):
        return _INT16.pack(version)
    if isinstance(data.get("members"), list):
        data["members"] = [_with_bytes(member) for member in data["members"]]
    try:
        return encode_value(version, _converted(data, known.value))
    except LayoutError as error:
        raise ValueError(f"{known.name}: {error}") from None


def _read_json(text: bytes, what: str) -> tuple[int, Any]:
    """The type or version and the data of a key's or payload's JSON."""
    try:
        decoded = msgspec.json.decode(text)
        number = int(decoded[what])
        _INT16.pack(number)
        return number, decoded.get("data")
    except (msgspec.DecodeError, UnicodeError, KeyError, TypeError, ValueError, AttributeError, struct.error):
        raise ValueError(f"{text[:80]!r} is not a JSON object with {what} and data") from None


def _converted(data: dict[str, Any], shape: Any) -> Any:
    try:
        return msgspec.convert(data, shape, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"{shape.__name__}: {error}") from None


def _with_bytes(member: Any) -> Any:
    """A classic member as the tool prints it, with the bytes of what it has read inside as base64 again."""
    if not isinstance(member, dict):
        return member
    subscription = _consumer_bytes(member.get("subscription"), _PrintedSubscription)
    return member | {
        "subscription": subscription,
        "assignment": _consumer_bytes(member.get("assignment"), _Assignment),
    }


def _consumer_bytes(printed: Any, shape: type[_PrintedSubscription | _Assignment]) -> Any:
    """Bytes as the tool prints them: base64, or what it has read in ConsumerProtocol bytes."""
    if not isinstance(printed, dict):
        return printed
    try:
        return msgspec.convert(printed, shape, strict=False).encoded()
    except (LayoutError, msgspec.ValidationError) as error:
        raise ValueError(f"ConsumerProtocol: {error}") from None


class _PrintedSubscription(msgspec.Struct, rename="camel"):
    topics: tuple[str, ...]
    owned_partitions: list[PartitionsOfTopic] | None = None
    generation_id: int = NO_GENERATION
    rack_id: str | None = None

    def encoded(self) -> bytes:
        owned = flat(self.owned_partitions or ())
        return encode_subscription(Subscription(self.topics, None, owned, self.generation_id, self.rack_id or None))


class _Assignment(msgspec.Struct, rename="camel"):
    assigned_partitions: list[PartitionsOfTopic] | None = None

    def encoded(self) -> bytes:
        return encode_assignment(Assignment(flat(self.assigned_partitions or ())))
