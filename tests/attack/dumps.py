"""Hostile dumps of `__consumer_offsets`: changed lines, and changed bytes inside records, from the file to the facts.

Watches that every line is counted, that what is read fits the tables, and that no record breaks its group: what cannot
be read goes to quarantine by its reason. Knows the reader's and the fold's entrances.
"""

from __future__ import annotations

import base64
import gzip
import tempfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from rollcall.inputs.offsets_topic.dumps.log_record import BadLine, LogRecord
from rollcall.inputs.offsets_topic.dumps.reading import Dump, DumpError
from rollcall.inputs.offsets_topic.records.decoding import Record, decode, group_id_of
from rollcall.inputs.offsets_topic.topic_names import names_of
from rollcall.inputs.offsets_topic.turns import take_turn, unreadable
from rollcall.schemas.effect_rows import QUARANTINED, EffectRow, texts_of
from rollcall.schemas.layout import LayoutError
from tests.attack import hostile
from tests.attack.attacked import Attacked, Finding
from tests.attack.recorded_texts import changed
from tests.source_tree import ROOT

_DUMPS = (
    *sorted((ROOT / "tests" / "captures").glob("*/offsets-topic*.jsonl.gz")),
    *sorted((ROOT / "tests" / "offsets_topic" / "dumps").glob("*.txt.gz")),
    *sorted((ROOT / "tests" / "offsets_topic" / "dumps" / "dump-log").rglob("*.gz")),
)
_LINES = (3, 20, 100)
_BATCHES = (1, 2, 5)
_CHANGED = (0.05, 0.3)
_RAW_MAX_BYTES = 10_000


@cache
def dumped_lines(path: Path) -> tuple[bytes, ...]:
    """The lines of a recorded dump."""
    return tuple(line for line in gzip.decompress(path.read_bytes()).split(b"\n") if line)


class OffsetDumps(Attacked):
    """Pieces of recorded dumps, some of their lines changed."""

    name = "offset-dumps"
    slow_s = 5.0

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._read = self._quarantined = 0

    def case(self, random: Random) -> bytes:
        lines = dumped_lines(random.choice(_DUMPS))
        first, share = random.randrange(len(lines)), random.choice(_CHANGED)
        written = list(lines[:1] if random.random() < 0.5 else ())
        for line in lines[first : first + random.choice(_LINES)]:
            match random.randrange(20) if random.random() < share else -1:
                case 0:
                    written += [line] * 2
                case 1:
                    pass
                case 2:
                    written.insert(random.randrange(len(written) + 1), line)
                case number if number >= 10:
                    written.append(_with_changed_bytes(random, line))
                case number if number >= 0:
                    written.append(changed(random, line, lines))
                case _:
                    written.append(line)
        return bytes([random.choice(_BATCHES)]) + b"\n".join(written) + b"\n"

    def play(self, case: bytes) -> int:
        batches, text = max(1, case[0]), case[1:]
        path = Path(self._folder.name) / "dump"
        path.write_bytes(text)
        bad: list[BadLine] = []
        dump = Dump([path], bad.append)
        try:
            records = list(dump)
        except DumpError:
            return 1
        transactions = dump.transactions
        counted = len(records) + len(bad) + dump.skipped.total() + transactions.aborted + transactions.unfinished
        if counted + _markers(text) < dump.lines or counted > dump.lines:
            raise Finding("a line is counted twice, or not at all")
        self._fold(records, batches)
        self._read += len(records)
        self._quarantined += len(bad)
        return dump.lines

    def _fold(self, records: list[LogRecord], batches: int) -> None:
        names = names_of(one for one in map(_decoded, records) if isinstance(one, Record))
        groups: dict[str | None, list[LogRecord]] = defaultdict(list)
        for record in records:
            groups[group_id_of(record.key)].append(record)
        for group_id, rows in groups.items():
            if group_id is None:
                self._take("", unreadable(rows, _RAW_MAX_BYTES))
                continue
            document: str | None = None
            for number in range(batches):
                turn = take_turn(group_id, rows[number::batches], document, names, _RAW_MAX_BYTES)
                document = turn.document
                self._take(group_id, turn.rows)
            self._take(group_id, take_turn(group_id, [], document, names, _RAW_MAX_BYTES).rows)

    def _take(self, group_id: str, rows: list[EffectRow]) -> None:
        texts_of(group_id, rows)
        self._quarantined += sum(row.effect == QUARANTINED for row in rows)
        unfit = next(
            (row.cause for row in rows if row.effect == QUARANTINED and (row.cause or "").startswith("state:")), None
        )
        if unfit is not None:
            raise Finding("a group's own document cannot be read again")

    def close(self) -> None:
        self._folder.cleanup()

    def figures(self) -> str:
        return f"{self._read} records read, {self._quarantined} in quarantine"


def _markers(text: bytes) -> int:
    """The greatest number of lines that can be control records, which are counted by what they end."""
    return text.count(b"marker") + text.count(b"endTxnMarker")


def _decoded(record: LogRecord) -> object:
    try:
        return decode(*record[:5])
    except LayoutError:
        return None


def _with_changed_bytes(random: Random, line: bytes) -> bytes:
    """The line with other bytes inside its record, if it is of the JSON format."""
    try:
        said = msgspec.json.decode(line)
        name = random.choice(("key", "value", "value"))
        said[name] = base64.b64encode(hostile.mutated(random, base64.b64decode(said[name]))).decode()
        return msgspec.json.encode(said)
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return hostile.mutated(random, line)
