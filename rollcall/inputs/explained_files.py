"""The files that `rollcall explain` is given: what each is, what all say about groups, and which lines say so.

Knows how much of each kind of files is read at once. Must not know how the answer is laid out.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple
from zoneinfo import ZoneInfo

from rollcall.inputs.file_kinds import FileKind, kind_of
from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.lines.files import open_blocks, path_of, text_of
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, evidence_of
from rollcall.inputs.printed.reading import LARGE_BYTES, FileRead, align, merged, read_files
from rollcall.inputs.printed.story import groups_in

REQUEST_LOG = "a broker's request log"
DUMP = "a dump of __consumer_offsets"
NO_REQUEST = "no request of a group is in it"


class Answer(NamedTuple):
    """What files say."""

    reads: list[FileRead]
    groups: list[LoggedGroup]
    left_out: list[str]
    """Sentences on what is missing."""


def answer_of(files: Sequence[str], zone: ZoneInfo | None, most_bytes: int = LARGE_BYTES) -> Answer:
    """Read files of any kind. Raises UserError: one cannot be read.

    zone: of times that are printed without one. most_bytes: of request logs and of dumps; larger ones take too long.
    """
    unfit: dict[str, str] = {}
    kinds = {file: _kind_of(file, unfit) for file in files}
    logs, dumps = ([file for file in files if kinds[file] is kind] for kind in (FileKind.REQUESTS, FileKind.DUMP))
    whole = {
        read.file: read
        for named, title in ((logs, REQUEST_LOG), (dumps, DUMP))
        for read in _too_large(named, title, most_bytes)
    }
    logs, dumps = ([file for file in named if file not in whole] for named in (logs, dumps))
    gc.disable()  # A line more makes no ring of references: to look for them takes a third of the time.
    try:
        reads = read_files([file for file in files if file not in (*whole, *dumps)], zone, logs)
        align(reads)
        groups = groups_in(merged(reads))
    finally:
        gc.freeze()
        gc.unfreeze()  # It is old from the first, and not looked through at once.
        gc.enable()
    for read in reads:
        if read.file in unfit:
            read.titles, read.notes = (DUMP, *read.titles), (*read.notes, unfit[read.file])
    left_out: list[str] = []
    if logs or dumps:
        reads += map(FileRead, dumps)
        groups, left_out = _with_recordings(reads, logs, dumps, groups, zone)
    by_file = whole | {read.file: read for read in reads}
    return Answer([by_file[file] for file in files], groups, left_out)


def _with_recordings(
    reads: Sequence[FileRead],
    logs: Sequence[str],
    dumps: Sequence[str],
    groups: Sequence[LoggedGroup],
    zone: ZoneInfo | None,
) -> tuple[list[LoggedGroup], list[str]]:
    """All groups, with those that request logs and dumps tell of, and sentences on what these lack."""
    from rollcall.inputs.recorded_groups import beside_lines  # Takes a third of a second.
    from rollcall.inputs.recordings import read_recordings

    # A broker may print all its logs into one file.
    printed = [read.file for read in reads if read.file not in dumps]
    found = read_recordings(logs, dumps, zone or ZoneInfo("UTC"), printed)
    for read in reads:
        used = found.files.get(read.file)
        if used is not None:
            read.lines, read.recorded = used.lines, used.recorded
            read.titles = (REQUEST_LOG if read.file in logs else DUMP, *read.titles)
            read.notes = (*read.notes, *used.notes, _home_of(read.file) if used.recorded else NO_REQUEST)
    clock = Clock.UTC if dumps or zone is not None else Clock.LOCAL
    return beside_lines(found, groups, clock), found.left_out


def _home_of(file: str) -> str:
    return f"`rollcall replay {file}` makes a home of it, which `why`, SQL and the page ask, of owners and commits too"


def _kind_of(file: str, unfit: dict[str, str]) -> FileKind:
    """What a file is; notes why one cannot be read as the dump that it is."""
    from rollcall.inputs.offsets_topic.dumps.reading import DumpError  # Takes time.

    try:
        return kind_of(file)
    except DumpError as error:
        unfit[file] = str(error).removeprefix(f"{file}: ")
        return FileKind.UNKNOWN


def _too_large(files: Sequence[str], title: str, most_bytes: int) -> list[FileRead]:
    """Files that are together too large, and are not read; none if they are not."""
    if not files:
        return []
    from rollcall.inputs.request_log.lines.files import about_bytes_of

    size_bytes = about_bytes_of(map(path_of, files))
    if size_bytes <= most_bytes:
        return []
    note = (
        f"it is {title}, of {size_bytes >> 20} MB in all, and at most {most_bytes >> 20} MB are explained at once: "
        "`rollcall replay {}` makes a home of it on all cores, which `why`, SQL and the page ask"
    )
    return [FileRead(file, (title,), notes=(note.format(file),)) for file in files]


Texts = Mapping[tuple[str, int], str]
"""Lines by file and number."""


def texts_of(groups: Iterable[LoggedGroup]) -> Texts:
    """Return the lines that rebalances and findings rest on."""
    wanted: defaultdict[str, set[int]] = defaultdict(set)
    for group in groups:
        stories = [*(one.facts for one in group.rebalances), *(one.facts for one in group.findings)]
        for file, number in chain.from_iterable(map(evidence_of, stories)):
            wanted[file].add(number)
    return {(file, number): text for file in wanted for number, text in _lines_of(file, wanted[file])}


def _lines_of(file: str, numbers: set[int]) -> Iterable[tuple[int, str]]:
    before, last = 0, max(numbers)
    for block in open_blocks(file):
        lines = block.removesuffix(b"\n").split(b"\n")
        for number in numbers & set(range(before + 1, before + len(lines) + 1)):
            yield number, text_of(lines[number - before - 1])
        before += len(lines)
        if before >= last:
            break
