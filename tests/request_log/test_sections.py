"""A log cut into sections, wherever that is allowed, gives the lines, requests and silences that one reading gives."""

from __future__ import annotations

import gzip
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.inputs.request_log.entries import decode, encode
from rollcall.inputs.request_log.lines.files import LogLine, files_in_order, in_time, lines_in_order
from rollcall.inputs.request_log.lines.reading import SectionReading
from rollcall.inputs.request_log.lines.sections import sections_in
from rollcall.inputs.request_log.lines.silences import Silences
from rollcall.inputs.request_log.recorded import LoggedRequest, Quarantined, Tally
from tests.request_log.recordings import INCIDENTS
from tests.request_log.truth import BOTH_PROTOCOLS, NAMES
from tests.request_log.truth import FOLDER as CAPTURES

ZONES = ("UTC", "Europe/Berlin")
BACK_AT = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
"""Half an hour before Berlin's clocks are put back."""
STEPS_MS = (0, 0, 1, 3, 700, 60_000, 1_200_000, -5, -90_000, 200_000_000)
UTC_ZONE = ZoneInfo("UTC")


def lines_in(path: Path, zone: ZoneInfo, section_bytes: int) -> Iterator[LogLine]:
    for section in sections_in(files_in_order(path, zone), zone, section_bytes):
        yield from section.lines(zone)


@settings(max_examples=150)
@given(steps=st.lists(st.sampled_from([*STEPS_MS, None]), min_size=1, max_size=80), zone_name=st.sampled_from(ZONES))
def test_sections_have_the_lines_of_the_file_with_their_numbers_and_times(
    steps: list[int | None], zone_name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    zone, at = ZoneInfo(zone_name), BACK_AT
    texts = []
    for step in steps:
        if step is None:
            texts.append("no timestamp at all")
            continue
        at += timedelta(milliseconds=step)
        local = at.astimezone(zone)
        texts.append(f"[{local:%Y-%m-%d %H:%M:%S},{local.microsecond // 1000:03}] DEBUG a line")
    path = tmp_path_factory.mktemp("log") / "requests.log"
    path.write_text("\n".join(texts) + "\n")
    whole = list(lines_in_order(files_in_order(path, zone), zone))
    assert list(lines_in(path, zone, 100)) == whole


def test_a_long_file_is_cut_and_a_compressed_one_is_not(tmp_path: Path) -> None:
    data = gzip.decompress((CAPTURES / "j-busy-1" / "requests.log.gz").read_bytes())
    plain = tmp_path / "requests.log"
    plain.write_bytes(data)
    assert len(list(sections_in(files_in_order(plain, UTC_ZONE), UTC_ZONE, 1 << 20))) > 10
    assert (
        len(list(sections_in(files_in_order(CAPTURES / "j-busy-1" / "requests.log.gz", UTC_ZONE), UTC_ZONE, 1 << 20)))
        == 1
    )
    # Nowhere does a new millisecond begin.
    same = tmp_path / "same.log"
    same.write_bytes(data.splitlines(keepends=True)[0] * 5_000)
    assert len(list(sections_in(files_in_order(same, UTC_ZONE), UTC_ZONE, 1 << 20))) == 1


def read(path: Path, section_bytes: int) -> tuple[list[LoggedRequest], Silences, Tally]:
    entries, silences, tally = [], Silences(), Tally()
    for section in sections_in(files_in_order(path, UTC_ZONE), UTC_ZONE, section_bytes):
        reading = SectionReading(section, UTC_ZONE, _ignore)
        entries += [placed.logged for placed in reading]
        silences.add(reading.silences)
        tally.add(reading.tally)
    return entries, silences, tally


def _ignore(line: Quarantined) -> None:
    pass


@pytest.mark.parametrize("name", ["j-busy-1", "d-kill", "failover", "dying", "o-consumer-protocol"])
def test_sections_give_the_requests_the_silences_and_the_counts_of_the_whole(name: str, tmp_path: Path) -> None:
    own = INCIDENTS / f"{name}.log.gz"
    recorded = own if own.exists() else CAPTURES / name / "requests.log.gz"
    plain = tmp_path / "requests.log"
    plain.write_bytes(gzip.decompress(recorded.read_bytes()))
    whole, silences, tally = read(plain, 1 << 30)
    cut, cut_silences, cut_tally = read(plain, 50_000)
    assert cut_tally == tally
    assert cut_silences.of_whole_log() == silences.of_whole_log()
    assert [entry.request.request_id for entry in cut] == [entry.request.request_id for entry in whole]
    # A connection's order is kept within a section: at a cut a request may begin some microseconds earlier.
    assert max(abs(a.began_ms - b.began_ms) for a, b in zip(cut, whole, strict=True)) < 1


@pytest.mark.parametrize("name", [*NAMES, *BOTH_PROTOCOLS])
def test_a_request_as_bytes_is_the_same_request(name: str) -> None:
    for entry in read(CAPTURES / name / "requests.log.gz", 1 << 30)[0]:
        again = decode(encode(entry))
        assert again.request == entry.request
        assert again.recorded.response == entry.recorded.response
        assert msgspec.structs.asdict(again.recorded) | {"wire": 0} == msgspec.structs.asdict(entry.recorded) | {
            "wire": 0
        }
        for field in ("group_id", "began_ms", "until_ms", "broker", "was_refused", "part", "needs_newer_group"):
            assert getattr(again, field) == getattr(entry, field)


@pytest.mark.parametrize("seed", range(20))
def test_what_stands_in_several_files_comes_by_time_and_few_files_are_open_at_once(seed: int) -> None:
    chance = random.Random(seed)
    opened = {"now": 0, "most": 0}

    def read(times: list[int]) -> Iterator[int]:
        opened["now"] += 1
        opened["most"] = max(opened["most"], opened["now"])
        yield from times
        opened["now"] -= 1

    days = [[day * 1_000 + chance.randrange(1_100) for _ in range(chance.randrange(1, 30))] for day in range(50)]
    rising = [[max(day[: place + 1]) for place in range(len(day))] for day in days]
    reported = list(in_time([(day[0], read(day)) for day in days], lambda at_ms: at_ms))
    expected = [
        (late, number, at_ms)
        for number, day in enumerate(days)
        for late, at_ms in zip(rising[number], day, strict=True)
    ]
    assert reported == [(late, at_ms) for late, _, at_ms in sorted(expected, key=itemgetter(0, 1))]
    assert 1 <= opened["most"] <= 3
