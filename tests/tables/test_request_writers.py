"""A writer of a home's requests knows whether it is alone, and a newcomer gives the others time to see it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rollcall.tables.request_table import LOOK_TRUSTED_S, NEWCOMER_WAITS_S, WRITERS_FOLDER, RequestWriters
from tests.waiting import until

HOLD = """
import sys
from pathlib import Path
from rollcall.tables.request_table import RequestWriters
writers = RequestWriters(Path(sys.argv[1]), "other", lambda _: None)
writers.join()
print("joined", flush=True)
sys.stdin.read()
"""


def writers(home: Path, name: str, waited: list[float]) -> RequestWriters:
    made = RequestWriters(home, name, waited.append)
    made.join()
    return made


def test_a_newcomer_waits_longer_than_the_others_trust_their_last_look(tmp_path: Path) -> None:
    waited: list[float] = []
    first = writers(tmp_path, "first", waited)
    assert first.is_alone()
    assert waited == []
    second = writers(tmp_path, "second", waited)
    assert waited == [NEWCOMER_WAITS_S]
    assert NEWCOMER_WAITS_S > 2 * LOOK_TRUSTED_S
    assert not second.is_alone()
    until(lambda: not first.is_alone(), "the other is seen")
    second.leave()
    until(first.is_alone, "the other is gone")
    first.leave()
    assert not first.is_alone()
    assert list((tmp_path / WRITERS_FOLDER).iterdir()) == []


def test_who_has_not_joined_is_not_alone(tmp_path: Path) -> None:
    assert not RequestWriters(tmp_path, "nobody").is_alone()


def test_a_writer_whose_process_was_killed_is_gone(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "joined\n"
        own = writers(tmp_path, "own", [])
        assert not own.is_alone()
        other.kill()
        other.wait()
        until(own.is_alone, "the killed one is gone")
        own.leave()
    finally:
        other.kill()
        other.wait()
        for pipe in (other.stdin, other.stdout):
            if pipe is not None:
                pipe.close()
