"""Lines and entries without end, and files that come once."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from rollcall.inputs.printed.lines.files import BLOCK_BYTES, CUT_MARK, LINE_BYTES, arriving_lines, files_of, open_blocks
from rollcall.inputs.printed.lines.wrappings import ENTRY_CHARACTERS, ENTRY_LINES
from rollcall.inputs.printed.reading import CUT, of_lines, read_files, read_lines
from rollcall.programs.errors import UserError
from tests.printed.long_lines import BROKER, CLASS, STAMP

STABILIZED = f"{BROKER}Stabilized group x generation 1 with 1 members{CLASS}"
LATER = STABILIZED.replace("generation 1", "generation 2")


@pytest.mark.parametrize("length", [LINE_BYTES, LINE_BYTES + BLOCK_BYTES, 3 * LINE_BYTES])
@pytest.mark.parametrize("unit", [b"\0", b"roup"])
def test_a_long_line_is_cut_and_the_rest_of_the_file_is_read(length: int, unit: bytes, tmp_path: Path) -> None:
    log = tmp_path / "server.log.gz"
    with gzip.open(log, "wb") as file:
        file.write(b"\n".join([STABILIZED.encode(), b"", unit * (length // len(unit)), LATER.encode(), b""]))
    assert max(map(len, open_blocks(str(log)))) <= LINE_BYTES + BLOCK_BYTES + len(CUT_MARK) + 1
    (read,) = read_files([str(log)])
    assert [fact.line_number for fact in read.facts] == [1, 4]
    assert read.lines == 4
    assert of_lines(CUT, [3]) in read.notes


def test_what_stands_behind_another_entry_belongs_to_no_line_before_it(tmp_path: Path) -> None:
    log, other = tmp_path / "server.log", f"{STAMP}Rolled a new segment of a-0 in 3 ms. (kafka.log.UnifiedLog)"
    fits = BLOCK_BYTES // len(f"{other}\n")
    for others in (1, fits // 2, *range(fits - 3, fits + 3), 3 * fits):
        lines = [STABILIZED, *[other] * others, " of it", LATER]
        log.write_text("\n".join(lines))
        (read,) = read_files([str(log)])
        assert [(fact.line_number, fact.group_id) for fact in read.facts] == [(1, "x"), (len(lines), "x")]
        assert read.lines == len(lines)


def test_a_line_within_the_limit_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    text = b"x" * (LINE_BYTES - 1) + b"\n"
    log.write_bytes(text * 2)
    assert b"".join(open_blocks(str(log))) == text * 2


def test_a_long_line_of_a_pipe_is_cut() -> None:
    reader, writer = os.pipe()

    def write() -> None:
        with open(writer, "wb") as pipe:
            pipe.write(b"a" * 3 * LINE_BYTES + b"\nb\n" + b"c" * 2 * LINE_BYTES)

    thread = threading.Thread(target=write)
    thread.start()
    lines = [line for lines, _ in arriving_lines(reader) for line in lines]
    thread.join()
    os.close(reader)
    assert lines == [f"{'a' * LINE_BYTES}{CUT_MARK}", "b", f"{'c' * LINE_BYTES}{CUT_MARK}"]


@pytest.mark.parametrize(
    "tail",
    [["\tat a.b"] * ENTRY_LINES, ["\t" + "a" * ENTRY_CHARACTERS], ["\t" + "a" * 1_000] * (ENTRY_CHARACTERS // 999)],
)
def test_a_long_entry_is_cut_and_the_rest_of_the_file_is_read(tail: list[str]) -> None:
    read = read_lines("f", ["", STABILIZED, *tail, LATER])
    assert [fact.line_number for fact in read.facts] == [2, 3 + len(tail)]
    assert read.notes == (of_lines(CUT, [2]),)


def test_an_entry_within_the_limits_is_whole() -> None:
    assert read_lines("f", [STABILIZED, *["\tat a.b"] * (ENTRY_LINES - 1)]).notes == ()


def test_a_folder_is_read_without_its_pipes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "server.log").touch()
    assert files_of([str(tmp_path)]) == [str(tmp_path / "server.log")]


def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(UserError, match="/dev/zero: is a device"):
        files_of(["/dev/zero"])
    assert files_of(["/dev/null"]) == ["/dev/null"]
