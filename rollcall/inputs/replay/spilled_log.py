"""A log that may be larger than memory: its sections are sorted into files, from which each group's requests are read.

Any number of processes read sections and follow groups, in any order; one process does the work in between. Groups are
spread over buckets; a process follows one bucket, with a few seconds of it in memory. Knows no rule of the parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.printed.broker_version import broker_version_in
from rollcall.inputs.replay.spill import Piece, Spill, Work, bucket_of, pieces_of
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.entries import Entry, decode, encode
from rollcall.inputs.request_log.following.group_model import Listener
from rollcall.inputs.request_log.group_following import follow
from rollcall.inputs.request_log.lines.files import LogFile, about_bytes_of
from rollcall.inputs.request_log.lines.reading import Placed, SectionReading, each_once, in_order
from rollcall.inputs.request_log.lines.sections import Section, sections_in
from rollcall.inputs.request_log.lines.silences import Silences
from rollcall.inputs.request_log.recorded import LoggedRequest, Quarantined, Tally
from rollcall.inputs.request_log.survey import Survey, Surveying, is_looked_at
from rollcall.inputs.request_log.topic_metadata import TopicMetadata
from rollcall.programs.processes import note_done
from rollcall.programs.settings import from_texts

_NOTE_EVERY_BYTES = 1 << 20
_Kept = tuple[int, int, str, int, bytes]
_decoder = msgspec.msgpack.Decoder(list[_Kept])
_unfit_decoder = msgspec.msgpack.Decoder(list[Quarantined])
LOOKED_AT, UNFIT = -1, -2
"""Two more buckets: the requests that the survey reads, and the bad lines."""


@dataclass
class SectionRead:
    """The result of reading a section."""

    file_number: int
    number: int
    first_ms: int
    """The time of its first request, which is its earliest."""
    spilled: Path
    tally: Tally
    silences: Silences
    topics: TopicMetadata
    pieces: list[Piece]


def read_section(section: Section, zone: ZoneInfo, folder: Path, buckets: int) -> SectionRead:
    """Sorts a section into a file of the folder, and counts the bytes that are done."""
    spill = Spill(folder / f"section-{section.number:06}")
    reading = SectionReading(section, zone, lambda line: spill.add(UNFIT, line, len(line.text)))
    noted_bytes, first_ms = 0, None
    for placed in reading:
        logged = placed.logged
        first_ms = placed.order_ms if first_ms is None else first_ms
        entry = encode(logged)
        kept = (placed.order_ms, placed.text_mark, *entry)
        spill.add(bucket_of(logged.group_id, buckets), kept, len(entry.data))
        if is_looked_at(logged):
            spill.add(LOOKED_AT, kept, len(entry.data))
        if reading.bytes - noted_bytes >= _NOTE_EVERY_BYTES:
            note_done(reading.bytes - noted_bytes)
            noted_bytes = reading.bytes
    note_done(reading.bytes - noted_bytes)
    spill.end()
    place = (section.file_number, section.number, first_ms or 0)
    return SectionRead(*place, spill.path, reading.tally, reading.silences, reading.topics, spill.pieces)


class Share(NamedTuple):
    """The pieces of one bucket."""

    files: list[tuple[int, list[tuple[Path, list[Piece]]]]]
    """By file of the log, its first time and its sections in order."""

    def entries(self, tally: Tally) -> Iterator[LoggedRequest]:
        """The requests in order of their lines, each once."""
        files = [
            (first_ms, (placed for section in sections for placed in _placed(*section)))
            for first_ms, sections in self.files
        ]
        return each_once(in_order(files), tally)


class LogBucket(NamedTuple):
    """All that another process needs to follow the groups of a bucket."""

    share: Share
    found: Survey
    config: GroupConfig

    def follow(self, tally: Tally, listener_of: Callable[[str], Listener]) -> Iterator[int]:
        """Follows them; yields at times how many more of their requests were read."""
        return follow(self.share.entries(tally), self.found, self.config, tally, listener_of)


class SpilledLog:
    """All sections of a log, after reading."""

    def __init__(self, sections: Iterable[SectionRead]) -> None:
        self.survey = Survey()
        """The result of the first pass over the whole log."""
        self.settings: dict[str, str] = {}
        """The broker's, as far as they are given or shown."""
        self.tally, self.silences, self.topics = Tally(), Silences(), TopicMetadata()
        self.of_files: defaultdict[int, Tally] = defaultdict(Tally)
        """By file number, the tally of its own lines."""
        self._shares: defaultdict[int, dict[int, tuple[int, list[tuple[Path, list[Piece]]]]]] = defaultdict(dict)
        self.requests = 0
        for section in _in_turn(sections):
            self.tally.add(section.tally)
            self.of_files[section.file_number].add(section.tally)
            self.silences.add(section.silences)
            self.topics.add(section.topics)
            of_bucket: defaultdict[int, list[Piece]] = defaultdict(list)
            for piece in section.pieces:
                of_bucket[piece.bucket].append(piece)
                self.requests += piece.items if piece.bucket >= 0 else 0
            for bucket, pieces in of_bucket.items():
                _, of_file = self._shares[bucket].setdefault(section.file_number, (section.first_ms, []))
                of_file.append((section.spilled, pieces))

    def share(self, bucket: int) -> Share:
        """The pieces of a bucket."""
        return Share([sections for _, sections in sorted(self._shares[bucket].items())])

    def unfit(self) -> Iterator[list[Quarantined]]:
        """The bad lines, some at a time."""
        for _, sections in self.share(UNFIT).files:
            for path, pieces in sections:
                for data in pieces_of(path, pieces):
                    yield _unfit_decoder.decode(data)

    def bucket(self, number: int) -> LogBucket:
        """All that another process needs to follow a bucket."""
        found = replace(self.survey, seen=SettingsSeen())
        return LogBucket(self.share(number), found, from_texts(GroupConfig, self.settings))


def read_log(
    files: Sequence[LogFile], zone: ZoneInfo, work: Work, given: Mapping[str, str], printed: Sequence[str] = ()
) -> SpilledLog:
    """Reads a log's files, and makes the survey of what other groups' lines show.

    given: the broker's settings, and those of single groups, that a user knows. printed: files that brokers or their
    clients printed, which may name the version of Kafka. Raises ConfigError.
    """
    show = partial(work.show, "reading the log", total=about_bytes_of(file.path for file in files))
    sections = ((section, zone, work.folder, work.buckets) for section in sections_in(files, zone))
    log = SpilledLog(work.pool.each(read_section, sections, show))
    surveying = Surveying(log.topics)
    for entry in log.share(LOOKED_AT).entries(Tally()):
        surveying.note(entry)
    log.survey = surveying.found(log.silences, log.tally.last_at_ms or 0)
    log.survey.learn_release(partial(broker_version_in, printed))
    log.settings = log.survey.settings(given)
    return log


def _in_turn(sections: Iterable[SectionRead]) -> Iterator[SectionRead]:
    """Sections in order of their numbers, each as soon as those before it are read: so few are held at a time."""
    early: dict[int, SectionRead] = {}
    number = 0
    for section in sections:
        early[section.number] = section
        while number in early:
            yield early.pop(number)
            number += 1


def _placed(path: Path, pieces: list[Piece]) -> Iterator[Placed]:
    for data in pieces_of(path, pieces):
        for order_ms, mark, api, version, kept in _decoder.decode(data):
            yield Placed(decode(Entry(api, version, kept)), order_ms, mark)
