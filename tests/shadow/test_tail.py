"""A log file is followed through whatever happens to it: no line is lost, none comes twice, none comes by halves."""

from __future__ import annotations

import gzip
import os
import random
import shutil
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest

from rollcall.inputs.request_log.lines.files import LINE_MAX_BYTES, LogFileError
from rollcall.inputs.request_log.lines.tail import LogTail, Position

UTC = ZoneInfo("UTC")


class Writer:
    """Writes a log as a broker does, line after line."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "kafka-request.log"
        self.written = 0
        self.rotations = 0
        self.path.touch()

    def write(self, count: int) -> None:
        with self.path.open("ab") as file:
            for _ in range(count):
                self.written += 1
                file.write(line(self.written))

    def rotate(self, how: str) -> None:
        self.rotations += 1
        away = self.path.with_name(f"{self.path.name}.2026-03-01-{self.rotations:02d}")
        if how == "rename":
            self.path.rename(away)
            self.path.touch()
        elif how == "copy and truncate":
            shutil.copy(self.path, away)
            os.truncate(self.path, 0)
        else:
            with gzip.open(away.with_name(f"{away.name}.gz"), "wb") as packed:
                packed.write(self.path.read_bytes())
            self.path.unlink()


def all_of(tail: LogTail, at_once: int = 100) -> list[int]:
    found: list[int] = []
    quiet = 0
    while quiet < 3:
        lines = tail.poll(at_once)
        quiet = 0 if lines else quiet + 1
        found += [number_of(each.text) for each in lines]
    return found


@pytest.mark.parametrize("how", ["rename", "copy and truncate", "rename and compress"])
@pytest.mark.parametrize("seed", range(6))
def test_no_line_is_lost_and_none_comes_twice(how: str, seed: int, tmp_path: Path) -> None:
    """Several rotations may lie between two looks, and the tail be made anew from its position."""
    chance, writer = random.Random(seed), Writer(tmp_path)
    writer.write(1)
    tail = LogTail(writer.path, UTC)
    found = [number_of(each.text) for each in tail.poll(1)]
    for _ in range(60):
        action = chance.choice(["write", "write", "look", "look", "rotate", "go on"])
        if action == "write":
            writer.write(chance.randint(1, 30))
        elif action == "rotate" and writer.path.exists() and writer.path.stat().st_size:
            writer.rotate(how)
        elif action == "look":
            found += [number_of(each.text) for each in tail.poll(chance.randint(1, 20))]
        elif action == "go on":
            tail.close()
            tail = LogTail(writer.path, UTC, msgspec.json.decode(msgspec.json.encode(tail.position), type=Position))
    writer.write(1)
    found += all_of(tail)
    assert found == list(range(1, writer.written + 1))
    assert tail.position.number == writer.written


def test_a_line_without_its_end_waits(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    path.write_bytes(line(1) + line(2)[:20])
    tail = LogTail(path, UTC)
    assert all_of(tail) == [1]
    with path.open("ab") as file:
        file.write(line(2)[20:])
    assert all_of(tail) == [2]


def test_a_half_line_at_a_rotation_is_given_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    path.write_bytes(line(1) + line(2)[:20])
    tail = LogTail(path, UTC)
    assert all_of(tail) == [1]
    path.rename(tmp_path / "requests.log.1")
    path.write_bytes(line(2)[20:] + line(3))
    texts = [each.text for _ in range(3) for each in tail.poll(10)]
    assert texts == [line(2)[:20], line(2)[20:-1], line(3)[:-1]]


def test_lines_are_numbered_through_all_files_and_timed_by_the_line_above(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    path.write_bytes(line(1) + b"no time of its own\r\n")
    tail = LogTail(path, UTC)
    first, second = tail.poll(10)
    assert (first.file, first.number, second.number, second.at_ms) == ("requests.log", 1, 2, first.at_ms)
    assert second.text == b"no time of its own"


def test_what_was_rotated_away_before_it_was_read_is_passed_over(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.write(5)
    tail = LogTail(writer.path, UTC)
    assert all_of(tail) == [1, 2, 3, 4, 5]
    position = tail.position
    tail.close()
    writer.path.unlink()
    writer.write(3)
    assert all_of(LogTail(writer.path, UTC, position)) == [6, 7, 8]


def test_a_path_that_cannot_be_followed_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogFileError, match="no such file"):
        LogTail(tmp_path / "nothing.log", UTC)
    with pytest.raises(LogFileError, match="is a folder"):
        LogTail(tmp_path, UTC)


def test_a_line_a_day_ahead_of_both_its_neighbours_stands_where_the_one_above_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    path.write_bytes(line(1) + line(2).replace(b"2026", b"2062") + line(3))
    first, stray, third = LogTail(path, UTC).poll(10)
    assert (stray.at_ms, third.at_ms) == (first.at_ms, (first.at_ms or 0) + 2)


def test_a_log_that_goes_on_days_later_is_believed_once_its_next_line_is_there(tmp_path: Path) -> None:
    path = tmp_path / "requests.log"
    path.write_bytes(line(1) + line(2).replace(b"-03-", b"-05-"))
    tail = LogTail(path, UTC)
    assert [number_of(each.text) for each in tail.poll(10)] == [1]
    with path.open("ab") as file:
        file.write(line(3).replace(b"-03-", b"-05-"))
    later = tail.poll(10)
    assert [number_of(each.text) for each in later] == [2, 3]
    assert (later[0].at_ms or 0) > 61 * 86_400_000


def test_a_line_that_is_too_long_is_given_once_cut_off_and_the_next_ones_whole(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.write(2)
    tail = LogTail(writer.path, UTC)
    given = [number_of(each.text) for each in tail.poll(100)]
    with writer.path.open("ab") as file:
        file.write(line(3)[:-1])
        for _ in range(LINE_MAX_BYTES // (1 << 20) + 3):
            file.write(b"0" * (1 << 20))
    (long,) = tail.poll(100)
    assert len(long.text) == LINE_MAX_BYTES + 1
    with writer.path.open("ab") as file:
        file.write(b"0" * 1000 + b"\n")
    writer.written = 3
    writer.write(2)
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode(tail.position), type=Position)
    tail.close()
    given += [number_of(each.text) for each in LogTail(writer.path, UTC, kept).poll(100)]
    assert given == [1, 2, 4, 5]


def line(n: int) -> bytes:
    return b"[2026-03-01 10:%02d:%02d,%03d] line %d\n" % (n // 60_000 % 60, n // 1000 % 60, n % 1000, n)


def number_of(text: bytes) -> int:
    return int(text.rsplit(b" ", 1)[1])
