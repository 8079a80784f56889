"""Offsets that were committed in a transaction count from its commit on, and not at all if it is aborted.

The control record that ends a transaction names no group, so this is done by partition, before records go to their
groups. Knows producers and markers. Source: Kafka's GroupCoordinatorShard.replayEndTransactionMarker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rollcall.inputs.offsets_topic.dumps.log_record import NO_PRODUCER, LogRecord, Marker


@dataclass(slots=True)
class Transactions:
    """The transactions under way in a dump; records of aborted or unfinished ones are counted and dropped."""

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
