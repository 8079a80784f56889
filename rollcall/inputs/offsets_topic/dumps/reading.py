"""The records of a dump, whatever its format and however many files it has, each once and in order of its partition.

Knows the formats. Must not know the content of a record.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from rollcall.inputs.offsets_topic.dumps import console, dump_log, json_lines
from rollcall.inputs.offsets_topic.dumps.log_record import NO_PRODUCER, BadLine, LogRecord, Marker, check
from rollcall.programs.errors import UserError

LINE_MAX_BYTES = 67_108_864
"""No record of the topic is longer, in any format."""
_RAW_KEPT = 4_000
_GZIP_MAGIC = b"\x1f\x8b"
_LOOKED_AT_LINES = 200
_JSON_FORMATTER = b'{"key":{"type"'
REPEATED = "stands in the dump twice"
NO_RECORD = "is not a record"
OTHER_FILE = "is a file of another kind"


class DumpError(UserError):
    """A path that holds no dump of the topic; the text names it."""


class UnreadableFileError(DumpError):
    """A file that cannot be read at all."""


ReadLine = Callable[[bytes], LogRecord | None]


class Format(NamedTuple):
    """One format: its name, how to know a line of it, who reads a file's lines, and which lines show the format."""

    name: str
    is_line: Callable[[bytes], bool]
    reader: Callable[[], ReadLine]
    shows: Callable[[bytes], bool]


FORMATS = (
    Format("JSON lines", json_lines.is_line, lambda: json_lines.read_line, json_lines.is_record),
    Format("kafka-console-consumer", console.is_line, lambda: console.read_line, console.is_line),
    Format("kafka-dump-log", dump_log.is_line, lambda: dump_log.DumpLogReader().read_line, dump_log.is_line),
)


def format_of(path: Path) -> Format | None:
    """The format of a file: that of most of its first lines; None if it is not a dump.

    A client of a broker can bring any single line into a log. Raises DumpError: a file that cannot be read; one that
    kafka-console-consumer's JSON formatters wrote, which leave out when a record was written.
    """
    found, others = Counter[Format | None](), 0
    for line in islice(_lines(path), _LOOKED_AT_LINES):
        form = next((form for form in FORMATS if form.shows(line)), None)
        if form is not None or line.startswith(_JSON_FORMATTER):
            found[form] += 1
        else:
            others += bool(line)
    form, lines = next(iter(found.most_common(1)), (None, -1))
    if lines < others:
        return None
    if form is None and lines > 0:
        raise DumpError(
            f"{path}: a JSON formatter of kafka-console-consumer wrote it, which leaves out when a record was "
            "written and where it stands: use the default formatter, as docs/offsets-topic.md says"
        )
    return form


def is_dump(path: Path) -> bool:
    """Whether a file is a dump of the topic; one that cannot be read is none. Raises DumpError as format_of does."""
    try:
        return format_of(path) is not None
    except UnreadableFileError:
        return False


@dataclass(slots=True)
class Transactions:
    """The transactions under way in a dump: offsets that were committed in one count from its commit on.

    Records of aborted or unfinished ones are counted and dropped. The control record that ends one names no group, so
    this is done by partition. Source: Kafka's GroupCoordinatorShard.replayEndTransactionMarker.
    """

    aborted: int = 0
    _open: dict[tuple[int, int], list[LogRecord]] = field(default_factory=dict)

    @property
    def unfinished(self) -> int:
        """How many records belong to transactions that no marker has ended."""
        return sum(len(records) for records in self._open.values())

    def committed(self, records: Iterable[LogRecord]) -> Iterator[LogRecord]:
        """The records that count, each of a transaction with its marker's time and in its marker's place."""
        for record in records:
            if record.producer_id == NO_PRODUCER:
                if record.marker is None:
                    yield record
                continue
            transaction = (record.partition, record.producer_id)
            match record.marker:
                case None:
                    self._open.setdefault(transaction, []).append(record)
                case Marker.COMMIT:
                    for one in self._open.pop(transaction, []):
                        yield one._replace(timestamp_ms=record.timestamp_ms, producer_id=NO_PRODUCER)
                case Marker.ABORT:
                    self.aborted += len(self._open.pop(transaction, []))


