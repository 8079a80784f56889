"""The whole state of a `LiveImport` as bytes, and back: a restored import gives the same later requests.

Requests that are held are kept as the text of their lines, and read again; groups are kept as the documents of the
state store. A group that has not changed since the last snapshot is not encoded again.

Knows every field of what a live import is made of; infers nothing from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.state_codec import decode, encode
from rollcall.inputs.request_log.explaining.inferred_causes import PartitionCounts
from rollcall.inputs.request_log.following.group_model import Listener
from rollcall.inputs.request_log.following.rest_proofs import RestProofs
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.silences import LiveSilences
from rollcall.inputs.request_log.live import Held, LiveImport
from rollcall.inputs.request_log.recorded import GivenUp, LoggedRequest, Quarantined, Tally
from rollcall.inputs.request_log.topic_metadata import Shown
from rollcall.inputs.tolerances import BACK_SHOWN_WITHIN_MS
from rollcall.schemas.messages import JoinGroupRequest

VERSION = 2
"""That of version 0.2.0 and later."""
_CONNECTION_MATTERS_MS = 60_000
"""How long after its last request a connection's order is kept."""


class SnapshotError(ValueError):
    """Bytes that are not a snapshot, or one of another version; the text says which."""


class _KeptEntry(msgspec.Struct, array_like=True):
    """A request by its line, and the times that were decided for it."""

    line: LogLine
    part: int
    began_ms: float
    until_ms: float
    received_at_ms: int


class _KeptGroup(msgspec.Struct):
    document: str | None
    """The group as the state store has it; null where nothing is to be remembered of it."""
    clock_ms: int
    inferred: int
    work_left: int
    given_up: GivenUp | None
    parked: list[_KeptEntry]
    broker: str
    is_away: bool
    offered: dict[str, JoinGroupRequest]
    partition_counts: PartitionCounts
    rest_proofs: RestProofs
    entries: list[_KeptEntry]
    at_ms: int
    seq: int
    found: list[str] = []
    is_elsewhere: bool = False


class _WorkTimes(msgspec.Struct):
    at_ms: int | None
    lines: int
    unsettled: list[tuple[int, _KeptEntry]]
    began_ms: dict[str, float]


class _Version(msgspec.Struct):
    version: int


class _Snapshot(_Version):
    tally: Tally
    names: dict[str, str]
    left: list[tuple[str, str, str, float]]
    leaves: list[str]
    work_times: _WorkTimes
    silences: LiveSilences
    groups: dict[str, msgspec.Raw]
    departed: list[tuple[str, str, str]] = []
    subscriptions: list[tuple[str, str, list[str]]] = []
    candidates: dict[str, list[str]] = {}
    consumer_groups: list[str] = []
    topics: dict[str, list[Shown]] = {}


class _Kept(NamedTuple):
    """A group as it was encoded when it had this number of changes."""

    held: Held
    changes: int
    encoded: msgspec.Raw


_encoder = msgspec.msgpack.Encoder()
_version_decoder = msgspec.msgpack.Decoder(_Version)
_decoder = msgspec.msgpack.Decoder(_Snapshot, dec_hook=lambda kind, counts: kind(counts))  # Counters are dicts there.
_group_decoder = msgspec.msgpack.Decoder(_KeptGroup)


class Snapshots:
    """Takes snapshots of one import, again and again."""

    def __init__(self, imported: LiveImport) -> None:
        self._imported = imported
        self._kept: dict[str, _Kept] = {}

    def take(self) -> bytes:
        """A snapshot that follows all released requests and precedes all others."""
        imported = self._imported
        last_ms = imported.tally.last_at_ms or 0
        self._kept = {group_id: self._group(group_id, held) for group_id, held in imported.groups.items()}
        began_ms = imported.work_times.began_ms.items()
        snapshot = _Snapshot(
            version=VERSION,
            tally=imported.tally,
            names=imported.names.names,
            left=[
                (*by, *at) for by, at in imported.came_back.left.items() if at[1] > last_ms - 2 * BACK_SHOWN_WITHIN_MS
            ],
            leaves=sorted(imported.came_back.leaves),
            work_times=_WorkTimes(
                at_ms=imported.work_times.at_ms,
                lines=imported.work_times.lines,
                unsettled=[(place, _entry(entry)) for place, entry in imported.work_times.unsettled],
                began_ms={by: ms for by, ms in began_ms if by is not None and ms > last_ms - _CONNECTION_MATTERS_MS},
            ),
            silences=imported.silences,
            groups={group_id: kept.encoded for group_id, kept in self._kept.items()},
            departed=[(*who, leave_id) for who, leave_id in imported.came_back.departed.items()],
            subscriptions=[(*who, sorted(topics)) for who, topics in imported.names.subscriptions.items()],
            candidates={topic_id: sorted(names) for topic_id, names in imported.names.candidates.items()},
            consumer_groups=sorted(imported.reader.consumer_groups),
            topics=imported.reader.topics.shown,
        )
        return _encoder.encode(snapshot)

    def _group(self, group_id: str, held: Held) -> _Kept:
        kept = self._kept.get(group_id)
        changes = held.changes + held.numbered.calls
        if kept is not None and kept.held is held and kept.changes == changes:
            return kept
        follower, model = held.follower, held.follower.model
        group = _KeptGroup(
            document=encode(model.group).document if model.group.is_kept else None,
            clock_ms=model.clock_ms,
            inferred=model.inferred,
            work_left=model.work_left,
            given_up=follower.given_up,
            parked=[_entry(entry) for entry in model.parked.values()],
            broker=follower.clock.broker,
            is_away=follower.clock.is_away,
            offered=model.offered,
            partition_counts=follower.causes.partition_counts,
            rest_proofs=held.rest_proofs,
            entries=[_entry(entry) for entry in held.entries if not entry.is_taken],
            at_ms=held.numbered.at_ms,
            seq=held.numbered.seq,
            found=sorted(model.found),
            is_elsewhere=model.is_elsewhere,
        )
        return _Kept(held, changes, msgspec.Raw(_encoder.encode(group)))


