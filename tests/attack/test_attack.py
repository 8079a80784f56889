"""What is attacked stands every case that was kept and some more; and an attack finds what is there to be found."""

from __future__ import annotations

import contextlib
from pathlib import Path
from random import Random

import pytest

from tests.attack import driver
from tests.attack.attacked import Attacked, Finding
from tests.attack.driver import Attack, attack
from tests.attack.inputs import INPUTS
from tests.attack.kept import kept_cases

SOME, OF_DEAR_ONES = 60, {"sockets": 20, "whole-logs": 5}
"""The number of cases of an input: fewer where a case is a whole log, or waits on real sockets."""
KEPT = list(kept_cases())


@pytest.mark.parametrize("path", [path for path, _ in KEPT], ids=[path.stem for path, _ in KEPT])
def test_a_case_that_once_found_something_finds_nothing(path: Path) -> None:
    kept = dict(KEPT)[path]
    attacked = INPUTS[kept.input]()
    try:
        attacked.renew()
        for case in kept.played():
            attacked.play(case)
    finally:
        attacked.close()


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.nightly
def test_some_cases_of_every_input_find_nothing(name: str, tmp_path: Path) -> None:
    (report,) = attack([INPUTS[name]()], 1, tmp_path, cases=OF_DEAR_ONES.get(name, SOME))
    assert report.findings == {}
    assert report.played == OF_DEAR_ONES.get(name, SOME)


class Faulty(Attacked):
    """Never ends by an F; fails by a case that begins with an A, and by a C after a B; a D takes a second."""

    name = "faulty"
    slow_s = 0.5

    def __init__(self) -> None:
        self.spent_s = 0
        self.had_b = False
        self.starts = 0
        self.held: list[bytes] = []

    def renew(self) -> None:
        self.had_b = False
        self.starts += 1

    def case(self, random: Random) -> bytes:
        return random.choice("ABBBBCCCCDEEEE").encode() + random.randbytes(4)

    def play(self, case: bytes) -> int:
        self.had_b = self.had_b or case[:1] == b"B"
        if case[:1] == b"A":
            raise Finding("an A")
        if case[:1] == b"C" and self.had_b:
            raise ZeroDivisionError
        while case[:1] == b"F":
            pass
        if case[:1] == b"D":
            self.spent_s += 1
        return 1


def test_an_attack_finds_what_is_there_and_keeps_the_cases_that_show_it_again(tmp_path: Path) -> None:
    reported: list[str] = []
    faulty = Faulty()
    (report,) = attack([faulty], 7, tmp_path, reported.append, cases=60, clock=lambda: faulty.spent_s)
    assert set(report.findings) == {"an A", "raises ZeroDivisionError: test_attack.py play", "takes more than 0.5 s"}
    assert "3 findings" in reported[-1]
    kept = {case.found: case.played() for _, case in kept_cases(tmp_path)}
    assert kept.keys() == set(report.findings)
    assert [case[:1] for case in kept["an A"]] == [b"A"]
    assert any(case[:1] == b"B" for case in kept["raises ZeroDivisionError: test_attack.py play"][:-1])


class Endless(Faulty):
    """Its first case never ends; to catch errors does not help."""

    def case(self, random: Random) -> bytes:
        return b"F"

    def play(self, case: bytes) -> int:
        with contextlib.suppress(Exception):
            return super().play(case)
        return 1


def test_a_case_that_never_ends_is_found_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "NEVER_S", 0.1)
    attempt = Attack(Endless(), 1, tmp_path, lambda line: None)
    attempt.play_on(1)
    assert list(attempt.report.findings) == ["does not end within 0.1 s"]


def test_an_attack_that_is_stopped_reports_what_it_did(tmp_path: Path) -> None:
    reported: list[str] = []

    class Stopped(Faulty):
        def play(self, case: bytes) -> int:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attack([Stopped()], 1, tmp_path, reported.append)
    assert reported[-1].startswith("faulty: 0 cases without a finding")


def test_the_same_seed_makes_the_same_cases_and_another_others(tmp_path: Path) -> None:
    first, again, other = (Attack(Faulty(), seed, tmp_path, print) for seed in (1, 1, 2))
    assert [first.case(n) for n in range(50)] == [again.case(n) for n in range(50)]
    assert [first.case(n) for n in range(50)] != [other.case(n) for n in range(50)]


def test_memory_that_grows_from_start_to_start_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "GROWTH_MAX_BYTES", 20_000_000)
    attacked = Faulty()
    attempt = Attack(attacked, 1, tmp_path, lambda line: None)
    for _ in range(5):
        attempt.start()
    assert attempt.report.findings == {}
    attacked.held.append(b"x" * 50_000_000)
    attempt.start()
    assert list(attempt.report.findings) == ["memory grows: 20000000 bytes more than at first"]