@dataclass(slots=True)
class Dump:
    """A dump being read."""

    files: Sequence[Path]
    bad: Callable[[BadLine], None]
    """Called for each line that cannot be read; reading continues."""
    lines_of: Counter[Path] = field(default_factory=Counter)
    """How many lines each file has."""
    records_of: Counter[Path] = field(default_factory=Counter)
    """How many of them are records."""
    bytes: int = 0
    """How much was read."""
    skipped: Counter[str] = field(default_factory=Counter)
    transactions: Transactions = field(default_factory=Transactions)
    whole_from_ms: dict[int, int] = field(default_factory=dict)
    """By partition, from when on no offset is missing: before, compaction has left records out. Missing: none is."""
    _read_to: dict[int, int] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        """How many lines were read."""
        return self.lines_of.total()

    def __iter__(self) -> Iterator[LogRecord]:
        """The records that count, in order within each partition. Raises DumpError: none is a dump, or one broken."""
        return self.transactions.committed(self._once())

    def _once(self) -> Iterator[LogRecord]:
        """Every record once: those in an earlier file or line of its partition are only counted."""
        for record in self._records():
            if record.offset <= self._read_to.get(record.partition, -1):
                self.skipped[REPEATED] += 1
                continue
            if record.offset != self._read_to.get(record.partition, -1) + 1:
                self.whole_from_ms[record.partition] = record.timestamp_ms
            self._read_to[record.partition] = record.offset
            yield record

    def _records(self) -> Iterator[LogRecord]:
        for path, form in self._in_order():
            read_line = form.reader()
            for number, line in enumerate(_lines(path), 1):
                self.lines_of[path] += 1
                self.bytes += len(line) + 1
                try:
                    record = _read(line, form, read_line)
                except ValueError as error:
                    self.bad(BadLine(path.name, number, str(error), line[:_RAW_KEPT].decode(errors="replace")))
                    continue
                if record is None:
                    self.skipped[NO_RECORD] += 1
                else:
                    self.records_of[path] += 1
                    yield record

    def _in_order(self) -> list[tuple[Path, Format]]:
        """The files with their formats, by the partition and offset of their first records, the longer ones first.

        A dump from after compaction may begin with the same record as one from before, which has more.
        """
        found = []
        for path in self.files:
            form = format_of(path)
            if form is None:
                self.skipped[OTHER_FILE] += 1
            else:
                found.append((_first(path, form), -path.stat().st_size, path, form))
        if not found:
            raise DumpError(
                f"{' '.join(map(str, self.files))}: holds no record of __consumer_offsets in a format that is known"
            )
        return [(path, form) for *_, path, form in sorted(found, key=lambda one: (*one[:2], str(one[2])))]


def _first(path: Path, form: Format) -> tuple[int, int]:
    """Partition and offset of a file's first record that can be read."""
    read_line = form.reader()
    for line in _lines(path):
        try:
            record = _read(line, form, read_line)
        except ValueError:
            continue
        if record is not None:
            return record.partition, record.offset
    return -1, -1


def _read(line: bytes, form: Format, read_line: ReadLine) -> LogRecord | None:
    """The record of a line, None for a line that has none. Raises ValueError: it cannot be read."""
    if len(line) > LINE_MAX_BYTES:
        raise ValueError(f"has more than {LINE_MAX_BYTES} bytes")
    try:
        record = read_line(line) if form.is_line(line) else None
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    if record is not None:
        check(record)
    return record


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file without their ends, compressed or not; of one that is too long, more than it may have.

    Raises DumpError: the file cannot be read.
    """
    try:
        with path.open("rb") as raw:
            is_gzip = raw.read(2) == _GZIP_MAGIC
        with gzip.open(path, "rb") if is_gzip else path.open("rb") as file:
            while line := file.readline(LINE_MAX_BYTES + 2):
                yield line.rstrip(b"\r\n")
                while len(line) == LINE_MAX_BYTES + 2 and not line.endswith(b"\n"):
                    line = file.readline(LINE_MAX_BYTES + 2)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFileError(f"{path}: cannot be read: {error}") from None