def restored(
    data: bytes,
    config: GroupConfig,
    listener_of: Callable[[str], Listener],
    quarantine: Callable[[Quarantined], None] = lambda line: None,
) -> LiveImport:
    """The import from a snapshot. Raises SnapshotError."""
    try:
        version = _version_decoder.decode(data).version
        if version != VERSION:
            raise SnapshotError(f"version {version} is not known, {VERSION} is")
        snapshot = _decoder.decode(data)
        groups = {group_id: _group_decoder.decode(raw) for group_id, raw in snapshot.groups.items()}
    except msgspec.MsgspecError as error:
        raise SnapshotError(str(error)) from None
    imported = LiveImport(config, listener_of, quarantine)
    imported.tally.add(snapshot.tally)
    imported.reader.consumer_groups.update(snapshot.consumer_groups)
    names = imported.names
    names.names.update(snapshot.names)
    for name, known in snapshot.topics.items():
        for shown in known:
            imported.reader.topics.note(name, shown)
    names.subscriptions.update({(of, member): frozenset(topics) for of, member, topics in snapshot.subscriptions})
    names.candidates.update({topic_id: frozenset(among) for topic_id, among in snapshot.candidates.items()})
    imported.came_back.departed.update({(of, member): leave for of, member, leave in snapshot.departed})
    imported.came_back.left.update({(connection, of): (leave, ms) for connection, of, leave, ms in snapshot.left})
    imported.came_back.leaves.update(snapshot.leaves)
    work_times = imported.work_times
    work_times.at_ms, work_times.lines = snapshot.work_times.at_ms, snapshot.work_times.lines
    work_times.unsettled += [(place, _read(imported, entry)) for place, entry in snapshot.work_times.unsettled]
    work_times.began_ms.update(snapshot.work_times.began_ms)
    imported.silences = snapshot.silences
    for group_id, group in groups.items():
        _restore_group(imported, group_id, group)
    return imported


def _restore_group(imported: LiveImport, group_id: str, kept: _KeptGroup) -> None:
    held = imported.group(group_id)
    follower, model = held.follower, held.follower.model
    model.group = Group(group_id) if kept.document is None else decode(group_id, kept.document)
    follower.is_begun = kept.clock_ms > 0
    model.clock_ms, model.inferred = kept.clock_ms, kept.inferred
    model.work_left, model.found, model.is_elsewhere = kept.work_left, set(kept.found), kept.is_elsewhere
    follower.given_up = kept.given_up
    if kept.given_up is not None:
        imported.tally.given_up[group_id] = kept.given_up
    model.remember_parked(_reads(imported, kept.parked))
    follower.clock.broker, follower.clock.is_away = kept.broker, kept.is_away
    model.offered, follower.causes.partition_counts = kept.offered, kept.partition_counts
    held.rest_proofs, held.numbered.at_ms, held.numbered.seq = kept.rest_proofs, kept.at_ms, kept.seq
    held.entries = _reads(imported, kept.entries)
    for entry in held.entries:
        follower.read(entry)


def _entry(entry: LoggedRequest) -> _KeptEntry:
    assert entry.line is not None
    return _KeptEntry(entry.line, entry.part, entry.began_ms, entry.until_ms, entry.request.received_at_ms)


def _reads(imported: LiveImport, kept: Iterable[_KeptEntry]) -> list[LoggedRequest]:
    return [_read(imported, entry) for entry in kept]


def _read(imported: LiveImport, kept: _KeptEntry) -> LoggedRequest:
    logged = imported.reader.read(kept.line)
    assert not isinstance(logged, str)
    entry = logged[kept.part]
    entry.line, entry.part = kept.line, kept.part
    entry.began_ms, entry.until_ms, entry.request.received_at_ms = kept.began_ms, kept.until_ms, kept.received_at_ms
    return entry
